// gsub optimize: a model in, a cheaper one out.
#include "commands.hpp"
#include "cost_choice.hpp"
#include "rule_files.hpp"
#include "search_options.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/io.hpp>
#include <gsub/report.hpp>
#include <gsub/report/html.hpp>
#include <gsub/report/json.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/trace.hpp>

#include <filesystem>
#include <optional>

namespace cli {

namespace {

using gsub::error;
using gsub::error_code;
using gsub::problem;

std::string page(optimize_request const& r, gsub::any_graph const& before,
                 gsub::optimized<gsub::standard_ops> const& after, std::span<gsub::rule_program const> rules,
                 gsub::cost::any_cost const& costs, std::string costed_by) {
    gsub::report::page_facts facts{
        .model = std::filesystem::path{r.model}.filename().string(),
        .cost_model = std::move(costed_by),
        .settings = {{"alpha", gsub::format_text("{}", r.alpha)},
                     {"Admission", r.admit == "first" ? std::string{"the first cheaper graph"}
                                                      : gsub::format_text("against the cost of the {}", r.admit)},
                     {"Budget", gsub::format_text("{} graphs", r.budget)},
                     {"Parts", r.split},
                     {"Rules", r.rules}},
        .rules = rules,
        .costs = &costs};
    auto const name = [](std::string const& path) { return std::filesystem::path{path}.filename().string(); };
    if (!r.replay.empty()) {
        facts.settings = {{"Replay of", name(r.replay)}, {"Parts", r.split}, {"Rules", r.rules}};
        return gsub::report::to_html(before, after, after.report, facts);
    }
    if (!r.resume.empty()) facts.settings.emplace_back("Resumes", name(r.resume));
    for (auto a : r.schedule) facts.settings.front().second += gsub::format_text(", then {}", a);
    if (r.plateau) facts.settings.emplace_back("Moves of equal cost", "made");
    if (r.seconds) facts.settings.emplace_back("Budget of time", gsub::format_text("{} s", *r.seconds));
    return gsub::report::to_html(before, after, after.report, facts);
}

} // namespace

answer optimize(optimize_request const& r, session const& s) {
    if (!r.passes.empty()) return run_passes(r, s);
    if (!r.apply.empty()) return apply_rules(r, s);
    if (r.objectives) return compare_objectives(r, s);
    auto const by_clock = r.cost == "measured" || r.cost.starts_with(table_prefix);
    auto chosen = gsub::choose_rules(gsub::standard_rules(), r.rules, by_clock).value();
    rule_files const files{r.taso, r.rules_file};
    auto const loaded = files.given() ? prove_rules(files, r.seed, s) : usable_rules{};
    for (auto const& rule : loaded.rules) chosen.push_back(rule.program());
    if (chosen.empty() && files.given())
        throw error{error_code::usage, gsub::format_text("--rules {} leaves no rule, nor do the files", r.rules)};
    if (chosen.empty()) throw error{error_code::usage, gsub::format_text("--rules {} leaves no rule", r.rules)};
    s.observe->on_progress({"load", 0, 0, r.model});
    auto const graph = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    // Read before the new trace, which may have the same name, is written.
    auto const& earlier = r.replay.empty() ? r.resume : r.replay;
    std::optional<gsub::search_log> log;
    if (!earlier.empty()) log.emplace(gsub::report::read_trace(earlier).value());
    std::optional<gsub::report::trace_writer> trace;
    if (!r.trace.empty()) trace.emplace(r.trace);
    auto options = search_options(r, s, chosen);
    options.verify = r.verify;
    options.trace = trace ? &*trace : nullptr;
    options.resume = r.resume.empty() ? nullptr : &*log;
    options.replay = r.replay.empty() ? nullptr : &*log;
    std::string html, costed_by;
    auto const outcome = with_cost(r, s, graph, [&](auto const& model, std::string text) {
        costed_by = std::move(text);
        auto done = gsub::optimize(graph, model, options);
        if (done && !r.report.empty()) html = page(r, graph, *done, chosen, gsub::cost::erase(model), costed_by);
        return done;
    });
    if (trace) trace->commit(); // what the search did is worth having where it ended in an error, too
    auto better = outcome.value();
    std::string measured;
    gsub::io::json clock;
    if (r.measure) {
        s.observe->on_progress({"measure", 0, 0, {}});
        gsub::build_options building;
        building.threads = s.threads, building.observe = s.observe;
        auto const machine = gsub::host();
        auto const inputs = gsub::random_inputs(graph, 1);
        auto const before = gsub::build(graph, machine, building).value();
        auto const after = gsub::build(gsub::graph{better}, machine, building).value();
        auto const told = gsub::compare_speed(before, inputs, after, inputs, {.threads = s.threads}).value();
        auto const slower = told.ratio > 1;
        measured = gsub::format_text("measured {} -> {}, {} ({} to {}){}", gsub::report::human(told.first, "s"),
                                     gsub::report::human(told.second, "s"), gsub::report::fixed(told.ratio, 3),
                                     gsub::report::fixed(told.low, 3), gsub::report::fixed(told.high, 3),
                                     slower ? ": the input is kept\n" : "\n");
        clock = {{"before_s", told.first}, {"after_s", told.second}, {"ratio", told.ratio},
                 {"low", told.low},        {"high", told.high},      {"kept", slower ? "input" : "result"}};
        if (slower) static_cast<gsub::graph&>(better) = graph;
    }

    answer a{
        gsub::format_text("{}costs   {}\n{}{}", loaded.text, costed_by, gsub::report::to_text(better.report), measured),
        gsub::report::to_json(better.report)};
    a.data["cost_model"] = costed_by;
    if (r.measure) a.data["measured"] = clock;
    if (files.given()) a.data["loaded_rules"] = loaded.data;
    auto const& verified = better.report.verification;
    if (r.verify && !verified.equal && !verified.different) {
        std::string why;
        for (auto const& note : verified.notes) why += gsub::format_text("; {}", note);
        throw error{problem{
            error_code::unsupported,
            {},
            {},
            gsub::format_text("the result cannot be verified: {} of {} rewrites are too large or cannot be "
                              "computed{}; nothing is written",
                              verified.rewrites_skipped, verified.rewrites_checked + verified.rewrites_skipped, why),
            "the same without --verify"}};
    }
    if (r.verify && verified.different) {
        a.positive = false;
        a.text += "nothing is written\n";
        return a;
    }
    if (!r.output.empty()) {
        s.observe->on_progress({"save", 0, 0, r.output});
        gsub::io::save_onnx(better, r.output).value();
        a.text += gsub::format_text("written  {}\n", r.output);
        a.data["output"] = r.output;
    }
    if (!r.dot.empty()) gsub::io::write_file(r.dot, gsub::report::to_dot(better)).value();
    if (!r.svg.empty()) gsub::io::write_file(r.svg, gsub::report::to_svg(better).value()).value();
    if (!html.empty()) {
        gsub::io::write_file(r.report, html).value();
        a.text += gsub::format_text("report   {}\n", r.report);
        a.data["report"] = r.report;
    }
    return a;
}

} // namespace cli
