// gsub bench: how long a model takes.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/report.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/resource.h>

namespace cli {

namespace {

using clock = std::chrono::steady_clock;

// Runs of the paper's protocol.
constexpr std::size_t paper_warmup = 100, paper_runs = 1000;

double since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

// Without what lies further than three standard deviations from the mean.
std::vector<double> without_outliers(std::vector<double> const& times) {
    double sum = 0, squares = 0;
    for (auto t : times) sum += t, squares += t * t;
    auto const n = static_cast<double>(times.size());
    auto const mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    std::vector<double> kept;
    for (auto t : times)
        if (std::abs(t - mean) <= 3 * deviation) kept.push_back(t);
    return kept.empty() ? times : kept;
}

double quantile(std::vector<double> const& sorted, double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

} // namespace

double peak_memory() {
    // What getrusage tells begins with the memory of the process that started this one.
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
}

answer bench(bench_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto g = gsub::io::load_onnx(r.model, loading(r.given, s, true)).value();
    auto const inputs = gsub::random_inputs(g, r.seed);

    auto const begin = clock::now();
    std::optional<gsub::runtime::executable> built;
    std::vector<double> predicted; // seconds of each step, before anything runs
    if (!r.kernels.device.empty()) {
        built = build_simd(std::move(g), r.kernels, s);
    } else if (r.backend == "simd") {
        auto machine = gsub::parse_target(r.kernels.target).value();
        machine.threads = static_cast<unsigned>(s.threads->concurrency());
        auto const costs = gsub::cost::lowered::of(g, machine);
        auto const keep = [&](gsub::kernel_graph const& k) {
            if (k.stage != gsub::lowering_stage::scheduled) return;
            for (auto const& op : k.ops) predicted.push_back(costs.of_kernel(k, op).seconds);
        };
        built = build_simd(std::move(g), r.kernels, s, keep);
    } else {
        gsub::build_options options;
        options.generate = false;
        options.threads = s.threads;
        built = gsub::build(std::move(g), gsub::host(), options).value();
    }
    auto const build_seconds = since(begin);
    auto context = built->make_context();
    auto outputs = built->make_outputs();

    auto const warmup = r.paper ? paper_warmup : r.warmup, runs = r.paper ? paper_runs : r.runs;
    s.observe->on_progress({"run", 0, runs, {}});
    for (std::size_t i = 0; i < warmup; ++i) built->run(context, inputs, outputs, *s.threads).value();
    std::vector<double> times;
    auto const start = clock::now();
    while (r.seconds ? times.empty() || since(start) < *r.seconds : times.size() < runs) {
        auto const one = clock::now();
        built->run(context, inputs, outputs, *s.threads).value();
        times.push_back(since(one));
    }
    auto kept = without_outliers(times);
    std::sort(kept.begin(), kept.end());
    double mean = 0;
    for (auto t : kept) mean += t / static_cast<double>(kept.size());
    auto const peak = peak_memory();

    answer a;
    a.data["model"] = r.model;
    a.data["backend"] = r.kernels.device.empty() ? r.backend : r.kernels.device;
    a.data["threads"] = s.threads->concurrency();
    a.data["runs"] = kept.size();
    a.data["outliers"] = times.size() - kept.size();
    a.data["latency_ms"] = {{"min", kept.front() * 1e3},
                            {"median", quantile(kept, 0.5) * 1e3},
                            {"mean", mean * 1e3},
                            {"p90", quantile(kept, 0.9) * 1e3},
                            {"p99", quantile(kept, 0.99) * 1e3}};
    a.data["throughput_per_s"] = 1 / mean;
    a.data["build_ms"] = build_seconds * 1e3;
    a.data["peak_rss_mib"] = peak / (1 << 20);
    double all = 0;
    for (auto t : predicted) all += t;
    if (!predicted.empty()) a.data["predicted_ms"] = all * 1e3;
    gsub::report::table t{
        {"predicted", "min", "median", "mean", "p90", "p99", "runs a second", "build", "peak memory"}};
    t.add({predicted.empty() ? "" : gsub::report::human(all, "s"), gsub::report::human(kept.front(), "s"),
           gsub::report::human(quantile(kept, 0.5), "s"), gsub::report::human(mean, "s"),
           gsub::report::human(quantile(kept, 0.9), "s"), gsub::report::human(quantile(kept, 0.99), "s"),
           gsub::report::fixed(1 / mean, 1), gsub::report::human(build_seconds, "s"), gsub::report::human(peak, "B")});
    a.text = t.text();
    if (r.profile) {
        gsub::report::table steps{{"step", "kind", "time", "predicted", "GFLOP/s"}};
        a.data["steps"] = gsub::io::json::array();
        auto const profiles = built->profile(inputs, *s.threads).value();
        for (std::size_t i = 0; i < profiles.size(); ++i) {
            auto const& p = profiles[i];
            auto const rate = p.operations / p.seconds / 1e9;
            auto const known = i < predicted.size();
            steps.add({p.name, p.kind, gsub::report::human(p.seconds, "s"),
                       known ? gsub::report::human(predicted[i], "s") : "",
                       p.operations > 0 ? gsub::format_text("{}", std::round(rate * 10) / 10) : ""});
            a.data["steps"].push_back(
                {{"name", p.name}, {"kind", p.kind}, {"ms", p.seconds * 1e3}, {"operations", p.operations}});
            if (known) a.data["steps"].back()["predicted_ms"] = predicted[i] * 1e3;
        }
        a.text += gsub::format_text("\n{}", steps.text());
    }
    return a;
}

} // namespace cli
