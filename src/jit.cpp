#include <gsub/codegen/x86/impl/emit_x86.ipp>
#include <gsub/driver/impl/jit.ipp>
