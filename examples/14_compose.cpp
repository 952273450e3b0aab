// A rule, a pass, a cost, a choice of algorithms and a source of schedules of one's own, in one optimization and build.
#include "require.hpp"
#include <gsub/gsub.hpp>
#include <gsub/passes.hpp>

#include <algorithm>
#include <iostream>

namespace app {

using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto a = var<"a">;

/// x a + y a = (x + y) a
inline constexpr auto factor_product =
    gsub::rule<"factor_product">(add(mat_mul(x, a), mat_mul(y, a)), mat_mul(add(x, y), a), where(matrices(x, y, a)),
                                 gsub::provenance{"products distribute over sums"});

/// Takes what is identical out, before anything is searched.
struct drop_identities {
    static constexpr gsub::pass_facts facts{"drop-identities", gsub::exactness::bit_exact};
    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph& g, gsub::pass_context&) const {
        gsub::pass_outcome outcome;
        for (auto n : g.order())
            if (g.is<gsub::ops::identity>(n)) g.replace_uses({n, 0}, g.operand(n, 0)), ++outcome.matches;
        outcome.changed = outcome.matches > 0;
        g.erase_dead();
        return outcome;
    }
};

/// What kernels are predicted to take, and a cost for each, as if calls were dear.
struct few_kernels {
    using unit = gsub::seconds;
    gsub::cost::lowered predicted;
    double each = 1e-6;
    unit operator()(gsub::any_graph const& g) const {
        auto const kernels = std::count_if(g.order().begin(), g.order().end(),
                                           [&](gsub::node_id n) { return gsub::cost::is_executed(g, n); });
        return {predicted(g).amount + each * static_cast<double>(kernels)};
    }
};

/// The direct one: Winograd's errs more.
struct direct {
    std::size_t choose(std::span<gsub::kernels::descriptor const>, gsub::isa const&) const { return 0; }
};

/// What is counted, but for products, whose inner loop is not unrolled.
struct short_products {
    gsub::loop::configuration choose(gsub::kernels::descriptor const& d, gsub::isa const& isa,
                                     gsub::loop::config_space const& space) const {
        auto point = gsub::counting_heuristic{}.choose(d, isa, space);
        if (std::holds_alternative<gsub::kernels::matmul_shape>(d)) point.set("unroll_k", 1);
        return point;
    }
};
static_assert(gsub::cost_model<few_kernels> && gsub::algorithm_choice<direct> && gsub::schedule_source<short_products>);

} // namespace app

namespace {

// identity(x W) + y W
gsub::graph two_products() {
    gsub::graph g;
    gsub::graph_builder b{g};
    auto weights = gsub::tensor::zeros(gsub::dtype::f32, gsub::ints{256, 256});
    fill_random(weights, gsub::random_stream{1});
    auto const w = b.constant(weights, "W");
    auto const product = [&](char const* name) {
        return b.add<gsub::ops::mat_mul>(b.input(gsub::dtype::f32, {64, 256}, name), w);
    };
    b.outputs({b.add<gsub::ops::add>(b.add<gsub::ops::identity>(product("x")), product("y"))}, {"out"});
    return g;
}

} // namespace

int main() {
    auto const machine = gsub::host();
    auto const before = two_products();
    gsub::module m;
    m.add("main", before);
    gsub::pass_context cx;
    require(run_pass(gsub::pipeline{app::drop_identities{}}, m, cx).value().changed, "the pass has changed the graph");
    gsub::graph const start{std::move(m.find("main")->body)};

    auto const rules = rule_list(app::factor_product);
    auto const cost = app::few_kernels{gsub::cost::lowered::of(start, machine)};
    auto const better = gsub::optimize(start, cost, {.rules = rules, .verify = true}).value();
    std::cout << gsub::report::to_text(better.report);
    require(better.report.applied.size() == 1, "the rule was applied");
    require(better.report.verification.equal, "the result computes the same");

    auto const built = gsub::build(better, machine, app::short_products{}, app::direct{}).value();
    auto const inputs = gsub::random_inputs(before, 1);
    auto const wanted = gsub::evaluate_graph(before, inputs).value(), made = built.run(inputs).value();
    require(gsub::compare(made[0], wanted[0]).value().max_relative < 1e-5, "what is built computes the same");
}
