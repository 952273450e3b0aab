// gsub optimize: a model in, a cheaper one out.
#include "commands.hpp"
#include "rule_files.hpp"
#include <gsub/cost.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/table.hpp>
#include <gsub/driver.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/io.hpp>
#include <gsub/report.hpp>
#include <gsub/report/json.hpp>

#include <charconv>
#include <chrono>
#include <cmath>

namespace cli {

namespace {

using gsub::error;
using gsub::error_code;
using gsub::message;
using gsub::problem;

constexpr std::string_view table_prefix = "table:";

// Hands the chosen model to `use`; its type matters to the search, which prices additive models by what has changed.
template <class Use>
auto with_cost(optimize_request const& r, session const& s, Use&& use) {
    auto const splits = r.split_cost == "copy" ? gsub::cost::split_cost::copy : gsub::cost::split_cost::free;
    if (r.backend != "reference" && r.cost != "measured")
        throw error{error_code::usage, message({"--backend ", r.backend, " needs --cost measured"})};
    if (r.cost == "flops") return use(gsub::cost::flop_cost{});
    if (r.cost == "bytes") return use(gsub::cost::byte_cost{splits});
    if (r.cost == "peak_memory") return use(gsub::cost::peak_memory{});
    if (r.cost.starts_with(table_prefix)) {
        auto const model =
            gsub::cost::table::over<gsub::standard_ops>(r.cost.substr(table_prefix.size()), splits).value();
        auto done = use(model);
        if (model.otherwise_priced() > 0)
            s.watch->on_note(message({model.otherwise_priced(), " kinds of nodes have no price of their own"}));
        return done;
    }
    if (r.cost == "measured") {
        auto known = r.profile.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(r.profile).value();
        if (known.skipped() > 0)
            s.watch->on_note(message({r.profile, ": ", known.skipped(), " lines are no records and were passed over"}));
        gsub::cost::measure_options const measuring{.threads = s.threads, .watch = s.watch};
        if (r.backend == "simd") {
            auto const model = gsub::measured_kernels::over<gsub::standard_ops>(std::move(known), measuring).value();
            auto done = use(model);
            if (model.unmeasured() > 0)
                s.watch->on_note(
                    message({model.unmeasured(), " kinds of kernels cannot be built; the roofline has priced them"}));
            return done;
        }
        auto const model = gsub::cost::measured::over<gsub::standard_ops>(std::move(known), measuring);
        auto done = use(model);
        if (model.unmeasured() > 0)
            s.watch->on_note(
                message({model.unmeasured(), " kinds of nodes cannot be run; the roofline has priced them"}));
        return done;
    }
    gsub::cost::roofline roof{.splits = splits};
    if (!r.roofline.empty()) {
        roof.launch = r.roofline[0], roof.flop_per_second = r.roofline[1], roof.bytes_per_second = r.roofline[2];
        if (!(roof.launch >= 0 && roof.flop_per_second > 0 && roof.bytes_per_second > 0 && std::isfinite(roof.launch)))
            throw error{error_code::usage, "--roofline needs a launch time >= 0 and rates > 0"};
    }
    if (r.cost == "fused") return use(gsub::cost::fused_roofline{roof});
    return use(roof);
}

gsub::search::budget budget_of(optimize_request const& r) {
    if (!r.seconds) return {r.budget};
    // Some 292 years fit; beyond that there is no limit.
    auto const longest = std::chrono::duration<double>(std::chrono::nanoseconds::max()).count();
    if (!(*r.seconds >= 0)) throw error{error_code::usage, "--time needs a number of seconds >= 0"};
    if (*r.seconds >= longest) return {r.budget};
    return {r.budget, std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*r.seconds))};
}

std::size_t split_of(optimize_request const& r) {
    if (r.split == "auto") return gsub::optimize_options{}.split;
    if (r.split == "none") return 0;
    std::size_t bound = 0;
    auto const end = r.split.data() + r.split.size();
    if (auto const [rest, failed] = std::from_chars(r.split.data(), end, bound);
        failed != std::errc{} || rest != end || bound == 0)
        throw error{error_code::usage,
                    message({"--split ", r.split, " is neither auto nor none nor a number above 0"})};
    return bound;
}

} // namespace

answer optimize(optimize_request const& r, session const& s) {
    if (!r.passes.empty()) return run_passes(r, s);
    auto const by_clock = r.cost == "measured" || r.cost.starts_with(table_prefix);
    auto chosen = gsub::choose_rules(gsub::standard_rules(), r.rules, by_clock).value();
    rule_files const files{r.taso, r.rules_file};
    auto const loaded = files.given() ? prove_rules(files, r.seed, s) : usable_rules{};
    for (auto const& rule : loaded.rules) chosen.push_back(rule.program());
    if (chosen.empty() && files.given())
        throw error{error_code::usage, message({"--rules ", r.rules, " leaves no rule, nor do the files"})};
    if (chosen.empty()) throw error{error_code::usage, message({"--rules ", r.rules, " leaves no rule"})};
    s.watch->on_progress({"load", 0, 0, r.model});
    auto const graph = gsub::io::load_onnx(r.model, {.watch = s.watch}).value();
    gsub::optimize_options const options{.alpha = r.alpha,
                                         .admit = r.admit == "parent" ? gsub::search::admission::parent
                                                                      : gsub::search::admission::best,
                                         .plateau = r.plateau,
                                         .budget = budget_of(r),
                                         .split = split_of(r),
                                         .rules = chosen,
                                         .verify = r.verify,
                                         .seed = r.seed,
                                         .threads = s.threads,
                                         .watch = s.watch};
    auto const better =
        with_cost(r, s, [&](auto const& model) { return gsub::optimize(graph, model, options); }).value();

    answer a{loaded.text + gsub::report::to_text(better.report), gsub::report::to_json(better.report)};
    if (files.given()) a.data["loaded_rules"] = loaded.data;
    auto const& verified = better.report.verification;
    if (r.verify && !verified.equal && !verified.different) {
        std::string why;
        for (auto const& note : verified.notes) why += message({"; ", note});
        throw error{problem{error_code::unsupported,
                            {},
                            {},
                            message({"the result cannot be verified: ", verified.rewrites_skipped, " of ",
                                     verified.rewrites_checked + verified.rewrites_skipped,
                                     " rewrites are too large or cannot be computed", why, "; nothing is written"}),
                            "the same without --verify"}};
    }
    if (r.verify && verified.different) {
        a.positive = false;
        a.text += "nothing is written\n";
        return a;
    }
    if (!r.output.empty()) {
        s.watch->on_progress({"save", 0, 0, r.output});
        gsub::io::save_onnx(better, r.output).value();
        a.text += message({"written  ", r.output, "\n"});
        a.data["output"] = r.output;
    }
    if (!r.dot.empty()) gsub::io::write_file(r.dot, gsub::report::to_dot(better)).value();
    return a;
}

} // namespace cli
