#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/core/format.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace merge_regions_test {

using namespace gsub;
using pass_trial::net;
using passes::annotate_target;
using passes::merge_compiler_regions;

struct part_key {
    std::string compiler;
    std::int64_t region;
    friend auto operator<=>(part_key const&, part_key const&) = default;
};
// The operators of each part of several, by name and sorted, e.g. "c0: Relu Tanh".
std::vector<std::string> parts(any_graph const& g) {
    std::map<part_key, std::set<node_id>> members;
    for (auto n : g.order()) {
        if (!g.is<ops::compiler_annotation>(n)) continue;
        auto const& says = g.attributes<ops::compiler_annotation>(n);
        if (says.region >= 0) members[{says.compiler, says.region}].insert(g.operand(n, 0).node);
    }
    std::vector<std::string> texts;
    for (auto const& [key, nodes] : members) {
        std::vector<std::string> names;
        for (auto n : nodes) names.emplace_back(g.op(n).name);
        std::sort(names.begin(), names.end());
        auto& text = texts.emplace_back(fmt::format("{}{}:", key.compiler, key.region));
        for (auto const& name : names) text += " " + name;
    }
    return texts;
}
using texts = std::vector<std::string>;
any_graph merged(net& n, std::string_view compilers, std::vector<value_id> const& outputs) {
    n.g.set_outputs(outputs);
    auto m = pass_trial::module_of(n.g);
    pass_trial::run(annotate_target::from_text(compilers).value(), m);
    n.outcome = pass_trial::run(merge_compiler_regions{}, m);
    return m.find("main")->body;
}

TEST_CASE("MergeCompilerRegions: operators of one compiler that feed each other are one part, those of others not") {
    net n;
    auto const v = n.op<ops::tanh>(n.op<ops::relu>(n.input({2})));
    auto const w = n.op<ops::neg>(n.op<ops::abs>(v));
    CHECK(parts(merged(n, "a: Relu Tanh; b: Abs Neg", {w})) == texts{"a0: Relu Tanh", "b1: Abs Neg"});
}

TEST_CASE("MergeCompilerRegions: an operator alone keeps its number, and a graph without marks stays") {
    net n;
    CHECK(parts(merged(n, "a: Relu", {n.op<ops::tanh>(n.op<ops::relu>(n.input({2})))})).empty());
    CHECK_FALSE(n.outcome.changed);
    net plain;
    CHECK(plain.untouched(merge_compiler_regions{}, {plain.op<ops::relu>(plain.input({2}))}));
    CHECK_FALSE(merge_compiler_regions::may_apply(histogram_of(plain.g)));
}

TEST_CASE("PartitionGraph N2: parts around an operator of nobody stay apart, as do those around a condition") {
    net n;
    auto const r = n.op<ops::relu>(n.input({2}));
    CHECK(parts(merged(n, "a: Relu Add", {n.op<ops::add>(r, n.op<ops::tanh>(r))})).empty());
    gsub::module m;
    net branch;
    branch.g.set_outputs({{branch.op<ops::neg>(branch.input({2}))}});
    m.add("yes", branch.g), m.add("no", branch.g);
    net c;
    auto const s = c.op<ops::relu>(c.input({2}));
    value_id const taken{add_if(c.g, m, c.b.input(dtype::boolean, {}, "p"), "yes", "no", {{s}}), 0};
    c.g.set_outputs({{c.op<ops::add>(s, taken)}});
    m.add("main", c.g);
    pass_context cx;
    CHECK(run_pass(annotate_target{{{"a", {"Relu", "Add"}}}}, m).value().matches == 2);
    CHECK_FALSE(run_pass(merge_compiler_regions{}, m).value().changed);
}

TEST_CASE("MergeCompilerRegions: what nobody takes on the side does not keep operators apart") {
    net n;
    auto const x = n.input({2});
    auto const v = n.op<ops::add>(n.op<ops::relu>(x), n.op<ops::tanh>(x));
    CHECK(parts(merged(n, "a: Relu Add", {v})) == texts{"a0: Add Relu"});
}

