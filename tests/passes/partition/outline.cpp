#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/passes/partition/outline.hpp>

#include <algorithm>
#include <set>

namespace outline_test {

using namespace gsub;
using passes::outlined_part;
using passes::outliner;

// Slices of the order: no path leaves one and comes back.
std::vector<outlined_part> slices(any_graph const& g, random_stream& r) {
    std::vector<outlined_part> parts;
    auto wanted = r.below(5) + 1;
    for (auto n : g.order()) {
        if (g.constant(n) || g.op(n).category == op_category::structural || !g.used(n)) continue;
        if (parts.empty() || parts.back().nodes.size() >= wanted)
            parts.push_back({{}, "slice", {.composite_name = "slice"}}), wanted = r.below(5) + 1;
        parts.back().nodes.push_back(n);
    }
    return parts;
}

TEST_CASE("what inlines the functions gives an equal graph, for slices of any graph with constants copied or not") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 10 + seed % 40);
        g.order_canonically();
        random_stream r{seed};
        auto const parts = slices(g, r);
        gsub::module m;
        m.add("main", g);
        auto const made = outliner{m}("main", parts, {.copied_elements = seed % 2 ? 1 << 20 : 0});
        CHECK(std::set(made.begin(), made.end()).size() == parts.size());
        CHECK(m.functions().size() == parts.size() + 1);
        auto const whole = m.inlined().value();
        CHECK(whole.hash(whole.return_node()) == g.hash(g.return_node()));
        if (seed % 2 == 0) CHECK(whole == g);
        for (auto const& f : m.functions()) CHECK((f.name == "main") == f.attributes.composite_name.empty());
        auto const text = to_text(m);
        CHECK(to_text(parse_module(text, g.operators()).value()) == text);
    }
}

TEST_CASE("a value read several times is one result, and one operand") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {3}, "x"), y = b.add<ops::relu>(x), z = b.add<ops::mul>(x, x);
    b.outputs({b.add<ops::add>(y, y), b.add<ops::mul>(y, z), y});
    gsub::module m;
    m.add("main", g);
    outlined_part const part[] = {{{y.node, z.node}, "p", {}}};
    auto const made = outliner{m}("main", part);
    auto const& body = m.find(made[0])->body;
    CHECK(body.inputs().size() == 1);
    CHECK(body.output_count() == 2);
    CHECK(m.inlined().value() == g);
}

TEST_CASE("parts that need their own results are refused") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {3}, "x"), y = b.add<ops::relu>(x), z = b.add<ops::tanh>(y);
    b.outputs({b.add<ops::sigmoid>(z)});
    gsub::module m;
    m.add("main", g);
    outlined_part const part[] = {{{y.node, g.output(0).node}, "p", {}}};
    CHECK_THROWS_AS(outliner{m}("main", part), error);
}

TEST_CASE("an identifier has small letters, digits and underscores") {
    CHECK(passes::identifier_of("GlobalAveragePool") == "global_average_pool");
    CHECK(passes::identifier_of("a.b-c 3") == "a_b_c_3");
}

} // namespace outline_test
