#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/matmul.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <optional>

namespace rewrite_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto c = label<"c">;

std::optional<match> first_match(any_graph const& g, rule_program const& program) {
    std::optional<match> out;
    for (auto n : g.order())
        if (n != g.return_node())
            find_pattern_at(g, program, n, [&](match const& m) {
                if (!out) out = m;
            });
    return out;
}

constexpr auto nothing = rule<"nothing">(pattern::relu[c](x), build([](rewrite&) {}), provenance{"test"});
constexpr auto nothing_program = nothing.program();

// A graph relu(p) with an input of some type, and a rewrite at the relu.
struct bench {
    graph g;
    value_id p, out;
    std::optional<match> m;
    explicit bench(shape dims, dtype element = dtype::f32) {
        graph_builder to{g};
        p = to.input(element, std::move(dims), "p");
        out = to.add<ops::relu>(p);
        g.set_source(out.node, "the relu");
        to.outputs({out});
        m = first_match(g, nothing_program);
    }
    // The tensor that a value of the rewrite has, for an input.
    tensor value_of(rewrite const& r, value_id v, tensor const& input) const {
        auto copy = g;
        REQUIRE_FALSE(r.failed());
        // The patch's own nodes go again unless something reads them: what was made becomes the output.
        rewrite patch = r;
        patch.replace(out, v);
        REQUIRE(patch.apply_to(copy));
        return evaluate_graph(copy, std::vector{input}).value()[0];
    }
};

TEST_CASE("a rewrite knows its match, bears the rule's name and covers what was matched") {
    bench const b{{2, 3}};
    rewrite r{*b.m};
    CHECK(&r.matched() == &*b.m);
    CHECK(r.rule() == "nothing");
    CHECK(r.site() == b.out.node);
    CHECK(r[x] == b.p);
    CHECK(to_string(r.type(r[x])) == "f32[2,3]");
    CHECK(r.sizes(r[x]) == ints{2, 3});
    // What was matched must go: a rewrite that leaves it in use is refused.
    auto copy = b.g;
    auto const refused = r.apply_to(copy, shared_interior::refuse);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message() ==
          "internal error: nothing (node \"the relu\"): the relu is used outside of the match");
}

TEST_CASE("the new nodes stand for all that was matched") {
    bench const b{{2, 3}};
    rewrite r{*b.m};
    r.replace_root(0, r.add<ops::sigmoid>(r[x]));
    auto copy = b.g;
    REQUIRE(r.apply_to(copy, shared_interior::refuse));
    CHECK(copy.display_name(copy.output(0).node) == "the relu");
}

TEST_CASE("like applies a matched operator, with its attributes, to other operands") {
    graph g;
    graph_builder to{g};
    auto const p = to.input(dtype::f32, {4, 2}, "p");
    auto const parts = to.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {p}, 2);
    to.outputs({parts, value_id{parts.node, 1}});
    rewrite r{
        *first_match(g, rule<"any_split">(pattern::split[c](x), build([](rewrite&) {}), provenance{""}).program())};
    auto const again = r.like(parts.node, {r.add<ops::relu>(p)});
    CHECK(to_string(r.type(again)) == "f32[1,2]");
    CHECK(to_string(r.type(rewrite::port(again, 1))) == "f32[3,2]");
    CHECK_FALSE(rewrite::port(value_id{}, 1).valid());
}

TEST_CASE("weight arithmetic computes what its sentences say") {
    bench const b{{2, 3}};
    auto const input = small_graphs::random_tensor({2, 3}, 1);
    auto const row = [&](std::size_t i) {
        return std::array{input.data<float>()[3 * i], input.data<float>()[3 * i + 1], input.data<float>()[3 * i + 2]};
    };
    {
        rewrite r{*b.m};
        auto const v = r.add<ops::mul>(r.reshaped(r[x], {6}), r.filled(dtype::f32, {}, 2));
        auto const t = b.value_of(r, r.reshaped(v, {2, 3}), input);
        CHECK(t.data<float>()[4] == 2 * input.data<float>()[4]);
    }
    {
        // m[r,k] * v[k], summed over k.
        rewrite r{*b.m};
        auto const v = r.filled(dtype::f32, {3}, 0.5);
        auto const sums = r.matrix_times_vector(r[x], v);
        CHECK(to_string(r.type(sums)) == "f32[2]");
        auto const t = b.value_of(
            r, r.add<ops::add>(r.add<ops::mul>(r[x], r.filled(dtype::f32, {}, 0)), r.reshaped(sums, {2, 1})), input);
        for (std::size_t i : {0u, 1u}) {
            auto const [p, q, s] = row(i);
            CHECK(t.data<float>()[3 * i] == Approx((p + q + s) / 2));
        }
    }
    {
        rewrite r{*b.m};
        auto const vector = r.filled(dtype::f32, {2}, 1);
        CHECK(to_string(r.type(r.per_output(vector, 4))) == "f32[2,1,1,1]");
        CHECK(r.bias_or_zeros(vector, dtype::f32, 2) == vector);
        auto const zeros = r.bias_or_zeros({}, dtype::f32, 2);
        CHECK(to_string(r.type(zeros)) == "f32[2]");
        auto const t = b.value_of(r, r.add<ops::add>(r[x], r.reshaped(zeros, {2, 1})), input);
        CHECK(t.hash() == input.hash());
    }
}

