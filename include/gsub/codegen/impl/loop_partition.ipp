#pragma once

#include <gsub/codegen/impl/loop_partition.hpp>

#include <algorithm>
#include <utility>

namespace gsub::codegen::detail {

[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
    return -floor_div(-a, b);
}

// Adds the positions of `v` at which a condition changes for some inner position, if nothing else decides it. A
// condition that other loops decide too is cut where it holds whatever they do, if it is to be decided always.
GSUB_LAZY_BODY void loop_partition::add_cuts(loop::bound const& b, variable v, std::size_t depth, decide when,
                                             cuts& to) {
    auto const f = b.value.factor(v);
    if (f == 0 || at_.check(b) == truth::yes || at_.depends_on_chosen(b.value)) return;
    at_.each_inner_position(b.value, depth, [&] {
        auto const rest = at_.resolved(b.value.with(v, 0));
        if (!rest.is_constant() && when != decide::always) return;
        auto const r = at_.range_of(rest);
        // 0 <= f v + rest < extent
        auto const first = f > 0 ? ceil_div(-r.low, f) : ceil_div(r.high - b.extent + 1, -f);
        auto const last = f > 0 ? ceil_div(b.extent - r.high, f) : floor_div(r.low, -f) + 1;
        to.push_back(first);
        to.push_back(last);
        if (!rest.is_constant() && at_.range(v).high - last < 8) // the others are decided by the loops within
            for (auto x = std::max(last, at_.range(v).low); x <= at_.range(v).high; ++x) to.push_back(x);
    });
}

GSUB_LAZY_BODY std::vector<std::int64_t> loop_partition::of(variable v, std::size_t depth) {
    auto const& nest = at_.nest();
    auto const whole = at_.range(v);
    auto const finish = [&](cuts all) {
        std::erase_if(all, [&](auto c) { return c <= whole.low || c > whole.high; });
        all.push_back(whole.low);
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        all.push_back(whole.high + 1);
        return all;
    };
    cuts of_tails;
    for (auto const& b : nest.tails) add_cuts(b, v, depth, decide::always, of_tails);
    auto all = of_tails;
    auto const add = [&](std::vector<loop::bound> const& bounds) {
        for (auto const& b : bounds) add_cuts(b, v, depth, decide::where_nothing_else_does, all);
    };
    add(nest.what.bounds);
    for (auto const& l : nest.what.loads) add(l.predicate);
    add(nest.what.target_predicate);
    for (auto const& s : nest.what.more_stores) add(s.predicate);
    auto ranges = finish(std::move(all));
    auto const count = static_cast<std::int32_t>(ranges.size()) - 1;
    return count <= max_ranges_ ? ranges : finish(std::move(of_tails));
}

GSUB_LAZY_BODY std::vector<std::int64_t> loop_partition::of_reduction(variable v, std::size_t depth) {
    auto const whole = at_.range(v);
    cuts all{whole.low, whole.high + 1};
    for (auto const& b : at_.nest().tails) add_cuts(b, v, depth, decide::always, all);
    std::erase_if(all, [&](auto c) { return c < whole.low || c > whole.high + 1; });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace gsub::codegen::detail
