// Search over the networks on which the literature measures graph substitution: what each alpha finds, with and without
// parts and macro rules, in what time; how many graphs a second, under operators' costs and kernels'; what threads
// add. `latency`: what the graphs found take with generated kernels, beside the graphs as they came.
#include "compared_networks.hpp"
#include "measurement.hpp"
#include "random_networks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace gsub;
using report::fixed;

constexpr std::string_view chain = "t1_16_times"; // test graph T1, again and again
constexpr std::string_view networks[] = {"nasrnn",   "squeezenet1_1", "resnext50_32x4d", "inception_v3", "bert_base",
                                         "resnet50", "vgg19",         "nasnet_a",        chain};
// What every runtime does by itself: laws 1 to 3.
constexpr std::string_view of_any_runtime = "fuse_conv_bn,fuse_bn_conv,fuse_matmul_bn,fuse_gemm_bn,fuse_conv_scale,"
                                            "fuse_conv_shift,fuse_conv_relu,fuse_conv_sigmoid,fuse_conv_tanh,"
                                            "fuse_conv_clip";
constexpr double alphas[] = {1, 1.05, 1.1, 1.2};

std::vector<rule_program> rules(std::string_view list) {
    return choose_rules(standard_rules(), list).value();
}

bool known(std::string_view name) {
    return name == chain || models::find_model(name);
}
graph built(std::string_view name) {
    return name == chain ? models::residual_chain(1, 64, 7, 16) : models::find_model(name)->build(1);
}

optimize_report searched(graph const& g, cost::any_cost const& model, optimize_options o) {
    o.fold = false;
    return optimize(g, model, table_of<eval_row, standard_ops>(), o).value().second;
}

