// gsub passes, gsub bisect, and gsub optimize --passes: the passes by name.
#include "commands.hpp"
#include "pass_examples.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/bisect.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/io.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/report/dot.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/table.hpp>

#include <cstdio>
#include <vector>

namespace cli {

namespace {

using gsub::error;
using gsub::error_code;

std::string joined(std::span<std::string_view const> names) {
    std::string out;
    for (auto name : names) out += gsub::format_text("{}{}", out.empty() ? "" : ", ", name);
    return out;
}

std::string quoted(std::vector<std::string> const& lines) {
    std::string out;
    for (auto const& line : lines) out += gsub::format_text("{}{}`", out.empty() ? "`" : "<br>`", line);
    return out;
}

std::string rounded(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

gsub::module loaded(std::string const& path, input_choice const& given, session const& s) {
    s.observe->on_progress({"load", 0, 0, path});
    return gsub::io::load_onnx_module(path, gsub::dialect::of<gsub::standard_ops>(),
                                      gsub::table_of<gsub::io::onnx_row, gsub::standard_ops>(), loading(given, s))
        .value();
}

// The same graph with all values row-major: a layout is how a value is stored, and a file says what it is.
gsub::any_graph without_layouts(gsub::any_graph const& g) {
    gsub::any_graph out{g.operators()};
    gsub::graph_cloner to{g, out};
    auto const row_major = [&](gsub::value_id v) {
        auto type = g.type(v);
        type.layout = {};
        return gsub::type_id{type};
    };
    for (auto n : g.inputs()) to.stand({n, 0}, out.add_input(row_major({n, 0}), g.name({n, 0})));
    for (auto n : g.order()) {
        if (g.is<gsub::ops::input>(n) || n == g.return_node()) continue;
        if (g.is<gsub::ops::layout_transform>(n)) {
            to.stand({n, 0}, to(g.operand(n, 0)));
            continue;
        }
        std::vector<gsub::type_id> types;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) types.push_back(row_major({n, port}));
        to.clone(n, to.operands(n), {types, {}});
    }
    std::vector<gsub::value_id> outputs;
    for (std::size_t i = 0; i < g.output_count(); ++i) outputs.push_back(to(g.output(i)));
    out.set_info(g.info());
    auto const names = g.info().output_names;
    out.set_outputs(outputs, names);
    return out;
}

void save(gsub::module m, std::string const& path, session const& s) {
    auto stored = false;
    for (auto const& f : std::vector<gsub::function>{m.functions().begin(), m.functions().end()}) {
        if (!gsub::passes::names_layouts(f.body)) continue;
        m.find(f.name)->body = without_layouts(f.body);
        stored = true;
    }
    if (stored) s.observe->on_note("layouts are how values are stored: a file has none, a build chooses them");
    gsub::io::save_onnx(m, gsub::table_of<gsub::io::onnx_row, gsub::standard_ops>(), path).value();
}

gsub::pass_context context_of(std::uint64_t seed, session const& s) {
    gsub::pass_context cx;
    cx.seed = seed;
    cx.threads = s.threads;
    cx.observe = s.observe;
    cx.machine = gsub::host();
    return cx;
}

std::string skips_of(gsub::pass_outcome const& o) {
    std::string out;
    for (auto const& s : o.skipped) out += gsub::format_text("{}{} ({})", out.empty() ? "" : "; ", s.reason, s.count);
    return out;
}

// The section of docs/passes.md.
std::string page(gsub::pass_manager const& known) {
    gsub::report::table t{
        {"pass", "in TVM", "what it does", "level", "classes", "required", "exactness", "before", "after"}};
    for (auto const& p : known.passes()) {
        auto const& info = p.info();
        auto const shown = example_of(known, p);
        t.add({gsub::format_text("`{}`", info.name), std::string{info.tvm_name}, std::string{info.effect},
               gsub::format_text("{}", info.level), joined(info.classes), joined(info.required),
               std::string{to_string(info.exact)}, quoted(shown.before), quoted(shown.after)});
    }
    return t.markdown();
}

} // namespace

gsub::module passes_applied(gsub::any_graph g, std::string const& list, gsub::target const& machine, session const& s) {
    gsub::module m;
    m.add("main", std::move(g));
    auto cx = context_of(1, s);
    cx.machine = machine;
    auto const done = gsub::run_passes(m, gsub::compiler_passes(), list, cx).value();
    for (auto const& note : done.notes) s.observe->on_note(note);
    return m;
}

answer passes(passes_request const& r, session const&) {
    auto const known = gsub::compiler_passes();
    if (r.markdown) return {.text = page(known)};
    gsub::report::table t{{"pass", "in TVM", "level", "classes", "required", "exactness", "effect"}};
    answer a;
    a.data["passes"] = gsub::io::json::array();
    for (auto const& p : known.passes()) {
        auto const& info = p.info();
        t.add({std::string{info.name}, std::string{info.tvm_name}, gsub::format_text("{}", info.level),
               joined(info.classes), joined(info.required), std::string{to_string(info.exact)},
               std::string{info.effect}});
        a.data["passes"].push_back({{"pass", info.name},
                                    {"tvm_name", info.tvm_name},
                                    {"aliases", joined(info.aliases)},
                                    {"kind", info.kind == gsub::pass_kind::module ? "module" : "function"},
                                    {"level", info.level},
                                    {"classes", joined(info.classes)},
                                    {"required", joined(info.required)},
                                    {"exactness", to_string(info.exact)},
                                    {"arguments", p.takes_arguments()},
                                    {"effect", info.effect}});
    }
    gsub::report::table lists{{"list", "what", "passes"}};
    a.data["lists"] = gsub::io::json::array();
    for (auto const& l : known.lists()) {
        lists.add({l.name, l.sentence, l.passes});
        a.data["lists"].push_back({{"list", l.name}, {"what", l.sentence}, {"passes", l.passes}});
    }
    for (auto const& of : gsub::standard_classes::all()) {
        lists.add({"auto", gsub::format_text("where the network is of class {}", of.of.name), of.text()});
        a.data["lists"].push_back({{"list", "auto"}, {"class", of.of.name}, {"passes", of.text()}});
    }
    a.text = gsub::format_text("{}\n{}", t.text(), lists.text());
    return a;
}

answer run_passes(optimize_request const& r, session const& s) {
    auto m = loaded(r.model, r.given, s);
    auto cx = context_of(r.seed, s);
    auto const draw = [](gsub::any_graph const& g) { return gsub::report::to_dot(g); };
    gsub::run_passes_options options;
    options.verify = r.verify;
    if (!r.dump_passes.empty()) options.dump = gsub::pass_dump_options{.folder = r.dump_passes, .to_dot = draw};
    auto const done = gsub::run_passes(m, gsub::compiler_passes(), r.passes, cx, options).value();

    answer a;
    gsub::report::table t{{"pass", "changed", "matches", "nodes", "ms", "checks ms", "remarks"}};
    a.data["passes"] = gsub::io::json::array();
    for (auto const& p : done.records) {
        auto remarks = p.not_run.empty() ? skips_of(p.outcome) : p.not_run;
        if (!p.required_by.empty())
            remarks = gsub::format_text("required by {}{}{}", p.required_by, remarks.empty() ? "" : "; ", remarks);
        if (p.verdict.compared || !p.verdict.reason.empty())
            remarks += gsub::format_text("{}{}{}", remarks.empty() ? "" : "; ",
                                         p.verdict.compared ? "verified" : "not verified: ", p.verdict.reason);
        t.add({std::string(2 * p.depth, ' ') + p.pass, p.not_run.empty() ? p.changed ? "yes" : "no" : "not run",
               gsub::format_text("{}", p.outcome.matches), gsub::format_text("{} to {}", p.nodes_before, p.nodes_after),
               rounded(p.time_s * 1e3), rounded(p.instrument_s * 1e3), remarks});
        a.data["passes"].push_back({{"pass", p.pass},
                                    {"depth", p.depth},
                                    {"required_by", p.required_by},
                                    {"not_run", p.not_run},
                                    {"changed", p.changed},
                                    {"matches", p.outcome.matches},
                                    {"skipped", skips_of(p.outcome)},
                                    {"seconds", p.time_s},
                                    {"seconds_around", p.instrument_s},
                                    {"nodes_before", p.nodes_before},
                                    {"nodes_after", p.nodes_after},
                                    {"weight_bytes_before", p.weight_bytes_before},
                                    {"weight_bytes_after", p.weight_bytes_after},
                                    {"hash", to_string(p.hash)},
                                    {"verified", p.verdict.compared},
                                    {"error", p.verdict.error}});
    }
    a.text = t.text();
    for (auto const& note : done.notes) a.text += gsub::format_text("note     {}\n", note);
    a.data["notes"] = done.notes;
    if (!r.output.empty()) {
        s.observe->on_progress({"save", 0, 0, r.output});
        save(m, r.output, s);
        a.text += gsub::format_text("written  {}\n", r.output);
        a.data["output"] = r.output;
    }
    if (!r.dot.empty()) gsub::io::write_file(r.dot, gsub::report::to_dot(m.inlined().value())).value();
    if (!r.svg.empty()) gsub::io::write_file(r.svg, gsub::report::to_svg(m.inlined().value()).value()).value();
    return a;
}

answer bisect(bisect_request const& r, session const& s) {
    auto const m = loaded(r.model, r.given, s);
    auto const cx = context_of(r.seed, s);
    auto const known = gsub::compiler_passes();
    auto const list = known.parse(r.passes).value();
    gsub::numbers_differ differ{&cx, r.relative};
    auto const found = gsub::bisect(m, known, list, cx, differ, {.max_tries = r.tries}).value();
    answer a;
    a.data = {{"found", found.found}};
    if (!found.found) {
        a.text = "no pass of the list changes results or fails\n";
        return a;
    }
    a.positive = false;
    a.data["pass"] = found.pass;
    a.data["position"] = found.position;
    a.data["failure"] = found.failure;
    a.data["rewrites"] = found.rewrites;
    a.data["rewrite"] = found.rewrite;
    a.data["nodes"] = found.nodes;
    a.data["nodes_at_start"] = found.nodes_at_start;
    a.data["only_together"] = found.only_together;
    a.text = gsub::format_text("pass     {}, number {}\n", found.pass, found.position + 1);
    if (!found.failure.empty()) a.text += gsub::format_text("error    {}\n", found.failure);
    if (found.rewrite > 0) a.text += gsub::format_text("place    {} of {}\n", found.rewrite, found.rewrites);
    a.text += gsub::format_text("model    {} of {} operators{}{}\n", found.nodes, found.nodes_at_start,
                                found.only_together ? "; the pass fails only together with those before it" : "",
                                found.exhausted ? "; a smaller one may exist, see --tries" : "");
    if (!r.output.empty()) {
        save(found.before, r.output, s);
        a.text += gsub::format_text("written  {}\n", r.output);
        a.data["output"] = r.output;
    }
    return a;
}

} // namespace cli
