// One pass run on a module as the manager would, and what every pass must keep to. Shared by the tests of passes.
#pragma once

#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/passes/manager/instrumentation.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace pass_trial {

using namespace gsub;

inline gsub::module module_of(any_graph g) {
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

/// Runs a pass under an instrument, which checks structure and types, and numbers as far as the pass is exact. Checks
/// that what the pass says is so, and that a second run changes nothing. `numbers`: whether the module can be computed.
template <pass P>
pass_outcome run(P const& p, gsub::module& m, bool numbers = true, std::uint64_t seed = 1) {
    auto const info = pass_info::of<P>();
    pass_context cx;
    cx.seed = seed;
    numeric_verifier verifier{cx};
    instrument_options options{.prune = false};
    if (numbers) options.verify = verifier;
    checking_instrument instrument{options};
    cx.instrument = &instrument;
    auto const possible = !info.may_apply || info.may_apply(histogram_of(m, info));
    auto const done = run_pass(p, m, cx);
    if (!done) FAIL(done.error().message());
    auto const first = instrument.records().back();
    CHECK(first.changed == done->changed);
    CHECK((done->matches > 0) == done->changed);
    CHECK((possible || !done->changed));
    if (numbers && done->changed) {
        CHECK(first.verdict.compared);
        if (!first.verdict.compared) WARN(first.verdict.reason);
    }
    auto const again = run_pass(p, m, cx);
    if (!again) FAIL(again.error().message());
    CHECK_FALSE(instrument.records().back().changed);
    CHECK_FALSE(again->changed);
    CHECK(again->matches == 0);
    return *done;
}

/// A graph in the making, and what a pass makes of it.
template <class OpSet = standard_ops>
struct net_of {
    basic_graph<OpSet> g;
    graph_builder b{g};
    pass_outcome outcome;

    value_id input(ints const& sizes, std::string_view name = "x", dtype element = dtype::f32) {
        return b.input(element, {sizes.begin(), sizes.end()}, name);
    }
    value_id weight(ints const& sizes, std::uint64_t seed = 1, dtype element = dtype::f32) {
        auto t = tensor::uninitialized(element, sizes);
        fill_random(t, random_stream{seed});
        return b.constant(std::move(t));
    }
    value_id number(float value) { return b.constant(tensor::scalar(value)); }
    template <class Op>
    value_id op(std::same_as<value_id> auto... x) {
        return b.add<Op>(x...);
    }
    /// The graph after a pass.
    template <pass P>
    any_graph after(P const& p, std::vector<value_id> const& outputs, bool numbers = true) {
        g.set_outputs(outputs);
        auto m = module_of(g);
        outcome = run(p, m, numbers);
        return m.find("main")->body;
    }
    /// Whether a pass leaves the graph alone.
    template <pass P>
    bool untouched(P const& p, std::vector<value_id> const& outputs, bool numbers = true) {
        g.set_outputs(outputs);
        return after(p, outputs, numbers) == g && !outcome.changed;
    }
};
using net = net_of<>;

/// How many nodes of these operators a graph has.
template <operation... Ops>
std::size_t count(any_graph const& g) {
    return histogram_of(g).count<Ops...>();
}

} // namespace pass_trial
