#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <algorithm>
#include <utility>

namespace gsub::loop {

namespace detail {
GSUB_INLINE bool same_buffer(buffer const& x, buffer const& y) {
    return x.name == y.name && x.element == y.element && std::ranges::equal(x.dims, y.dims) &&
           std::ranges::equal(x.strides, y.strides) && x.written == y.written && x.workspace == y.workspace;
}
GSUB_LAZY [[noreturn]] void refuse_stage(std::string_view reason) {
    throw error{errors::kernel_schedule, format_text("fused nest: {}", reason)};
}
} // namespace detail

GSUB_LAZY_BODY fused_nest::fused_nest(loop_nest first) {
    stages_.push_back(std::move(first));
}

GSUB_LAZY_BODY fused_nest& fused_nest::then(loop_nest next, std::size_t shared) {
    auto const refuse = [](std::string_view reason) { detail::refuse_stage(reason); };
    auto const& before = stages_.back();
    if (shared > before.loops.size() || shared > next.loops.size()) refuse("a stage shares loops that it has");
    if (shared < std::max(before.parallel_loops(), next.parallel_loops())) refuse("a parallel loop is shared");
    for (std::size_t i = 0; i < shared; ++i) {
        auto const &a = before.loops[i], &b = next.loops[i];
        if (a.extent != b.extent || a.kind != b.kind) refuse("shared loops have one extent and kind");
        if (b.reduction || a.reduction) refuse("a reduction is not shared");
        if (b.kind != loop_kind::serial && b.kind != loop_kind::parallel) refuse("a shared loop is serial or parallel");
    }
    auto const &known = before.what.buffers, &all = next.what.buffers;
    if (all.size() < known.size() || !std::equal(known.begin(), known.end(), all.begin(), detail::same_buffer))
        refuse("a stage knows the buffers of the stage before");
    stages_.push_back(std::move(next));
    shared_.push_back(shared);
    return *this;
}

GSUB_LAZY_BODY fused_nest& fused_nest::fallback(std::function<loop_nest()> instead) {
    if (stages_.back().what.guard < 0) detail::refuse_stage("a fallback follows a guard");
    fallback_ = std::move(instead);
    return *this;
}

GSUB_LAZY_BODY loop_nest fused_nest::fallback() const {
    GSUB_ASSERT(has_fallback(), "a fallback is asked for where there is one");
    auto const& last = stages_.back().what;
    auto instead = fallback_();
    if (instead.loops.size() <= last.fallback_at.size() || instead.parallel_loops() > 0)
        detail::refuse_stage("a fallback has loops of its own within those that are given, none of them parallel");
    auto const &known = last.buffers, &all = instead.what.buffers;
    if (!std::equal(known.begin(), known.end(), all.begin(), all.end(), detail::same_buffer))
        detail::refuse_stage("a fallback knows the buffers of the stage");
    return instead;
}

GSUB_LAZY_BODY std::string to_string(fused_nest const& nest) {
    std::string text;
    for (std::size_t i = 0; i < nest.stages().size(); ++i) {
        if (i > 0) text += format_text("then, within {} of these loops:\n", nest.shared(i));
        text += to_string(nest.stages()[i]);
    }
    if (nest.has_fallback()) text += "fallback:\n" + to_string(nest.fallback());
    return text;
}

} // namespace gsub::loop
