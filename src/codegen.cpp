#include <gsub/codegen.hpp>
#include <gsub/codegen/cpp/impl/double_math.ipp>
#include <gsub/codegen/cpp/impl/emit_cpp.ipp>
#include <gsub/codegen/cpp/impl/typed_functions.ipp>
#include <gsub/codegen/cpp/impl/vector_math.ipp>
#include <gsub/codegen/impl/lower_nest.ipp>
#include <gsub/codegen/ir/impl/kernel_ir.ipp>
