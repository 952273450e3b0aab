// schedule: splits, reorders, fuses, unrolls, vectorizes and parallelizes the axes of a computation into a loop nest.
#pragma once

#include <gsub/loop/expression.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::loop {

/// Loop kind: how the positions of a loop run. Parallel loops are outermost; the one vectorised loop is innermost.
enum class loop_kind : std::uint8_t { serial, parallel, unrolled, vectorized };
GSUB_LAZY [[nodiscard]] std::string_view to_string(loop_kind k) noexcept;

struct nest_loop {
    variable var = 0;
    std::int64_t extent = 1;
    loop_kind kind = loop_kind::serial;
    bool reduction = false;
};

/// Fused-loop index: a variable computed from that of a fused loop, `of / divisor % extent`.
struct fused_index {
    variable var = 0, of = 0;
    std::int64_t divisor = 1, extent = 1;
};

/// Loop nest: loops, outermost first, and the computation with its indices over their variables.
struct loop_nest {
    tensor_expression what; ///< accesses and bounds over the variables of loops and fused indices
    std::vector<nest_loop> loops;
    std::vector<fused_index> fused_indices; ///< each after the index or loop that it is of
    std::vector<bound> tails;               ///< of splits that do not divide: positions outside do not exist
    std::vector<std::string> names;         ///< of variables
    std::vector<interval> ranges;           ///< of variables

    /// Number of leading parallel loops.
    GSUB_LAZY [[nodiscard]] std::size_t parallel_loops() const noexcept;
    /// Product of the extents of the parallel loops.
    GSUB_LAZY [[nodiscard]] std::int64_t parallel_extent() const noexcept;
};

/// Prints the nest as indented text.
GSUB_LAZY [[nodiscard]] std::string to_string(loop_nest const& nest);

/// Schedule under construction: primitives transform the loops. Loops are named by their variables; at first every axis
/// is a serial loop, in the order of the expression. One that does not apply throws `error` (`usage`) and changes
/// nothing.
class schedule {
public:
    GSUB_LAZY explicit schedule(tensor_expression what);

    /// The loop that an axis has at present. *Errors* where there is none of that name.
    GSUB_LAZY [[nodiscard]] variable loop_of(std::string_view axis) const;
    /// Splits a loop into two: the inner has `factor` positions, the last of which do not exist where it does not
    /// divide the extent.
    GSUB_LAZY std::pair<variable, variable> split(variable loop, std::int64_t factor);
    /// Fuses two neighbours of one kind of axis into one loop. It can then be serial or parallel, but not split.
    GSUB_LAZY variable fuse(variable outer, variable inner);
    /// Reorders all loops.
    GSUB_LAZY void reorder(std::span<variable const> outermost_first);
    void reorder(std::initializer_list<variable> outermost_first) {
        reorder(std::span{outermost_first.begin(), outermost_first.size()});
    }
    void unroll(variable loop) { set_kind(loop, loop_kind::unrolled); }
    void vectorize(variable loop) { set_kind(loop, loop_kind::vectorized); }
    void parallel(variable loop) { set_kind(loop, loop_kind::parallel); }

    [[nodiscard]] std::span<nest_loop const> loops() const noexcept { return as_span(nest_.loops); }
    /// The scheduled loop nest. *Errors* where a parallel loop stands within another kind, the vectorised loop is not
    /// innermost, a spatial loop within a reduction is neither unrolled nor vectorised (partial results have no
    /// place), or positions that may store to one chosen place do not run serially in the order of the axes.
    [[nodiscard]] loop_nest finish() const& { return check(), nest_; }
    [[nodiscard]] loop_nest finish() && { return check(), std::move(nest_); }

private:
    GSUB_LAZY void check() const;
    GSUB_LAZY [[nodiscard]] std::size_t position(variable loop) const;
    GSUB_LAZY [[nodiscard]] bool is_fused(variable loop) const;
    GSUB_LAZY variable add_variable(std::string name, std::int64_t extent);
    GSUB_LAZY void substitute(variable v, affine const& by);
    GSUB_LAZY void set_kind(variable loop, loop_kind k);
    loop_nest nest_;
};

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/schedule.ipp>
#include <gsub/loop/impl/store_order.ipp>
#endif
