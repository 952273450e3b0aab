#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_text.hpp>

#include <string>
#include <vector>

namespace loaded_rule_test {

using namespace gsub;
using namespace small_graphs;

std::vector<loaded_rule> load(std::string_view text) {
    std::vector<loaded_rule> out;
    auto described = parse_rules(text).value();
    for (auto& d : described) out.push_back(loaded_rule::make(std::move(d)).value());
    return out;
}

// Rules that are right wherever they are typed; each shows another thing that a source may have.
constexpr std::string_view right = R"(
rule distributes
  a = conv(x, w, kernel=3x3)
  b = conv(x, v, kernel=3x3)
  c = add(a, b)
=>
  s = add(w, v)
  d = conv(x, s, kernel=3x3)
  replace c by d
rule any_kernel
  a = conv(x, w, strides=2x1, pads=none)
  b = relu(a)
=>
  c = conv(x, w, strides=2x1, pads=none, act=relu)
  replace b by c
rule shared_interior
  a = mat_mul(x, y)
  b = mat_mul(a, x)
  c = mat_mul(y, a)
=>
  p = mat_mul(y, x)
  q = mat_mul(x, p)
  r = mat_mul(p, y)
  replace b by q
  replace c by r
rule replaced_interior
  a = add(x, y)
  b = mul(z, a)
=>
  c = add(y, x)
  d = mul(x, z)
  e = mul(y, z)
  f = add(d, e)
  replace b by f
  replace a by c
rule parts
  a, b = split(x, axis=1)
  c = relu(b)
  d = relu(a)
  e = concat(d, c, axis=1)
=>
  f = relu(x)
  replace e by f
rule deeper
  a = relu(x)
  b = sigmoid(a)
  c = tanh(x)
  d = sigmoid(c)
=>
  e = relu(x)
  f = sigmoid(e)
  g = tanh(x)
  h = sigmoid(g)
  replace b by f
  replace d by h
rule merge_rows
  a = mat_mul(x, w)
  b = mat_mul(y, w)
=>
  c = concat(x, y, axis=0, rank=2)
  d = mat_mul(c, w)
  e, f = split(d, axis=0)
  replace a by e
  replace b by f
)";

// The same draws that the verifier makes.
template <class F>
void each_instance(loaded_rule const& rule, std::size_t count, F&& f) {
    for (std::uint64_t i = 0; i < count; ++i) {
        chooser draw{random_stream{i}};
        if (auto const instance = draw_instance(rule, dialect::of<standard_ops>(), draw)) f(*instance);
    }
}

TEST_CASE("right rules are proved, with or without a condition") {
    for (auto const& rule : load(right)) {
        auto const found = verify(rule);
        CAPTURE(rule.program().name, found.counterexample, found.condition);
        CHECK((found.outcome == verdict::proved || found.outcome == verdict::proved_where_typed));
        CHECK(found.condition.empty() == (found.outcome == verdict::proved));
        CHECK(rule.connected());
    }
}

TEST_CASE("the matcher finds what a description says, and its rewrite computes the same where it can be applied") {
    for (auto const& rule : load(right)) {
        CAPTURE(rule.program().name);
        std::size_t instances = 0, applied = 0;
        each_instance(rule, 60, [&](pattern_instance const& instance) {
            ++instances;
            std::size_t matches = 0;
            auto const root = instance.bindings.roots()[0].node;
            find_matches_at(instance.graph, rule.program(), root, [&](match const& m) {
                ++matches;
                auto const patch = prepare(m);
                if (patch.failed()) return;
                auto copy = instance.graph;
                REQUIRE(patch.apply_to(copy, shared_interior::refuse));
                CHECK(same_meaning(instance.graph, copy));
                ++applied;
            });
            CHECK(matches > 0);
        });
        CHECK(instances > 20);
        CHECK(applied > 10);
    }
}

TEST_CASE("wrong rules are refuted by an instance with both sides") {
    auto const wrong = load(R"(
rule groups_forgotten
  a = conv(x, w, kernel=3x3)
  b = conv(y, v, kernel=3x3)
  c = add(a, b)
=>
  s = concat(x, y, axis=1)
  t = concat(w, v, axis=1)
  d = conv(s, t, kernel=3x3)
  replace c by d
rule relu_of_sum
  a = add(x, y)
  b = relu(a)
=>
  c = relu(x)
  d = relu(y)
  e = add(c, d)
  replace b by e
rule order_of_parts
  a, b = split(x, axis=0)
  c = concat(b, a, axis=0)
=>
  replace c by x
rule other_activation
  a = conv(x, w, strides=2x2)
  b = relu(a)
=>
  c = conv(x, w, strides=2x2, act=sigmoid)
  replace b by c
)");
    for (auto const& rule : wrong) {
        auto const found = verify(rule);
        CAPTURE(rule.program().name, found.counterexample);
        CHECK(found.outcome == verdict::refuted);
        CHECK(found.counterexample.find("differs") != std::string::npos);
        CHECK(found.replacement.find("return") != std::string::npos);
    }
}

