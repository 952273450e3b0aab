// loop_map: which loop of a program each block of its assembly came from, and how often it runs.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/machine/assembly.hpp>
#include <gsub/machine/natural_loops.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gsub::machine {

/// Source loop: a loop of a program before a compiler has seen it. A program's stand in pre-order.
struct source_loop {
    std::string name;
    std::int32_t parent = -1; ///< number of the loop around it, which stands before it; -1: none
    std::int64_t trips = -1;  ///< -1: not known, or not the same each time it is entered
    double mean = -1;         ///< of those that are not the same; -1: not known
};

/// Loop match: how a loop of the assembly belongs to its source loop. `exact`: as many trips; `divided`: an iteration
/// does several, by unrolling or vectors; `peeled`: some iterations stand outside; `given`: the trips are the source's,
/// as the assembly does not tell; `remainder`: it does what a divided loop beside it leaves; `version`: it does the
/// same as a loop beside it, for operands that overlap or such, and is taken not to run; `unmatched`: it is of no loop
/// of its own and counts in the source loop around it.
enum class loop_match : std::uint8_t { exact, divided, peeled, given, remainder, version, unmatched };
/// Name of a match, e.g. `exact`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(loop_match m) noexcept;

/// Mapped loop: what is known of a loop of the assembly.
struct mapped_loop {
    loop_match how = loop_match::unmatched;
    std::int32_t source = -1; ///< number of its source loop; of an unmatched one: of that around it; -1: none
    std::int64_t divisor = 1; ///< iterations of the source that one of it does
    double tests = 1;         ///< how often its exit is tested each time it is entered
    double entries = 1;       ///< how often it is entered
};

/// Mapped block: a block of the assembly that has code.
struct mapped_block {
    std::uint32_t block = 0;  ///< number in the function
    std::int32_t source = -1; ///< number of the source loop in whose body it stands; -1: in none
    std::int32_t loop = -1;   ///< number of the innermost loop of the assembly; -1: none
    double runs = 1;          ///< how often it runs in a call of the function
};

/// Loop map of a function. Both sides of a branch inside a loop count as run.
struct loop_map {
    loop_forest forest;
    std::vector<mapped_loop> loops;         ///< of each loop of the forest
    std::vector<mapped_block> blocks;       ///< in the order of the text
    class_counts counts;                    ///< instructions of a call of the function
    std::vector<class_counts> own, total;   ///< of each source loop: of its body without, and with, loops inside it
    std::vector<std::int32_t> gone;         ///< source loops without a loop: unrolled, vectorised or folded away
    std::vector<assembly_warning> warnings; ///< by line: what was counted by a guess
};

/// Maps loops of assembly to those of the program that was compiled, and counts instructions. Loops are aligned as
/// trees, by the least edit distance: a match is free for equal trips, cheap where the source's divided by a power of
/// two, less some peeled iterations, gives the assembly's, and refused where trips do not fit; a source loop may be
/// gone; a loop of unknown trips that matches none is the source loop around what is in it, where that is gone: some
/// of its turns were peeled; another one is a remainder or a second version of a matched one beside it, or
/// belongs to the loop around it. Trips that the assembly tells are believed; others are taken from the matched source
/// loop, or are 1 with a warning. Without source loops the assembly alone is counted. *Requires* parents before
/// children. *Errors* `unsupported`: more than 400 loops on either side; those of `natural_loops`. *Complexity* O(n m
/// min(depth, leaves)^2) for n and m loops. *Source* Tuna, 2021, algorithm 1, with an alignment in the place of its
/// cursor; Zhang and Shasha, 1989.
GSUB_LAZY [[nodiscard]] result<loop_map> map_loops(assembly_function const& f, std::span<source_loop const> sources);

/// Prints a line for each loop of the assembly: `.L3 (line 37): 96 trips, exact of k, entered 1024 times`.
GSUB_LAZY [[nodiscard]] std::string to_string(loop_map const& m, assembly_function const& f,
                                              std::span<source_loop const> sources);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/loop_map.ipp>
#include <gsub/machine/impl/tree_alignment.ipp>
#endif
