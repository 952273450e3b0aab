#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/patch.hpp>
#include <gsub/ir/text.hpp>

#include <string>
#include <vector>

namespace patch_test {

using namespace gsub;

// x -> relu -> tanh -> out, with the relu read by another output if asked for.
struct chain {
    graph g;
    value_id x, middle, last;
    explicit chain(bool shared = false) {
        graph_builder b{g};
        x = b.input(dtype::f32, {2, 3}, "x");
        middle = b.add<ops::relu>(x);
        last = b.add<ops::tanh>(middle);
        g.set_source(middle.node, "relu node");
        g.set_source(last.node, "tanh node");
        g.set_name(last, "y");
        if (shared)
            b.outputs({last, middle});
        else
            b.outputs({last});
    }
    // Replaces both nodes by sigmoid(x).
    graph_patch fuse() const {
        graph_patch p{g, "fuse", last.node};
        p.replace(last, p.add<ops::sigmoid>(x));
        p.covers(last.node);
        p.covers(middle.node);
        return p;
    }
};

std::string op_names(any_graph const& g) {
    std::string out;
    for (auto n : g.order()) out += fmt::format("{}{}", out.empty() ? "" : " ", g.op(n).name);
    return out;
}

TEST_CASE("a patch adds its nodes, redirects the uses and drops what nobody reads any more") {
    chain c;
    auto const p = c.fuse();
    CHECK(p.new_nodes() == 1);
    CHECK(p.rule() == "fuse");
    CHECK(p.site() == c.last.node);
    CHECK(&p.graph() == &c.g);
    REQUIRE(p.apply_to(c.g, shared_interior::refuse));
    CHECK(op_names(c.g) == "input Sigmoid results");
    CHECK(check(c.g, stage::canonical).empty());
}

TEST_CASE("a patch applied to a copy leaves the original as it was") {
    chain const c;
    auto const p = c.fuse();
    auto const before = to_text(c.g);
    auto copy = c.g;
    REQUIRE(p.apply_to(copy));
    CHECK(to_text(c.g) == before);
    CHECK_FALSE(copy == c.g);
    // A patch is a value: it can be applied again, to another copy, with the same result.
    auto again = c.g;
    REQUIRE(p.apply_to(again));
    CHECK(again == copy);
    CHECK(to_text(again) == to_text(copy));
}

TEST_CASE("names and sources pass on to the nodes that replace others") {
    chain c;
    REQUIRE(c.fuse().apply_to(c.g));
    auto const y = c.g.output(0);
    CHECK(c.g.name(y) == "y");
    CHECK(c.g.sources(y.node) == std::vector<std::string>{"tanh node", "relu node"});
    CHECK(c.g.display_name(y.node) == "tanh node");
}

TEST_CASE("a covered node that others read keeps the patch away, or stays for them") {
    chain const c{true};
    auto refused = c.g;
    auto const r = c.fuse().apply_to(refused, shared_interior::refuse);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "internal error: fuse (node \"tanh node\"): relu node is used outside of the match");
    auto kept = c.g;
    REQUIRE(c.fuse().apply_to(kept, shared_interior::keep));
    CHECK(kept.live(c.middle.node));
    CHECK_FALSE(kept.live(c.last.node));
    CHECK(kept.output(1) == c.middle);
    CHECK(check(kept, stage::canonical).empty());
}

TEST_CASE("a replacement of another type is refused") {
    chain const c;
    graph_patch p{c.g, "wrong", c.last.node};
    p.replace(c.last, p.add<ops::transpose>({.perm = {1, 0}}, {c.x}));
    auto copy = c.g;
    auto const r = p.apply_to(copy);
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::illegal_graph);
    CHECK(r.error().message() ==
          "internal error: wrong (node \"tanh node\"): a value of type f32[2,3] would become one of type f32[3,2]");
    CHECK(copy == c.g);
    graph_patch cast{c.g, "wrong", c.last.node};
    cast.replace(c.last, cast.add<ops::cast>({.to = dtype::f64}, {c.middle}));
    CHECK_FALSE(cast.apply_to(copy));
}

TEST_CASE("a patch that went wrong on the way stays wrong and says why first") {
    chain const c;
    graph_patch p{c.g, "bad", c.middle.node};
    CHECK_FALSE(p.failed());
    auto const nothing = p.add<ops::softmax>({.axis = 5}, {c.x});
    CHECK_FALSE(nothing.valid());
    CHECK(p.failed());
    p.fail("something else");
    CHECK(p.reason() == "Softmax: axis 5 for operand f32[2,3]");
    CHECK_FALSE(p.add<ops::relu>(c.x).valid()); // further additions do nothing
    CHECK(p.new_nodes() == 0);
    p.replace(c.middle, nothing);
    auto copy = c.g;
    auto const r = p.apply_to(copy);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "internal error: bad (node \"relu node\"): Softmax: axis 5 for operand f32[2,3]");
    CHECK(copy == c.g);

    graph_patch empty_handed{c.g, "bad", c.middle.node};
    empty_handed.replace(c.middle, value_id{});
    CHECK_FALSE(empty_handed.apply_to(copy));
}

