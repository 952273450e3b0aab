// Predicted times beside the clock: kernel by kernel, and whole networks.
//
//     bench_predict [--threads N] [--runs N] [--optimized] [--models] [--profile FILE] [--random SEED] [--count N]
//                   [MODEL ...]
//     bench_predict rank [--tasks N] [--points N] [--rounds N] [--seed N] [--model counted|scheduled|linear]
//                        [--random SEED] [--count N] [MODEL ...]
//     bench_predict pairs [--pairs N] [--parts N] [--steps N] [--rounds N] [--seed N] [--random SEED] [--count N]
//                         [MODEL ...]
//     bench_predict rate [--points N] [--rounds N] [--seed N] [--random SEED] [--count N] [MODEL ...]
//     bench_predict fit [--tasks N] [--points N] [--rounds N] [--seed N] [--model counted|scheduled]
//                       [--write FILE] [--read FILE] [--random SEED] [--count N] [MODEL ...]
//
// MODEL is a name of `gsub models` or an ONNX file; without one, the eighteen networks of bench/compare. A network is
// built and profiled (the median of its runs for each step), and each step is predicted by `cost::lowered` without
// having run: a JSON line a step, and a table of the errors by kind of kernel and by network. `--optimized` takes what
// `optimize` makes of the networks under these costs, `--models` all models of times. `rank`: the ways to compute one
// kernel. `pairs`: graphs before and behind a rewrite. `rate`: candidates that are predicted in a second. `fit`:
// coefficients of the linear score.
#include "compared_networks.hpp"
#include "measurement.hpp"
#include "predict_fit.hpp"
#include "predict_models.hpp"
#include "predict_pairs.hpp"
#include "predict_rank.hpp"
#include "predict_rate.hpp"
#include "random_networks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/linear_score.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gsub;

enum class mode { clock, rank, pairs, rate, fit };

struct settings {
    mode what = mode::clock;
    unsigned threads = 1;
    std::size_t runs = 20;
    bool optimized = false, models = false;
    std::string profile{};
    bench::rank_options ranking{};
    bench::pair_options pairing{};
    bench::rate_options rating{};
    bench::fit_options fitting{};
    std::vector<std::pair<std::string, graph>> networks{};
};

graph load(std::string const& name) {
    if (auto const* const entry = models::find_model(name)) return entry->build(1);
    return io::load_onnx(name).value();
}

// The networks that are looked at where none is named.
std::vector<std::string> usual(mode what) {
    switch (what) {
    case mode::rank:
    case mode::fit:
        return {"resnet50", "mobilenet_v2",    "squeezenet1_1", "bert_small",
                "nasnet_a", "resnext50_32x4d", "nasrnn",        "inception_v3"};
    case mode::pairs: {
        std::vector<std::string> names;
        for (auto const& entry : models::test_graph_entries) names.emplace_back(entry.name);
        for (auto const* name : {"squeezenet1_1", "nasrnn", "nasnet_a", "inception_v3", "bert_small", "resnext50_32x4d",
                                 "resnet18", "mobilenet_v2", "densenet121"})
            names.emplace_back(name);
        return names;
    }
    case mode::rate:
        return {"resnet50", "mobilenet_v2", "bert_small"};
    case mode::clock:
        break;
    }
    return {bench::compared_networks.begin(), bench::compared_networks.end()};
}

cost::kernel_time_model model_named(std::string const& name) {
    if (name == "counted") return {};
    if (name == "scheduled") return cost::scheduled_cycles();
    if (name == "linear") return cost::linear_cycles();
    throw error{error_code::usage, fmt::format("no model {}, but counted, scheduled and linear", name)};
}

mode mode_named(std::string const& name) {
    return name == "rank"    ? mode::rank
           : name == "pairs" ? mode::pairs
           : name == "rate"  ? mode::rate
           : name == "fit"   ? mode::fit
                             : mode::clock;
}

