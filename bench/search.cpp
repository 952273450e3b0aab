// Search over the networks on which the literature measures graph substitution: what each alpha finds, with and without
// parts and macro rules, in what time; how many graphs a second, under operators' prices and kernels', on one thread
// and on all.
#include "measurement.hpp"
#include <gsub/core/meta.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/driver/optimize.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/rewrite/rules.hpp>
#include <gsub/runtime/thread_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace gsub;
using report::fixed;

constexpr std::string_view networks[] = {"nasrnn",    "squeezenet1_1", "resnext50_32x4d", "inception_v3",
                                         "bert_base", "resnet50",      "vgg19",           "nasnet_a"};
// What every runtime does by itself: laws 1 to 3.
constexpr std::string_view of_any_runtime = "fuse_conv_bn,fuse_bn_conv,fuse_matmul_bn,fuse_gemm_bn,fuse_conv_scale,"
                                            "fuse_conv_shift,fuse_conv_relu,fuse_conv_sigmoid,fuse_conv_tanh,"
                                            "fuse_conv_clip";
constexpr double alphas[] = {1, 1.05, 1.1, 1.2};

std::vector<rule_program> rules(std::string_view list) {
    return choose_rules(standard_rules(), list).value();
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

// Distinct graphs a second on one thread under both models, and what all threads add.
void rates_of(bench::reporter& out, std::string_view name, graph const& g, executor* threads, int rounds) {
    auto const chosen = rules("all");
    auto const rate = [&](cost::any_cost const& model, executor* with) {
        auto const r = searched(
            g, model, {.alpha = 1.1, .budget = search::budget{300}, .split = 48, .rules = chosen, .threads = with});
        return static_cast<double>(r.search.distinct) / r.search.seconds;
    };
    cost::roofline const machine;
    cost::fused_roofline const kernels{machine};
    auto const by_node = cost::erase(machine), by_kernel = cost::erase(kernels);
    bench::sample alone, grouped, gain;
    for (int i = 0; i < rounds; ++i) {
        alone.values.push_back(rate(by_node, nullptr));
        grouped.values.push_back(rate(by_kernel, nullptr));
        gain.values.push_back(rate(by_node, threads) / alone.values.back());
    }
    auto const on = std::string{name};
    out.add("distinct graphs, one thread", on, alone, "graphs/s", 50e3, bench::budget_kind::at_least);
    out.add("the same, kernels priced", on, grouped, "graphs/s", 10e3, bench::budget_kind::at_least);
    if (threads->concurrency() > 1)
        out.add(message({"gain by ", threads->concurrency(), " threads"}), on, gain, "x", 1.7,
                bench::budget_kind::at_least);
}

} // namespace

// bench_search [STEPS [LONG_SECONDS [NETWORK...]]]
int main(int argc, char** argv) {
    auto const steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    auto const long_seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 0;
    std::vector<std::string_view> wanted(argv + std::min(argc, 3), argv + argc);
    if (wanted.empty()) wanted.assign(std::begin(networks), std::end(networks));
    bench::reporter out{"search"};
    report::table costs{
        {"network", "rules", "parts", "laws 1-3, us", "alpha 1", "alpha 1.05", "alpha 1.1", "alpha 1.2"}};
    runtime::thread_pool threads;
    for (auto const name : wanted) {
        auto const* found = models::find_model(name);
        if (!found) {
            std::fprintf(stderr, "there is no network %s\n", std::string{name}.c_str());
            return 2;
        }
        auto const g = found->build(1);
        costs_of(costs, name, g, steps, long_seconds);
        rates_of(out, name, g, &threads, 5);
    }
    std::fprintf(stderr, "%s", costs.text().c_str());
    return out.finish();
}
