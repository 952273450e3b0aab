#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/core/format.hpp>
#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <string>
#include <vector>

namespace verifier_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto z = var<"z">;
constexpr auto w = var<"w">;
constexpr auto v = var<"v">;
constexpr auto b = maybe<"b">;
constexpr auto c = label<"c">;
constexpr auto d = label<"d">;
constexpr auto j = label<"j">;
constexpr auto s = label<"s">;

TEST_CASE("every rule of the library is proved, on many instances, small ones all of them and large ones") {
    for (auto const& rule : standard_rules()) {
        auto const found = verify(rule);
        CAPTURE(rule.name, found.counterexample);
        CHECK(found.outcome == verdict::proved);
        CHECK(found.counterexample.empty());
        CHECK(found.box_instances > 0);
        CHECK(found.sampled_instances > 0);
    }
}

TEST_CASE("no rule of the library is right without any one of its conditions") {
    for (auto const& rule : standard_rules())
        for (std::size_t i = 0; i < rule.where.size(); ++i) {
            CAPTURE(rule.name, rule.where[i].sentence);
            auto const found = verify(rule, {.without = i});
            CHECK(found.outcome == verdict::refuted);
            CHECK_FALSE(found.counterexample.empty());
        }
}

// ---- right and wrong laws
// ----------------------------------------------------------------------------------------------------

constexpr auto distributes = rule<"distributes">(pattern::mul(x, pattern::add(y, z)),
                                                 pattern::add(pattern::mul(x, y), pattern::mul(x, z)), provenance{""});
constexpr auto commutes = rule<"commutes">(pattern::add(x, y), pattern::add(y, x), provenance{""});
constexpr auto twice =
    rule<"twice">(pattern::add(x, x), pattern::mul(x, computed([](rewrite& r) { return r.filled(dtype::f32, {}, 2); })),
                  provenance{""});
constexpr auto cancels = rule<"cancels">(pattern::sub(pattern::add(x, y), y), x,
                                         where(condition("x has the type of the sum",
                                                         [](match const& m) {
                                                             auto const both =
                                                                 broadcast(m.type(x).dims, m.type(y).dims);
                                                             return both && *both == m.type(x).dims;
                                                         })),
                                         provenance{""});
constexpr auto relu_of_transpose = rule<"relu_of_transpose">(pattern::relu(pattern::transpose[s](x)),
                                                             pattern::transpose[s](pattern::relu(x)), provenance{""});

TEST_CASE("right laws are proved, in the words of whoever writes them") {
    for (auto const& rule :
         {distributes.program(), commutes.program(), twice.program(), cancels.program(), relu_of_transpose.program()}) {
        auto const found = verify(rule);
        CAPTURE(rule.name, found.counterexample);
        CHECK(found.outcome == verdict::proved);
    }
}

// Mistakes that others made, or might.
constexpr auto scale_lost =
    rule<"scale_lost">(pattern::mul(conv[c](x, w, b), y), conv[c](x, w, b), provenance{"a multiplier dropped"});
constexpr auto identity_through_relu =
    rule<"identity_through_relu">(pattern::add(conv[c](x, w), x), conv[c](x, w), provenance{"an addend dropped"});
constexpr auto relu_of_sum = rule<"relu_of_sum">(pattern::relu(pattern::add(x, y)),
                                                 pattern::add(pattern::relu(x), pattern::relu(y)), provenance{""});
constexpr auto product_commutes =
    rule<"product_commutes">(mat_mul(x, y), mat_mul(y, x), provenance{"right for numbers, not for matrices"});
constexpr auto difference_commutes =
    rule<"difference_commutes">(pattern::sub(x, y), pattern::sub(y, x), provenance{""});
constexpr auto quotient_commutes = rule<"quotient_commutes">(pattern::div(x, y), pattern::div(y, x), provenance{""});
constexpr auto activation_replaced =
    rule<"activation_replaced">(pattern::sigmoid(x), pattern::tanh(x), provenance{"both are curves"});
