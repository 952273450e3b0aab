// machine::instruction: an instruction as models of pipelines see it, made by encoders and by parsers of assembly.
#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/target/port_table.hpp>

#include <cstdint>

namespace gsub::machine {

/// Register of a block: a small number that is its name, not its place; vector and scalar ones have numbers apart.
using register_id = std::uint16_t;

/// Memory operand of an instruction.
struct memory_operand {
    std::int32_t buffer = -1; ///< which array it reads or writes, where that is known
    std::int32_t bytes = 0;   ///< 0: the instruction has none
    bool broadcast = false;   ///< one element for all lanes
};

/// Instruction: what it does, reads and defines. One with a memory operand that is neither a load, a broadcast nor a
/// store has it folded: it is one instruction that also takes a load port.
struct instruction {
    instruction_class what = instruction_class::fma;
    std::int32_t bytes = 64; ///< width of its vectors; of scalars 8 and less
    small_vector<register_id, 2> defs{};
    small_vector<register_id, 4> uses{}; ///< registers read, those of an address too; an fma's addend is its first
    memory_operand memory{};
    std::int32_t loop = -1; ///< id of the loop in whose body it stands; -1: none

    [[nodiscard]] bool folds_load() const noexcept {
        return memory.bytes > 0 && what != instruction_class::load && what != instruction_class::broadcast &&
               what != instruction_class::store;
    }
    /// Class of the load that it has folded.
    [[nodiscard]] instruction_class folded_class() const noexcept {
        return memory.broadcast ? instruction_class::broadcast : instruction_class::load;
    }
};

/// Makes an fma `accumulator += a * b`.
[[nodiscard]] inline instruction multiply_add(register_id accumulator, register_id a, register_id b,
                                              std::int32_t width = 64) {
    return {instruction_class::fma, width, {accumulator}, {accumulator, a, b}, {}, -1};
}
/// Makes a load into a register, or the broadcast of one element, through an address.
[[nodiscard]] inline instruction load_into(register_id to, register_id address, std::int32_t width = 64,
                                           bool broadcast = false) {
    return {broadcast ? instruction_class::broadcast : instruction_class::load,
            width,
            {to},
            {address},
            {-1, broadcast ? 4 : width, broadcast},
            -1};
}

} // namespace gsub::machine
