// Memory planner: places each intermediate result in one arena, from the steps at which it is live.
#pragma once

#include <gsub/core/config.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace gsub::runtime {

/// Buffer of the memory planner: storage that is live from one step of a program to another.
struct buffer {
    std::size_t size = 0; ///< in bytes
    int first = 0;        ///< step that writes it
    int last = 0;         ///< step that reads it last, >= first
    /// Index of a buffer whose storage this one may take over, -1 for none. It is taken over where that buffer dies at
    /// `first`, is not smaller, was written before (or has the smaller index), and nobody else has taken it over.
    int in_place_of = -1;
};

/// Memory plan: where each buffer begins in the arena.
struct memory_plan {
    std::vector<std::size_t> offsets{}; ///< in bytes, multiples of the alignment; 0 for buffers of size 0
    std::size_t size = 0;               ///< of the arena, in bytes
    /// Lower bound of all plans: the most bytes live at one step, sizes rounded up to the alignment, shared storage
    /// counted once.
    std::size_t lower_bound = 0;
};

/// Plans an arena: no two buffers that are live at one step overlap, except that a buffer which takes over another's
/// storage begins where that one begins. It tries several greedy orders (by start, by size, by size times lifetime),
/// each with best fit, and keeps the smallest arena; the plan depends on the arguments alone. *Requires* first <= last,
/// `in_place_of` an index of another buffer or -1, `alignment` a power of two, sizes whose sum fits `std::size_t`.
/// *Complexity* O(n log n) by start; the other orders also pay for each pair that is live together, and are given up
/// after 1000 such pairs a buffer. *Source* greedy by size: Pisarchyk and Lee, "Efficient memory management for deep
/// neural net inference", 2020.
GSUB_LAZY [[nodiscard]] memory_plan plan_memory(std::span<buffer const> buffers, std::size_t alignment = 64);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/memory_planner.ipp>
#endif