TEST_CASE("sizes that are not fixed fail the rewrite and are named as the reason") {
    bench const b{{dim{symbol{"batch"}}, dim{3}}};
    rewrite r{*b.m};
    CHECK(r.sizes(r[x]) == ints{1, 1});
    CHECK(r.failed());
    CHECK(r.reason() == "a size that the rewrite needs is not fixed");
    rewrite of_nothing{*b.m};
    CHECK(of_nothing.sizes({}) == ints{1});
    CHECK_FALSE(of_nothing.failed());
}

TEST_CASE("a root without a replacement fails the rewrite") {
    bench const b{{2}};
    rewrite r{*b.m};
    r.replace_root(0, value_id{});
    CHECK(r.reason() == "a root has no replacement");
    rewrite beyond{*b.m};
    beyond.replace_root(1, beyond[x]);
    CHECK(beyond.failed());
}

constexpr auto turned = rule<"turned">(pattern::relu[c](x), pattern::transpose.with([](match const&) {
    return attributes_of<ops::transpose>{.perm = {1, 0}};
})(x),
                                       provenance{"well-typed for square matrices alone"});
constexpr auto to_product = rule<"to_product">(pattern::add(x, y), mat_mul(x, y), provenance{"mostly ill-typed"});

TEST_CASE("a replacement that is ill-typed, or of another type, is refused") {
    bench const b{{2, 3}};
    auto copy = b.g;
    auto const program = turned.program();
    auto const r = prepare(*first_match(b.g, program));
    REQUIRE_FALSE(r.failed());
    CHECK(r.apply_to(copy).error().message() ==
          "internal error: turned (node \"the relu\"): a value of type f32[2,3] would become one of type f32[3,2]");
    graph g;
    graph_builder to{g};
    to.outputs({to.add<ops::add>(to.input(dtype::f32, {2, 3}, "p"), to.input(dtype::f32, {2, 3}, "q"))});
    auto const sum = to_product.program();
    auto const bad = prepare(*first_match(g, sum));
    CHECK(bad.failed());
    CHECK(bad.reason().starts_with("MatMul: "));
    CHECK_FALSE(bad.apply_to(g));
}

TEST_CASE("a rule that makes an operator which the graph's set lacks fails there") {
    using few = op_set<ops::relu>;
    basic_graph<few> g;
    graph_builder to{g};
    to.outputs({to.add<ops::relu>(to.input(dtype::f32, {2, 2}, "p"))});
    auto const program = turned.program();
    auto const r = prepare(*first_match(g, program));
    CHECK(r.failed());
    CHECK(r.reason() == "the graph's set of operators lacks one that the rule makes");
}

// Two products of x; the second's other operand is the first's result, or not.
graph two_products(bool dependent) {
    graph g;
    graph_builder to{g};
    auto const v = to.input(dtype::f32, {2, 2}, "v");
    auto const first = to.add<ops::mat_mul>(v, to.input(dtype::f32, {2, 2}, "w"));
    auto const other = dependent ? to.add<ops::relu>(first) : to.input(dtype::f32, {2, 2}, "u");
    to.outputs({first, to.add<ops::mat_mul>(v, other)});
    return g;
}

TEST_CASE("merging what depends on each other would close a cycle, and is refused") {
    for (bool dependent : {false, true}) {
        auto const g = two_products(dependent);
        auto const program = rules::matrix::merge_matmul_siblings.program();
        auto const m = first_match(g, program);
        REQUIRE(m);
        auto const r = prepare(*m);
        REQUIRE_FALSE(r.failed());
        auto copy = g;
        auto const done = r.apply_to(copy, shared_interior::refuse);
        CHECK(bool(done) == !dependent);
        if (done) {
            CHECK(small_graphs::same_meaning(g, copy));
            CHECK(check(copy, stage::canonical).empty());
        } else {
            CHECK(done.error().message().find("it would close a cycle") != std::string::npos);
        }
    }
}

TEST_CASE("every rewrite of random graphs is refused with a reason, or computes the same and stays legal") {
    rule_index const index{standard_rules()};
    std::size_t applied = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const g = small_graphs::dense_graph(seed, 25);
        for (auto n : g.order())
            for (auto const* rule : index.anchored_at(g.op(n))) {
                if (n == g.return_node()) continue;
                find_pattern_at(g, *rule, n, [&](match const& m) {
                    for (auto const& condition : rule->where)
                        if (!condition.holds(m)) return;
                    CAPTURE(seed, rule->name, n.index);
                    auto const r = prepare(m);
                    auto copy = g;
                    auto const done = r.apply_to(copy, shared_interior::refuse);
                    if (!done) {
                        ++refused;
                        CHECK_FALSE(done.error().problems()[0].reason.empty());
                        return;
                    }
                    ++applied;
                    CHECK(small_graphs::same_meaning(g, copy, seed));
                    canonicalize(copy);
                    CHECK(small_graphs::same_meaning(g, copy, seed));
                    CHECK(check(copy, stage::canonical).empty());
                });
            }
    }
    CHECK(applied > 500);
    CHECK(refused > 50);
}

} // namespace rewrite_test
