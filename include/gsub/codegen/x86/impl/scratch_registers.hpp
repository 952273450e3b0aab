// scratch_registers: how many vector registers instructions need beside those of values, for values in memory.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Counts them as `x86_encoder` takes them. One suffices where an instruction takes its last operand from memory, or
/// may bring an operand into the register of its result.
template <class = void>
class scratch_registers {
public:
    static constexpr std::int32_t most = 4;

    scratch_registers(value_places const& places, std::int32_t lanes) : places_(places), lanes_(lanes) {}

    [[nodiscard]] std::int32_t of(machine_instruction const& i) const {
        if (std::any_of(std::begin(i.temporaries), std::end(i.temporaries), [&](auto v) { return in_memory(v); }))
            return most;
        auto const kept = in_memory(i.result);
        switch (i.op) {
        case machine_op::splat:
        case machine_op::lane_numbers:
        case machine_op::load:
        case machine_op::gather:
        case machine_op::permute:
        case machine_op::load_twice:
        case machine_op::load_integers:
        case machine_op::load_halves:
        case machine_op::broadcast:
            return kept && places_.homes[index(i.result)] < 0 ? 1 : 0;
        case machine_op::store:
            return in_memory(i.operands[0]) ? 1 : 0;
        case machine_op::copy:
            return kept && in_memory(i.operands[0]) ? 1 : 0;
        case machine_op::unary:
            return kept ? 1 : 0;
        case machine_op::binary:
            return kept || binary(i) ? 1 : 0;
        case machine_op::blend:
        case machine_op::add_bits_unless:
        case machine_op::multiply_unless:
            return kept || in_memory(i.operands[0]) || in_memory(i.operands[1]) ? 1 : 0;
        case machine_op::fused:
            return fused(i);
        case machine_op::multiply_add:
            if (i.lanes == lanes_) return (in_memory(i.operands[0]) ? 1 : 0) + (in_memory(i.operands[1]) ? 1 : 0);
            [[fallthrough]];
        default:
            return kept || std::any_of(std::begin(i.operands), std::end(i.operands),
                                       [&](auto v) { return in_memory(v); })
                       ? most
                       : 0;
        }
    }

private:
    static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }
    [[nodiscard]] bool in_memory(std::int32_t v) const {
        return v >= 0 && places_.used[index(v)] && places_.registers[index(v)] < 0;
    }
    // Whether the first operand is in memory and must not change places with the other one, nor be brought into the
    // register of the result, which is that of the other one.
    [[nodiscard]] bool binary(machine_instruction const& i) const {
        auto const [first, second, none] = i.operands;
        if (!in_memory(first) || i.at.base >= 0 || in_memory(second)) return false;
        return !commutes(i.function) && places_.registers[index(second)] == places_.registers[index(i.result)];
    }
    [[nodiscard]] std::int32_t fused(machine_instruction const& i) const {
        auto const factors = (in_memory(i.operands[0]) ? 1 : 0) + (in_memory(i.operands[1]) ? 1 : 0);
        if (in_memory(i.result)) return factors == 2 && in_memory(i.operands[2]) ? 2 : 1;
        auto const r = places_.registers[index(i.result)];
        auto const is_factor =
            places_.registers[index(i.operands[0])] == r || places_.registers[index(i.operands[1])] == r;
        return factors == 2 || (factors == 1 && is_factor) ? 1 : 0;
    }

    value_places const& places_;
    std::int32_t lanes_;
};

} // namespace gsub::codegen::detail
