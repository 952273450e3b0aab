#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/fused.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <map>
#include <numeric>
#include <vector>

namespace fused_test {

using namespace gsub;

// What the kernel costs at whose end a node stands; nothing for one within a kernel.
double cost_at(any_graph const& g, node_id n) {
    for (auto const& p : cost::fused_roofline{}.node_costs(g))
        if (p.node == n) return p.amount;
    return -1;
}
struct chain {
    graph g;
    value_id x, c, s, r;
};
value_id weights(graph_builder& b, std::int64_t kernel) {
    std::int64_t const dims[] = {8, 8, kernel, kernel};
    return b.constant(tensor::zeros(dtype::f32, dims), "w");
}

// A convolution of stride 1 with equal pads on all sides.
value_id conv(graph_builder& b, value_id x, value_id w, std::int64_t pad) {
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = ints(4, pad);
    return b.add<ops::conv>(a, {x, w});
}

// relu(conv(x) + y)
chain residual() {
    chain out;
    graph_builder b{out.g};
    out.x = b.input(dtype::f32, {1, 8, 6, 6}, "x");
    auto const w = weights(b, 3), y = b.input(dtype::f32, {1, 8, 6, 6}, "y");
    out.c = conv(b, out.x, w, 1);
    out.s = b.add<ops::add>(out.c, y);
    out.r = b.add<ops::relu>(out.s);
    b.outputs({out.r});
    return out;
}

TEST_CASE("elementwise operators behind a convolution are computed in its kernel") {
    auto const t = residual();
    cost::fused_roofline const model{};
    CHECK(cost_at(t.g, t.c.node) == 0);
    CHECK(cost_at(t.g, t.s.node) == 0);
    // x, w and y are read, the result is written; what goes from one operator to the next is not.
    auto const elements = 3 * 288.0 + 576.0, operations = 288.0 * (2 * 72 + 1 + 1);
    CHECK(cost_at(t.g, t.r.node) == Approx(5e-6 + std::max(operations / 1e13, elements * 4 / 5e11)).epsilon(1e-12));
    CHECK(model(t.g).amount == cost_at(t.g, t.r.node));
}

TEST_CASE("a value with two readers, or that is an output, is stored") {
    auto t = residual();
    value_id const both[] = {t.r, t.c};
    t.g.set_outputs(both);
    CHECK(cost_at(t.g, t.c.node) > 5e-6);
    CHECK(cost_at(t.g, t.r.node) > 5e-6);
}

TEST_CASE("of two kernels that an addition could belong to, it is the one that stands first, in either order") {
    for (auto const swapped : {false, true}) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {1, 8, 6, 6}, "x");
        auto const first = conv(b, x, weights(b, 1), 0), second = conv(b, x, weights(b, 3), 1);
        b.outputs({swapped ? b.add<ops::add>(second, first) : b.add<ops::add>(first, second)});
        CHECK(cost_at(g, first.node) == 0);
        CHECK(cost_at(g, second.node) > 5e-6);
    }
}

TEST_CASE("what is moved behind a kernel is one of its own, and a view costs nothing") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x");
    auto const s = b.add<ops::relu>(x);
    auto const t = b.add<ops::transpose>({.perm = {1, 0}}, {s}), f = b.add<ops::flatten>({}, {s});
    b.outputs({t, f});
    CHECK(cost_at(g, s.node) > 5e-6);
    CHECK(cost_at(g, t.node) > 5e-6);
    CHECK(cost_at(g, f.node) == 0);
}

TEST_CASE("kernels are those of lowering, each at the cost of its operators") {
    for (auto const* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "inception_v3"}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        canonicalize(g);
        cost::fused_roofline const model{};
        std::map<node_id, double> found;
        for (auto const& p : model.node_costs(g)) found[p.node] = p.amount;
        double total = 0;
        for (auto const& group : kernel_groups(g, fusion_rules_of(g, isa::avx512))) {
            CHECK(found.at(group.back()) == model.of_group(g, group).amount);
            total += found.at(group.back());
        }
        CHECK(model(g).amount == Approx(total).epsilon(1e-12));
    }
}

TEST_CASE("costs of nodes add up to that of the graph, and kernels cost no more than their operators alone") {
    cost::fused_roofline const model{};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const g = random_graph::make(seed, 30);
        double total = 0;
        for (auto const& p : model.node_costs(g)) {
            CHECK(p.amount >= 0);
            total += p.amount;
        }
        CHECK(model(g).amount == Approx(total).epsilon(1e-12));
        CHECK(total <= cost::roofline{}(g).amount * (1 + 1e-12));
        auto const sum = cost::erase(model).of_nodes(g);
        CHECK(std::accumulate(sum.begin(), sum.end(), 0.0) == Approx(total).epsilon(1e-12));
    }
}

TEST_CASE("costs near a node are those of the whole graph") {
    cost::fused_roofline const model{};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const g = random_graph::make(seed, 30);
        std::map<node_id, double> whole;
        for (auto const& p : model.node_costs(g)) whole[p.node] = p.amount;
        auto const known = model.remembered(g);
        for (auto n : g.order())
            for (auto const& p : model.node_costs_near(g, known.memory.get(), {{&n, 1}, {&n, 1}}))
                CHECK(whole.at(p.node) == p.amount);
    }
}

} // namespace fused_test
