// Search over the networks on which the literature measures graph substitution: what each alpha finds, with and without
// parts and macro rules, in what time; how many graphs a second, under operators' prices and kernels'; what threads
// add. `latency`: what the graphs found take with generated kernels, beside those found without relaxation.
#include "measurement.hpp"
#include <gsub/core/meta.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/split.hpp>
#include <gsub/rewrite/normal_form.hpp>
#include <gsub/rewrite/rules.hpp>
#include <gsub/runtime/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
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
                row.push_back(message({microseconds(r.cost_after), " (", fixed(r.search.seconds, 2), " s)"}));
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
    out.add({std::string{name}, "all", message({"no, ", fixed(r.search.seconds, 0), " s"}), microseconds(base), "",
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
    normalize(whole);
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
    auto const by_node = cost::erase(machine), by_kernel = cost::erase(kernels);
    auto const seconds_of = [&](executor* with) {
        auto const budget = search::budget{300};
        return searched(g, by_node, {.alpha = 1.1, .budget = budget, .rules = chosen, .threads = with}).search.seconds;
    };
    bench::sample alone, grouped, beside, grouped_beside, gain, line;
    for (int i = 0; i < rounds; ++i) {
        alone.values.push_back(rate(by_node, nullptr));
        grouped.values.push_back(rate(by_kernel, nullptr));
        if (threads->concurrency() > 1) line.values.push_back(seconds_of_line(*threads));
        beside.values.push_back(rate(by_node, threads) / alone.values.back());
        grouped_beside.values.push_back(rate(by_kernel, threads) / grouped.values.back());
        gain.values.push_back(seconds_of(nullptr) / seconds_of(threads));
    }
    auto const on = message({name, ", ", parts.size(), " parts of ", largest, " nodes"});
    out.add("distinct graphs, one thread", on, alone, "graphs/s", 50e3, bench::budget_kind::at_least);
    out.add("the same, kernels priced", on, grouped, "graphs/s", 10e3, bench::budget_kind::at_least);
    if (threads->concurrency() == 1) return;
    out.add("a line of a cache between two threads", on, line, "s");
    auto const by = message({"gain by ", threads->concurrency(), " threads"});
    if (parts.size() > 1) {
        out.add(message({by, ", parts side by side"}), on, beside, "x", 1.7, bench::budget_kind::at_least);
        out.add(message({by, ", the same, kernels priced"}), on, grouped_beside, "x", 1.7,
                bench::budget_kind::at_least);
    }
    out.add(message({by, ", a whole search"}), std::string{name}, gain, "x", 1.7, bench::budget_kind::at_least);
}

// A graph that was found, built to be run.
struct candidate {
    std::optional<runtime::executable> built;
    std::optional<runtime::run_context> context;
    std::vector<tensor> outputs;
    bench::sample seconds; // of one run, the median of a round
    hash128 hash;

    candidate(any_graph const& g, cost::any_cost const& model, double alpha, runtime::thread_pool& pool) {
        auto const best = optimize(g, model, table_of<eval_row, standard_ops>(), {.alpha = alpha, .threads = &pool});
        build_options o;
        o.threads = &pool;
        hash = best.value().first.hash();
        built = gsub::build(best.value().first, table_of<eval_row, standard_ops>(), host(), o).value();
        context = built->make_context();
        for (auto const& t : built->outputs()) outputs.push_back(tensor::zeros(t));
    }
    void run(std::span<tensor const> inputs, executor& threads) {
        built->run(*context, inputs, outputs, threads).value();
    }
};

// Runs of both in turns, `seconds` each a round. Gives the latency at alpha 1 over that at alpha 1.05.
double latency_of(bench::reporter& out, std::string_view name, std::string_view prices, graph const& g,
                  cost::any_cost const& model, runtime::thread_pool& pool, int rounds, double seconds) {
    candidate strict{g, model, 1, pool}, relaxed{g, model, 1.05, pool};
    auto const inputs = random_inputs(g, 1);
    bench::sample ratio;
    for (int round = 0; round < rounds; ++round) {
        for (auto* c : {&strict, &relaxed}) {
            auto const first = bench::seconds_of([&] { c->run(inputs, pool); });
            bench::sample times;
            for (int i = 0, runs = std::clamp(static_cast<int>(seconds / first), 3, 2000); i < runs; ++i)
                times.values.push_back(bench::seconds_of([&] { c->run(inputs, pool); }));
            c->seconds.values.push_back(times.median());
        }
        ratio.values.push_back(strict.seconds.values.back() / relaxed.seconds.values.back());
    }
    auto const on = message({name, ", ", prices});
    out.add("latency, alpha 1", on, strict.seconds, "s");
    out.add("latency, alpha 1.05", on, relaxed.seconds, "s");
    out.add(strict.hash == relaxed.hash ? "ratio, the same graph" : "ratio", on, ratio, "x", 0.98,
            bench::budget_kind::at_least);
    return ratio.median();
}

// Under the prices of the literature, and under those of kernels on this machine.
int latencies(std::vector<std::string_view> const& wanted, int rounds, double seconds) {
    bench::reporter out{"search latency"};
    runtime::thread_pool pool;
    build_options building;
    building.threads = &pool;
    auto const measured =
        calibrate(dialect::of<standard_ops>(), table_of<eval_row, standard_ops>(), {}, building).value();
    cost::roofline const machine;
    cost::fused_roofline const kernels{measured.rates};
    std::pair<std::string_view, cost::any_cost> const models[] = {{"M0", cost::erase(machine)},
                                                                  {"calibrated kernels", cost::erase(kernels)}};
    for (auto const& [prices, model] : models) {
        double logs = 0, count = 0;
        for (auto const name : wanted) {
            auto const ratio = latency_of(out, name, prices, built(name), model, pool, rounds, seconds);
            if (name != chain) logs += std::log(ratio), ++count; // which is no network
        }
        if (count > 0)
            out.add("geometric mean", std::string{prices}, {{std::exp(logs / count)}}, "x", 1.0,
                    bench::budget_kind::at_least);
    }
    return out.finish();
}

} // namespace

// bench_search [STEPS [LONG_SECONDS [NETWORK...]]], bench_search latency [ROUNDS [SECONDS [NETWORK...]]]
int main(int argc, char** argv) {
    auto const timed = argc > 1 && argv[1] == std::string_view{"latency"};
    std::vector<char*> const given(argv + 1 + timed, argv + argc);
    auto const first = given.size() > 0 ? std::strtoull(given[0], nullptr, 10) : timed ? 5 : 1000;
    auto const second = given.size() > 1 ? std::strtod(given[1], nullptr) : timed ? 1 : 0;
    std::vector<std::string_view> wanted(given.begin() + std::min<std::ptrdiff_t>(std::ssize(given), 2), given.end());
    if (wanted.empty()) wanted.assign(std::begin(networks), std::end(networks));
    for (auto const name : wanted)
        if (!known(name)) {
            std::fprintf(stderr, "there is no network %s\n", std::string{name}.c_str());
            return 2;
        }
    if (timed) return latencies(wanted, static_cast<int>(first), second);

    bench::reporter out{"search"};
    report::table costs{
        {"network", "rules", "parts", "laws 1-3, us", "alpha 1", "alpha 1.05", "alpha 1.1", "alpha 1.2"}};
    runtime::thread_pool threads;
    for (auto const name : wanted) {
        auto const g = built(name);
        costs_of(costs, name, g, first, second);
        rates_of(out, name, g, &threads, 5);
    }
    std::fprintf(stderr, "%s", costs.text().c_str());
    return out.finish();
}
