// Nest tile: the register tile of a stage of a fused nest, and which part of its positions exists.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/cost/impl/nest_counts.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Extents of the unrolled loops of a tile.
using tile_extents = small_vector<std::int64_t, 8>;

// A register tile. It begins with the first reduction loop, or where only unrolled loops remain.
template <class = void>
class nest_tile {
public:
    // `within`: loops around that other stages share.
    nest_tile(loop::loop_nest const& nest, std::size_t within) : nest_(nest), depth_(within) {
        auto const& loops = nest.loops;
        while (depth_ < loops.size() && !loops[depth_].reduction && !only_inner_from(depth_)) ++depth_;
        for (std::size_t d = 0; d < loops.size(); ++d) {
            auto const& l = loops[d];
            if (l.kind == loop::loop_kind::vectorized) lane_ = l.var, lanes_ = l.extent, lanes_reduce_ = l.reduction;
            if (d < depth_) continue;
            if (l.kind == loop::loop_kind::serial && l.reduction) steps_ *= static_cast<double>(l.extent);
            if (l.kind != loop::loop_kind::unrolled) continue;
            unrolled_.push_back(&l);
            extents_.push_back(l.extent);
        }
        find_tails();
        auto const domain = part_of(nest.what.domain);
        exists_ = part_of_all(tails_) * domain, tiles_ = part_of_all(tile_tails_) * domain;
        reads_ = part_of(nest.what.bounds);
    }

    [[nodiscard]] loop::loop_nest const& nest() const noexcept { return nest_; }
    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
    [[nodiscard]] loop::variable lane() const noexcept { return lane_; }
    [[nodiscard]] std::int64_t lanes() const noexcept { return lanes_; }
    [[nodiscard]] bool lanes_reduce() const noexcept { return lanes_reduce_; }
    [[nodiscard]] std::span<loop::nest_loop const* const> unrolled() const noexcept { return as_span(unrolled_); }
    [[nodiscard]] tile_extents const& extents() const noexcept { return extents_; }
    // Turns of the reduction loops of one result.
    [[nodiscard]] double steps() const noexcept { return steps_; }
    // Parts of the positions that exist, of the tiles that have one, and of the steps of these positions.
    [[nodiscard]] double exists() const noexcept { return exists_; }
    [[nodiscard]] double tiles() const noexcept { return tiles_; }
    [[nodiscard]] double reads() const noexcept { return reads_; }

    // Calls `f` with the extents of whole tiles and of those at the end of a loop, which have fewer places, along each
    // loop that does not divide; and with their share of all tiles.
    template <class F>
    void each_tile(F&& f) const {
        auto extents = extents_;
        each_tile(0, 1, extents, f);
    }
    // The unrolled spatial loop at whose positions reduction loops meet a condition that they do not decide, since it
    // holds for other positions elsewhere, and how many positions these are.
    [[nodiscard]] std::pair<std::size_t, std::int64_t> asked_loop(tile_extents const& extents) const {
        for (auto const& b : nest_.what.bounds) {
            auto const met = std::any_of(nest_.loops.begin(), nest_.loops.end(), [&](auto const& l) {
                return l.reduction && l.kind == loop::loop_kind::serial && l.extent > 1 && b.value.depends_on(l.var);
            });
            if (!met || b.value.depends_on(lane_)) continue;
            for (auto u = unrolled_.size(); u-- > 0;) {
                auto const factor = b.value.factor(unrolled_[u]->var);
                if (unrolled_[u]->reduction || extents[u] <= 1 || factor == 0) continue;
                auto const r = loop::range_of(b.value.with(unrolled_[u]->var, 0), as_span(nest_.ranges));
                std::int64_t open = 0;
                for (std::int64_t i = 0; i < extents[u]; ++i)
                    open += r.low + factor * i < 0 || r.high + factor * i >= b.extent;
                if (open > 0) return {u, open};
            }
        }
        return {0, 0};
    }

private:
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    static bool is_inner(loop::nest_loop const& l) noexcept {
        return l.kind == loop::loop_kind::unrolled || l.kind == loop::loop_kind::vectorized;
    }
    [[nodiscard]] bool only_inner_from(std::size_t depth) const {
        return std::all_of(nest_.loops.begin() + static_cast<std::ptrdiff_t>(depth), nest_.loops.end(), is_inner);
    }
    template <class F>
    void each_tile(std::size_t from, double share, tile_extents& extents, F& f) const {
        if (from == partial_.size()) return f(std::as_const(extents), share);
        auto const [of, full, rest] = partial_[from];
        auto const all = static_cast<double>(full + (rest > 0));
        auto const whole = extents[of];
        if (full > 0) each_tile(from + 1, share * static_cast<double>(full) / all, extents, f);
        if (rest > 0) {
            extents[of] = rest;
            each_tile(from + 1, share / all, extents, f);
            extents[of] = whole;
        }
    }

