// Reference kernels: faster evaluation on the host, convolution and products on Eigen's blocked matrix product. Tested
// against evaluate<Op>.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

namespace gsub {

/// Reference kernel: a faster evaluation of an operator for f32 and f64. A specialisation has
/// `template <class T> static void run(op_call<T>&)`.
template <class Op>
struct reference_kernel;

/// Convolution by im2col and a matrix product, in pieces that fit a cache; depthwise convolutions row by row.
template <>
struct reference_kernel<ops::conv> {
    template <class T>
    static void run(op_call<T>& k);
};
template <>
struct reference_kernel<ops::mat_mul> {
    template <class T>
    static void run(op_call<T>& k);
};
template <>
struct reference_kernel<ops::gemm> {
    template <class T>
    static void run(op_call<T>& k);
};

#ifdef GSUB_COMPILED
extern template void reference_kernel<ops::conv>::run(op_call<float>&);
extern template void reference_kernel<ops::conv>::run(op_call<double>&);
extern template void reference_kernel<ops::mat_mul>::run(op_call<float>&);
extern template void reference_kernel<ops::mat_mul>::run(op_call<double>&);
extern template void reference_kernel<ops::gemm>::run(op_call<float>&);
extern template void reference_kernel<ops::gemm>::run(op_call<double>&);
#endif

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/reference_kernel.ipp>
#endif
