#pragma once

#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/codegen/x86/impl/branch_merger.hpp>
#include <gsub/codegen/x86/impl/machine_lowering.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>
#include <gsub/codegen/x86/impl/scratch_registers.hpp>
#include <gsub/codegen/x86/impl/x86_encoder.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gsub::codegen {

namespace detail {

GSUB_INLINE void not_in_machine_code(std::string_view what) {
    throw error{error_code::unsupported, format_text("machine code in memory has no {}", what)};
}

// Vector registers for values: all but those that instructions need for values in memory.
GSUB_LAZY [[nodiscard]] std::pair<value_places, std::int32_t>
vector_places(machine_function const& f, std::int32_t registers, std::int32_t lanes) {
    linear_scan<> scan{f, true};
    for (auto const kept : {0, 1}) {
        auto places = scan.run(registers - kept);
        scratch_registers<> const scratch{places, lanes};
        if (std::all_of(f.code.begin(), f.code.end(),
                        [&](auto const& i) { return !on_vectors(i.op) || scratch.of(i) <= kept; }))
            return {std::move(places), registers - kept};
    }
    auto const kept = scratch_registers<>::most;
    return {scan.run(registers - kept), registers - kept};
}

} // namespace detail

GSUB_LAZY_BODY result<machine_code> emit_x86(kernel const& k, isa const& isa) {
    return capture([&] {
        if (!isa.runs(isa::avx2)) detail::not_in_machine_code(isa.name);
        // Vectors of 64 bytes alone need AVX-512; shorter ones, of kernels with wide elements, are those of AVX2.
        auto const masks = k.lanes == isa::avx512.lanes() && isa.runs(isa::avx512);
        if (!masks && k.lanes != isa::avx2.lanes() && k.lanes != isa::avx2.lanes() / 2)
            detail::not_in_machine_code(format_text("vectors of {} lanes", k.lanes));
        auto const merged = detail::branch_merger<>{k}.run();
        auto const f = detail::machine_lowering<>{merged, masks}.run();
        auto [vectors, registers] =
            detail::vector_places(f, masks ? isa::avx512.registers : isa::avx2.registers, k.lanes);
        detail::linear_scan<> scan{f, false};
        scan.note_homes(vectors);
        auto integers = scan.run(detail::x86_encoder<>::integer_registers);
        auto const made = std::make_shared<Xbyak::CodeGenerator>(std::size_t{1} << 14, Xbyak::AutoGrow);
        try {
            detail::x86_encoder<>{*made, f, std::move(integers), std::move(vectors), k.lanes, masks, registers}.run();
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