TEST_CASE("a rule that is typed nowhere is not proved") {
    auto const rules = load("rule grows\n a = relu(x)\n=>\n b = concat(x, x, axis=0)\n replace a by b\n"
                            "rule never\n a = concat(x, x, axis=1, rank=3)\n b = conv(a, w)\n=>\n c = relu(w)\n"
                            " replace b by c");
    for (auto const& rule : rules) CHECK(verify(rule).outcome == verdict::unverified);
}

TEST_CASE("rules of parts that share no value are proved and match nowhere") {
    auto const rule = load("rule loose\n a = relu(x)\n b = relu(y)\n=>\n c = concat(x, y, axis=0)\n d = relu(c)\n"
                           " e, f = split(d, axis=0)\n replace a by e\n replace b by f")[0];
    CHECK_FALSE(rule.connected());
    CHECK(verify(rule).outcome == verdict::proved_where_typed);
    each_instance(rule, 20, [&](pattern_instance const& instance) {
        for (auto n : instance.graph.order())
            if (n != instance.graph.return_node())
                find_matches_at(instance.graph, rule.program(), n, [](match const&) { CHECK(false); });
    });
}

TEST_CASE("attributes and types that a rule does not state are no match") {
    auto const rule = load("rule fuse\n a = conv(x, w, kernel=3x3)\n b = relu(a)\n=>\n"
                           " c = conv(x, w, kernel=3x3, act=relu)\n replace b by c")[0];
    auto const fires = [&](attributes_of<ops::conv> const& a, tensor_type const& x, tensor_type const& w,
                           bool bias = false) {
        graph g;
        graph_builder to{g};
        std::vector<value_id> operands{g.add_input(x, "x"), g.add_input(w, "w")};
        if (bias) operands.push_back(g.add_input(tensor_type{dtype::f32, shape{w.dims[0]}}, "b"));
        g.set_outputs(std::vector{to.add<ops::relu>(g.add<ops::conv>(a, operands))});
        return applied(g, rule).has_value();
    };
    attributes_of<ops::conv> same;
    same.strides = {1, 1}, same.pads = {1, 1, 1, 1}, same.dilations = {1, 1};
    tensor_type const x{dtype::f32, shape{1, 4, 5, 5}}, w{dtype::f32, shape{2, 4, 3, 3}};
    CHECK(fires(same, x, w));
    CHECK_FALSE(fires(same, x, w, true));
    auto changed = same;
    changed.pads = {0, 1, 1, 1};
    CHECK_FALSE(fires(changed, x, w));
    changed = same, changed.strides = {2, 1};
    CHECK_FALSE(fires(changed, x, w));
    changed = same, changed.dilations = {2, 2}, changed.pads = {2, 2, 2, 2};
    CHECK_FALSE(fires(changed, x, w));
    changed = same, changed.act = activation::relu;
    CHECK_FALSE(fires(changed, x, w));
    changed = same, changed.group = 2;
    CHECK(fires(changed, x, {dtype::f32, shape{2, 2, 3, 3}}));
    changed = same, changed.pads = {2, 2, 2, 2};
    CHECK_FALSE(fires(changed, x, {dtype::f32, shape{2, 4, 5, 5}}));
    // Sizes that are not known cannot be held against the rule.
    auto unknown = x;
    unknown.dims[2] = dim{};
    CHECK_FALSE(fires(same, unknown, w));
}

TEST_CASE("what broadcasts is no match") {
    auto const rule = load("rule factor\n a = mul(x, z)\n b = mul(y, z)\n c = add(a, b)\n=>\n d = add(x, y)\n"
                           " e = mul(d, z)\n replace c by e")[0];
    auto const fires = [&](shape const& x, shape const& z) {
        graph g;
        graph_builder to{g};
        auto const a = g.add_input(tensor_type{dtype::f32, x}, "x"), b = g.add_input(tensor_type{dtype::f32, x}, "y");
        auto const c = g.add_input(tensor_type{dtype::f32, z}, "z");
        g.set_outputs(std::vector{to.add<ops::add>(to.add<ops::mul>(a, c), to.add<ops::mul>(c, b))});
        return applied(g, rule).has_value();
    };
    CHECK(fires({2, 3}, {2, 3}));
    CHECK_FALSE(fires({2, 3}, {3}));
    CHECK_FALSE(fires({2, 3}, {2, 1}));
}

} // namespace loaded_rule_test
