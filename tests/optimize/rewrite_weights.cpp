#include "catch.hpp"
#include "optimize/prepared_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

namespace rewrite_weights_test {

using namespace gsub;

cost::roofline const model;
auto const evaluators = table_of<eval_row, standard_ops>();

result<rule_explanation> explained(any_graph const& g, std::string_view rule, std::uint64_t limit = 1 << 20) {
    return explain_rule(g, cost::erase(model), *find_rule(standard_rules(), rule).value(),
                        {.weights = evaluators, .max_weight_bytes = limit});
}
std::vector<float> elements(tensor const& t) {
    auto const all = t.data<float>();
    return {all.begin(), all.end()};
}
bool identity_kernel(std::span<float const> kernel) {
    for (std::size_t i = 0; i < kernel.size(); ++i)
        if (kernel[i] != (i == kernel.size() / 2 ? 1.0f : 0.0f)) return false;
    return true;
}
bool zeros(std::span<float const> kernel) {
    return std::ranges::all_of(kernel, [](float x) { return x == 0; });
}

// The module of figure 3.1 with 2 channels, after some rewrites.
any_graph module_after(std::vector<std::pair<std::string_view, std::string>> const& applied) {
    std::vector<rule_at> rules;
    for (auto const& [rule, node] : applied) rules.push_back({find_rule(standard_rules(), rule).value(), node});
    return apply_rules(models::residual_module(1, 2, 3), cost::erase(model), evaluators, rules).value().first;
}

TEST_CASE("an enlarged kernel is the old one with zeros around it") {
    auto const e = explained(models::residual_module(1, 2, 3), "enlarge_conv").value();
    REQUIRE(e.places[0].outcome == rule_outcome::applies);
    REQUIRE(e.places[0].weights);
    auto const& w = *e.places[0].weights;
    REQUIRE(w.read.size() == 1);
    REQUIRE(w.built.size() == 1);
    CHECK(w.read[0].op == "Conv");
    CHECK(w.read[0].reader == "shortcut");
    CHECK(w.read[0].operand == 1);
    CHECK(w.read[0].formula == "\"shortcut.weight\"");
    CHECK(w.built[0].formula.find("\"shortcut.weight\"") != std::string::npos);
    CHECK(w.built[0].elements.type().dims == tensor_type(dtype::f32, ints{2, 2, 3, 3}).dims);
    auto const small = elements(w.read[0].elements), large = elements(w.built[0].elements);
    for (std::size_t kernel = 0; kernel < 4; ++kernel)
        for (std::size_t tap = 0; tap < 9; ++tap) CHECK(large[kernel * 9 + tap] == (tap == 4 ? small[kernel] : 0));
    CHECK(w.bytes() == sizeof(float) * (4 + 36));
    // Places where no rewrite can be made have none.
    for (auto const& p : e.places) CHECK(p.weights.has_value() == p.cost_after.has_value());
}

TEST_CASE("merged siblings have both kernels, one after the other") {
    auto const e = explained(module_after({{"enlarge_conv", "shortcut"}}), "merge_conv_siblings").value();
    REQUIRE(e.places[0].outcome == rule_outcome::applies);
    auto const& w = *e.places[0].weights;
    REQUIRE(w.read.size() == 2);
    REQUIRE(w.built.size() == 1);
    auto both = elements(w.read[0].elements);
    append(both, elements(w.read[1].elements));
    CHECK(elements(w.built[0].elements) == both);
    CHECK(w.built[0].elements.type().dims == tensor_type(dtype::f32, ints{4, 2, 3, 3}).dims);
    CHECK(w.built[0].formula.starts_with("Concat("));
}

TEST_CASE("an addition goes into a convolution by identity kernels beside its own: [W | I]") {
    auto const e = explained(models::residual_module(1, 2, 3), "add_fuse").value();
    // It would be right, and is not tried by a search, since nothing has split the channels yet.
    REQUIRE(e.places[0].outcome == rule_outcome::hint_fails);
    REQUIRE(e.places[0].weights);
    auto const& w = *e.places[0].weights;
    REQUIRE(w.built.size() == 1);
    CHECK(w.built[0].elements.type().dims == tensor_type(dtype::f32, ints{2, 4, 3, 3}).dims);
    auto const own = elements(w.read[0].elements), all = elements(w.built[0].elements);
    for (std::size_t o = 0; o < 2; ++o)
        for (std::size_t i = 0; i < 4; ++i) {
            auto const kernel = std::span{all}.subspan((o * 4 + i) * 9, 9);
            if (i < 2)
                CHECK(std::ranges::equal(kernel, std::span{own}.subspan((o * 2 + i) * 9, 9)));
            else
                CHECK((i - 2 == o ? identity_kernel(kernel) : zeros(kernel)));
        }
}

TEST_CASE("weights beyond the limit are refused, all places together") {
    auto const refused = explained(models::residual_module(1, 2, 3), "enlarge_conv", 100);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::rewrite_weights);
    CHECK(explained(models::residual_module(1, 2, 3), "enlarge_conv", 160));
}

TEST_CASE("no weights are computed where they are not asked for") {
    auto const e = explain_rule(models::residual_module(1, 2, 3), cost::erase(model),
                                *find_rule(standard_rules(), "enlarge_conv").value())
                       .value();
    for (auto const& p : e.places) CHECK_FALSE(p.weights);
}

} // namespace rewrite_weights_test
