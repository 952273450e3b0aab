// gsub tasks: the distinct kernels of a model, and the file of their schedules.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/kernel_task.hpp>
#include <gsub/lower/schedule_table.hpp>
#include <gsub/report.hpp>

#include <cmath>
#include <string>

namespace cli {

namespace {

std::string points_of(gsub::loop::config_space const& space) {
    if (space.knobs().empty()) return "";
    std::string knobs;
    for (auto const& k : space.knobs())
        if (k.size() > 1) knobs += gsub::format_text("{}{}: {}", knobs.empty() ? "" : ", ", k.name, k.size());
    return gsub::format_text("{} ({})", space.size(), knobs);
}

} // namespace

answer tasks(tasks_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto const machine = gsub::parse_target(r.target).value();
    auto const costs = gsub::cost::lowered::of(g, machine);
    answer a;
    std::vector<gsub::kernel_task> found;
    std::vector<double> predicted;
    auto const keep = [&](gsub::kernel_graph const& k) {
        if (k.stage != gsub::lowering_stage::scheduled) return;
        found = gsub::tasks_of(k);
        for (auto const& task : found)
            for (auto const& op : k.ops)
                if (auto const* const d = std::get_if<gsub::kernels::descriptor>(&op.computes);
                    d && gsub::kernels::equal(*d, task.what)) {
                    predicted.push_back(costs.of_kernel(k, op).seconds);
                    break;
                }
    };
    gsub::build_options options;
    options.threads = s.threads, options.observe = s.observe;
    options.on_stage = gsub::function_ref<void(gsub::kernel_graph const&)>{keep};
    static_cast<void>(
        gsub::plan(std::move(g), gsub::table_of<gsub::eval_row, gsub::standard_ops>(), machine, options).value());

    gsub::report::table t{{"task", "kernels", "MFLOP", "KiB", "predicted", "space", "schedule"}};
    a.data["target"] = to_string(machine);
    a.data["tasks"] = gsub::io::json::array();
    double points = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto const& task = found[i];
        auto const schedule = task.schedule ? to_string(*task.schedule) : std::string{};
        if (!task.space->knobs().empty()) points += static_cast<double>(task.space->size());
        t.add({gsub::kernels::kind_of(task.what), gsub::format_text("{}", task.kernels),
               gsub::report::fixed(task.operations / 1e6, 2), gsub::report::fixed(task.bytes / 1024, 1),
               gsub::report::human(predicted[i], "s"), points_of(*task.space), schedule});
        a.data["tasks"].push_back({{"kernel", gsub::kernels::to_string(task.what)},
                                   {"kind", gsub::kernels::kind_of(task.what)},
                                   {"kernels", task.kernels},
                                   {"flop", task.operations},
                                   {"bytes", task.bytes},
                                   {"predicted_seconds", predicted[i]},
                                   {"points", task.space->size()},
                                   {"schedule", schedule}});
    }
    std::size_t kernels = 0;
    for (auto const& task : found) kernels += task.kernels;
    a.text = gsub::format_text("{} tasks of {} kernels for {}, {:.3g} points in all\n\n{}", found.size(), kernels,
                               machine.gpu ? machine.gpu->title : machine.isa->name, points, t.text());
    if (!r.schedules.empty()) {
        gsub::io::write_file(r.schedules, gsub::schedule_table::to_text(found, isa_of(machine))).value();
        a.text += gsub::format_text("written  {}\n", r.schedules);
        a.data["schedules"] = r.schedules;
    }
    return a;
}

} // namespace cli
