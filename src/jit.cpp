#include <gsub/codegen/x86/impl/emit_x86.ipp>
#include <gsub/codegen/x86/impl/port_calibration.ipp>
#include <gsub/driver/impl/jit.ipp>
