#pragma once

#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/driver/jit.hpp>

#include <memory>

namespace gsub {

GSUB_INLINE result<runtime::loaded_kernel> jit_emitter(codegen::kernel const& k, isa const& isa) {
    auto made = codegen::emit_x86(k, isa);
    if (!made) return made.error();
    return runtime::loaded_kernel{std::const_pointer_cast<void>(made->memory), made->entry};
}

} // namespace gsub
