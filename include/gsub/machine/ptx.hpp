// ptx: kernels of PTX text, as NVRTC and nvcc write it, as blocks of instructions that static models of GPUs read.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/machine/assembly.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::machine {

/// PTX class: what models of GPUs tell apart. Widths and spaces of memory stand in the instruction.
enum class ptx_class : std::uint8_t {
    fma,      ///< multiply-add of floats
    floating, ///< other arithmetic of floats that takes one pass: add, multiply, maximum, comparison
    special,  ///< division, roots, exponentials: the special function unit
    integer,  ///< also predicates and addresses
    convert,  ///< between types
    move,     ///< between registers
    load,
    store,
    atomic,     ///< what reads, changes and writes memory at once
    copy_async, ///< from global to shared memory, past the registers
    matrix,     ///< of a tensor core, its loads from shared memory apart
    shuffle,    ///< between the threads of a warp
    barrier,    ///< also fences, and waiting for copies
    branch,
    other,
};
inline constexpr std::size_t ptx_classes = 15;
/// Name of a class, e.g. `fma`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(ptx_class c) noexcept;

/// State space of a memory access; `generic`: the address decides.
enum class ptx_space : std::uint8_t { none, generic, global, shared, local, parameter, constant };
inline constexpr std::size_t ptx_spaces = 7;
/// Name of a space, e.g. `shared`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(ptx_space s) noexcept;

/// What an instruction on integers and predicates computes, as far as values are followed; `other`: they are not.
enum class ptx_operation : std::uint8_t {
    other,
    copy,
    add,
    subtract,
    multiply,
    multiply_add,
    divide,
    remainder,
    minimum,
    maximum,
    shift_left,
    shift_right,
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    negate,
    absolute,
    select,
    compare,
};

/// Operand of an instruction.
struct ptx_operand {
    enum class kinds : std::uint8_t { reg, immediate, special, parameter, symbol };
    kinds kind = kinds::immediate;
    std::uint32_t number = 0; ///< of a register, parameter or symbol of the kernel; of a special one its `ptx_special`
    std::int64_t value = 0;   ///< of an immediate; what is added to an address
};

/// Special registers that are followed: index and size of the block in the grid, and of the thread in the block.
enum class ptx_special : std::uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    other
};
inline constexpr std::size_t ptx_specials = 13; ///< without `other`

/// PTX instruction.
struct ptx_instruction {
    ptx_class what = ptx_class::other;
    ptx_operation does = ptx_operation::other;
    ptx_space space = ptx_space::none;
    bool is_signed = false, is_float = false, wide = false; ///< type; whether a product has twice its bits
    bool negated = false;                                   ///< whether it runs where its predicate does not hold
    std::int32_t bits = 32;                                 ///< of its type
    std::int32_t bytes = 0;                      ///< that a thread reads or writes in memory; of a matrix product 0
    std::int64_t multiply_adds = 0;              ///< that a warp does, or a group of four, in a tensor core
    line_condition when = line_condition::other; ///< of a comparison
    std::uint32_t line = 0;                      ///< number in the text, from 1
    std::int32_t predicate = -1;                 ///< register that decides whether it runs; -1: it does
    small_vector<std::uint32_t, 2> defs{};       ///< registers
    small_vector<ptx_operand, 3> uses{};         ///< of an address the register and what is added
    line_flow flow = line_flow::next;
    std::int32_t target = -1; ///< block to which it jumps; -1: out of the kernel
};

/// Basic block of a kernel.
struct ptx_block {
    std::string label{};               ///< its first one; empty: it has none
    std::uint32_t first = 0, last = 0; ///< instructions
    small_vector<std::uint32_t, 2> next{};
};

/// Parameter of a kernel.
struct ptx_parameter {
    std::string name{};
    std::int64_t bytes = 0;
};

/// Kernel of a PTX text, an `.entry`. Block 0 is where it begins; those that follow stand in the order of the text.
struct ptx_kernel {
    std::string name;
    std::vector<ptx_parameter> parameters;
    std::vector<std::uint8_t> registers; ///< bits of each; of a predicate 1
    std::vector<ptx_instruction> code;
    std::vector<ptx_block> blocks;
    std::int64_t shared_bytes = 0;       ///< static ones
    std::int64_t local_bytes = 0;        ///< of a thread: what it keeps in memory
    std::array<std::int64_t, 3> block{}; ///< threads along x, y, z, as `.reqntid` or `.maxntid` have it; 0: not said
    bool exact_block = false;            ///< whether a block has that many, not less
    std::int64_t blocks_at_once = 0;     ///< that a multiprocessor must hold; 0: not said
};

/// PTX module: what was read of a text.
struct ptx_module {
    std::string version, target; ///< e.g. `8.8`, `sm_80`
    std::vector<ptx_kernel> kernels;
    std::vector<assembly_warning> warnings; ///< the first hundred
    std::size_t unknown = 0;                ///< all lines with an instruction that the tables lack

    /// The kernel of a name. *Errors* `invalid_input` where there is none, naming those that are there.
    GSUB_LAZY [[nodiscard]] result<ptx_kernel const*> kernel(std::string_view name) const;
};

/// Parses PTX. Functions that are no entries are passed over, as calls are; an instruction that the tables lack is a
/// warning, counted, and taken as `other`, whose first operand it defines. *Errors* `invalid_input`, naming the
/// line: no `.version`, a register that is not declared, a label that is nowhere, an operand that PTX does not have,
/// braces that do not match, no kernel, a text beyond the limits. *Complexity* O(n log n). *Source* NVIDIA, PTX ISA 8.
GSUB_LAZY [[nodiscard]] result<ptx_module> parse_ptx(std::string_view text, assembly_limits const& limits = {});

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/basic_blocks.ipp>
#include <gsub/machine/impl/ptx.ipp>
#include <gsub/machine/impl/ptx_operands.ipp>
#include <gsub/machine/impl/ptx_scanner.ipp>
#include <gsub/machine/impl/ptx_text.ipp>
#endif