settings parse(std::vector<std::string> const& arguments) {
    settings s;
    std::size_t count = 20, first = 0;
    std::optional<std::uint64_t> seed;
    std::vector<std::string> names;
    if (!arguments.empty()) s.what = mode_named(arguments[0]);
    if (s.what != mode::clock) first = 1;
    if (s.what == mode::fit) s.ranking = s.fitting.ranking;
    auto const clock = s.what == mode::clock, rank = s.what == mode::rank, pairs = s.what == mode::pairs,
               rate = s.what == mode::rate, fit = s.what == mode::fit;
    for (auto i = first; i < arguments.size(); ++i) {
        auto const& a = arguments[i];
        auto const value = [&]() -> std::string const& {
            if (++i == arguments.size()) throw error{error_code::usage, fmt::format("{} needs a value", a)};
            return arguments[i];
        };
        auto const number = [&] { return std::strtoull(value().c_str(), nullptr, 10); };
        if (a == "--random")
            seed = number();
        else if (a == "--count")
            count = number();
        else if (clock && a == "--threads")
            s.threads = static_cast<unsigned>(number());
        else if (clock && a == "--runs")
            s.runs = number();
        else if (clock && a == "--optimized")
            s.optimized = true;
        else if (clock && a == "--models")
            s.models = true;
        else if (clock && a == "--profile")
            s.profile = value();
        else if (fit && a == "--write")
            s.fitting.written = value();
        else if (fit && a == "--read")
            s.fitting.read = value();
        else if ((rank || fit) && a == "--tasks")
            s.ranking.tasks = number();
        else if ((rank || fit) && a == "--model")
            s.ranking.model = model_named(value());
        else if ((rank || rate || fit) && a == "--points")
            s.ranking.points = s.rating.points = number();
        else if (pairs && a == "--pairs")
            s.pairing.pairs = number();
        else if (pairs && a == "--parts")
            s.pairing.parts = number();
        else if (pairs && a == "--steps")
            s.pairing.steps = number();
        else if (!clock && a == "--rounds")
            s.ranking.rounds = s.pairing.rounds = s.rating.rounds = std::max<std::size_t>(1, number());
        else if (!clock && a == "--seed")
            s.ranking.seed = s.pairing.seed = s.rating.seed = number();
        else if (a.starts_with("--"))
            throw error{error_code::usage, fmt::format("no option {}", a)};
        else
            names.push_back(a);
    }
    s.fitting.ranking = s.ranking;
    if (!s.fitting.read.empty()) return s;
    if (names.empty() && !seed) {
        names = usual(s.what);
        if (pairs || fit) seed = 1; // and random ones
    }
    if (seed)
        for (auto const& network : bench::random_networks(*seed, count, false))
            s.networks.emplace_back(network.name(), network.build());
    for (auto const& name : names) s.networks.emplace_back(name, load(name));
    return s;
}

// Ratios of predicted to measured, of kernels weighed by nothing.
struct errors {
    std::vector<double> ratios;
    double predicted = 0, measured = 0;
    void add(double p, double m) {
        ratios.push_back(p / m);
        predicted += p, measured += m;
    }
    [[nodiscard]] double median_error() const {
        bench::sample apart;
        for (auto r : ratios) apart.values.push_back(std::abs(r - 1));
        return apart.median();
    }
    [[nodiscard]] double quantile(double share) const { return bench::sample{ratios}.at(share); }
};