// What each alpha finds: one row a kind of rules and of splitting.
void costs_of(report::table& out, std::string_view name, graph const& g, std::uint64_t steps, double long_seconds) {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const microseconds = [](double s) { return fixed(s * 1e6, 1); };
    auto const fused = rules(of_any_runtime);
    auto const base = searched(g, model, {.alpha = 1, .budget = search::budget{100'000}, .rules = fused}).cost_after;
    auto const tell = [&](std::string_view list, std::string_view split, double alpha, optimize_report const& r) {
        std::printf("%s\n", io::json{{"bench", "search"},
                                     {"on", name},
                                     {"rules", list},
                                     {"split", split},
                                     {"alpha", alpha},
                                     {"base_us", base * 1e6},
                                     {"cost_us", r.cost_after * 1e6},
                                     {"seconds", r.search.seconds},
                                     {"expanded", r.search.expanded},
                                     {"distinct", r.search.distinct},
                                     {"rewrites", r.applied.size()},
                                     {"why", to_string(r.search.why)}}
                                .dump()
                                .c_str());
        std::fflush(stdout);
    };
    for (auto const* list : {"all", "atomic"}) {
        auto const chosen = rules(list);
        for (auto const split : {optimize_options{}.split, std::size_t{0}}) {
            std::vector<std::string> row{std::string{name}, list, split ? "yes" : "no", microseconds(base)};
            for (auto const alpha : alphas) {
                auto const r = searched(
                    g, model, {.alpha = alpha, .budget = search::budget{steps}, .split = split, .rules = chosen});
                tell(list, split ? "yes" : "no", alpha, r);
                row.push_back(fmt::format("{} ({} s)", microseconds(r.cost_after), fixed(r.search.seconds, 2)));
            }
            out.add(row);
        }
    }
    if (long_seconds <= 0) return;
    auto const chosen = rules("all");
    search::budget const budget{
        std::numeric_limits<std::uint64_t>::max(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(long_seconds)),
        std::uint64_t{12} << 30};
    auto const r = searched(g, model, {.alpha = 1.05, .budget = budget, .split = 0, .rules = chosen});
    tell("all", "no, long", 1.05, r);
    out.add({std::string{name}, "all", fmt::format("no, {} s", fixed(r.search.seconds, 0)), microseconds(base), "",
             microseconds(r.cost_after), "", ""});
}

// Seconds that a line of a cache takes from one of two threads to the other: what they gain together depends on it, and
// where cores are lent by a host it may change from one moment to the next.
double seconds_of_line(executor& threads) {
    constexpr int exchanges = 10'000;
    std::atomic<int> turn{0};
    return bench::seconds_of([&] {
               threads.parallel_for(2, [&](std::size_t who) {
                   for (int i = static_cast<int>(who); i < exchanges; i += 2) {
                       while (turn.load() != i) {}
                       turn = i + 1;
                   }
               });
           }) /
           exchanges;
}

// Distinct graphs a second on one thread under both models, over the different parts of a network; and what all threads
// add to a search.
void rates_of(bench::reporter& out, std::string_view name, graph const& g, executor* threads, int rounds) {
    auto const chosen = rules("all");
    rule_index const index{chosen};
    any_graph whole = g;
    canonicalize(whole);
    whole.order_canonically();
    whole.compact();
    std::vector<any_graph> parts;
    std::size_t largest = 0;
    for (auto const& nodes : split_graph(whole, index, optimize_options{}.split).parts) {
        auto part = part_as_graph(whole, nodes);
        if (std::any_of(parts.begin(), parts.end(), [&](any_graph const& p) { return p.hash() == part.hash(); }))
            continue;
        largest = std::max(largest, part.size());
        parts.push_back(std::move(part));
    }
    search::options const options{.alpha = 1.1, .budget = {300}};
    std::stable_sort(parts.begin(), parts.end(),
                     [](any_graph const& a, any_graph const& b) { return a.size() > b.size(); });
    // As `optimize` does: one part after the other, or side by side, the largest first.
    auto const rate = [&](cost::any_cost const& model, executor* with) {
        double distinct = 0, seconds = 0;
        while (seconds < 0.2) {
            std::vector<double> found(parts.size());
            inline_executor alone;
            sharing_executor together{with ? *with : alone};
            seconds += bench::seconds_of([&] {
                together.run(parts.size(), [&](std::size_t i) {
                    auto const stats = search_part(parts[i], model, index, options, {.threads = &together}).stats;
                    found[i] = static_cast<double>(stats.distinct);
                });
            });
            for (auto count : found) distinct += count;
        }
        return distinct / seconds;
    };
    cost::roofline const machine;
    cost::fused_roofline const kernels{machine};
    auto const predicted = cost::lowered::of(whole);
    auto const by_node = cost::erase(machine), by_kernel = cost::erase(kernels), by_time = cost::erase(predicted);
    auto const seconds_of = [&](executor* with) {
        auto const budget = search::budget{300};
        return searched(g, by_node, {.alpha = 1.1, .budget = budget, .rules = chosen, .threads = with}).search.seconds;
    };
    bench::sample alone, grouped, timed, beside, grouped_beside, gain, line;
    for (int i = 0; i < rounds; ++i) {
        alone.values.push_back(rate(by_node, nullptr));
        grouped.values.push_back(rate(by_kernel, nullptr));
        timed.values.push_back(rate(by_time, nullptr));
        if (threads->concurrency() > 1) line.values.push_back(seconds_of_line(*threads));
        beside.values.push_back(rate(by_node, threads) / alone.values.back());
        grouped_beside.values.push_back(rate(by_kernel, threads) / grouped.values.back());
        gain.values.push_back(seconds_of(nullptr) / seconds_of(threads));
    }
    auto const on = fmt::format("{}, {} parts of {} nodes", name, parts.size(), largest);
    out.add("distinct graphs, one thread", on, alone, "graphs/s", 50e3, bench::budget_kind::at_least);
    out.add("the same, kernels costed", on, grouped, "graphs/s", 10e3, bench::budget_kind::at_least);
    out.add("the same, predicted times, groups known", on, timed, "graphs/s", 10e3, bench::budget_kind::at_least);
    if (threads->concurrency() == 1) return;
    out.add("a line of a cache between two threads", on, line, "s");
    auto const by = fmt::format("gain by {} threads", threads->concurrency());
    if (parts.size() > 1) {
        out.add(fmt::format("{}, parts side by side", by), on, beside, "x", 1.7, bench::budget_kind::at_least);
        out.add(fmt::format("{}, the same, kernels costed", by), on, grouped_beside, "x", 1.7,
                bench::budget_kind::at_least);
    }
    out.add(fmt::format("{}, a whole search", by), std::string{name}, gain, "x", 1.7, bench::budget_kind::at_least);
}

// Seconds from the beginning of a default search on one thread until the last time that it, or the search of a part,
// found something better: it has the graph that it gives back by then.
class clock_of_the_best final : public search_observer {
public:
    void on_event(search_event const& e) override {
        if (e.what == search_event::kind::improvement) seconds_ = since(begin_);
    }
    [[nodiscard]] double seconds() const noexcept { return seconds_; }

private:
    using clock = std::chrono::steady_clock;
    static double since(clock::time_point t) { return std::chrono::duration<double>(clock::now() - t).count(); }
    clock::time_point begin_ = clock::now();
    double seconds_ = 0;
};
void time_until_the_best(bench::reporter& out, std::string_view name, graph const& g, int rounds) {
    bench::sample until;
    for (int i = 0; i < rounds; ++i) {
        clock_of_the_best clock;
        searched(g, cost::erase(cost::lowered::of(g)), {.trace = &clock});
        until.values.push_back(clock.seconds());
    }
    out.add("time until the best, default options, no group known", std::string{name}, until, "s",
            name == "nasnet_a" ? 5 : 2);
}

// Under predicted kernels of this machine, which is the default, under the costs of the literature, and under a
// calibrated roofline of kernels: what the graph that a search finds takes beside the graph as it came, both built
// alike. An A/A pair beside them tells what two equal programs differ by.
int latencies(std::vector<std::pair<std::string, graph>> const& wanted, std::size_t rounds, double seconds) {
    bench::reporter out{"search latency"};
    runtime::thread_pool pool;
    build_options building;
    building.threads = &pool;
    auto const measured =
        calibrate(dialect::of<standard_ops>(), table_of<eval_row, standard_ops>(), {}, building).value();
    cost::roofline const literature;
    cost::fused_roofline const calibrated{measured.rates};
    report::table table{{"network", "costs", "as it came", "found", "found / as it came", "95 %", ""}};
    // Logarithms and their number, by costs and kind of network.
    std::map<std::pair<std::string, std::string_view>, std::pair<double, double>> means;
    auto slower = 0;
    for (auto const& one : wanted) { // lambdas capture no structured bindings (clang 14)
        auto const& name = one.first;
        auto const& g = one.second;
        auto const inputs = random_inputs(g, 1);
        auto const as_it_came = gsub::build(g, host(), building).value();
        speed_options const options{.rounds = rounds, .least_seconds = seconds, .threads = &pool};
        auto const tell = [&](std::string const& costs, runtime::executable const& found, bool same) {
            auto const told = compare_speed(as_it_came, inputs, found, inputs, options).value();
            std::printf("%s\n", io::json{{"bench", "search latency"},
                                         {"on", name},
                                         {"costs", costs},
                                         {"before_s", told.first},
                                         {"after_s", told.second},
                                         {"ratio", told.ratio},
                                         {"low", told.low},
                                         {"high", told.high},
                                         {"same_graph", same}}
                                    .dump()
                                    .c_str());
            std::fflush(stdout);
            table.add({name, costs, report::human(told.first, "s"), report::human(told.second, "s"),
                       fixed(told.ratio, 3), fmt::format("{} to {}", fixed(told.low, 3), fixed(told.high, 3)),
                       same ? "the same graph" : ""});
            return told;
        };
        static_cast<void>(tell("none: A/A", as_it_came, true));
        auto const with = [&](std::string const& costs, cost::any_cost const& model) {
            auto const best = optimize(g, model, table_of<eval_row, standard_ops>(), {.threads = &pool}).value().first;
            any_graph start = g;
            fold_constants(start, table_of<eval_row, standard_ops>(), {.threads = &pool}).value();
            canonicalize(start);
            auto const same = best.hash() == start.hash() || best.hash() == any_graph{g}.hash();
            auto const built = gsub::build(best, table_of<eval_row, standard_ops>(), host(), building).value();
            auto const told = tell(costs, built, same);
            auto const compared = std::find(bench::compared_networks.begin(), bench::compared_networks.end(), name) !=
                                  bench::compared_networks.end();
            auto& [logs, count] = means[{costs, compared ? "compared networks" : "others"}];
            logs += std::log(same ? 1.0 : told.ratio), ++count;
            slower += costs == "lowered" && !same && told.low > 1.05;
        };
        auto const lowered = cost::lowered::of(g);
        with("lowered", cost::erase(lowered));
        with("M0", cost::erase(literature));
        with("calibrated fused", cost::erase(calibrated));
    }
    for (auto const& [of, sum] : means)
        table.add({fmt::format("geometric mean, {}", of.second), of.first, "", "",
                   fixed(std::exp(sum.first / sum.second), 3), "", ""});
    std::fprintf(stderr, "%s", table.text().c_str());
    return slower == 0 ? 0 : 1;
}

} // namespace

// bench_search [STEPS [LONG_SECONDS [NETWORK...]]], bench_search latency [ROUNDS [SECONDS [NETWORK...]]]
int main(int argc, char** argv) {
    auto const timed = argc > 1 && argv[1] == std::string_view{"latency"};
    std::vector<char*> const given(argv + 1 + timed, argv + argc);
    auto const first = given.size() > 0 ? std::strtoull(given[0], nullptr, 10) : timed ? 21 : 1000;
    auto const second = given.size() > 1 ? std::strtod(given[1], nullptr) : timed ? 0.02 : 0;
    std::vector<std::string_view> wanted(given.begin() + std::min<std::ptrdiff_t>(std::ssize(given), 2), given.end());
    if (wanted.empty()) wanted.assign(std::begin(networks), std::end(networks));
    for (auto const name : wanted)
        if (!known(name)) {
            std::fprintf(stderr, "there is no network %s\n", std::string{name}.c_str());
            return 2;
        }
    if (timed) {
        std::vector<std::pair<std::string, graph>> graphs;
        for (auto const name : wanted) graphs.emplace_back(std::string{name}, built(name));
        if (given.size() < 3) // the networks of bench/compare that are not among them, and random ones
            for (auto const name : bench::compared_networks)
                if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
                    graphs.emplace_back(std::string{name}, built(name));
        if (given.size() < 3)
            for (auto const& network : bench::random_networks(1, 20, false))
                graphs.emplace_back(network.name(), network.build());
        if (given.size() < 3)
            for (auto const& entry : models::test_graph_entries) graphs.emplace_back(entry.name, entry.build(1));
        return latencies(graphs, first, second);
    }

    bench::reporter out{"search"};
    report::table costs{
        {"network", "rules", "parts", "laws 1-3, us", "alpha 1", "alpha 1.05", "alpha 1.1", "alpha 1.2"}};
    runtime::thread_pool threads;
    for (auto const name : wanted) {
        auto const g = built(name);
        costs_of(costs, name, g, first, second);
        time_until_the_best(out, name, g, 3);
        rates_of(out, name, g, &threads, 5);
    }
    std::fprintf(stderr, "%s", costs.text().c_str());
    return out.finish();
}
