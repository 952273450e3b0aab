#include <gsub/eval/impl/reference_kernel.ipp>

namespace gsub {
template void reference_kernel<ops::conv>::run(op_call<float>&);
template void reference_kernel<ops::conv>::run(op_call<double>&);
template void reference_kernel<ops::mat_mul>::run(op_call<float>&);
template void reference_kernel<ops::mat_mul>::run(op_call<double>&);
template void reference_kernel<ops::gemm>::run(op_call<float>&);
template void reference_kernel<ops::gemm>::run(op_call<double>&);
} // namespace gsub
