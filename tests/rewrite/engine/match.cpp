#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

namespace match_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto w = var<"w">;
constexpr auto b = maybe<"b">;
constexpr auto c = label<"c">;
constexpr auto u = label<"u">;
constexpr auto j = label<"j">;

constexpr auto convolution =
    rule<"convolution">(pattern::relu(conv[c](x, w, b)), build([](rewrite&) {}), provenance{"test"});
constexpr auto joined =
    rule<"joined">(concat[j](each(pattern::relu[u](x))), build([](rewrite&) {}), provenance{"test"});

// Names are hashed: variables, optional ones and labels of one name are one name.
static_assert(var_t<"x">::name == optional_t<"x">::name && var_t<"x">::name != var_t<"y">::name);
static_assert(var_t<"x">::name != 0);

struct example {
    graph g;
    value_id image, weight, bias, sum, out;
    explicit example(bool with_bias) {
        graph_builder to{g};
        image = to.input(dtype::f32, {1, 2, 4, 4}, "image");
        weight = to.input(dtype::f32, {3, 2, 1, 1}, "weight");
        bias = to.input(dtype::f32, {3}, "bias");
        attributes_of<ops::conv> a;
        a.strides = {2, 1}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        sum = with_bias ? to.add<ops::conv>(a, {image, weight, bias}) : to.add<ops::conv>(a, {image, weight});
        out = to.add<ops::relu>(sum);
        to.outputs({out});
    }
    match only(rule_program const& rule) const {
        std::optional<match> found;
        find_pattern_at(g, rule, g.output(0).node, [&](match const& m) {
            REQUIRE_FALSE(found);
            found = m;
        });
        REQUIRE(found);
        return *found;
    }
};

TEST_CASE("a match tells what its variables and labels stand for, with types and attributes") {
    example const e{true};
    auto const program = convolution.program();
    auto const m = e.only(program);
    CHECK(&m.graph() == &e.g);
    CHECK(&m.rule() == &program);
    CHECK(m[x] == e.image);
    CHECK(m[w] == e.weight);
    CHECK(m[b] == e.bias);
    CHECK(m.has(b));
    CHECK(m.node(c) == e.sum.node);
    CHECK(m.attributes<ops::conv>(c).strides == ints{2, 1});
    CHECK(to_string(m.type(w)) == "f32[3,2,1,1]");
    CHECK(to_string(m.type(m[x])) == "f32[1,2,4,4]");
    CHECK(to_string(m.type_of_label(m.node(c))) == "f32[1,3,2,4]");
    CHECK(m.site() == e.out.node);
    REQUIRE(m.roots().size() == 1);
    CHECK(m.roots()[0] == e.out);
    CHECK(std::vector<node_id>(m.covered().begin(), m.covered().end()) == std::vector{e.out.node, e.sum.node});
}

TEST_CASE("an operand that is left out is an invalid value") {
    example const e{false};
    auto const program = convolution.program();
    auto const m = e.only(program);
    CHECK_FALSE(m.has(b));
    CHECK_FALSE(m[b].valid());
    CHECK(m.all(b).empty());
}

TEST_CASE("inside of each, variables and labels have a list of values, in the order of the operands") {
    graph g;
    graph_builder to{g};
    auto const p = to.input(dtype::f32, {2}, "p"), q = to.input(dtype::f32, {3}, "q");
    auto const first = to.add<ops::relu>(p), second = to.add<ops::relu>(q), third = to.add<ops::relu>(p);
    to.outputs({to.add<ops::concat>({.axis = 0}, {first, second, third})});
    std::size_t found = 0;
    auto const program = joined.program();
    find_pattern_at(g, program, g.output(0).node, [&](match const& m) {
        ++found;
        CHECK(m.all(x) == small_vector<value_id, 6>{p, q, p});
        CHECK(m.nodes(u) == small_vector<node_id, 6>{first.node, second.node, third.node});
        CHECK(m[x] == p); // the first
        CHECK(m.covered().size() == 4);
    });
    CHECK(found == 1);
}

TEST_CASE("a match that was taken back is as it was before") {
    example const e{true};
    auto const program = convolution.program();
    match m{e.g, program};
    CHECK_FALSE(m.site().valid());
    m.bind(var_t<"x">::name, e.image, 0);
    m.add_root(e.out);
    auto const copy = m;
    auto const mark = m.position();
    m.bind(var_t<"w">::name, e.weight, 0);
    m.cover(e.sum.node);
    m.add_root(e.sum);
    CHECK_FALSE(m == copy);
    m.rewind(mark);
    CHECK(m == copy);
    CHECK(m.covered().empty());
    CHECK_FALSE(m[w].valid());
    // Bindings by index are apart.
    m.bind(var_t<"w">::name, e.weight, 2);
    CHECK(m.value(var_t<"w">::name, 2) == e.weight);
    CHECK_FALSE(m.value(var_t<"w">::name, 1).valid());
    CHECK(m.value(var_t<"w">::name) == e.weight);
}

} // namespace match_test
