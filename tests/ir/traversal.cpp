#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/traversal.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace traversal_test {

using namespace gsub;

// By definition, one step at a time: n is reached if one of its operands is.
std::vector<bool> reached_from(any_graph const& g, node_id from) {
    std::vector<bool> marked(g.capacity(), false);
    marked[from.index] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto n : g.order())
            for (auto v : g.operands(n))
                if (v.valid() && marked[v.node.index] && !marked[n.index]) marked[n.index] = changed = true;
    }
    return marked;
}

// Puts an extracted region back between its boundary and its results: what it stood for.
any_graph put_back(any_graph const& g, region const& part, std::vector<node_id> const& nodes) {
    any_graph whole{g.operators()};
    std::vector<value_id> moved_part(part.graph.capacity());
    std::map<value_id, value_id> moved;
    auto const map = [&](value_id v) { return v.valid() ? moved.at(v) : v; };
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    auto const copy = [&](any_graph const& from, node_id n, auto&& operand_of) {
        small_vector<value_id, 6> operands;
        for (auto v : from.operands(n)) operands.push_back(operand_of(v));
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < from.result_count(n); ++port) types.push_back(from.type_of({n, port}));
        auto const blob = from.is<ops::constant>(n) ? whole.add_blob(from.constant_data(n)) : 0;
        return whole.append_node(from.row(n), from.attributes(n), blob, operands, types);
    };
    bool done = false;
    for (auto n : g.order()) {
        if (n == g.return_node()) continue;
        if (!inside[n.index]) {
            if (g.is<ops::input>(n)) {
                moved[{n, 0}] = whole.add_input(g.type_of({n, 0}), {});
                continue;
            }
            auto const to = copy(g, n, map);
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) moved[{n, port}] = {to, port};
            continue;
        }
        if (done) continue;
        // The whole part at the place of its first node; the caller chose one for which this is in order.
        done = true;
        std::map<value_id, value_id> own;
        for (std::size_t i = 0; i < part.boundary.size(); ++i)
            own[{part.graph.inputs()[i], 0}] = moved.at(part.boundary[i]);
        for (auto m : part.graph.order()) {
            if (m == part.graph.return_node() || part.graph.is<ops::input>(m)) continue;
            auto const to = copy(part.graph, m, [&](value_id v) { return v.valid() ? own.at(v) : v; });
            for (std::uint32_t port = 0; port < part.graph.result_count(m); ++port) own[{m, port}] = {to, port};
        }
        for (std::size_t i = 0; i < part.results.size(); ++i) moved[part.results[i]] = own.at(part.graph.output(i));
    }
    std::vector<value_id> outputs;
    for (std::size_t i = 0; i < g.output_count(); ++i) outputs.push_back(map(g.output(i)));
    whole.set_outputs(outputs);
    whole.erase_dead();
    return whole;
}

TEST_CASE("upstream and downstream are each other's transposed and agree with stepping") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 12);
        std::vector<std::vector<bool>> down(g.capacity()), up(g.capacity());
        for (auto n : g.order()) {
            down[n.index] = downstream(g, {&n, 1}), up[n.index] = upstream(g, {&n, 1});
            CHECK(down[n.index] == reached_from(g, n));
        }
        std::size_t wrong = 0;
        for (auto a : g.order())
            for (auto b : g.order()) wrong += down[a.index][b.index] != up[b.index][a.index];
        CHECK(wrong == 0);
    }
}

TEST_CASE("from several nodes the union is reached") {
    auto const g = random_graph::make(3, 15);
    random_stream r{3};
    for (int i = 0; i < 50; ++i) {
        auto const a = g.order()[r.below(g.size())], b = g.order()[r.below(g.size())];
        auto both = downstream(g, std::vector{a, b});
        auto const one = downstream(g, {&a, 1}), other = downstream(g, {&b, 1});
        for (std::size_t k = 0; k < both.size(); ++k) CHECK(both[k] == (one[k] || other[k]));
    }
    CHECK(std::none_of(g.order().begin(), g.order().end(),
                       [&, none = upstream(g, {})](node_id n) { return none[n.index]; }));
}

TEST_CASE("a region that is cut out and put back gives the graph that it came from") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 20);
        random_stream r{seed};
        // A run of neighbours in the order: convex, so that it can stand at one place.
        auto const order = g.order();
        auto const first = r.below(order.size() - 1), length = 1 + r.below(order.size() - 1 - first);
        std::vector<node_id> nodes;
        for (auto i = first; i < first + length; ++i)
            if (!g.is<ops::input>(order[i])) nodes.push_back(order[i]);
        auto const part = extract(g, nodes);
        CHECK(part.boundary.size() == part.graph.inputs().size());
        CHECK(part.results.size() == part.graph.output_count());
        for (std::size_t i = 0; i < part.boundary.size(); ++i)
            CHECK(part.graph.type_of({part.graph.inputs()[i], 0}) == g.type_of(part.boundary[i]));
        for (std::size_t i = 0; i < part.results.size(); ++i)
            CHECK(part.graph.type_of(part.graph.output(i)) == g.type_of(part.results[i]));
        for (auto v : part.boundary) CHECK_FALSE(g.is<ops::constant>(v.node)); // these are taken along
        g.erase_dead();
        CHECK(put_back(g, part, nodes) == g);
    }
}

TEST_CASE("the order of the nodes that are asked for does not matter") {
    auto const g = random_graph::make(5, 20);
    std::vector<node_id> nodes;
    for (auto n : g.order())
        if (n != g.return_node() && !g.is<ops::input>(n) && n.index % 2) nodes.push_back(n);
    auto const a = extract(g, nodes);
    std::reverse(nodes.begin(), nodes.end());
    auto const b = extract(g, nodes);
    CHECK(a.graph == b.graph);
    CHECK(a.boundary == b.boundary);
    CHECK(a.results == b.results);
    CHECK(to_text(a.graph) == to_text(b.graph));
}

TEST_CASE("inputs are what the region reads, outputs what is read of it, sources say where it is from") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const w = b.constant(tensor::from<float>({2}, {1, 2}), "w");
    auto const inner = b.add<ops::mul>(x, w), twice = b.add<ops::add>(inner, inner), after = b.add<ops::relu>(twice);
    g.set_source(inner.node, "scale");
    b.outputs({after, inner});
    auto const part = extract(g, std::vector{inner.node, twice.node});
    CHECK(part.boundary == std::vector{x});
    CHECK(part.results == std::vector{inner, twice});
    CHECK(part.graph.name({part.graph.inputs()[0], 0}) == "x");
    CHECK(part.graph.sources(part.graph.output(0).node) == std::vector<std::string>{"scale"});
    CHECK(part.graph.size() == 5);
    CHECK(check(part.graph, stage::canonical).empty());
    auto const nothing = extract(g, {});
    CHECK(nothing.graph.size() == 1);
    CHECK(nothing.boundary.empty());
}

} // namespace traversal_test
