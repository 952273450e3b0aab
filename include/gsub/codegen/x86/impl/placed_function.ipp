#pragma once

#include <gsub/codegen/x86/impl/branch_merger.hpp>
#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace gsub::codegen::detail {

GSUB_INLINE void not_in_machine_code(std::string_view what) {
    throw error{error_code::unsupported, format_text("machine code in memory has no {}", what)};
}

// Vector registers for values: all, or where these do not suffice all but four for those in memory.
GSUB_LAZY [[nodiscard]] std::pair<value_places, std::int32_t> vector_places(machine_function const& f,
                                                                            std::int32_t registers) {
    linear_scan<> scan{f, true};
    auto places = scan.run(registers);
    auto const all = [&](std::vector<std::int32_t> const& of) {
        return std::all_of(of.begin(), of.end(), [](auto n) { return n < 0; });
    };
    if (all(places.slots) && all(places.homes)) return {std::move(places), registers};
    return {scan.run(registers - 4), registers - 4};
}

GSUB_LAZY_BODY placed_function place_function(kernel const& k, isa const& isa) {
    auto const masks = isa.runs(isa::avx512);
    if (!masks && !isa.runs(isa::avx2)) not_in_machine_code(isa.name);
    if (k.lanes != isa.lanes()) not_in_machine_code(format_text("vectors of {} lanes", k.lanes));
    placed_function out{branch_merger<>{k}.run()};
    out.made = machine_lowering<>{out.merged, masks}.run();
    out.lanes = k.lanes, out.masks = masks;
    std::tie(out.vectors, out.vector_registers) = vector_places(out.made, isa.registers);
    linear_scan<> scan{out.made, false};
    scan.note_homes(out.vectors);
    out.integers = scan.run(integer_registers);
    return out;
}

} // namespace gsub::codegen::detail