constexpr auto relu_dropped = rule<"relu_dropped">(pattern::relu(x), x, provenance{""});
constexpr auto order_of_parts = rule<"order_of_parts">(concat[j](all_parts(pattern::split[s](x))), x,
                                                       provenance{"parts in another order, along another axis"});
constexpr auto transpose_lost =
    rule<"transpose_lost">(pattern::transpose(pattern::transpose(x)), x, provenance{"right for one permutation"});
constexpr auto merged_groups = rule<"merged_groups">(
    roots(conv[c](x, w), conv[d](x, v)), built_by<rules::convolution::detail::merge_conv_siblings>,
    where(same_window(c, d), same_activation(c, d), same_kernel_size(w, v)),
    provenance{"merging over outputs, in groups: outputs interleave wrongly"});
constexpr auto not_built =
    rule<"not_built">(pattern::relu(x), build([](rewrite& r) { r.fail("nobody knows how"); }), provenance{""});

TEST_CASE("wrong laws are refuted by an instance that can be read again") {
    for (auto const& rule :
         {scale_lost.program(), identity_through_relu.program(), relu_of_sum.program(), product_commutes.program(),
          difference_commutes.program(), quotient_commutes.program(), activation_replaced.program(),
          relu_dropped.program(), order_of_parts.program(), transpose_lost.program(), not_built.program()}) {
        CAPTURE(rule.name);
        auto const found = verify(rule);
        REQUIRE(found.outcome == verdict::refuted);
        // A sentence, then the graph as text.
        auto const line = found.counterexample.find('\n');
        REQUIRE(line != std::string::npos);
        CAPTURE(found.counterexample);
        auto const instance = parse_graph<standard_ops>(found.counterexample.substr(line + 1));
        REQUIRE(instance);
        CHECK(instance->output_count() > 0);
    }
}

std::string why(rule_program const& rule) {
    auto const text = verify(rule).counterexample;
    return text.substr(0, text.find('\n'));
}

TEST_CASE("a refutation says in which way the two sides differ") {
    CHECK(why(relu_dropped.program()) == "output 0 differs at element 0");
    CHECK(why(not_built.program()) == "the replacement cannot be built: nobody knows how");
    CHECK(why(product_commutes.program()).find("f32") != std::string::npos); // shapes, or MatMul's own reason
    CHECK_FALSE(why(merged_groups.program()).empty());
}

constexpr auto never = rule<"never">(pattern::relu(x), pattern::tanh(x),
                                     where(condition("never", [](match const&) { return false; })), provenance{""});

TEST_CASE("a rule without a legal instance is neither proved nor refuted") {
    auto const found = verify(never.program());
    CHECK(found.outcome == verdict::unverified);
    CHECK(found.box_instances + found.sampled_instances == 0);
    CHECK(verify(never.program(), {.without = 0}).outcome == verdict::refuted);
}

TEST_CASE("what is checked follows from the options alone") {
    auto const rule = rules::convolution::fuse_conv_bn.program();
    verify_options const small{.box = 50, .samples = 20};
    auto const first = verify(rule, small), second = verify(rule, small);
    CHECK(first.box_instances == second.box_instances);
    CHECK(first.sampled_instances == second.sampled_instances);
    CHECK_FALSE(first.box_exhausted);
    CHECK(first.box_instances <= 50);
    CHECK(first.sampled_instances == 20);
    CHECK(verify(rule).box_exhausted);
    auto const wrong = relu_of_sum.program();
    CHECK(verify(wrong).counterexample == verify(wrong).counterexample);
    // Instances beyond the limit are passed over.
    CHECK(verify(rule, {.work = 1}).outcome == verdict::unverified);
    CHECK(verify(rule, {.work = 100}).box_instances < verify(rule).box_instances);
    // Samples alone find what the box finds.
    for (std::uint64_t seed = 1; seed < 10; ++seed)
        CHECK(verify(wrong, {.box = 0, .samples = 20, .seed = seed}).outcome == verdict::refuted);
}

