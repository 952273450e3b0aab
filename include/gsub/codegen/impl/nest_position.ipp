#pragma once

#include <gsub/codegen/impl/nest_position.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY void fail_lowering(error_id id, std::string_view reason) {
    throw error{id, format_text("lowering: {}", reason)};
}

GSUB_LAZY_BODY nest_position::nest_position(loop::loop_nest const& nest)
    : nest_(nest), ranges_(nest.ranges), ensured_(nest.what.bounds.size(), 0) {
    if (nest.parallel_loops() > 1) fail_lowering(errors::kernel_schedule, "a kernel has one parallel loop: fuse them");
    if (nest.loops.empty() || nest.loops.back().kind != loop::loop_kind::vectorized)
        fail_lowering(errors::kernel_schedule, "a kernel has a vectorised loop");
    lane_ = nest.loops.back().var;
    lanes_ = static_cast<std::int32_t>(nest.loops.back().extent);
    lanes_reduce_ = nest.loops.back().reduction;
    loop_of_.resize(nest.names.size());
    for (std::size_t i = 0; i < nest.loops.size(); ++i) loop_of_[static_cast<std::size_t>(nest.loops[i].var)] = i;
    for (auto const& p : nest.fused_indices)
        loop_of_[static_cast<std::size_t>(p.var)] = loop_of_[static_cast<std::size_t>(p.of)];
    for (auto const& c : nest.what.chosen) {
        auto& depth = loop_of_[static_cast<std::size_t>(c.var)];
        for (auto const& index : c.source.index)
            for (auto const& t : index.terms()) depth = std::max(depth, depth_of(t.of));
    }
}

GSUB_LAZY_BODY truth nest_position::check(loop::bound const& b) const {
    auto const r = range_of(b.value);
    if (r.low >= 0 && r.high < b.extent) return truth::yes;
    if (std::any_of(given_.begin(), given_.end(),
                    [&](auto const& g) { return g.extent == b.extent && g.value == b.value; }))
        return truth::yes;
    if (!assumed_.empty() && std::any_of(assumed_.begin(), assumed_.end(), [&](auto& a) {
            auto const here = resolved(b.value);
            return b.extent == a.extent && a.low <= here.constant() && here.constant() <= a.high &&
                   here - affine{here.constant()} == a.varying;
        }))
        return truth::yes;
    return r.high < 0 || r.low >= b.extent ? truth::no : truth::unknown;
}

GSUB_LAZY_BODY bool nest_position::only_inner_from(std::size_t depth) const {
    return std::all_of(nest_.loops.begin() + static_cast<std::ptrdiff_t>(depth), nest_.loops.end(), is_inner);
}

GSUB_LAZY_BODY bool nest_position::depends_on_inner(affine const& a, std::size_t depth) const {
    return std::any_of(a.terms().begin(), a.terms().end(), [&](auto& t) {
        auto const& whole = nest_.ranges[static_cast<std::size_t>(t.of)];
        return loop_of_[static_cast<std::size_t>(t.of)] >= depth && whole.low != whole.high;
    });
}

GSUB_LAZY_BODY bool nest_position::depends_on_reduction(affine const& a) const {
    return std::any_of(a.terms().begin(), a.terms().end(),
                       [&](auto& t) { return nest_.loops[loop_of_[static_cast<std::size_t>(t.of)]].reduction; });
}

GSUB_LAZY_BODY bool nest_position::depends_on_chosen(affine const& a, std::size_t first) const {
    auto const& all = nest_.what.chosen;
    return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                       [&](auto const& c) { return a.depends_on(c.var); });
}

GSUB_LAZY_BODY bool nest_position::is_fused_index_of(variable index, variable of) const {
    auto v = index;
    for (std::size_t i = nest_.fused_indices.size(); v != of && i-- > 0;)
        if (nest_.fused_indices[i].var == v) v = nest_.fused_indices[i].of;
    return v == of && index != of;
}

GSUB_LAZY_BODY std::size_t nest_position::place_index(std::size_t depth) const {
    std::size_t index = 0;
    for (; depth < nest_.loops.size(); ++depth) {
        auto const& l = nest_.loops[depth];
        if (is_place_loop(l))
            index = index * static_cast<std::size_t>(l.extent) +
                    static_cast<std::size_t>(ranges_[static_cast<std::size_t>(l.var)].low);
    }
    return index;
}

GSUB_LAZY_BODY std::int32_t nest_position::lanes_here(bool of_reduction) {
    auto lanes = lanes_;
    for (auto const& b : nest_.tails)
        if (check(b) != truth::yes && depends_on_reduction(b.value) == of_reduction)
            lanes = std::min(lanes, lanes_of_tail(b));
    return lanes;
}

GSUB_LAZY_BODY std::int32_t nest_position::lanes_of_tail(loop::bound const& tail) {
    std::int32_t count = 0;
    for (std::int32_t i = 0; i < lanes_; ++i) {
        range(lane_) = {i, i};
        auto const here = check(tail);
        if (here == truth::unknown)
            fail_lowering(errors::kernel_form, "an axis that is split more than once ends within a tile");
        if (here == truth::no) break;
        ++count;
        if (!tail.value.depends_on(lane_)) {
            count = lanes_;
            break;
        }
    }
    range(lane_) = {0, lanes_ - 1};
    return count;
}

GSUB_LAZY_BODY std::int32_t nest_position::lanes_within(loop::bound const& b) {
    std::int32_t count = 0, last = 0;
    for (std::int32_t i = 0; i < lanes_; ++i) {
        range(lane_) = {i, i};
        auto const here = check(b);
        if (here == truth::unknown)
            fail_lowering(errors::kernel_form, "a condition depends on the vectorised loop and on another one");
        if (here == truth::yes) ++count, last = i + 1;
    }
    range(lane_) = {0, lanes_ - 1};
    if (count != last) fail_lowering(errors::kernel_form, "a condition leaves out the first lanes of a vector");
    return count;
}

} // namespace gsub::codegen::detail
