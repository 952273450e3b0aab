// Kernel IR: structured loops over integers and straight-line blocks of vector instructions on virtual registers,
// between a loop nest and text or machine code. Code emitters read it, as a static cost model may.
#pragma once

#include <gsub/loop/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::codegen {

using loop::affine;
using loop::variable;

/// Opcodes of vector instructions. `broadcast` reads one element for all lanes and leaves it a scalar until a vector
/// meets it; `compute` is an operation of `loop::scalar_op` on each lane; `multiply_add` adds the product of its last
/// two operands to the first, in place; `accumulate` combines its operand with the result, in place, by addition or a
/// maximum that keeps any NaN; `reduce` combines the lanes of a register so, to a scalar. `choose` turns integers into
/// numbers of entries (i64), see `loop::chosen_entry`; `gather` reads an element of an entry for each lane.
enum class opcode : std::uint8_t {
    splat,
    load,
    broadcast,
    store,
    copy,
    compute,
    multiply_add,
    accumulate,
    reduce,
    choose,
    gather
};
GSUB_LAZY [[nodiscard]] std::string_view to_string(opcode op) noexcept;

/// A virtual register of a kernel.
using reg = std::int32_t;

struct instruction {
    opcode op = opcode::splat;
    loop::scalar_op function = loop::scalar_op::add; ///< of compute, accumulate and reduce
    dtype type = dtype::f32;                         ///< of the elements of its result; of a store, of its operand
    reg result = -1;                                 ///< -1: a store; accumulators are results more than once
    reg operands[3] = {-1, -1, -1};
    std::int32_t buffer = -1;          ///< of loads and stores; of a `choose`, the status buffer
    affine offset;                     ///< of the first lane, in elements
    std::int32_t lanes = 0;            ///< of a load, store or accumulation, from the first; others load zero, or stay
    std::int64_t stride = 1;           ///< of a load, between lanes, in elements
    std::vector<std::int64_t> order{}; ///< of a load of all lanes: where each reads, from `offset`; empty: by `stride`
    std::vector<loop::bound> predicate{}; ///< of a load: outside, it gives its number; a store stores nothing outside
    double value = 0;                     ///< the number of a splat or load, of a floating type
    std::int64_t integer = 0;             ///< the same of other types; of u64 its bits; of a choice, the entries
    std::int64_t entry = 0;               ///< of a load whose operand is a choice: elements between entries
};
/// Prints the operation of an instruction: `load`, `add`, `accumulate_maximum`.
GSUB_LAZY [[nodiscard]] std::string to_string(instruction const& i);

/// Limit of a loop: `ceil(value / divisor)`.
struct limit {
    affine value;
    std::int64_t divisor = 1;
};

enum class statement_kind : std::uint8_t { block, loop, fused_index, branch, guard, chosen_index };

/// Statement of a kernel.
struct statement {
    statement_kind kind = statement_kind::block;
    std::vector<instruction> code; ///< block; of a chosen index the broadcast of the integer that chooses it
    variable var = -1;             ///< loop and index
    std::vector<limit> begin, end; ///< loop: from the greatest `begin` to before the least `end`
    variable of = -1;              ///< fused index: `of / divisor % extent`
    std::int64_t divisor = 1, extent = 1;
    std::int32_t status = -1; ///< chosen index, known in the body: see `loop::chosen_index`; `extent` entries
    std::vector<loop::bound> conditions; ///< branch: all hold
    reg guarded = -1;                    ///< guard: where it is not finite the kernel's fallback runs
    std::vector<affine> arguments;       ///< guard: of the fallback
    std::vector<statement> body, otherwise;
};

/// Kernel in kernel IR: called with its buffers, the workspace buffers as one block after the others, and a range of
/// positions of its parallel loop.
struct kernel {
    std::string name;
    std::vector<loop::buffer> buffers;
    std::vector<std::string> names; ///< of variables
    variable parallel = -1;         ///< -1: there is no parallel loop
    std::int64_t parallel_extent = 1;
    std::int32_t lanes = 1; ///< of every register, whatever its type
    std::int32_t registers = 0;
    std::int32_t live = 0; ///< accumulators that are live at once
    bool aligned = true;   ///< whether its buffers begin at multiples of 16 bytes, where lanes are threads
    std::vector<statement> body;
    std::vector<variable> fallback_parameters;
    std::vector<statement> fallback; ///< run by guards, with values for its parameters
};

/// Offset of a workspace buffer in the block of a thread, and the size of the block, in bytes; aligned to 64.
GSUB_LAZY [[nodiscard]] std::size_t workspace_offset(kernel const& k, std::size_t buffer) noexcept;
GSUB_LAZY [[nodiscard]] std::size_t workspace_bytes(kernel const& k) noexcept;

/// Prints the kernel as indented text.
GSUB_LAZY [[nodiscard]] std::string to_string(kernel const& k);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/ir/impl/kernel_ir.ipp>
#endif
