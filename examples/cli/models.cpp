// gsub models, gsub inspect and gsub ops: what there is.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/ir.hpp>
#include <gsub/models.hpp>
#include <gsub/report.hpp>
#include <gsub/report/json.hpp>
#include <gsub/report/svg.hpp>

#include <algorithm>
#include <utility>

namespace cli {

using gsub::error;
using gsub::error_code;
using gsub::to_string;

std::vector<gsub::models::option_info> model_options() {
    std::vector<gsub::models::option_info> all;
    for (auto const& entry : gsub::models::catalogue())
        for (auto const& option : entry.options)
            if (std::none_of(all.begin(), all.end(), [&](auto const& known) { return known.name == option.name; }))
                all.push_back(option);
    return all;
}

namespace {

// `--batch 1 --image 224`: the options of a model as they are without being given.
std::string usual_options(gsub::models::catalogue_entry const& entry) {
    std::string all;
    for (auto const& o : entry.options) all += gsub::format_text("{}--{} {}", all.empty() ? "" : " ", o.name, o.usual);
    return all;
}

answer list_of_models() {
    answer a;
    gsub::report::table t{{"model", ""}};
    a.data["models"] = gsub::io::json::array();
    std::vector<std::pair<std::string, std::string>> alike; // options, the models that have them
    for (auto const& entry : gsub::models::catalogue()) {
        t.add({std::string{entry.name}, std::string{entry.summary}});
        auto options = gsub::io::json::array();
        for (auto const& o : entry.options)
            options.push_back(
                {{"name", o.name}, {"summary", o.summary}, {"usual", o.usual}, {"least", o.least}, {"most", o.most}});
        a.data["models"].push_back({{"name", entry.name}, {"summary", entry.summary}, {"options", options}});
        if (entry.options.empty()) continue;
        auto const usual = usual_options(entry);
        auto at = std::find_if(alike.begin(), alike.end(), [&](auto const& known) { return known.first == usual; });
        if (at == alike.end()) at = alike.insert(at, {usual, {}});
        at->second += gsub::format_text(" {}", entry.name);
    }
    a.text = gsub::format_text("{}\nAll have --seed 1. Other options, as they are without being given:\n", t.text());
    for (auto const& [options, names] : alike) a.text += gsub::format_text("\n{}\n   {}\n", options, names);
    return a;
}

} // namespace

answer models(models_request const& r, session const& s) {
    if (r.name.empty()) {
        if (!r.what.options.empty() || !r.output.empty())
            throw error{error_code::usage, "which model? `gsub models` lists them"};
        return list_of_models();
    }
    auto const* entry = gsub::models::find_model(r.name);
    if (!entry)
        throw error{error_code::usage, gsub::format_text("no model is called {}; `gsub models` lists them", r.name)};
    if (r.output.empty()) throw error{error_code::usage, "where to? give -o FILE.onnx"};
    s.observe->on_progress({"build", 0, 0, r.name});
    auto const g = entry->build(r.what).value();
    gsub::io::save_onnx(g, r.output).value();
    answer a;
    auto const summary = gsub::report::summarize(g);
    a.text = gsub::format_text("{}\nwritten  {}\n", to_text(summary), r.output);
    a.data = to_json(summary);
    a.data["output"] = r.output;
    return a;
}

answer inspect(inspect_request const& r, session const& s) {
    auto const g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto const summary = gsub::report::summarize(g);
    answer a{to_text(summary), to_json(summary)};
    if (r.stages) {
        auto const stages = gsub::report::stages_of(g);
        a.text += gsub::format_text("\n{}", gsub::report::stage_table(stages).text());
        a.data["stages"] = gsub::io::json::array();
        for (auto const& stage : stages)
            a.data["stages"].push_back({{"size", stage.size},
                                        {"number", stage.count},
                                        {"operators", stage.operators},
                                        {"beside", stage.beside}});
    }
    auto const kind = gsub::classify(g);
    a.text += gsub::format_text("\nclass    {}\n", kind.name);
    for (auto const& reason : kind.reasons) a.text += gsub::format_text("  {}\n", reason);
    a.data["class"] = {{"name", kind.name}, {"score", kind.score}, {"reasons", kind.reasons}};
    auto missing = gsub::io::json::array();
    std::string lines;
    for (auto const& p : gsub::not_computable(g, gsub::table_of<gsub::eval_row, gsub::standard_ops>())) {
        lines += gsub::format_text("  {}\n", to_string(p));
        missing.push_back({{"node", p.node}, {"op", p.op}, {"reason", p.reason}});
    }
    if (!missing.empty()) a.text += gsub::format_text("\n{} nodes cannot be run:\n{}", missing.size(), lines);
    a.data["not_computable"] = std::move(missing);
    auto ill = gsub::io::json::array();
    for (auto const& p : gsub::check(g, gsub::stage::imported)) ill.push_back(to_string(p));
    if (!ill.empty()) a.positive = false;
    for (auto const& p : ill) a.text += gsub::format_text("ill-formed: {}\n", p.get<std::string>());
    a.data["ill_formed"] = std::move(ill);
    if (r.text) a.text += gsub::format_text("\n{}", gsub::to_text(g));
    if (!r.dot.empty()) gsub::io::write_file(r.dot, gsub::report::to_dot(g)).value();
    if (!r.svg.empty()) gsub::io::write_file(r.svg, gsub::report::to_svg(g).value()).value();
    return a;
}

namespace {

std::string count_of(int least, int most) {
    if (most == gsub::variadic) return gsub::format_text("{} or more", least);
    return least == most ? gsub::format_text("{}", least) : gsub::format_text("{} to {}", least, most);
}

} // namespace

answer ops(ops_request const& r, session const&) {
    auto const operators = gsub::table_of<gsub::op_info, gsub::standard_ops>();
    auto const files = gsub::table_of<gsub::io::onnx_row, gsub::standard_ops>();
    struct entry {
        std::string name, opsets, category, operands, attributes;
    };
    auto const oldest = [](std::int64_t since) { return std::max<std::int64_t>(since, gsub::io::oldest_opset); };
    // Constants are nodes of the graph itself, not operators of the table.
    std::vector<entry> entries{
        {"Constant", gsub::format_text("{} to {}", oldest(1), gsub::io::newest_opset), "source", "0", "value"}};
    for (std::size_t row = gsub::structural_rows; row < operators.size(); ++row) {
        auto const& op = operators[row];
        if (files[row].since == 0 || op.domain == "gsub") continue; // internal, or a form of another
        std::string attributes;
        for (auto const& field : op.attributes())
            attributes += gsub::format_text("{}{}", attributes.empty() ? "" : ", ", field.name);
        entries.push_back({std::string{op.name},
                           gsub::format_text("{} to {}", oldest(files[row].since), gsub::io::newest_opset),
                           gsub::format_text("{}{}", to_string(op.category), op.composite ? ", composite" : ""),
                           count_of(op.min_inputs, op.max_inputs), std::move(attributes)});
    }
    for (auto const& f : gsub::io::onnx_functions())
        entries.push_back(f.domain.empty()
                              ? entry{std::string{f.name},
                                      gsub::format_text("{} to {}", oldest(f.since), gsub::io::newest_opset),
                                      "graph of others", "", ""}
                              : entry{gsub::format_text("{}.{}", f.domain, f.name), gsub::format_text("{}", f.since),
                                      "graph of others", "", ""});
    std::sort(entries.begin(), entries.end(), [](entry const& a, entry const& b) { return a.name < b.name; });

    answer a;
    gsub::report::table t{{"operator", "opsets", "kind", "operands", "attributes"}};
    a.data["operators"] = gsub::io::json::array();
    for (auto const& e : entries) {
        t.add({e.name, e.opsets, e.category, e.operands, e.attributes});
        a.data["operators"].push_back({{"name", e.name},
                                       {"opsets", e.opsets},
                                       {"kind", e.category},
                                       {"operands", e.operands},
                                       {"attributes", e.attributes}});
    }
    a.text =
        r.markdown
            ? gsub::format_text("# Operators\n\nMade by `gsub ops --markdown` from the tables that the library uses; a "
                                "test compares.\nAll of them are read, written and computed, with attributes as gsub "
                                "holds them; a *graph of others* is read as one,\nand written so. Forms that it does "
                                "not know (strings, random results) and other operators stay opaque: they\nsurvive a "
                                "round trip, but `gsub run` refuses them by name.\n\n{}",
                                t.markdown())
            : t.text();
    return a;
}

} // namespace cli
