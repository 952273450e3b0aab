#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/patch.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE void pass_outcome::skip(std::string_view reason, std::uint64_t count) {
    if (count == 0) return;
    auto const same = [&](skip_count const& s) { return s.reason == reason; };
    if (auto const found = std::find_if(skipped.begin(), skipped.end(), same); found != skipped.end())
        found->count += count;
    else
        skipped.push_back({std::string{reason}, count});
}

GSUB_INLINE std::uint64_t pass_outcome::skips(std::string_view reason) const noexcept {
    for (auto const& s : skipped)
        if (s.reason == reason) return s.count;
    return 0;
}

GSUB_INLINE pass_outcome& pass_outcome::operator+=(pass_outcome const& other) {
    changed |= other.changed;
    matches += other.matches;
    for (auto const& s : other.skipped) skip(s.reason, s.count);
    return *this;
}

GSUB_INLINE void pass_context::check_stop() const {
    if (stop.stop_requested()) throw error{errors::stopped, "stopped by the caller"};
}

GSUB_INLINE bool opaque_to(pass_info const& info, function const& f) noexcept {
    return !f.attributes.compiler.empty() || (f.attributes.primitive && !info.enters_primitive);
}

GSUB_INLINE hash128 fingerprint(module const& m) {
    hasher h;
    for (auto const& f : m.functions())
        h.add(f.name)
            .add(f.attributes.primitive)
            .add(f.attributes.composite_name)
            .add(f.attributes.compiler)
            .add(f.attributes.symbol)
            .add(f.body.hash())
            .add(f.body.output_count());
    for (auto const& name : m.entry_points()) h.add(name);
    return h.finish();
}

namespace detail {

// Runs one call of a pass; errors, returned or thrown, get a name in front.
template <class Subject>
result<pass_outcome> guarded(Subject& on, pass_context& cx, std::string_view name,
                             function_ref<result<pass_outcome>(Subject&, pass_context&)> body) {
    auto done = capture([&] {
        cx.check_stop();
        return std::move(body(on, cx)).value();
    });
    if (!done) return done.error().within(std::string{name});
    return done;
}

GSUB_INLINE result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                          function_ref<result<pass_outcome>(module&, pass_context&)> body) {
    if (cx.observe) cx.observe->on_progress({.phase = "pass", .done = 0, .total = 1, .detail = info.name});
    auto const named = [&](module& on, pass_context& c) {
        return guarded<module>(on, c, format_text("pass {}", info.name), body);
    };
    auto done = cx.instrument ? cx.instrument->run(*cx.instrument, info, m, cx, named) : named(m, cx);
    if (cx.observe && done) cx.observe->on_progress({.phase = "pass", .done = 1, .total = 1, .detail = info.name});
    return done;
}

GSUB_INLINE result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                          function_ref<result<pass_outcome>(any_graph&, pass_context&)> body) {
    auto const lifted = [&](module& whole, pass_context& c) -> result<pass_outcome> {
        pass_outcome sum;
        for (auto const& f : whole.functions()) {
            if (opaque_to(info, f)) {
                sum.skip("opaque function");
                continue;
            }
            auto one =
                guarded<any_graph>(whole.find(f.name)->body, c, format_text("function {}", quoted{f.name}), body);
            if (!one) return one.error();
            sum += *one;
        }
        return sum;
    };
    return run_pass(info, m, cx, function_ref<result<pass_outcome>(module&, pass_context&)>{lifted});
}

} // namespace detail

namespace passes::detail {

GSUB_INLINE bool replace_node(any_graph& g, node_id n, function_ref<value_id(node_sink&)> build) {
    graph_patch trial{g, "pass", n};
    auto const tried = build(trial);
    if (trial.failed() || !tried.valid() || !(trial.type_of(tried) == g.type_of({n, 0}))) return false;
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    auto const made = build(g);
    for (auto i = first_new; i < g.capacity(); ++i) g.inherit_sources({i}, {&n, 1});
    g.replace_uses({n, 0}, made, first_new);
    return true;
}

} // namespace passes::detail

} // namespace gsub