TEST_CASE("a change that would close a cycle is refused") {
    // left and right are independent; feeding right into left and left into right at once is a cycle.
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const left = b.add<ops::relu>(x), right = b.add<ops::tanh>(x);
    auto const left_user = b.add<ops::sigmoid>(left), right_user = b.add<ops::sqrt>(right);
    b.outputs({left_user, right_user});
    for (bool through_new_nodes : {false, true}) {
        graph_patch p{g, "knot", left.node};
        p.replace(left, through_new_nodes ? p.add<ops::identity>(right_user) : right_user);
        p.replace(right, through_new_nodes ? p.add<ops::identity>(left_user) : left_user);
        auto copy = g;
        auto const r = p.apply_to(copy);
        REQUIRE_FALSE(r);
        CHECK(r.error().message().find("it would close a cycle") != std::string::npos);
    }
    // One of the two alone is none.
    graph_patch p{g, "half a knot", left.node};
    p.replace(left, p.add<ops::identity>(right_user));
    auto copy = g;
    REQUIRE(p.apply_to(copy));
    CHECK(check(copy, stage::imported).empty());
}

TEST_CASE("a patch may replace several values at once, by several results of one node") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x");
    auto const slice = [&](std::int64_t from, std::int64_t to) {
        return b.add<ops::slice>({.starts = {from}, .ends = {to}, .axes = {1}, .steps = {1}}, {x});
    };
    auto const first = slice(0, 2), second = slice(2, 6);
    b.outputs({b.add<ops::relu>(first), b.add<ops::relu>(second)});
    graph_patch p{g, "slices_to_split", first.node};
    auto const parts = p.add<ops::split>({.axis = 1, .sizes = {2, 4}}, {x}, 2);
    p.replace(first, parts);
    p.replace(second, {parts.node, 1});
    p.covers(first.node);
    p.covers(second.node);
    REQUIRE(p.apply_to(g, shared_interior::refuse));
    CHECK(op_names(g) == "input Split Relu Relu results");
    CHECK(g.operand(g.output(1).node, 0) == value_id{parts.node, 1});
    CHECK(check(g, stage::canonical).empty());
}

TEST_CASE("an existing value may take the place of another, also one that stands behind its new users") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const early = b.add<ops::relu>(x), user = b.add<ops::tanh>(early), late = b.add<ops::relu>(x);
    b.outputs({user, b.add<ops::sigmoid>(late)});
    graph_patch p{g, "merge", early.node};
    p.replace(early, late);
    REQUIRE(p.apply_to(g));
    CHECK(g.operand(user.node, 0) == late);
    CHECK_FALSE(g.live(early.node));
    CHECK(check(g, stage::canonical).empty());
}

TEST_CASE("a patch may build on the value that it replaces") {
    chain c;
    graph_patch p{c.g, "wrap", c.middle.node};
    p.replace(c.middle, p.add<ops::clip>({.max = 6}, {c.middle}));
    REQUIRE(p.apply_to(c.g));
    CHECK(op_names(c.g) == "input Relu Clip Tanh results");
}

TEST_CASE("new nodes that nobody reads go again, and a replacement by itself does nothing") {
    chain c;
    auto const before = c.g.hash();
    graph_patch p{c.g, "idle", c.middle.node};
    static_cast<void>(p.add<ops::sqrt>(p.add<ops::sigmoid>(c.x)));
    p.replace(c.middle, c.middle);
    REQUIRE(p.apply_to(c.g));
    CHECK(c.g.hash() == before);
    CHECK(op_names(c.g) == "input Relu Tanh results");
}

TEST_CASE("types of old and new values are known to the patch while it is prepared") {
    chain const c;
    graph_patch p{c.g, "look", c.middle.node};
    auto const flat = p.add<ops::flatten>({.axis = 0}, {c.x});
    CHECK(to_string(*p.type_of(c.x)) == "f32[2,3]");
    CHECK(to_string(*p.type_of(flat)) == "f32[1,6]");
    CHECK(p.type_of(value_id{}) == type_id{});
    CHECK(flat.node.index == c.g.capacity()); // the id that it will have
}

TEST_CASE("random graphs stay legal and keep their hash under patches that change nothing") {
    // Every relu is replaced by a relu: the hash must come back, incremental hashes included.
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 25);
        g.rehash();
        auto const before = g.hash();
        std::vector<node_id> const nodes(g.order().begin(), g.order().end());
        int applied = 0;
        for (auto n : nodes) {
            if (!g.live(n) || !g.is<ops::relu>(n)) continue;
            graph_patch p{g, "same", n};
            p.replace({n, 0}, p.add<ops::relu>(g.operand(n, 0)));
            p.covers(n);
            REQUIRE(p.apply_to(g, shared_interior::refuse));
            g.rehash();
            CHECK(g.hash() == before);
            ++applied;
        }
        CHECK(check(g, stage::imported).size() == check(random_graph::make(seed, 25), stage::imported).size());
        CAPTURE(applied);
    }
}

} // namespace patch_test
