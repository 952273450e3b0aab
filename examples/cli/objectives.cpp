// gsub optimize --objectives: a search under each of some cost models, and all metrics of what each gives.
#include "commands.hpp"
#include "cost_choice.hpp"
#include "search_options.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/io.hpp>
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

/// What is minimized: its name in the table, and the cost model of `--cost`.
struct objective {
    std::string_view name, model;
};
constexpr std::array<objective, 5> objectives{{{"predicted time", "lowered"},
                                               {"roofline", "roofline"},
                                               {"FLOP", "flops"},
                                               {"bytes moved", "bytes"},
                                               {"peak memory", "peak_memory"}}};

/// Metrics of a graph, those of every objective and two counts.
struct graph_metrics {
    double flop = 0, bytes = 0;
    std::size_t operators = 0; ///< that are executed, views left out: launches of a runtime that fuses nothing
    std::size_t kernels = 0;   ///< that a build makes of them
    double roofline = 0, predicted = 0, peak = 0;
};

graph_metrics metrics_of(gsub::any_graph const& g, gsub::cost::lowered const& predicted) {
    graph_metrics m;
    m.flop = gsub::cost::flop_cost{}(g).amount;
    m.bytes = gsub::cost::byte_cost{}(g).amount;
    m.operators = static_cast<std::size_t>(
        std::ranges::count_if(g.order(), [&](gsub::node_id n) { return gsub::cost::is_executed(g, n); }));
    m.kernels = static_cast<std::size_t>(std::ranges::count_if(
        predicted.node_costs(g), [](gsub::cost::node_cost const& group) { return group.amount > 0; }));
    m.roofline = gsub::cost::roofline{}(g).amount;
    m.predicted = predicted(g).amount;
    m.peak = gsub::cost::peak_memory{}(g).amount;
    return m;
}

/// A row of the table: a graph, what it was searched for, and how long it takes where that is asked.
struct table_row {
    std::string name;
    graph_metrics metrics;
    std::size_t rewrites = 0;
    std::optional<gsub::speed_comparison> measured;
};

void add(gsub::report::table& t, gsub::io::json& data, table_row const& row) {
    using gsub::report::human;
    auto const& m = row.metrics;
    std::vector<std::string> cells{row.name,
                                   gsub::format_text("{}", row.rewrites),
                                   human(m.flop, "FLOP"),
                                   human(m.bytes, "B"),
                                   gsub::format_text("{}", m.operators),
                                   gsub::format_text("{}", m.kernels),
                                   human(m.roofline, "s"),
                                   human(m.predicted, "s"),
                                   human(m.peak, "B")};
    data.push_back({{"objective", row.name},
                    {"rewrites", row.rewrites},
                    {"flop", m.flop},
                    {"bytes_moved", m.bytes},
                    {"operators", m.operators},
                    {"kernels", m.kernels},
                    {"roofline_s", m.roofline},
                    {"predicted_s", m.predicted},
                    {"peak_bytes", m.peak}});
    if (row.measured) {
        cells.push_back(gsub::format_text("{} ({} to {})", gsub::report::fixed(row.measured->ratio, 3),
                                          gsub::report::fixed(row.measured->low, 3),
                                          gsub::report::fixed(row.measured->high, 3)));
        data.back()["measured"] = {{"ratio", row.measured->ratio},
                                   {"low", row.measured->low},
                                   {"high", row.measured->high},
                                   {"before_s", row.measured->first},
                                   {"after_s", row.measured->second}};
    }
    t.add(std::move(cells));
}

} // namespace

answer compare_objectives(optimize_request const& r, session const& s) {
    auto const rules = gsub::choose_rules(gsub::standard_rules(), r.rules).value();
    if (rules.empty())
        throw gsub::error{gsub::error_code::usage, gsub::format_text("--rules {} leaves no rule", r.rules)};
    s.observe->on_progress({"load", 0, 0, r.model});
    auto const graph = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto const [predicted, machine] = lowered_of(r, s, graph);
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto const inputs = r.measure ? gsub::random_inputs(graph, 1) : std::vector<gsub::tensor>{};
    gsub::build_options building;
    building.threads = s.threads, building.observe = s.observe;
    std::optional<gsub::runtime::executable> before;
    if (r.measure) before = gsub::build(graph, gsub::host(), building).value();

    std::vector<std::string> header{"objective", "rewrites", "FLOP",      "bytes",      "operators",
                                    "kernels",   "roofline", "predicted", "peak memory"};
    if (r.measure) header.emplace_back("measured, to as it came");
    gsub::report::table t{header};
    answer a;
    a.data["objectives"] = gsub::io::json::array();
    add(t, a.data["objectives"], {"as it came", metrics_of(graph, predicted), 0, {}});
    for (auto const& what : objectives) {
        s.observe->on_progress({"search", 0, 0, std::string{what.name}});
        cost_choice costs = r;
        costs.cost = what.model;
        auto const [best, report] =
            with_cost(costs, s, graph, [&](auto const& model, std::string const&) {
                return gsub::optimize(graph, gsub::cost::erase(model), evaluators, search_options(r, s, rules));
            }).value();
        table_row row{std::string{what.name}, metrics_of(best, predicted), report.applied.size(), {}};
        if (r.measure) {
            auto const after = gsub::build(gsub::graph{gsub::any_graph{best}}, gsub::host(), building).value();
            row.measured = gsub::compare_speed(*before, inputs, after, inputs, {.threads = s.threads}).value();
        }
        add(t, a.data["objectives"], row);
    }
    a.data["predicted_for"] = machine;
    a.text = gsub::format_text("{}\npredicted  {}\nroofline   5.00 us a launch, 10.0 TFLOP/s, 500 GB/s\n", t.text(),
                               machine);
    return a;
}

} // namespace cli