void tell(settings const& s) {
    auto const machine = host();
    runtime::thread_pool pool{{.threads = s.threads}};
    std::map<std::string, errors> kinds, networks;
    errors all, whole;
    std::optional<bench::time_models> models;
    bench::model_table by_model;
    if (s.models) models.emplace(machine, pool, s.profile);
    for (auto& [name, built] : s.networks) {
        auto g = built;
        if (s.optimized) {
            auto const costs = cost::lowered::of(g, machine, {.threads = s.threads});
            graph better = optimize(g, costs).value();
            g = std::move(better);
        }
        auto const costs = cost::lowered::of(g, machine, {.threads = s.threads});
        kernel_graph lowered;
        auto const keep = [&](kernel_graph const& k) {
            if (k.stage == lowering_stage::scheduled) lowered = k;
        };
        build_options building;
        building.on_stage = function_ref<void(kernel_graph const&)>{keep};
        auto as_run = machine;
        as_run.threads = s.threads;
        auto const inputs = random_inputs(g, 1);
        auto const program = build(g, as_run, building).value();
        auto const profile = program.profile(inputs, pool, s.runs).value();
        if (profile.size() != lowered.ops.size())
            throw error{error_code::internal,
                        fmt::format("{}: {} steps, {} kernels", name, profile.size(), lowered.ops.size())};
        auto context = program.make_context();
        auto outputs = program.make_outputs();
        bench::sample runs;
        for (std::size_t r = 0; r < s.runs + 3; ++r) {
            auto const taken = bench::seconds_of([&] { program.run(context, inputs, outputs, pool).value(); });
            if (r >= 3) runs.values.push_back(taken);
        }
        double predicted = 0;
        for (std::size_t i = 0; i < profile.size(); ++i) {
            auto const& op = lowered.ops[i];
            auto const t = costs.of_kernel(lowered, op);
            auto const& p = profile[i];
            predicted += t.seconds;
            auto const kind = kind_of(op);
            io::json line{{"bench", "predict"},
                          {"network", name},
                          {"step", p.name},
                          {"kind", kind},
                          {"predicted", t.seconds},
                          {"measured", p.seconds},
                          {"operations", p.operations},
                          {"compute", t.compute},
                          {"fma", t.multiply_adds},
                          {"arithmetic", t.arithmetic},
                          {"loads", t.loads},
                          {"stores", t.stores},
                          {"l2", t.l2_bytes},
                          {"l3", t.l3_bytes},
                          {"memory", t.memory_bytes}};
            if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes))
                line["descriptor"] = kernels::to_string(*d);
            if (op.schedule) line["schedule"] = loop::to_string(*op.schedule);
            std::printf("%s\n", line.dump().c_str());
            if (p.seconds < 1e-6) continue; // the clock itself
            kinds[kind].add(t.seconds, p.seconds);
            networks[name].add(t.seconds, p.seconds);
            all.add(t.seconds, p.seconds);
        }
        whole.add(predicted, runs.median());
        auto const composed = costs(g).amount, exactly = costs.exactly(g).value().amount;
        io::json line{{"bench", "predict"},       {"network", name},      {"whole", true},
                      {"predicted", predicted},   {"composed", composed}, {"exactly", exactly},
                      {"measured", runs.median()}};
        if (models) {
            auto const told = models->of(g);
            for (auto const& [model, seconds] : told) line["models"][model] = seconds;
            by_model.add(name, runs.median(), told);
        }
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
        std::fprintf(stderr, "%-18s predicted %8.3f ms, by groups %8.3f ms, measured %8.3f ms: %.2f, %.2f\n",
                     name.c_str(), predicted * 1e3, composed * 1e3, runs.median() * 1e3, predicted / runs.median(),
                     composed / runs.median());
    }
    report::table table{
        {"kernels", "number", "time", "predicted / measured", "10 %", "median", "90 %", "median error"}};
    auto const add = [&](std::string const& what, errors const& e) {
        table.add({what, fmt::format("{}", e.ratios.size()), report::human(e.measured, "s"),
                   report::fixed(e.predicted / e.measured, 2), report::fixed(e.quantile(0.1), 2),
                   report::fixed(e.quantile(0.5), 2), report::fixed(e.quantile(0.9), 2),
                   report::fixed(e.median_error(), 2)});
    };
    for (auto const& [kind, e] : kinds) add(kind, e);
    for (auto const& [network, e] : networks) add(network, e);
    add("all kernels", all);
    add("whole networks", whole);
    std::fprintf(stderr, "%s", table.text().c_str());
    if (s.models) std::fprintf(stderr, "%s", by_model.text().c_str());
}

} // namespace

int main(int argc, char** argv) try {
    auto const s = parse({argv + 1, argv + argc});
    if (s.what == mode::rank) return bench::rank(s.networks, s.ranking);
    if (s.what == mode::fit) return bench::fit(s.networks, s.fitting);
    if (s.what == mode::pairs) return bench::compare_pairs(s.networks, s.pairing);
    if (s.what == mode::rate) return bench::rate(s.networks, s.rating);
    tell(s);
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
}
