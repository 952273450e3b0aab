#pragma once

#include <gsub/codegen/x86/impl/branch_merger.hpp>
#include <gsub/codegen/x86/impl/index_simplifier.hpp>
#include <gsub/codegen/x86/impl/loop_hoister.hpp>
#include <gsub/codegen/x86/impl/loop_unroller.hpp>
#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/codegen/x86/impl/range_splitting.hpp>
#include <gsub/codegen/x86/impl/reduction_splitter.hpp>
#include <gsub/codegen/x86/impl/scalar_forwarding.hpp>
#include <gsub/codegen/x86/impl/scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_temporaries.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace gsub::codegen::detail {

GSUB_INLINE void not_in_machine_code(std::string_view what) {
    throw error{errors::kernel_form, format_text("machine code in memory has no {}", what)};
}

// A factor in memory becomes the last operand, which is read where it is: products do not care.
GSUB_LAZY void put_memory_last(machine_function& f, value_places const& places, std::int32_t lanes) {
    auto const in_memory = [&](std::int32_t v) { return places.registers[static_cast<std::size_t>(v)] < 0; };
    for (auto& i : f.code)
        if (i.op == machine_op::multiply_add && i.lanes == lanes && i.at.base < 0 && in_memory(i.operands[1]) &&
            !in_memory(i.operands[2]))
            std::swap(i.operands[1], i.operands[2]);
}

// Vector registers for values: all but those that instructions need for values in memory.
GSUB_LAZY [[nodiscard]] std::pair<value_places, std::int32_t> vector_places(machine_function& f, std::int32_t registers,
                                                                            std::int32_t lanes, bool legacy) {
    linear_scan<> scan{f, true, legacy};
    for (std::int32_t kept = 0; kept < scratch_registers<>::most; ++kept) {
        auto places = scan.run(registers - kept);
        put_memory_last(f, places, lanes);
        scratch_registers<> const scratch{places, lanes};
        sse_scratch_registers<> const scratch_of_two{f, places, lanes};
        if (std::all_of(f.code.begin(), f.code.end(), [&](auto const& i) {
                return !on_vectors(i.op) || (legacy ? scratch_of_two.of(i) : scratch.of(i)) <= kept;
            }))
            return {std::move(places), registers - kept};
    }
    auto const kept = scratch_registers<>::most;
    auto places = scan.run(registers - kept);
    put_memory_last(f, places, lanes);
    return {std::move(places), registers - kept};
}

// Places vectors. Where instructions need registers of their own, live ranges are split anew for those that are left:
// what is read again where it is used costs less than a place in the frame. Of thirty-two, those are enough.
GSUB_LAZY void place_vectors(placed_function& out, std::int32_t registers) {
    auto const whole = out.made;
    auto const place = [&](std::int32_t room) {
        range_splitter<>{out.made, room, out.lanes, out.legacy}.run();
        std::tie(out.vectors, out.vector_registers) = vector_places(out.made, registers, out.lanes, out.legacy);
    };
    place(registers);
    if (out.vector_registers == registers || out.masks) return;
    out.made = whole;
    place(out.vector_registers);
}

// The kernel with fewer indices, conditions and turns, whose turns do less.
GSUB_LAZY [[nodiscard]] kernel simplified(kernel const& k, std::int32_t registers) {
    loop_unroller<> unroller{index_simplifier<>{k}.run()};
    auto made = unroller.run();
    if (unroller.has_unrolled()) made = index_simplifier<>{std::move(made)}.run();
    made = branch_merger<>{reduction_splitter<>{std::move(made)}.run()}.run();
    loop_hoister<> hoister{scalar_forwarding<>{std::move(made)}.run(), registers};
    made = hoister.run();
    return hoister.has_changed() ? branch_merger<>{std::move(made)}.run() : made;
}

GSUB_LAZY_BODY placed_function place_function(kernel const& k, isa const& isa) {
    if (!isa.runs(isa::sse42)) not_in_machine_code(isa.name);
    auto const legacy = !isa.runs(isa::avx2);
    // Vectors of 64 bytes alone need AVX-512; shorter ones, of kernels with wide elements, are those of AVX2.
    auto const masks = k.lanes == isa::avx512.lanes() && isa.runs(isa::avx512);
    auto const widest = legacy ? isa::sse42.lanes() : isa::avx2.lanes();
    if (!masks && k.lanes != widest && k.lanes != widest / 2)
        not_in_machine_code(format_text("vectors of {} lanes", k.lanes));
    // Of two operands, `xmm0` is free for single instructions.
    auto const registers = masks ? isa::avx512.registers : legacy ? isa::sse42.registers - 1 : isa::avx2.registers;
    placed_function out{simplified(k, registers)};
    out.made = machine_lowering<>{out.merged, masks, isa.runs(isa::avx512), !legacy}.run();
    out.lanes = k.lanes, out.masks = masks, out.legacy = legacy;
    if (legacy) sse_temporaries<>::drop(out.made);
    place_vectors(out, registers);
    if (legacy) sse_temporaries<>::reuse_factors(out.made, out.vectors);
    linear_scan<> scan{out.made, false};
    scan.note_homes(out.vectors);
    out.integers = scan.run(integer_registers);
    return out;
}

} // namespace gsub::codegen::detail
