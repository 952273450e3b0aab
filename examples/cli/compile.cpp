// gsub compile: a model as sources, weights and a C API.
#include "commands.hpp"
#include <gsub/aot/export.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/driver.hpp>
#include <gsub/io.hpp>
#include <gsub/optimize.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

namespace cli {

namespace {

// The targets of a list: what is told of one, `key=value`, stands behind it.
std::vector<gsub::target> targets_of(std::string const& list) {
    std::vector<std::string> texts;
    for (std::size_t at = 0; at <= list.size();) {
        auto const end = std::min(list.find(',', at), list.size());
        auto const part = list.substr(at, end - at);
        if (texts.empty() || part.find('=') == part.npos)
            texts.push_back(part);
        else
            texts.back() += "," + part;
        at = end + 1;
    }
    std::vector<gsub::target> out;
    for (auto const& t : texts) {
        out.push_back(gsub::parse_target(t).value());
        if (out.back().gpu)
            throw gsub::error{gsub::error_code::unsupported,
                              gsub::format_text("{} is a GPU: exported sources are for processors", t)};
    }
    return out;
}

gsub::runtime::program planned(gsub::graph g, compile_request const& r, gsub::target const& machine, session const& s) {
    if (r.optimize)
        g = gsub::optimize(g, gsub::cost::lowered::of(g, machine), {.threads = s.threads, .observe = s.observe})
                .value();
    s.observe->on_progress({"plan", 0, 0, std::string{machine.isa->name}});
    gsub::build_options planning;
    planning.threads = s.threads;
    planning.observe = s.observe;
    auto const given = read_schedules(r, g, machine, s);
    if (given) planning.schedules = *given, planning.algorithms = *given;
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto out = r.passes.empty() ? gsub::plan(g, evaluators, machine, planning).value()
                                : gsub::plan(passes_applied(std::move(g), r.passes, machine, s), evaluators, machine,
                                             planning, gsub::grouping::by_passes)
                                      .value();
    if (given) given->report(*s.observe);
    return out;
}

} // namespace

answer compile(compile_request const& r, session const& s) {
    gsub::aot::export_options options;
    options.name = r.name.empty() ? gsub::aot::exported_name(std::filesystem::path{r.model}.stem().string()) : r.name;
    options.threads = r.own_threads;
    gsub::aot::check_export(r.output, options).value(); // before what takes long
    auto const machines = targets_of(r.target);
    s.observe->on_progress({"load", 0, 0, r.model});
    auto const g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    std::vector<gsub::runtime::program> programs;
    programs.reserve(machines.size());
    std::vector<gsub::aot::export_variant> variants;
    std::string sets, targets;
    for (auto const& m : machines) {
        programs.push_back(planned(g, r, m, s));
        variants.push_back({m.isa, &programs.back()});
        sets += gsub::format_text("{}{}", sets.empty() ? "" : ", ", m.isa->name);
        targets += gsub::format_text("{}{}", targets.empty() ? "" : ",", to_string(m));
    }
    s.observe->on_progress({"write", 0, 0, r.output});
    auto const written = programs.size() == 1 ? gsub::aot::export_program(programs[0], r.output, options).value()
                                              : gsub::aot::export_variants(variants, r.output, options).value();

    answer a;
    auto const size = [](std::size_t n) { return gsub::report::human(static_cast<double>(n), "B"); };
    a.text = gsub::format_text(
        "written  {}: model {}, {} kernels for {}, {} steps, {} of weights, {} of memory a run\n", r.output,
        options.name, written.kernels, sets, written.steps, size(written.weight_bytes), size(written.arena_bytes));
    a.data["output"] = r.output;
    a.data["name"] = options.name;
    a.data["target"] = targets;
    a.data["files"] = written.files;
    a.data["kernels"] = written.kernels;
    a.data["steps"] = written.steps;
    a.data["weight_bytes"] = written.weight_bytes;
    a.data["arena_bytes"] = written.arena_bytes;
    return a;
}

} // namespace cli
