// gsub compile: a model as sources, weights and a C API.
#include "commands.hpp"
#include <gsub/aot/export.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/driver.hpp>
#include <gsub/io.hpp>
#include <gsub/optimize.hpp>
#include <gsub/report/units.hpp>

#include <filesystem>

namespace cli {

answer compile(compile_request const& r, session const& s) {
    gsub::aot::export_options options;
    options.name = r.name.empty() ? gsub::aot::exported_name(std::filesystem::path{r.model}.stem().string()) : r.name;
    options.threads = r.own_threads;
    gsub::aot::check_export(r.output, options).value(); // before what takes long
    auto const machine = gsub::parse_target(r.target).value();
    s.observe->on_progress({"load", 0, 0, r.model});
    auto g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto const& isa = gsub::isa_of(machine);
    if (r.optimize)
        g = gsub::optimize(g, gsub::cost::lowered::of(g, machine), {.threads = s.threads, .observe = s.observe})
                .value();

    s.observe->on_progress({"plan", 0, 0, std::string{isa.name}});
    gsub::build_options planning;
    planning.threads = s.threads;
    planning.observe = s.observe;
    auto const given = read_schedules(r, g, machine, s);
    if (given) planning.schedules = *given, planning.algorithms = *given;
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto const program = r.passes.empty() ? gsub::plan(g, evaluators, machine, planning).value()
                                          : gsub::plan(passes_applied(std::move(g), r.passes, machine, s), evaluators,
                                                       machine, planning, gsub::grouping::by_passes)
                                                .value();
    if (given) given->report(*s.observe);
    s.observe->on_progress({"write", 0, 0, r.output});
    auto const written = gsub::aot::export_program(program, r.output, options).value();

    answer a;
    auto const size = [](std::size_t n) { return gsub::report::human(static_cast<double>(n), "B"); };
    a.text = gsub::format_text(
        "written  {}: model {}, {} kernels for {}, {} steps, {} of weights, {} of memory a run\n", r.output,
        options.name, written.kernels, isa.name, written.steps, size(written.weight_bytes), size(written.arena_bytes));
    a.data["output"] = r.output;
    a.data["name"] = options.name;
    a.data["target"] = to_string(machine);
    a.data["files"] = written.files;
    a.data["kernels"] = written.kernels;
    a.data["steps"] = written.steps;
    a.data["weight_bytes"] = written.weight_bytes;
    a.data["arena_bytes"] = written.arena_bytes;
    return a;
}

} // namespace cli