TEST_CASE("instances may come from the caller, and ill-typed replacements may be conditions") {
    auto const over = [](rule_program const& rule, bool conditions) {
        auto const draw = [&](chooser& choose) {
            return draw_instance(dialect::of<standard_ops>(), table_of<sample_row, standard_ops>(), rule, choose);
        };
        auto const sentences = [](match const&) { return std::vector<std::string>{"somebody knows how"}; };
        function_ref<std::vector<std::string>(match const&)> const broken = sentences;
        return verify(rule, instance_source{draw, conditions ? &broken : nullptr}, small_graphs::evaluators());
    };
    auto const all = verify(distributes.program()), same = over(distributes.program(), false);
    CHECK(same.outcome == verdict::proved);
    CHECK(same.box_instances == all.box_instances);
    CHECK(same.sampled_instances == all.sampled_instances);
    CHECK(over(distributes.program(), true).outcome == verdict::proved);
    CHECK(over(relu_of_sum.program(), true).outcome == verdict::refuted);
    CHECK_FALSE(over(relu_of_sum.program(), true).replacement.empty());
    CHECK(over(not_built.program(), false).outcome == verdict::refuted);
    // Typed nowhere is proved nowhere.
    auto const nowhere = over(not_built.program(), true);
    CHECK(nowhere.outcome == verdict::unverified);
    CHECK(nowhere.untyped_instances == nowhere.box_instances + nowhere.sampled_instances);
    CHECK(nowhere.condition.empty());
}

// ---- two graphs
// ----------------------------------------------------------------------------------------------------------------

TEST_CASE("a graph is equal to itself in the field, and to no graph with another constant") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto const g = small_graphs::dense_graph(seed, 20);
        CHECK(compare_in_field(g, g, small_graphs::evaluators(), seed).value().equal);
        // Another output.
        auto changed = g;
        graph_builder to{changed};
        auto const last = g.output_count() - 1;
        auto const off = to.add<ops::add>(g.output(last), to.constant(tensor::scalar(1e-30f)));
        changed.set_operand(changed.return_node(), last, off);
        REQUIRE(changed.sort());
        auto const found = compare_in_field(g, changed, small_graphs::evaluators(), seed).value();
        CHECK_FALSE(found.equal);
        CHECK(found.difference == fmt::format("output {} differs at element 0", last));
    }
}

TEST_CASE("graphs of different signatures cannot be compared") {
    graph one, two;
    for (auto* g : {&one, &two}) {
        graph_builder to{*g};
        auto const p = to.input(dtype::f32, {2}, "p");
        to.outputs({p});
        if (g == &two) to.input(dtype::f32, {2}, "q");
    }
    auto const r = compare_in_field(one, two, small_graphs::evaluators());
    REQUIRE_FALSE(r);
    CHECK(r.error().code() == error_code::usage);
    CHECK(r.error().message() == "usage: graphs of 1 inputs and 1 outputs, and of 2 and 1");
}

TEST_CASE("results of different shapes differ, whatever is in them") {
    auto const reshaped = [](ints to_shape) {
        graph g;
        graph_builder to{g};
        to.outputs({to.add<ops::reshape>({.shape = std::move(to_shape)}, {to.input(dtype::f32, {2, 3}, "p")})});
        return g;
    };
    auto const found = compare_in_field(reshaped({6}), reshaped({3, 2}), small_graphs::evaluators()).value();
    CHECK_FALSE(found.equal);
    CHECK(found.difference == "output 0 has shape field61[6] before and field61[3,2] after");
}

TEST_CASE("verdicts have names") {
    CHECK(to_string(verdict::proved) == "proved");
    CHECK(to_string(verdict::refuted) == "refuted");
    CHECK(to_string(verdict::unverified) == "unverified");
    CHECK(to_string(verdict::proved_where_typed) == "proved where typed");
}

} // namespace verifier_test
