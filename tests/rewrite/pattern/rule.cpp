#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/core/format.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

namespace rule_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto b = maybe<"b">;
constexpr auto w = var<"w">;
constexpr auto c = label<"c">;
constexpr auto u = label<"u">;
constexpr auto j = label<"j">;

// The graph after a rule was applied at its first match, in the order of nodes.
graph applied(graph const& g, rule_program const& program) {
    auto out = g;
    bool done = false;
    for (auto n : g.order())
        find_matches_at(g, program, n, [&](match const& m) {
            if (done) return;
            done = true;
            auto const r = prepare(m);
            INFO(r.reason());
            REQUIRE(r.apply_to(out, shared_interior::refuse));
        });
    REQUIRE(done);
    out.compact();
    return out;
}
template <class F>
graph made(F&& f) {
    graph g;
    graph_builder to{g};
    f(to);
    return g;
}

constexpr auto keep_label = rule<"keep_label">(pattern::relu(pattern::transpose[c](x)),
                                               pattern::transpose[c](pattern::relu(x)), provenance{"test"});
constexpr auto flipped =
    rule<"flipped">(pattern::transpose[c](pattern::relu(x)), pattern::relu(pattern::transpose.with([](match const& m) {
                        return attributes_of<ops::transpose>{.perm = m.attributes<ops::transpose>(c).perm};
                    })(x)),
                    provenance{"test"});

TEST_CASE("a label in the replacement carries the attributes over, a function gives others") {
    auto const g = made([](graph_builder& to) {
        auto const p = to.input(dtype::f32, {2, 3, 4}, "p");
        to.outputs({to.add<ops::relu>(to.add<ops::transpose>({.perm = {2, 0, 1}}, {p}))});
    });
    auto const h = applied(g, keep_label.program());
    CHECK(small_graphs::operators_of(h) == "Relu Transpose");
    CHECK(h.attributes<ops::transpose>(h.output(0).node).perm == ints{2, 0, 1});
    CHECK(small_graphs::same_meaning(g, h));
    CHECK(applied(h, flipped.program()) == g);
}

constexpr auto spread =
    rule<"spread">(pattern::unary[u](concat[j](each(x))), concat[j](each(pattern::unary[u](x))), provenance{"test"});

TEST_CASE("each in the replacement stands for as many operands as it matched") {
    for (std::size_t count : {1u, 2u, 5u}) {
        auto const g = made([&](graph_builder& to) {
            std::vector<value_id> parts;
            for (std::size_t i = 0; i < count; ++i)
                parts.push_back(to.input(dtype::f32, {static_cast<std::int64_t>(i + 1), 2}, fmt::format("p{}", i)));
            to.outputs({to.add<ops::clip>({.min = 0, .max = 6}, {to.add<ops::concat>({.axis = 0}, parts)})});
        });
        auto const h = applied(g, spread.program());
        CHECK(h.is<ops::concat>(h.output(0).node));
        CHECK(h.operand_count(h.output(0).node) == count);
        for (auto v : h.operands(h.output(0).node)) CHECK(h.attributes<ops::clip>(v.node).max == 6);
        CHECK(small_graphs::same_meaning(g, h));
    }
}

constexpr auto swap_roots = rule<"swap_roots">(roots(pattern::relu(x), pattern::sigmoid(x)),
                                               results(pattern::sigmoid(x), pattern::relu(x)), provenance{"test"});

TEST_CASE("results replace roots in their order") {
    auto const g = made([](graph_builder& to) {
        auto const p = to.input(dtype::f32, {2}, "p");
        to.outputs({to.add<ops::relu>(p), to.add<ops::sigmoid>(p)});
    });
    auto const h = applied(g, swap_roots.program());
    CHECK(h.is<ops::sigmoid>(h.output(0).node));
    CHECK(h.is<ops::relu>(h.output(1).node));
}

constexpr auto drop_bias = rule<"optional_bias">(pattern::relu(conv[c](x, w, b)), conv[c](x, w, b), provenance{"test"});

TEST_CASE("an operand that was left out in the pattern is left out in the replacement") {
    for (bool with_bias : {false, true}) {
        auto const g = made([&](graph_builder& to) {
            auto const p = to.input(dtype::f32, {1, 2, 3}, "p"), weight = to.input(dtype::f32, {2, 2, 1}, "w"),
                       bias = to.input(dtype::f32, {2}, "b");
            attributes_of<ops::conv> a;
            a.strides = {1}, a.dilations = {1}, a.pads = {0, 0};
            to.outputs({to.add<ops::relu>(with_bias ? to.add<ops::conv>(a, {p, weight, bias})
                                                    : to.add<ops::conv>(a, {p, weight}))});
        });
        auto const h = applied(g, drop_bias.program());
        CHECK(h.operand_count(h.output(0).node) == (with_bias ? 3 : 2));
    }
}

constexpr auto by_function = rule<"by_function">(
    pattern::sub(x, y),
    pattern::add(x, computed([](rewrite& r) { return r.add<ops::mul>(r[y], r.filled(r.type(r[y]).element, {}, -1)); })),
    provenance{"test"});

TEST_CASE("a value in the replacement may be made by a function") {
    auto const g = made([](graph_builder& to) {
        to.outputs({to.add<ops::sub>(to.input(dtype::f32, {2, 3}, "p"), to.input(dtype::f32, {3}, "q"))});
    });
    auto const h = applied(g, by_function.program());
    CHECK(small_graphs::operators_of(h) == "Mul Add");
    CHECK(small_graphs::same_meaning(g, h));
}

constexpr bool never(match const&) {
    return false;
}
constexpr auto conditional =
    rule<"conditional">(pattern::relu(x), x, where(condition("one", never), condition("two", never)),
                        prefer(condition("three", never)), provenance{"test"});
constexpr auto hopeful = rule<"hopeful">(pattern::relu(x), x, prefer(condition("three", never)), provenance{"test"});
constexpr auto both = rule_list(conditional, hopeful);

// Conditions keep their order and their lists; kinds change nothing else; lists of programs are constants.
static_assert(conditional.where.size() == 2 && conditional.prefer.size() == 1);
static_assert(both[0].where[0].sentence == "one" && both[0].where[1].sentence == "two");
static_assert(both[0].prefer[0].sentence == "three" && both[1].where.empty() && both[1].prefer.size() == 1);
static_assert(both[0].kind == rule_kind::atomic && conditional.as(rule_kind::internal).kind == rule_kind::internal);
static_assert(conditional.as(rule_kind::macro).name == conditional.name);
static_assert(both[1].name == "hopeful" && both.size() == 2);

// A rule is its data, small enough for a table.
static_assert(std::is_trivially_copyable_v<rule_program>);

} // namespace rule_test
