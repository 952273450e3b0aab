// gsub explain --kernels: which kernel computes which operators, why no more, by which algorithm and schedule, how
// long.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/lower.hpp>
#include <gsub/report.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cli {

namespace {

// What is told of a kernel; the kernel graph itself would keep the weights.
struct kernel_line {
    std::string kind, covers, schedule, boundary;
};

std::string covers_of(gsub::kernel_op const& op) {
    if (op.covers.empty()) return gsub::format_text("({})", op.moves);
    std::string text;
    for (auto const& n : op.covers) text += gsub::format_text("{}{}", text.empty() ? "" : " + ", n.name);
    return text;
}

} // namespace

answer explain_kernels(explain_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto g = gsub::io::load_onnx(r.model, {.observe = s.observe}).value();
    auto const inputs = gsub::random_inputs(g, 1);
    std::vector<kernel_line> lines;
    auto const keep = [&](gsub::kernel_graph const& k) {
        if (k.stage != gsub::lowering_stage::scheduled) return;
        for (auto const& op : k.ops)
            lines.push_back({kind_of(op), covers_of(op), op.schedule ? to_string(*op.schedule) : "", op.boundary});
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
    return a;
}

} // namespace cli
