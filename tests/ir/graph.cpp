#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph.hpp>

#include <algorithm>

namespace {

using namespace gsub;

// Two branches over one input, joined: x -> relu -> add <- sigmoid <- x.
struct diamond {
    graph g;
    value_id x, left, right, sum;
    explicit diamond(bool mirrored = false) {
        graph_builder b{g};
        x = b.input(dtype::f32, {2, 3}, mirrored ? "other name" : "x");
        if (mirrored)
            right = b.add<ops::sigmoid>(x), left = b.add<ops::relu>(x);
        else
            left = b.add<ops::relu>(x), right = b.add<ops::sigmoid>(x);
        sum = mirrored ? b.add<ops::add>(right, left) : b.add<ops::add>(left, right);
        b.outputs({sum}, {"y"});
    }
};

std::vector<node_id> users(any_graph const& g, value_id v) {
    std::vector<node_id> out;
    g.for_each_use(v, [&](use u) { out.push_back(u.user); });
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace

TEST_CASE("a graph's hash depends on structure, not on ids, names or the order of insertion") {
    diamond const a, b{true};
    CHECK(a.g.hash() == b.g.hash());
    graph c;
    graph_builder builder{c};
    auto const x = builder.input(dtype::f32, {2, 3}, "x");
    builder.outputs({builder.add<ops::add>(builder.add<ops::relu>(x), builder.add<ops::relu>(x))});
    CHECK_FALSE(a.g.hash() == c.hash());
}

TEST_CASE("computing a value twice is another graph than computing it once") {
    graph once, twice;
    for (auto* g : {&once, &twice}) {
        graph_builder b{*g};
        auto const x = b.input(dtype::f32, {4}, "x");
        auto const first = b.add<ops::relu>(x), second = g == &twice ? b.add<ops::relu>(x) : first;
        b.outputs({b.add<ops::mul>(first, second)});
    }
    CHECK_FALSE(once == twice);
}

TEST_CASE("incremental and full hashes agree after every kind of change") {
    diamond d;
    d.g.rehash();
    auto const before = d.g.hash();
    graph_builder b{d.g};
    auto const other = b.add<ops::tanh>(d.x);
    d.g.replace_uses(d.right, other);
    d.g.erase_unused(d.right.node);
    REQUIRE(d.g.sort());
    any_graph const fresh = [&] {
        auto copy = d.g;
        copy.compact(); // forgets every stored hash
        return copy;
    }();
    d.g.rehash();
    CHECK(d.g.hash() == fresh.hash());
    CHECK_FALSE(d.g.hash() == before);
}

TEST_CASE("a copy is independent of the original and shares its constants") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const w = b.constant(tensor::from<float>({2}, {1, 2}), "w");
    b.outputs({b.add<ops::add>(x, w)});
    auto copy = g;
    CHECK(copy.constant_data(w.node).raw().data() == g.constant_data(w.node).raw().data());
    graph_builder more{copy};
    copy.set_outputs(std::vector{more.add<ops::relu>(copy.output(0))});
    CHECK(copy.size() == g.size() + 1);
    CHECK_FALSE(copy == g);
}

TEST_CASE("a constant of another graph is the same entry of a pool, so that its hash is computed once") {
    graph from, to;
    graph_builder a{from}, b{to};
    auto const w = a.constant(tensor::from<float>({2}, {1, 2}), "w");
    auto const x = a.input(dtype::f32, {2}, "x");
    auto const taken = to.add_constant(from.blob(w.node), "taken");
    CHECK(to.blob(taken.node) == from.blob(w.node));
    CHECK(to.hash(taken.node) == from.hash(w.node));
    CHECK(to.name(taken) == "taken");
    auto const copy = to.append_node(from.row(w.node), from.attributes(w.node), to.payload_of_copy(from, w.node), {},
                                     std::vector{from.type_of(w)});
    CHECK(to.blob(copy) == from.blob(w.node));
    CHECK(to.payload_of_copy(from, x.node) == 0);
}

TEST_CASE("use lists say who reads a value, also after rewiring") {
    diamond d;
    CHECK(users(d.g, d.x) == std::vector{d.left.node, d.right.node});
    d.g.replace_uses(d.left, d.x);
    CHECK(users(d.g, d.x) == std::vector{d.left.node, d.right.node, d.sum.node});
    CHECK_FALSE(d.g.used(d.left));
    d.g.erase_unused(d.left.node);
    CHECK_FALSE(d.g.live(d.left.node));
    CHECK(users(d.g, d.x) == std::vector{d.right.node, d.sum.node});
}

TEST_CASE("constness follows from operands and from their replacement") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const w = b.constant(tensor::from<float>({2}, {1, 2}));
    auto const product = b.add<ops::mul>(w, w);
    auto const mixed = b.add<ops::add>(product, x);
    auto const last = b.add<ops::relu>(mixed);
    b.outputs({last});
    CHECK(g.constant(product));
    CHECK_FALSE(g.constant(mixed));
    g.replace_uses(x, w);
    CHECK(g.constant(mixed));
    CHECK(g.constant(last));
}

TEST_CASE("the order is restored after appending in front of existing nodes, and a cycle is refused") {
    diamond d;
    auto const first_new = static_cast<std::uint32_t>(d.g.capacity());
    graph_builder b{d.g};
    auto const bent = b.add<ops::tanh>(d.x);
    d.g.replace_uses(d.left, bent, first_new);
    REQUIRE(d.g.restore_order(first_new));
    auto const order = d.g.order();
    auto const place = [&](value_id v) { return std::find(order.begin(), order.end(), v.node) - order.begin(); };
    CHECK(place(bent) < place(d.sum));
    CHECK(order.back() == d.g.return_node());

    diamond c;
    auto const next = static_cast<std::uint32_t>(c.g.capacity());
    graph_builder loop{c.g};
    auto const after = loop.add<ops::tanh>(c.sum);
    c.g.replace_uses(c.left, after, next); // sum now depends on after, which depends on sum
    CHECK_FALSE(c.g.restore_order(next));
    CHECK_FALSE(c.g.sort());
}

TEST_CASE("an ill-typed application names operator and reason") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x"), y = b.input(dtype::f32, {2, 4}, "y");
    CHECK_THROWS_WITH(b.add<ops::add>(x, y), "invalid input: Add: f32[2,3] and f32[2,4] do not broadcast");
}
