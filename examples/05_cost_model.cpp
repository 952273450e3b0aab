// A cost model of one's own: energy, by arithmetic and by bytes moved.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace app {

/// Energy of a run. The two costs are illustrative values.
struct energy {
    using unit = gsub::joules;
    double joules_per_flop = 1e-12, joules_per_byte = 31e-12;

    /// Of one node: with this overload a search computes only the costs that a rewrite touches.
    unit operator()(gsub::any_graph const& g, gsub::node_id n) const {
        if (!gsub::cost::is_executed(g, n)) return {0};
        return {joules_per_flop * gsub::cost::flop_count(g, n) + joules_per_byte * gsub::cost::bytes_moved(g, n)};
    }
    unit operator()(gsub::any_graph const& g) const { return gsub::cost::sum_over_nodes(*this, g); }
};
static_assert(gsub::additive_cost_model<energy>);

/// The largest cost of a single node: a model that is no sum, costed anew for each graph.
struct hottest_node {
    using unit = gsub::joules;
    unit operator()(gsub::any_graph const& g) const {
        unit most{};
        for (auto n : g.order()) most = std::max(most, energy{}(g, n));
        return most;
    }
};
static_assert(gsub::cost_model<hottest_node> && !gsub::additive_cost_model<hottest_node>);

} // namespace app

int main() {
    auto const model = gsub::models::squeezenet1_1({.image = 64});
    auto const better = gsub::optimize(model, app::energy{}, {.alpha = 1.02, .budget = 50}).value();
    std::cout << gsub::report::to_text(better.report);
    require(better.report.unit == "J", "costs are told in the model's unit");
    require(better.report.cost_after < better.report.cost_before, "fewer bytes are moved");

    // The same by composition: costs are declared, units are not mixed up.
    using weighted = gsub::cost::weighted_sum<gsub::joules, gsub::cost::flop_cost, gsub::cost::byte_cost>;
    weighted const sum{.a = {}, .b = {}, .rate_a = 1e-12, .rate_b = 31e-12};
    require(std::abs(sum(model) / app::energy{}(model)-1) < 1e-12, "a weighted sum gives the same costs");
    require(app::hottest_node{}(model) < app::energy{}(model), "the hottest node is not the whole graph");
}
