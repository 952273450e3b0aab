// gsub explain --kernels: which kernel computes which operators, why no more, by which algorithm and schedule, how
// long; with --features, what each kernel does and what a linear score makes of it.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/linear_score.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/lower.hpp>
#include <gsub/report.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace {

// What is told of a kernel; the kernel graph itself would keep the weights.
struct kernel_line {
    std::string kind, covers, schedule, boundary;
    std::optional<gsub::cost::kernel_features> features{}; ///< of kernels, where they are asked for
};

std::string covers_of(gsub::kernel_op const& op) {
    if (op.covers.empty()) return gsub::format_text("({})", op.moves);
    std::string text;
    for (auto const& n : op.covers) text += gsub::format_text("{}{}", text.empty() ? "" : " + ", n.name);
    return text;
}

// Features of a kernel as a table: counts, cycles by themselves, and their part of the predicted time.
std::string features_text(gsub::cost::kernel_features const& of, gsub::cost::linear_score const& score, double hertz,
                          gsub::io::json& data) {
    auto const all = score.cycles(of);
    auto text = gsub::format_text("predicted {} by its features", gsub::report::human(all / hertz, "s"));
    if (of.threads > 1)
        text += gsub::format_text(", of {} threads one does {}", of.threads, gsub::report::percent(of.part));
    text += "\n";
    data["predicted_ms"] = all / hertz * 1e3;
    data["threads"] = of.threads, data["part"] = of.part;
    gsub::report::table t{{"feature", "count", "unit", "cycles", "coefficient", "share"}};
    for (std::size_t i = 0; i < gsub::cost::kernel_feature_count; ++i) {
        auto const f = static_cast<gsub::cost::kernel_feature>(i);
        auto const& row = gsub::cost::row_of(f);
        if (of[f].count == 0) continue;
        auto const share = all > 0 ? score.cycles(of, f) / all : 0.0;
        t.add({std::string{row.name}, gsub::report::fixed(of[f].count, 0), std::string{row.unit},
               gsub::report::fixed(of[f].cycles, 0), gsub::report::fixed(score[f], 3), gsub::report::percent(share)});
        data["features"][std::string{row.name}] = {{"count", of[f].count}, {"cycles", of[f].cycles}, {"share", share}};
    }
    return text + t.text();
}

} // namespace

answer explain_kernels(explain_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto const inputs = gsub::random_inputs(g, 1);
    auto const machine = gsub::parse_target(r.kernels_of.target).value();
    std::optional<gsub::cost::lowered> costs;
    if (r.features)
        costs = gsub::cost::lowered::of(g, machine, {.threads = static_cast<unsigned>(s.threads->concurrency())});
    std::vector<kernel_line> lines;
    auto const keep = [&](gsub::kernel_graph const& k) {
        if (k.stage != gsub::lowering_stage::scheduled) return;
        for (auto const& op : k.ops) {
            lines.push_back({kind_of(op), covers_of(op), op.schedule ? to_string(*op.schedule) : "", op.boundary});
            if (!costs || !op.schedule) continue;
            auto const counted = costs->of_kernel(k, op);
            if (counted.compute > 0) lines.back().features = gsub::cost::features_of(counted, costs->core());
        }
    };
    auto const built = build_simd(std::move(g), r.kernels_of, s, keep);
    // The fastest of some runs, a step at a time.
    std::vector<double> seconds(lines.size(), 1e30);
    for (int run = 0; run < 5; ++run) {
        auto const profile = built.profile(inputs, *s.threads).value();
        for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = std::min(seconds[i], profile[i].seconds);
    }
    double all = 0;
    for (auto const t : seconds) all += t;

    answer a;
    a.text = gsub::format_text("{} kernels and steps, {}\n\n", lines.size(), gsub::report::human(all, "s"));
    a.data["seconds"] = all;
    a.data["kernels"] = gsub::io::json::array();
    gsub::report::table t{{"kernel", "time", "covers", "ends before", "schedule"}};
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const& line = lines[i];
        t.add({line.kind, gsub::report::human(seconds[i], "s"), line.covers, line.boundary, line.schedule});
        a.data["kernels"].push_back({{"kind", line.kind},
                                     {"ms", seconds[i] * 1e3},
                                     {"covers", line.covers},
                                     {"ends_before", line.boundary},
                                     {"schedule", line.schedule}});
    }
    a.text += t.text();
    if (!costs) return a;
    auto const& score = gsub::cost::linear_score_of(*machine.isa, gsub::cost::ilp_source::blocks).score;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const& line = lines[i];
        if (!line.features) continue;
        a.text +=
            gsub::format_text("\n{} {}: measured {}, ", line.kind, line.covers, gsub::report::human(seconds[i], "s"));
        a.text += features_text(*line.features, score, costs->core().gigahertz * 1e9, a.data["kernels"][i]);
    }
    return a;
}

} // namespace cli
