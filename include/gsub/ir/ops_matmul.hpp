// Products of matrices.
#pragma once

#include <gsub/ir/infer.hpp>
#include <gsub/ir/op.hpp>

namespace gsub::ops {
struct mat_mul {}; ///< numpy's matmul: [..., m, k] x [..., k, n] -> [..., m, n]
struct gemm {};    ///< alpha * A' * B' + beta * C, matrices, each of A and B transposed or not
} // namespace gsub::ops

namespace gsub {

template <>
struct op_traits<ops::mat_mul> {
    static constexpr std::string_view name = "MatMul";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
};
template <>
struct op_traits<ops::gemm> {
    static constexpr std::string_view name = "Gemm";
    static constexpr int min_inputs = 2, max_inputs = 3;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
    struct attributes {
        double alpha = 1, beta = 1;
        bool transpose_a = false, transpose_b = false;
        static constexpr field<attributes> fields[] = {{"alpha", &attributes::alpha},
                                                       {"beta", &attributes::beta},
                                                       {"transA", &attributes::transpose_a},
                                                       {"transB", &attributes::transpose_b}};
    };
};

namespace detail {
/// Result 0 of numpy's matmul of two types, of the element type given.
void infer_product(infer_context& cx, tensor_type a, tensor_type b, dtype element);
} // namespace detail
template <>
struct infer_shape<ops::mat_mul> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::gemm> {
    static void infer(infer_context& cx);
};

/// The operators of this header.
using matmul_ops = op_set<ops::mat_mul, ops::gemm>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/ops_matmul.ipp>
#endif
