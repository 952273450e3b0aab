// nest_position: the ranges of a nest's variables at the place that is lowered, and which conditions hold there.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Throws the error of a nest that is not lowered.
GSUB_LAZY [[noreturn]] void fail_lowering(error_id id, std::string_view reason);

enum class truth : std::uint8_t { no, unknown, yes };

/// Conditions that differ by a constant as one: `varying` and each number from `low` to `high` are within the extent.
struct assumption {
    affine varying;
    std::int64_t extent = 0, low = 0, high = 0;
};

/// Position within a loop nest: what is known of each variable there. Loops that are being lowered narrow the ranges of
/// their variables and restore them.
class nest_position {
public:
    /// *Errors* throws `error` (`usage`) where the nest has two parallel loops or no vectorised one.
    GSUB_LAZY explicit nest_position(loop::loop_nest const& nest);

    [[nodiscard]] loop::loop_nest const& nest() const noexcept { return nest_; }
    /// Variable of the vectorised loop, and its extent.
    [[nodiscard]] variable lane() const noexcept { return lane_; }
    [[nodiscard]] std::int32_t lanes() const noexcept { return lanes_; }
    /// Whether the vectorised loop belongs to the reduction.
    [[nodiscard]] bool lanes_reduce() const noexcept { return lanes_reduce_; }

    [[nodiscard]] loop::interval& range(variable v) { return ranges_[static_cast<std::size_t>(v)]; }
    /// Whether a variable has one value left.
    [[nodiscard]] bool is_known(variable v) const {
        auto const& r = ranges_[static_cast<std::size_t>(v)];
        return r.low == r.high;
    }
    [[nodiscard]] loop::interval range_of(affine const& a) const { return loop::range_of(a, as_span(ranges_)); }
    /// The expression with numbers for the variables that are known.
    [[nodiscard]] affine resolved(affine const& a) const { return a.resolved(as_span(ranges_)); }
    GSUB_LAZY [[nodiscard]] truth check(loop::bound const& b) const;

    /// Takes conditions as given while `body` runs.
    template <class F>
    void within(std::vector<loop::bound> const& given, F&& body) {
        auto const before = given_.size();
        given_.insert(given_.end(), given.begin(), given.end());
        body();
        given_.resize(before);
    }
    /// Takes conditions as given, until others are assumed.
    void assume(std::vector<assumption> given) { assumed_ = std::move(given); }
    /// Whether an enclosing reduction loop ensures a condition of the computation.
    [[nodiscard]] bool is_ensured(std::size_t bound) const { return ensured_[bound] != 0; }
    void ensure(std::size_t bound, bool holds) { ensured_[bound] = holds; }

    [[nodiscard]] static bool is_inner(loop::nest_loop const& l) noexcept {
        return l.kind == loop::loop_kind::unrolled || l.kind == loop::loop_kind::vectorized;
    }
    /// Whether all loops from `depth` on are unrolled or vectorised.
    GSUB_LAZY [[nodiscard]] bool only_inner_from(std::size_t depth) const;
    /// Whether an expression depends on a loop from `depth` on.
    GSUB_LAZY [[nodiscard]] bool depends_on_inner(affine const& a, std::size_t depth) const;
    GSUB_LAZY [[nodiscard]] bool depends_on_reduction(affine const& a) const;
    /// Whether an expression depends on an index that an integer chooses, from the `first` on.
    GSUB_LAZY [[nodiscard]] bool depends_on_chosen(affine const& a, std::size_t first = 0) const;
    /// Depth of the loop that a variable belongs to, which is the innermost one that decides it.
    [[nodiscard]] std::size_t depth_of(variable v) const { return loop_of_[static_cast<std::size_t>(v)]; }
    /// Whether a fused index is one of the loop variable `of`; fused indices of fused indices count too.
    GSUB_LAZY [[nodiscard]] bool is_fused_index_of(variable index, variable of) const;

    /// Calls `body` with each range of a variable; they begin at `cuts`, the last of which is the end.
    template <class F>
    void each_range(variable v, std::vector<std::int64_t> const& cuts, F&& body) {
        auto const whole = range(v);
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            range(v) = {cuts[i], cuts[i + 1] - 1};
            body();
        }
        range(v) = whole;
    }
    /// Calls `body` for each position of the unrolled loops (and the vectorised one) among those from `depth` on which
    /// `of` depends.
    template <class F>
    void each_inner_position(affine const& of, std::size_t depth, F&& body) {
        each_position(
            depth, [&](auto& l) { return is_inner(l) && of.depends_on(l.var); }, body);
    }
    /// Calls `body` at each position of the unrolled spatial loops from `depth` on: the places of a tile.
    template <class F>
    void each_place(std::size_t depth, F&& body) {
        each_position(depth, is_place_loop, body);
    }
    /// Number of the present place among those from `depth` on.
    GSUB_LAZY [[nodiscard]] std::size_t place_index(std::size_t depth) const;

    /// Lanes that exist at the present position, a prefix: as spatial tails have it, or those of the reduction.
    GSUB_LAZY [[nodiscard]] std::int32_t lanes_here(bool of_reduction = false);
    /// Lanes for which a condition holds: the first ones.
    GSUB_LAZY [[nodiscard]] std::int32_t lanes_within(loop::bound const& b);

private:
    [[nodiscard]] static bool is_place_loop(loop::nest_loop const& l) noexcept {
        return !l.reduction && l.kind == loop::loop_kind::unrolled;
    }
    // Calls `body` at each position of those loops from `depth` on that are chosen.
    template <class Chosen, class F>
    void each_position(std::size_t depth, Chosen const& chosen, F&& body) {
        while (depth < nest_.loops.size() && !chosen(nest_.loops[depth])) ++depth;
        if (depth == nest_.loops.size()) return body();
        auto const& l = nest_.loops[depth];
        for (std::int64_t i = 0; i < l.extent; ++i) {
            range(l.var) = {i, i};
            each_position(depth + 1, chosen, body);
        }
        range(l.var) = {0, l.extent - 1};
    }
    GSUB_LAZY [[nodiscard]] std::int32_t lanes_of_tail(loop::bound const& tail);

    loop::loop_nest const& nest_;
    std::vector<loop::interval> ranges_;
    std::vector<char> ensured_;
    std::vector<std::size_t> loop_of_; // depth of the loop that a variable belongs to
    variable lane_ = -1;
    std::int32_t lanes_ = 1;
    bool lanes_reduce_ = false;
    std::vector<assumption> assumed_;
    std::vector<loop::bound> given_;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/nest_position.ipp>
#endif
