// A rule of one's own: stated as algebra, proved by machine, then used in a search.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>

namespace app {

using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto a = var<"a">;

/// x a + y a = (x + y) a. A vector would be a row on the left and not in the sum, hence the condition.
inline constexpr auto factor_product =
    gsub::rule<"factor_product">(add(mat_mul(x, a), mat_mul(y, a)), mat_mul(add(x, y), a), where(matrices(x, y, a)),
                                 gsub::provenance{"products distribute over sums"});

} // namespace app

namespace {

// (x W + y W) + z W
gsub::graph three_products() {
    gsub::graph g;
    gsub::graph_builder b{g};
    auto const input = [&](char const* name) { return b.input(gsub::dtype::f32, {64, 256}, name); };
    auto weights = gsub::tensor::zeros(gsub::dtype::f32, gsub::ints{256, 256});
    fill_random(weights, gsub::random_stream{1});
    auto const w = b.constant(weights, "W");
    auto const product = [&](gsub::value_id v) { return b.add<gsub::ops::mat_mul>(v, w); };
    auto const sum = b.add<gsub::ops::add>(product(input("x")), product(input("y")));
    b.outputs({b.add<gsub::ops::add>(sum, product(input("z")))}, {"out"});
    return g;
}

void the_rule_is_proved() {
    auto const rule = app::factor_product.program();
    auto const proof = gsub::verify(rule);
    require(proof.outcome == gsub::verdict::proved, "the rule holds on all instances that were tried");

    auto const careless = gsub::verify(rule, {.without = 0}); // as if the first condition were not there
    require(careless.outcome == gsub::verdict::refuted, "without its condition the rule is wrong");
    std::cout << careless.counterexample << '\n';
}

void the_rule_is_used() {
    auto const rules = rule_list(app::factor_product);
    auto const better = gsub::optimize(three_products(), gsub::cost::roofline{}, {.rules = rules, .verify = true});
    auto const& report = better.value().report;
    std::cout << gsub::report::to_text(report);
    require(report.applied.size() == 2 && report.applied[0].rule == "factor_product", "it was applied twice");
    require(report.nodes_after == 3, "one product and two additions are left");
    require(report.verification.equal, "the result computes the same");
}

} // namespace

int main() {
    the_rule_is_proved();
    the_rule_is_used();
}
