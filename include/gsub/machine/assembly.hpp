// assembly: functions of GNU assembly text, as GCC and Clang write it, as blocks of instructions that models of
// pipelines read.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/machine/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::machine {

/// Assembly syntax: AT&T's for x86-64, or AArch64's.
enum class assembly_syntax : std::uint8_t { x86_64, aarch64 };
/// Name of a syntax, e.g. `AT&T x86-64`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(assembly_syntax s) noexcept;

// Numbers of registers in parsed assembly. Integer registers stand from 0 in the order of their encoding (rax 0, rcx 1,
// rdx 2, rbx 3, rsp 4 ...; x0 0 ... sp 31), places of the stack behind the vectors.
inline constexpr register_id flags_register = 32, first_mask = 40, first_vector = 64, first_stack_slot = 128,
                             last_stack_slot = 151, no_register = 0xffff;
/// Registers whose values are followed for trip counts: integer ones and places of the stack are less.
inline constexpr std::size_t followed_registers = last_stack_slot + 1;

/// Integer effect of an instruction: `to = factor * a + scale * b + value`; without `a` and `b` a constant.
struct integer_effect {
    register_id to = no_register, a = no_register, b = no_register;
    std::int64_t factor = 1, scale = 1, value = 0;
};

/// What flags stand for after an instruction, or what a branch compares itself: `left - right - value`, evaluated after
/// the instruction's effects.
struct integer_comparison {
    register_id left = no_register, right = no_register;
    std::int64_t value = 0;
    [[nodiscard]] bool known() const noexcept { return left != no_register; }
};

/// Where control goes after a line.
enum class line_flow : std::uint8_t { next, jump, branch, leave };
/// Condition of a branch, on the difference that was compared; `other`: overflow, parity, single bits.
enum class line_condition : std::uint8_t { always, equal, not_equal, less, less_equal, greater, greater_equal, other };

/// Line of assembly: an instruction of the text, which is none, one or several of the model (a pair of loads is two).
struct assembly_line {
    std::uint32_t line = 0;            ///< its number in the text, from 1
    std::string mnemonic{};            ///< without prefixes such as `rep`
    std::uint32_t first = 0, last = 0; ///< of its instructions, in the code of the function
    small_vector<integer_effect, 2> effects{};
    small_vector<register_id, 4> writes{}; ///< followed registers that it changes otherwise
    integer_comparison compares{};
    bool sets_flags = false, calls = false;
    line_flow flow = line_flow::next;
    line_condition when = line_condition::always;
    std::int32_t target = -1; ///< block to which it jumps; -1: out of the function
};

/// Basic block: lines that run one after another.
struct assembly_block {
    std::string label{};                         ///< its first one; empty: it has none
    std::uint32_t line = 0;                      ///< number in the text of its first line
    std::uint32_t first_line = 0, last_line = 0; ///< of the function's lines
    std::uint32_t first = 0, last = 0;           ///< of the function's code
    small_vector<std::uint32_t, 2> next{};       ///< blocks that may follow
};

/// Function of an assembly text. Block 0 is where it begins; those that follow stand in the order of the text.
struct assembly_function {
    std::string name;
    assembly_syntax syntax = assembly_syntax::x86_64;
    std::vector<assembly_line> lines;
    std::vector<instruction> code; ///< `loop` is -1; see `natural_loops`
    std::vector<assembly_block> blocks;
    std::uint32_t virtual_registers = 0; ///< followed ones of a code that has no others; 0: those of the syntax

    /// Instructions of a block.
    [[nodiscard]] std::span<instruction const> code_of(std::size_t block) const noexcept {
        auto const& b = blocks[block];
        return std::span{code}.subspan(b.first, b.last - b.first);
    }
};

/// Warning about a line that was read by a guess.
struct assembly_warning {
    std::uint32_t line = 0; ///< from 1
    std::string text{};
};

/// Assembly unit: what was read of a text.
struct assembly_unit {
    std::vector<assembly_function> functions;
    std::vector<assembly_warning> warnings; ///< the first hundred
    std::size_t unknown = 0;                ///< all lines with a mnemonic that the tables lack

    /// The function of a name. *Errors* `invalid_input` where there is none, naming those that are there.
    GSUB_LAZY [[nodiscard]] result<assembly_function const*> function(std::string_view name) const;
};

/// Bounds on what is read; texts beyond them are refused.
struct assembly_limits {
    std::size_t bytes = std::size_t{16} << 20;
    std::size_t instructions = std::size_t{1} << 18; ///< of the text
    std::size_t blocks = 4096;                       ///< of a function
};

/// Parses GNU assembly. Directives are skipped; labels that are not local begin functions, of which those without an
/// instruction are dropped. An unknown mnemonic is a warning, counted, and taken by its operands: logic on vectors, a
/// load, a store, or on integers. *Errors* `invalid_input`, naming the line: an operand or register that the syntax
/// does not have, a local label that is nowhere, no instruction at all, a text beyond the limits; `unsupported`: Intel
/// syntax. *Complexity* O(n log n).
GSUB_LAZY [[nodiscard]] result<assembly_unit> parse_assembly(std::string_view text, assembly_syntax syntax,
                                                             assembly_limits const& limits = {});

/// Instructions by class; a folded load counts apart, under `load` or `broadcast`, as it takes such a port.
struct class_counts {
    std::array<double, instruction_classes> of{};
    [[nodiscard]] double operator[](instruction_class c) const noexcept { return of[static_cast<std::size_t>(c)]; }
    /// Adds instructions that run some times. *Complexity* linear.
    GSUB_LAZY void add(std::span<instruction const> code, double times = 1);
    class_counts& operator+=(class_counts const& other) noexcept {
        for (std::size_t i = 0; i < of.size(); ++i) of[i] += other.of[i];
        return *this;
    }
    friend bool operator==(class_counts const&, class_counts const&) = default;
};

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/aarch64_reader.ipp>
#include <gsub/machine/impl/aarch64_text.ipp>
#include <gsub/machine/impl/assembly.ipp>
#include <gsub/machine/impl/assembly_text.ipp>
#include <gsub/machine/impl/x86_reader.ipp>
#include <gsub/machine/impl/x86_text.ipp>
#endif
