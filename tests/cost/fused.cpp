#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/fused.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fuse_ops.hpp>
#include <gsub/rewrite/normal_form.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace fused_test {

using namespace gsub;
using cost::fused_operand;
using cost::last_of_kernel;

struct chain {
    graph g;
    value_id x, c, s, r;
};

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
    auto const w = b.input(dtype::f32, {8, 8, 3, 3}, "w"), y = b.input(dtype::f32, {1, 8, 6, 6}, "y");
    out.c = conv(b, out.x, w, 1);
    out.s = b.add<ops::add>(out.c, y);
    out.r = b.add<ops::relu>(out.s);
    b.outputs({out.r});
    return out;
}

TEST_CASE("elementwise operators behind a convolution are computed in its kernel") {
    auto const t = residual();
    CHECK(fused_operand(t.g, t.s.node) == t.c);
    CHECK(fused_operand(t.g, t.r.node) == t.s);
    CHECK(!fused_operand(t.g, t.c.node).valid());
    for (auto v : {t.c, t.s, t.r}) CHECK(last_of_kernel(t.g, v.node) == t.r.node);
    cost::fused_roofline const model{};
    CHECK(model(t.g, t.c.node).amount == 0);
    CHECK(model(t.g, t.s.node).amount == 0);
    // x, w and y are read, the result is written; what goes from one operator to the next is not.
    auto const elements = 3 * 288.0 + 576.0, operations = 288.0 * (2 * 72 + 1 + 1);
    CHECK(model(t.g, t.r.node).amount ==
          Approx(5e-6 + std::max(operations / 1e13, elements * 4 / 5e11)).epsilon(1e-12));
    CHECK(model(t.g).amount == model(t.g, t.r.node).amount);
}

TEST_CASE("a value with two readers, or that is an output, is stored") {
    auto t = residual();
    value_id const both[] = {t.r, t.c};
    t.g.set_outputs(both);
    CHECK(!fused_operand(t.g, t.s.node).valid());
    CHECK(last_of_kernel(t.g, t.c.node) == t.c.node);
    cost::fused_roofline const model{};
    CHECK(model(t.g, t.c.node).amount > 5e-6);
    CHECK(model(t.g, t.r.node).amount > 5e-6);
}

TEST_CASE("of two kernels that an addition could belong to, it is the one with more arithmetic, in either order") {
    for (auto const swapped : {false, true}) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {1, 8, 6, 6}, "x"), w = b.input(dtype::f32, {8, 8, 3, 3}, "w"),
                   v = b.input(dtype::f32, {8, 8, 1, 1}, "v");
        auto const large = conv(b, x, w, 1);
        auto const small = conv(b, x, v, 0);
        auto const s = swapped ? b.add<ops::add>(small, large) : b.add<ops::add>(large, small);
        b.outputs({s});
        CHECK(fused_operand(g, s.node) == large);
        CHECK(last_of_kernel(g, small.node) == small.node);
    }
}

TEST_CASE("what is broadcast, moved or constant is no kernel's inner value") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x"), row = b.input(dtype::f32, {6}, "row");
    auto const r = b.add<ops::relu>(row);
    auto const s = b.add<ops::add>(x, r);
    auto const t = b.add<ops::transpose>({.perm = {1, 0}}, {s});
    b.outputs({t});
    CHECK(!fused_operand(g, s.node).valid());
    CHECK(!fused_operand(g, t.node).valid());
}

// The model's bearers against the kernels that the pass makes.
TEST_CASE("every kernel is part of one that FuseOps makes, and FuseOps makes no fewer than a quarter less") {
    for (auto const* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "inception_v3"}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        normalize(g);
        std::map<node_id, std::size_t> group_of;
        auto const groups = passes::fuse_groups(g);
        for (std::size_t i = 0; i < groups.size(); ++i)
            for (auto n : groups[i]) group_of[n] = i;
        auto const made = static_cast<std::size_t>(std::count_if(groups.begin(), groups.end(), [&](auto const& group) {
            return std::any_of(group.begin(), group.end(), [&](node_id n) { return cost::is_kernel(g, n); });
        }));
        std::size_t kernels = 0;
        for (auto n : g.order()) {
            if (!cost::is_kernel(g, n)) continue;
            CHECK(group_of.at(n) == group_of.at(last_of_kernel(g, n)));
            kernels += last_of_kernel(g, n) == n;
        }
        CHECK(kernels >= made);
        CHECK(static_cast<double>(made) >= 0.75 * static_cast<double>(kernels));
    }
}

TEST_CASE("prices of nodes add up to that of the graph, and each stands at a bearer") {
    cost::fused_roofline const model{};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const g = random_graph::make(seed, 30);
        double total = 0;
        for (auto n : g.order()) {
            auto const price = model(g, n).amount;
            CHECK(price >= 0);
            CHECK((price == 0 || model.bearer(g, n) == n));
            CHECK(model.bearer(g, model.bearer(g, n)) == model.bearer(g, n));
            total += price;
        }
        CHECK(model(g).amount == Approx(total).epsilon(1e-12));
        CHECK(total <= cost::roofline{}(g).amount * (1 + 1e-12));
    }
}

} // namespace fused_test
