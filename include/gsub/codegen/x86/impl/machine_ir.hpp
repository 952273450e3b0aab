// machine_ir: a kernel as a list of instructions of x86 on values that have no registers yet.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Machine opcodes. Integers are 64 bits wide; vectors have the lanes of the kernel, 32 bits each.
enum class machine_op : std::uint8_t {
    // integers: `result` and `operands` are integer values
    argument,     ///< an argument of the kernel, number `immediate`
    load_pointer, ///< the pointer number `immediate` of the table that the first operand is
    set,          ///< `immediate`
    move,
    add,           ///< first operand + second operand, in place of the first
    add_immediate, ///< in place
    scale,         ///< operand * `immediate`
    divide,        ///< operand / `immediate`, of an operand that is not negative
    remainder,     ///< operand % `immediate`, the same
    ceil_divide,   ///< the quotient by `immediate`, rounded up, of any operand
    greatest,      ///< in place of the first operand
    least,
    load_integer, ///< the signed integer of `immediate` bytes at `at`
    choose_entry, ///< the operand in [-n, n) for n = `immediate`, from the end where negative; else 0, and 1 goes to
                  ///< `at`
    // control
    label, ///< `immediate`: the top of a loop
    jump,
    jump_if_less,       ///< first operand < second operand, or `immediate`
    jump_if_not_less,   ///< the same
    jump_if_outside,    ///< not 0 <= operand < `immediate`
    call_unless_finite, ///< calls the fallback where the first lane of a vector is infinite or NaN
    leave,
    enter_fallback,
    leave_fallback,
    // vectors
    splat,         ///< bits of `immediate` in all lanes
    lane_numbers,  ///< those of table `immediate`
    load,          ///< the first `lanes` from `at`, zero in the others
    gather,        ///< the same, from the places, in elements, of table `immediate`
    permute,       ///< of all lanes at `at`, those whose numbers the operand has
    load_twice,    ///< each of the first half of the lanes at `at` in two lanes
    load_integers, ///< numbers that the first `lanes` integers of 64 bits at `at` are, zero in the others; by one
                   ///< instruction where `immediate` is not zero
    load_halves,   ///< the first `lanes` numbers of f16 at `at`, zero in the others; or the one there in all lanes
    broadcast,     ///< the element at `at`
    store,
    store_halves, ///< the first `lanes`, which are numbers of f16
    copy,
    binary, ///< by `function`; the second operand may be at `at`
    fused,  ///< first operand * second operand, added to the third, less it, or taken from it: `function`
    unary,
    // By lane: whether `function` holds of the first operand and the number with the bits of `immediate`.
    blend,           ///< the third operand where it holds, else the second
    add_bits_unless, ///< zero where it holds, else the sum of the others' bits
    multiply_unless, ///< the second operand where it holds, else the product of the first and the third
    multiply_add, ///< in place of the first operand: its first `lanes` plus the product of the others; the last may be
                  ///< at `at`
    combine,      ///< in place of the first operand: sum, or maximum that keeps NaN, of its first `lanes`
    reduce,       ///< the sum, or the maximum that keeps NaN, in all lanes
};

enum class lane_function : std::uint8_t {
    add,
    subtract,      ///< of `fused`: the product less the third operand
    subtract_from, ///< of `fused`: the third operand less the product
    multiply,
    divide,
    maximum,
    minimum,
    square_root,
    negate,
    absolute,
    floor,
    round,
    // on the bits of lanes: integers of 32 bits that wrap
    add_bits,
    subtract_bits,
    and_bits,
    or_bits,
    xor_bits,
    and_not_bits, ///< of the second operand those that the first lacks
    shift_left,   ///< of `unary`: by `immediate` bits
    from_integer, ///< of `unary`: the number that a signed integer is
    to_half,      ///< of `unary`: the nearest number of f16
    // of `binary`, lanes of both operands: in each quarter of a vector, of four lanes
    unpack_low,        ///< the first two of each in turns
    unpack_high,       ///< the last two
    unpack_low_pairs,  ///< the first pair of each
    unpack_high_pairs, ///< the last pair
    // quarters of both operands
    even_quarters, ///< the first and third of each, of vectors of 16 lanes
    odd_quarters,
    low_halves, ///< the first of each, of vectors of 8 lanes
    high_halves,
    // comparisons, false of NaN
    less,
    greater,
    equal,
    // of `binary`: all bits of a lane where the comparison holds, which is false of NaN
    is_less,
    is_not_greater,
    is_equal
};

[[nodiscard]] constexpr bool commutes(lane_function f) noexcept {
    return f == lane_function::add || f == lane_function::multiply;
}

/// Where an operand is in memory.
struct machine_address {
    std::int32_t base = -1;        ///< integer value; -1: no memory operand
    std::int32_t displacement = 0; ///< in bytes
    bool broadcast = false;        ///< one element for all lanes
    std::int32_t index = -1;       ///< integer value that is added, in bytes; -1: none
};

struct machine_instruction {
    machine_op op = machine_op::label;
    lane_function function = lane_function::add;
    std::int32_t result = -1;
    std::int32_t operands[3] = {-1, -1, -1};
    std::int32_t temporaries[2] = {-1, -1}; ///< vectors that are free for it
    std::int32_t lanes = 0;
    std::int32_t label = -1;
    std::int64_t immediate = 0;
    machine_address at{};
    bool constant_memory = false; ///< of a load of all lanes, or a broadcast: nothing writes what it reads
};

/// Whether result and operands of an instruction are vectors.
[[nodiscard]] constexpr bool on_vectors(machine_op op) noexcept {
    return op >= machine_op::splat || op == machine_op::call_unless_finite;
}

/// Whether an instruction's result is numbers that stand behind the code.
[[nodiscard]] constexpr bool reads_literal(machine_op op) noexcept {
    return op == machine_op::splat || op == machine_op::lane_numbers;
}

/// Stretch of machine code that a statement of the kernel became: the turns of a loop, or a side of a branch.
struct machine_region {
    statement const* of = nullptr;
    bool otherwise = false; ///< of a branch: the side where its conditions do not hold
    std::size_t first = 0;  ///< instruction
    std::size_t last = 0;   ///< before this one
};

/// A kernel as machine instructions.
struct machine_function {
    std::vector<machine_instruction> code;
    std::vector<bool> in_memory;                    ///< integer values that must have no register
    std::vector<std::vector<std::uint32_t>> tables; ///< a number for each lane
    std::int32_t integers = 0, vectors = 0, labels = 0;
    std::vector<std::pair<std::size_t, std::size_t>> loops; ///< first and last instruction
    std::vector<machine_region> regions;                    ///< of the body, inner ones before those around
};

} // namespace gsub::codegen::detail
