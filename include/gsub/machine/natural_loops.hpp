// Natural loops of assembly: their nesting, and how often they run where constants tell it.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/machine/assembly.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub::machine {

/// Natural loop of a function: a header and all blocks that reach one of its back edges without passing the header.
struct natural_loop {
    std::uint32_t header = 0;
    std::int32_t parent = -1; ///< the smallest loop around it; -1: none
    std::int32_t depth = 1;
    std::vector<std::uint32_t> blocks; ///< those of no loop inside it, in the order of the text
    std::int32_t exit = -1;            ///< block whose branch decides `tests`; -1: that is not known
    std::int64_t tests = 0;            ///< how often its exit is tested each time it is entered; 0: not known
    bool tests_last = true;            ///< whether the test ends the iteration; else the last test begins none
    bool works_first = false; ///< whether what is not of integers stands before the test: the last iteration works too
    std::int64_t step = 0;    ///< by what the compared difference changes each time; 0: not known

    /// Trip count: iterations that work, each time it is entered; -1: not known.
    [[nodiscard]] std::int64_t trips() const noexcept {
        return tests == 0 ? -1 : tests_last || works_first ? tests : tests - 1;
    }
};

/// Loop forest of a function.
struct loop_forest {
    std::vector<natural_loop> loops;      ///< in pre-order; loops side by side in the order of the text
    std::vector<std::int32_t> loop_of;    ///< of each block: the innermost loop around it; -1: none
    std::vector<std::int32_t> dominator;  ///< of each block: its immediate one; -1: the first, or never reached
    std::vector<std::uint32_t> unreached; ///< blocks to which no known jump leads
    std::uint32_t irreducible = 0;        ///< edges back to a block that can be passed by: cycles that are no loops

    /// Whether a block stands in a loop or in one inside it. *Complexity* O(depth).
    [[nodiscard]] bool contains(std::int32_t loop, std::uint32_t block) const noexcept {
        auto l = loop_of[block];
        while (l > loop) l = loops[static_cast<std::size_t>(l)].parent; // pre-order: parents have lesser numbers
        return l == loop;
    }
    /// Whether every way to `b` leads through `a`. *Complexity* O(depth of the tree of dominators).
    [[nodiscard]] bool dominates(std::uint32_t a, std::uint32_t b) const noexcept {
        auto at = static_cast<std::int32_t>(b);
        while (at >= 0 && at != static_cast<std::int32_t>(a)) at = dominator[static_cast<std::size_t>(at)];
        return at >= 0;
    }
    /// How often a block of a loop runs each time the loop is entered, where its exit is tested so often.
    [[nodiscard]] double runs_in(std::int32_t loop, std::uint32_t block, double tests) const noexcept {
        auto const& l = loops[static_cast<std::size_t>(loop)];
        auto const behind = !l.tests_last && l.exit >= 0 && l.exit != static_cast<std::int32_t>(block) &&
                            dominates(static_cast<std::uint32_t>(l.exit), block);
        return behind ? tests - 1 : tests;
    }
};

/// Finds the natural loops of a function and their trip counts. A count is found where a branch that leaves the loop,
/// and that every iteration passes, compares a register which each iteration changes by a constant with a value that
/// does not change, and the difference of both at the entry is a constant: counters up and down, pointers against a
/// bound computed from them, pairs of pointers that move together in the loops around, places of the stack; not
/// counters of 16 bits. *Requires* that counters do not overflow, that places of the stack are written by their names
/// alone, and that a loop without a guard is entered. *Errors* `unsupported`: more than 1024 loops. *Complexity*
/// O(blocks * loops); values take a few sweeps of all blocks. *Source* dominators: Cooper, Harvey and Kennedy, 2001;
/// loops: Aho et al., Compilers, 2007, 9.6.
GSUB_LAZY [[nodiscard]] result<loop_forest> natural_loops(assembly_function const& f);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/natural_loops.ipp>
#include <gsub/machine/impl/trip_counter.ipp>
#endif
