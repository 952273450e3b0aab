// Faster meanings for the host: convolution and products on Eigen's blocked matrix product. Tested against
// evaluate<Op>.
#pragma once

#include <gsub/eval/kernel.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

namespace gsub {

/// A faster meaning of an operator for f32 and f64. A specialisation has `template <class T> static void
/// run(kernel<T>&)`.
template <class Op>
struct reference_kernel;

/// im2col and a matrix product, by pieces that fit a cache; depthwise convolutions row by row.
template <>
struct reference_kernel<ops::conv> {
    template <class T>
    static void run(kernel<T>& k);
};
template <>
struct reference_kernel<ops::mat_mul> {
    template <class T>
    static void run(kernel<T>& k);
};
template <>
struct reference_kernel<ops::gemm> {
    template <class T>
    static void run(kernel<T>& k);
};

#ifdef GSUB_COMPILED
extern template void reference_kernel<ops::conv>::run(kernel<float>&);
extern template void reference_kernel<ops::conv>::run(kernel<double>&);
extern template void reference_kernel<ops::mat_mul>::run(kernel<float>&);
extern template void reference_kernel<ops::mat_mul>::run(kernel<double>&);
extern template void reference_kernel<ops::gemm>::run(kernel<float>&);
extern template void reference_kernel<ops::gemm>::run(kernel<double>&);
#endif

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/reference_kernel.ipp>
#endif
