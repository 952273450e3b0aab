// lane_types: what the lanes of vectors are: numbers of f32, conditions on these, numbers of f16 and bf16.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <set>

namespace gsub::codegen::detail {

/// Types of lanes, which take 32 bits whatever they are: all bits of a condition are equal, and registers hold numbers
/// of f16 and bf16 as f32. Conditions are never in memory that others read, and numbers of bf16 in none.
class lane_types {
public:
    /// `halves`: whether there are instructions that read and write numbers of f16.
    explicit lane_types(bool halves) : halves_(halves) {}

    /// Whether an instruction is one of f32, or one on conditions or numbers of f16 and bf16 that machine code has.
    /// *Requires* that it is asked for all in order.
    bool takes(instruction const& i) {
        auto* const kind = i.type == dtype::f32                                 ? &numbers_
                           : i.type == dtype::boolean && is_condition(i)        ? &conditions_
                           : i.type == dtype::f16 && halves_ && keeps_halves(i) ? &halves_in_registers_
                           : i.type == dtype::bf16 && rounds(i)                 ? &halves_in_registers_
                                                                                : nullptr;
        if (kind && i.result >= 0) kind->insert(i.result);
        return kind != nullptr;
    }
    [[nodiscard]] bool are_conditions(reg r) const { return conditions_.contains(r); }
    [[nodiscard]] bool are_halves(reg r) const { return halves_in_registers_.contains(r); }
    /// Whether an instruction rounds numbers of f32 to bf16.
    [[nodiscard]] static bool rounds_to_bf16(instruction const& i) {
        return i.op == opcode::compute && i.type == dtype::bf16 && i.function == loop::scalar_op::cast;
    }

private:
    // Whether an instruction makes conditions of numbers of f32, or of conditions.
    [[nodiscard]] bool is_condition(instruction const& i) const {
        using loop::scalar_op;
        if (i.op != opcode::compute) return false;
        auto const [first, second, third] = i.operands;
        switch (i.function) {
        case scalar_op::less:
        case scalar_op::less_equal:
        case scalar_op::equal:
            return numbers_.contains(first) && numbers_.contains(second);
        case scalar_op::logical_and:
        case scalar_op::logical_or:
        case scalar_op::logical_xor:
            return are_conditions(first) && are_conditions(second);
        case scalar_op::logical_not:
            return are_conditions(first);
        default:
            return false;
        }
    }
    // Whether an instruction reads, stores, chooses or rounds numbers of f16.
    [[nodiscard]] bool keeps_halves(instruction const& i) const {
        using loop::scalar_op;
        switch (i.op) {
        case opcode::load:
            return i.order.empty() && i.stride == 1;
        case opcode::splat:
        case opcode::broadcast:
        case opcode::copy:
        case opcode::store:
            return true;
        case opcode::compute:
            return i.function == scalar_op::select || rounds(i);
        default:
            return false;
        }
    }
    [[nodiscard]] bool rounds(instruction const& i) const {
        return i.op == opcode::compute && i.function == loop::scalar_op::cast && numbers_.contains(i.operands[0]);
    }

    bool halves_;
    std::set<reg> numbers_, conditions_, halves_in_registers_;
};

} // namespace gsub::codegen::detail