TEST_CASE("MergeCompilerRegions: parts of two compilers that would wait for each other are not made") {
    net n;
    auto const x = n.input({2});
    auto const a1 = n.op<ops::relu>(x), b2 = n.op<ops::tanh>(x);
    auto const b1 = n.op<ops::abs>(a1), a2 = n.op<ops::neg>(b2);
    auto const g = merged(n, "a: Relu Neg Add; b: Abs Tanh Mul", {n.op<ops::add>(a1, a2), n.op<ops::mul>(b1, b2)});
    CHECK(parts(g).size() >= 1);
    CHECK(parts(g) != texts{"a0: Add Neg Relu", "b1: Abs Mul Tanh"});
}

// Parts and other operators contract to a graph without cycles.
bool contracts(any_graph const& g) {
    std::map<part_key, std::uint32_t> firsts;
    std::vector<std::uint32_t> unit(g.capacity());
    for (std::uint32_t i = 0; i < unit.size(); ++i) unit[i] = i;
    for (auto n : g.order())
        if (g.is<ops::compiler_annotation>(n))
            if (auto const& says = g.attributes<ops::compiler_annotation>(n); says.region >= 0) {
                auto const of = g.operand(n, 0).node.index;
                unit[of] = unit[firsts.try_emplace({says.compiler, says.region}, of).first->second];
            }
    for (auto n : g.order())
        if (g.is<ops::compiler_annotation>(n)) unit[n.index] = unit[g.operand(n, 0).node.index];
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::map<std::uint32_t, std::size_t> waiting;
    for (auto n : g.order()) {
        waiting[unit[n.index]];
        for (auto v : g.operands(n))
            if (v.valid() && unit[v.node.index] != unit[n.index] &&
                edges.emplace(unit[v.node.index], unit[n.index]).second)
                ++waiting[unit[n.index]];
    }
    std::vector<std::uint32_t> ready;
    for (auto const& [u, count] : waiting)
        if (count == 0) ready.push_back(u);
    for (std::size_t i = 0; i < ready.size(); ++i)
        for (auto e = edges.lower_bound({ready[i], 0}); e != edges.end() && e->first == ready[i]; ++e)
            if (--waiting[e->second] == 0) ready.push_back(e->second);
    return ready.size() == waiting.size();
}

TEST_CASE("MergeCompilerRegions: parts never wait for each other, and the order of nodes decides nothing") {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        net n;
        std::vector<value_id> values{n.input({2})};
        auto const any = [&] { return values[values.size() - 1 - r.below(std::min<std::uint64_t>(values.size(), 6))]; };
        for (int i = 0; i < 40; ++i) switch (r.below(4)) {
            case 0:
                values.push_back(n.op<ops::add>(any(), any()));
                break;
            case 1:
                values.push_back(n.op<ops::mul>(any(), any()));
                break;
            case 2:
                values.push_back(n.op<ops::sub>(any(), any()));
                break;
            default:
                values.push_back(n.op<ops::relu>(any()));
            }
        n.g.set_outputs({{values.back(), values[20]}});
        auto m = pass_trial::module_of(n.g), sorted = m;
        static_cast<void>(run_pass(annotate_target::from_text("a: Add Relu; b: Mul").value(), m).value());
        static_cast<void>(run_pass(merge_compiler_regions{}, m).value());
        CHECK(contracts(m.find("main")->body));
        sorted.find("main")->body.order_canonically();
        static_cast<void>(run_pass(annotate_target::from_text("a: Add Relu; b: Mul").value(), sorted).value());
        static_cast<void>(run_pass(merge_compiler_regions{}, sorted).value());
        CHECK(sorted.hash().value() == m.hash().value());
    }
}

TEST_CASE("MergeCompilerRegions: a hundred thousand operators take a moment") {
    net n;
    auto v = n.input({2});
    auto const x = v;
    for (int i = 0; i < 50000; ++i) v = i % 3 ? n.op<ops::relu>(v) : n.op<ops::add>(n.op<ops::tanh>(v), x);
    n.g.set_outputs({{v}});
    auto m = pass_trial::module_of(n.g);
    static_cast<void>(run_pass(annotate_target::from_text("a: Add Relu; b: Tanh").value(), m).value());
    CHECK(run_pass(merge_compiler_regions{}, m).value().matches > 10000);
}

} // namespace merge_regions_test
