// gsub check: everything that keeps a model from running, at once, or how it would run.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/lower.hpp>

#include <algorithm>
#include <map>

namespace cli {

namespace {

// Texts with how often each comes, the most frequent first.
gsub::io::json counted(std::map<std::string, std::size_t> const& counts, std::string& line) {
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    auto data = gsub::io::json::object();
    for (auto const& [name, count] : sorted) {
        line += gsub::format_text("{}{} {}", line.empty() ? "" : ", ", count, name);
        data[name] = count;
    }
    return data;
}

} // namespace

answer check(check_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto options = loading(r.given, s, true);
    options.observe = &gsub::silent(); // notes of nodes that stay opaque are problems here
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto const m = gsub::io::load_onnx_module(r.model, gsub::dialect::of<gsub::standard_ops>(),
                                              gsub::table_of<gsub::io::onnx_row, gsub::standard_ops>(), options)
                       .value();
    auto const& g = m.find("main")->body;
    auto problems = gsub::not_computable(m, evaluators);
    auto const open = gsub::open_inputs(g);
    problems.insert(problems.end(), open.begin(), open.end());
    if (!problems.empty()) throw gsub::error{std::move(problems)}.within(r.model);

    answer a;
    std::map<std::string, std::size_t> operators, reference;
    for (auto const& f : m.functions())
        for (auto n : f.body.order())
            if (!f.body.is<gsub::ops::input>(n) && !f.body.is<gsub::ops::constant>(n) && n != f.body.return_node())
                ++operators[std::string{f.body.op(n).name}];
    std::string line;
    a.data["model"] = r.model;
    a.data["operators"] = counted(operators, line);
    a.text = gsub::format_text("runs       {}\noperators  {}\n", r.model, line);
    auto const types = [&](std::string_view what, std::size_t count, auto&& value) {
        auto list = gsub::io::json::array();
        line.clear();
        for (std::size_t i = 0; i < count; ++i) {
            auto const [name, type] = value(i);
            line += gsub::format_text("{}{} {}", line.empty() ? "" : ", ", gsub::quoted{name}, to_string(type));
            list.push_back({{"name", name}, {"type", to_string(type)}});
        }
        a.text += gsub::format_text("{:<11}{}\n", what, line);
        a.data[what] = std::move(list);
    };
    types("inputs", g.inputs().size(), [&](std::size_t i) {
        gsub::value_id const v{g.inputs()[i], 0};
        return std::pair{std::string{g.name(v)}, g.type(v)};
    });
    types("outputs", g.output_count(), [&](std::size_t i) {
        auto const& names = g.info().output_names;
        return std::pair{i < names.size() ? names[i] : std::string{g.name(g.output(i))}, g.type(g.output(i))};
    });

    s.observe->on_progress({"plan", 0, 0, r.target});
    auto const program =
        gsub::plan(m, evaluators, gsub::parse_target(r.target).value(), {.threads = s.threads}).value();
    for (auto const& step : program.steps)
        if (auto const* const call = std::get_if<gsub::runtime::reference_call>(&step.what))
            ++reference[operators_of(*call)];
    line.clear();
    a.data["steps"] = program.steps.size();
    a.data["reference"] = counted(reference, line);
    a.text += gsub::format_text("steps      {}, on the reference runtime: {}\n", program.steps.size(),
                                line.empty() ? "none" : line);
    return a;
}

} // namespace cli
