#pragma once

#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/codegen/x86/impl/x86_encoder.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace gsub::codegen {

GSUB_LAZY_BODY result<machine_code> emit_x86(kernel const& k, isa const& isa) {
    return capture([&] {
        auto p = detail::place_function(k, isa);
        // No target asks for F16C, which comes with AVX2 wherever anybody made it.
        auto const halves = [](detail::machine_instruction const& i) {
            using enum detail::machine_op;
            return i.op == load_halves || i.op == store_halves ||
                   (i.op == unary && i.function == detail::lane_function::to_half);
        };
        if (std::ranges::any_of(p.made.code, halves) && !detail::converts_halves())
            detail::not_in_machine_code("conversion of f16 on this machine");
        auto const made = std::make_shared<Xbyak::CodeGenerator>(std::size_t{1} << 14, Xbyak::AutoGrow);
        try {
            auto const write = [&]<class Encoder>(std::type_identity<Encoder>) {
                Encoder{*made,   p.made,  std::move(p.integers), std::move(p.vectors),
                        k.lanes, p.masks, p.vector_registers}
                    .run();
            };
            p.legacy ? write(std::type_identity<detail::x86_encoder<detail::sse_arithmetic<>>>{})
                     : write(std::type_identity<detail::x86_encoder<>>{});
            made->readyRE();
        } catch (Xbyak::Error const& e) {
            if (int{e} == Xbyak::ERR_CANT_PROTECT || int{e} == Xbyak::ERR_CANT_ALLOC)
                detail::not_in_machine_code("memory here that can be executed");
            throw error{error_code::internal, format_text("machine code of {}: {}", quoted{k.name}, e.what())};
        }
        machine_code out{made, nullptr, made->getSize()};
        out.entry = const_cast<std::uint8_t*>(made->getCode());
        return out;
    });
}

} // namespace gsub::codegen
