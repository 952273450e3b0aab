#include <gsub/eval/impl/reference_kernel.ipp>

namespace gsub {
template void reference_kernel<ops::conv>::run(kernel<float>&);
template void reference_kernel<ops::conv>::run(kernel<double>&);
template void reference_kernel<ops::mat_mul>::run(kernel<float>&);
template void reference_kernel<ops::mat_mul>::run(kernel<double>&);
template void reference_kernel<ops::gemm>::run(kernel<float>&);
template void reference_kernel<ops::gemm>::run(kernel<double>&);
} // namespace gsub
