#include <gsub/codegen.hpp>
#include <gsub/codegen/impl/double_math.ipp>
#include <gsub/codegen/impl/emit_cpp.ipp>
#include <gsub/codegen/impl/kernel_ir.ipp>
#include <gsub/codegen/impl/lower.ipp>
#include <gsub/codegen/impl/typed_functions.ipp>
#include <gsub/codegen/impl/vector_math.ipp>
