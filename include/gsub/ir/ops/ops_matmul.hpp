// Matrix products: MatMul, Gemm and Einsum.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::ops {
struct mat_mul {}; ///< numpy's matmul: [..., m, k] x [..., k, n] -> [..., m, n]
struct gemm {};    ///< alpha * A' * B' + beta * C, matrices, each of A and B transposed or not
struct einsum {};  ///< sums of products of elements that an equation of letters names, e.g. `bij,bjk->bik`
} // namespace gsub::ops

namespace gsub {

template <>
struct op_traits<ops::einsum> : detail::product_traits {
    static constexpr std::string_view name = "Einsum";
    static constexpr int min_inputs = 1, max_inputs = variadic;
    struct attributes {
        std::string equation{}; ///< as numpy's, without spaces or with them
        static constexpr field<attributes> fields[] = {{"equation", &attributes::equation}};
    };
};
template <>
struct op_traits<ops::mat_mul> : detail::product_traits {
    static constexpr std::string_view name = "MatMul";
};
template <>
struct op_traits<ops::gemm> : detail::product_traits {
    static constexpr std::string_view name = "Gemm";
    static constexpr int max_inputs = 3;
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
/// Infers result 0 of numpy's matmul of two types, with the element type given.
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
template <>
struct infer_shape<ops::einsum> {
    static void infer(infer_context& cx);
};

/// Parsed einsum equation: dimensions of one label share an index, labels that the result lacks are summed over. A size
/// of one is repeated.
struct einsum_terms {
    using labels = small_vector<std::int32_t, 6>;
    std::vector<labels> operands{}; ///< the label of each dimension
    labels result{};
    std::int32_t count = 0; ///< labels are the numbers below
    std::string wrong{};    ///< why the equation does not fit operands of such ranks; empty: it does
};
[[nodiscard]] einsum_terms read_einsum(std::string_view equation, std::span<std::size_t const> ranks);

/// The operators of this header.
using matmul_ops = op_set<ops::mat_mul, ops::gemm, ops::einsum>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_matmul.ipp>
#endif
