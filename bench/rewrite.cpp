// One successor of a search: copy of the graph, one rewrite, canonical form, hash, incremental cost. Then whole
// searches.
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>

#include <cstdlib>
#include <memory>

namespace {

using namespace gsub;

any_graph in_normal_form(any_graph g) {
    g.order_canonically();
    canonicalize(g);
    g.order_canonically();
    g.compact();
    return g;
}

/// All matches whose rewrite applies.
std::vector<match> applicable(any_graph const& g, rule_index const& rules) {
    std::vector<match> out;
    find_matches(g, rules, [&](match const& m) {
        auto copy = g;
        auto const patch = prepare(m);
        if (!patch.failed() && patch.apply_to(copy, shared_interior::refuse)) out.push_back(m);
    });
    return out;
}

enum stage { copy_graph, prepare_patch, apply_patch, canonical_form, structural_hash, incremental_cost, all_stages };
constexpr std::string_view stage_names[] = {"copy", "prepare", "apply", "canonical form", "hash", "cost"};

/// The work of a successor up to a stage, as `substitution_problem` does it. The result keeps the work from being
/// optimized away.
double successor(any_graph const& g, std::vector<double> const& costs, match const& m, cost::any_cost const& model,
                 int last) {
    auto made = g;
    if (last == copy_graph) return static_cast<double>(made.size());
    auto const patch = prepare(m);
    if (last == prepare_patch) return static_cast<double>(patch.new_nodes());
    made.start_journal();
    if (!patch.apply_to(made, shared_interior::refuse)) std::abort();
    if (last == apply_patch) return static_cast<double>(made.size());
    canonicalize_changes(made);
    if (last == canonical_form) return static_cast<double>(made.size());
    made.rehash();
    auto total = static_cast<double>(made.hash().low & 1);
    if (last == structural_hash) return total;
    auto const& changes = made.changes();
    for (auto n : changes.erased)
        if (n.index < costs.size()) total -= costs[n.index];
    for (auto n : changes.added)
        if (made.live(n)) total += model.of_node(made, n);
    for (auto n : changes.rewired)
        if (made.live(n) && n.index < costs.size()) total += model.of_node(made, n) - costs[n.index];
    return total;
}

double volatile keep;

void successors_of(bench::reporter& out, std::string const& name, any_graph g, double budget) {
    g.rehash();
    auto const rules = choose_rules(standard_rules()).value();
    rule_index const index{rules};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::vector<double> costs(g.capacity(), 0);
    for (auto n : g.order()) costs[n.index] = model.of_node(g, n);
    auto const matches = applicable(g, index);
    auto const on = fmt::format("{}, {} nodes, {} rewrites", name, g.size(), matches.size());
    if (matches.empty()) return;

    constexpr int repeats = 41;
    auto const rounds = std::max<std::size_t>(1, 400 / matches.size());
    std::vector<bench::sample> up_to(all_stages);
    for (int r = 0; r < repeats; ++r) // stages in turn, so that a disturbance meets all of them
        for (int last = copy_graph; last < all_stages; ++last)
            up_to[static_cast<std::size_t>(last)].values.push_back(
                bench::seconds_of([&] {
                    for (std::size_t round = 0; round < rounds; ++round)
                        for (auto const& m : matches) keep = successor(g, costs, m, model, last);
                }) /
                static_cast<double>(rounds * matches.size()));
    out.add("successor", on, up_to.back(), "s", budget);
    for (std::size_t s = 0; s < all_stages; ++s) {
        auto part = up_to[s];
        for (std::size_t i = 0; s > 0 && i < part.values.size(); ++i) part.values[i] -= up_to[s - 1].values[i];
        out.add(fmt::format("  {}", stage_names[s]), on, part, "s");
    }
    substitution_problem p{std::move(g), model, index};
    bench::sample expansion;
    for (int r = 0; r < repeats; ++r) {
        std::size_t count = 0;
        auto const time = bench::seconds_of([&] {
            p.expand(p.start(), [&](substitution_problem::state const&) {
                ++count;
                return true;
            });
        });
        expansion.values.push_back(time / static_cast<double>(count));
    }
    out.add("successor with matching", on, expansion, "s");
}

void search_on(bench::reporter& out, std::string_view name, double alpha, std::uint64_t steps) {
    auto const g = models::find_model(name)->build(1);
    bench::sample rate;
    std::uint64_t distinct = 0;
    for (int r = 0; r < 5; ++r) {
        auto const report =
            optimize(g, cost::roofline{}, {.alpha = alpha, .budget = search::budget{steps}, .fold = false})
                .value()
                .report;
        distinct = report.search.distinct;
        rate.values.push_back(static_cast<double>(distinct) / report.search.seconds);
    }
    out.add("search", fmt::format("{}, alpha {}, {} distinct", name, alpha, distinct), rate, "graphs/s");
}

} // namespace

int main() {
    bench::reporter out{"rewrite"};
    auto const model = [](std::string_view name) { return in_normal_form(models::find_model(name)->build(1)); };
    // The budget of 10 us is for a graph of 200 nodes, weights counted: ResNet-18 has about as many.
    successors_of(out, "resnet18", model("resnet18"), 10e-6);
    successors_of(out, "squeezenet1_1", model("squeezenet1_1"), 0);
    successors_of(out, "t12", model("t12"), 0);
    successors_of(out, "resnet50", model("resnet50"), 0);
    for (auto const* name : {"t1", "t4", "t7", "t11", "t12"}) search_on(out, name, 1.25, 200);
    search_on(out, "squeezenet1_1", 1.05, 100);
    search_on(out, "resnet50", 1.05, 100);
    return out.finish();
}