    // Tails in vectors, those of tiles, and the places that each tile has along a loop.
    void find_tails() {
        auto const without = [](loop::affine const& a, loop::variable v, std::int64_t divisor) {
            loop::affine out;
            for (auto const& term : a.terms())
                if (term.of != v) out += loop::affine::of(term.of, term.factor / divisor);
            return out;
        };
        auto const up = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
        for (auto const& t : nest_.tails) {
            auto const lanes = std::max<std::int64_t>(1, t.value.factor(lane_));
            loop::bound own{without(t.value, lane_, lanes), up(t.extent, lanes)};
            tails_.push_back(own);
            for (std::size_t u = 0; u < unrolled_.size(); ++u) {
                auto const& l = *unrolled_[u];
                if (l.reduction || own.value.factor(l.var) != 1) continue;
                partial_.push_back({u, own.extent / l.extent, own.extent % l.extent});
                own = {without(own.value, l.var, l.extent), up(own.extent, l.extent)};
            }
            if (!own.value.is_constant()) tile_tails_.push_back(std::move(own));
        }
        for (auto* const tails : {&tails_, &tile_tails_}) // those that others are made of come last
            for (std::size_t i = 1; i < tails->size(); ++i)
                for (auto j = i; j > 0 && (*tails)[j].value.terms().size() > (*tails)[j - 1].value.terms().size(); --j)
                    std::swap((*tails)[j], (*tails)[j - 1]);
    }
    // Of all positions, those that tails leave: of each tail, of what those leave that it is made of.
    [[nodiscard]] double part_of_all(std::vector<loop::bound> const& tails) const {
        double part = 1;
        for (std::size_t t = 0; t < tails.size(); ++t) part *= part_of(tails[t], std::span{tails}.subspan(t + 1));
        return part;
    }
    // Of the positions that tails leave, those within bounds, each by itself.
    [[nodiscard]] double part_of(std::vector<loop::bound> const& bounds) const {
        double part = 1;
        for (auto const& b : bounds) part *= part_of(b, as_span(tails_));
        return part;
    }
    // Of the positions that tails leave, those within a bound.
    [[nodiscard]] double part_of(loop::bound const& b, std::span<loop::bound const> tails) const {
        auto value = b.value.with(lane_, 0); // a vector with one lane is there
        all_steps steps;
        for (auto const& t : tails) {
            auto const factor = loop::multiple_of(value, t.value);
            if (factor == 0) continue;
            value += t.value * -factor;
            steps.push_back({factor, t.extent});
        }
        auto at = value.constant();
        for (auto const& t : value.terms()) {
            auto const& r = nest_.ranges[index(t.of)];
            at += t.factor * (t.factor > 0 ? r.low : r.high);
            if (r.high > r.low) steps.push_back({std::abs(t.factor), r.high - r.low + 1});
        }
        return part_between(std::move(steps), -at, b.extent - at);
    }

    loop::loop_nest const& nest_;
    std::size_t depth_;
    small_vector<loop::nest_loop const*, 8> unrolled_;
    tile_extents extents_;
    std::vector<loop::bound> tails_, tile_tails_; // in vectors and in tiles; before those that they are made of
    // A loop of the tile: turns where that is whole, and the extent at the end.
    struct partial_loop {
        std::size_t of;
        std::int64_t full, rest;
    };
    small_vector<partial_loop, 4> partial_;
    loop::variable lane_ = -1;
    std::int64_t lanes_ = 1;
    bool lanes_reduce_ = false;
    double steps_ = 1, exists_ = 1, tiles_ = 1, reads_ = 1;
};

} // namespace gsub::cost::detail
