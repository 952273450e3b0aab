#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/impl/substitution.ipp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/verify/verifier.hpp>
#include <gsub/search/backtracking.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace gsub {

namespace detail {

GSUB_LAZY std::size_t kernel_count(any_graph const& g) {
    return static_cast<std::size_t>(
        std::count_if(g.order().begin(), g.order().end(), [&](node_id n) { return cost::is_executed(g, n); }));
}

// Both graphs at the largest of a few spatial sizes at which field arithmetic is affordable.
GSUB_LAZY std::optional<std::pair<any_graph, any_graph>> reduced(any_graph const& a, any_graph const& b,
                                                                 std::string& inputs_text) {
    for (std::int64_t const side : {128, 96, 80, 64, 48, 32, 16, 8}) {
        std::vector<tensor_type> inputs;
        bool smaller = false;
        for (auto n : a.inputs()) {
            auto t = a.type({n, 0});
            for (auto& d : t.dims)
                if (!d.fixed()) d = dim{1};
            for (std::size_t i = 2; i < t.rank() && t.rank() >= 4; ++i)
                if (t.dims[i].size() > side) t.dims[i] = dim{side}, smaller = true;
            if (t.rank() > 0 && t.dims[0].size() > 2)
                t.dims[0] = dim{2}, smaller = true; // a batch shows nothing beyond two
            inputs.push_back(t);
        }
        if (!smaller) continue;
        auto p = retyped(a, as_span(inputs)), q = retyped(b, as_span(inputs));
        if (!p || !q || operations(*p) > max_field_operations || operations(*q) > max_field_operations) continue;
        inputs_text.clear();
        for (auto const& t : inputs) inputs_text += fmt::format("{}{}", inputs_text.empty() ? "" : ", ", to_string(t));
        return std::pair{std::move(*p), std::move(*q)};
    }
    return std::nullopt;
}

GSUB_LAZY void check_in_field(verification_report& report, any_graph const& original, any_graph const& rewritten,
                              eval_table evaluators, std::uint64_t seed, executor* threads) {
    std::optional<std::pair<any_graph, any_graph>> small;
    auto const fixed = std::all_of(original.inputs().begin(), original.inputs().end(), [&](node_id n) {
        return original.type({n, 0}).is_static();
    });
    auto const *a = &original, *b = &rewritten;
    if (!fixed || std::max(operations(original), operations(rewritten)) > max_field_operations) {
        small = reduced(original, rewritten, report.reduced_to);
        if (!small) {
            report.notes.push_back("the whole graph is too large to be compared in the field, at reduced sizes too");
            return;
        }
        a = &small->first, b = &small->second;
    }
    auto const compared = compare_in_field(*a, *b, evaluators, seed, threads);
    if (!compared) {
        report.notes.push_back(fmt::format("field: {}", compared.error().message()));
        return;
    }
    report.whole_in_field = true;
    if (compared->equal) return;
    refute(report);
    report.notes.push_back(fmt::format("field: {}", compared->difference));
}

GSUB_LAZY void check_on_numbers(verification_report& report, any_graph const& original, any_graph const& rewritten,
                                eval_table evaluators, std::uint64_t seed, executor* threads) {
    auto const inputs = random_inputs(original, seed);
    auto const exact =
        evaluate_graph(original, evaluators, as_span(inputs), {.compute = precision::f64, .threads = threads});
    auto const actual = evaluate_graph(rewritten, evaluators, as_span(inputs), {.threads = threads});
    if (!exact || !actual) {
        report.notes.push_back(fmt::format("numbers: {}", (exact ? actual : exact).error().message()));
        return;
    }
    report.on_numbers = true;
    for (std::size_t i = 0; i < exact->size(); ++i) {
        auto const d = compare((*actual)[i], (*exact)[i]);
        auto const bad = !d || !d->same_specials || d->max_relative > 1e-3;
        if (d) report.max_relative_error = std::max(report.max_relative_error, d->max_relative);
        if (!bad) continue;
        refute(report);
        report.notes.push_back(d ? fmt::format("numbers: output {} differs by {}", i, d->max_relative)
                                 : d.error().message());
    }
}

} // namespace detail

GSUB_LAZY_BODY verification_report verify_equal(any_graph const& original, any_graph const& rewritten,
                                                eval_table evaluators, std::uint64_t seed, executor* threads) {
    verification_report report;
    report.attempted = report.equal = true;
    auto const types = [](any_graph const& g, bool inputs) {
        std::vector<type_id> out;
        for (std::size_t i = 0; i < (inputs ? g.inputs().size() : g.output_count()); ++i)
            out.push_back(g.type_of(inputs ? value_id{g.inputs()[i], 0} : g.output(i)));
        return out;
    };
    if (types(original, true) != types(rewritten, true) || types(original, false) != types(rewritten, false)) {
        detail::refute(report);
        report.notes.push_back("the graphs have different signatures");
        return report;
    }
    if (auto const missing = not_computable(original, evaluators); !missing.empty()) {
        report.notes.push_back(
            fmt::format("{} nodes cannot be computed, so the whole graph cannot be compared; the first is {}",
                        missing.size(), to_string(missing.front())));
    } else {
        detail::check_in_field(report, original, rewritten, evaluators, seed, threads);
        detail::check_on_numbers(report, original, rewritten, evaluators, seed, threads);
    }
    report.equal = report.equal && (report.whole_in_field || report.on_numbers);
    return report;
}

namespace detail {

// That a log is of the search which is to begin.
GSUB_LAZY void check_identity(search_log const& log, search_identity const& here) {
    auto const* there = log.identity();
    if (!there)
        throw error{error_code::usage, "the trace does not say what was searched; `optimize` does in its first event"};
    std::vector<problem> problems;
    auto const differs = [&](std::string reason, std::string hint) {
        problems.push_back({error_code::usage, {}, {}, std::move(reason), std::move(hint)});
    };
    if (there->graph != here.graph) differs("the trace is of another model", {});
    if (there->rules != here.rules)
        differs("the trace is of a search with other rules, or by another version of gsub", "the rules it was given");
    if (there->moves != here.moves)
        differs(fmt::format("the trace is of a search that makes other moves: {} and not {}",
                            quoted{to_string(there->moves)}, quoted{to_string(here.moves)}),
                "the same --admit and --plateau, and --queue or none");
    if (there->unit != here.unit)
        differs(fmt::format("the trace counts costs in {}, this search in {}", quoted{there->unit}, quoted{here.unit}),
                "the cost model it was written with");
    else if (there->graph == here.graph && there->costs != here.costs)
        differs(there->cost == here.cost ? "the trace is of a search under another cost model"
                                         : fmt::format("the graph costs {} {} in the trace and {} here", there->cost,
                                                       there->unit, here.cost),
                "the cost model it was written with; costs by a clock need a profile");
    if (!problems.empty()) throw error{std::move(problems)};
}

// That a replay has come to the end of a log, and to what it says there.
GSUB_LAZY void check_end(search_replay const& replay, search::statistics& stats) {
    auto const& end = replay.log().end();
    if (replay.more()) throw error{error_code::invalid_input, "the trace goes on where the search is at its end"};
    if (stats.best_cost != end.cost)
        throw error{error_code::invalid_input,
                    fmt::format("the trace ends at a cost of {}, its rewrites at {}", end.cost, stats.best_cost)};
    stats.expanded = end.expanded;
    stats.why = end.why;
}

} // namespace detail

GSUB_LAZY_BODY result<std::pair<any_graph, optimize_report>> optimize(any_graph const& original,
                                                                      cost::any_cost const& model,
                                                                      eval_table evaluators,
                                                                      optimize_options const& options) {
    return capture([&]() -> std::pair<any_graph, optimize_report> {
        if (!(options.alpha >= 1))
            throw error{error_code::usage, fmt::format("alpha is {}; it must be at least 1", options.alpha)};
        if (!search::detail::rises(options.alpha, options.schedule))
            throw error{error_code::usage, "the values of a schedule must rise, from alpha on"};
        if (options.admit == search::admission::first && !options.schedule.empty())
            throw error{error_code::usage, "a search that takes the first cheaper graph has no schedule of alpha"};
        if (options.queue < 2) throw error{error_code::usage, "a queue must hold at least 2 graphs"};
        if (options.replay && (options.resume || options.trace))
            throw error{error_code::usage, "a replay searches nothing: it neither resumes a search nor writes a trace"};
        std::vector<rule_program> chosen(options.rules.begin(), options.rules.end());
        if (chosen.empty()) chosen = choose_rules(standard_rules(), "all", model.by_clock).value();
        optimize_report report;
        report.unit = model.unit;
        report.cost_before = detail::checked_cost(model.of_graph(original), original, {}, model.unit);
        report.nodes_before = detail::kernel_count(original);
        auto start = original;
        start.order_canonically(); // the result must not depend on the order in which the graph was built
        report.canonicalized = canonicalize(start);
        start.order_canonically();
        start.compact();
        rule_index const rules{as_span(chosen)};
        std::optional<search_replay> replay;
        if (options.trace || options.resume || options.replay) {
            auto const here = substitution_problem{start, model, rules, nullptr,
                                                   moves_of(options.admit, options.plateau, options.queue)}
                                  .identity();
            if (auto const* log = options.replay ? options.replay : options.resume) detail::check_identity(*log, here);
            if (options.replay && !options.replay->end().recorded)
                throw error{
                    problem{error_code::usage, {}, {}, "the trace ends before the search did", "to resume the search"}};
            if (options.replay) replay.emplace(*options.replay);
            if (options.trace)
                options.trace->on_event({.what = search_event::kind::header, .cost = here.cost, .of = &here});
        }
        auto const search = [&](sharing_executor* threads) {
            return search_graph(std::move(start), model, rules,
                                {.alpha = options.alpha,
                                 .schedule = options.schedule,
                                 .admit = options.admit,
                                 .plateau = options.plateau,
                                 .budget = options.budget,
                                 .queue = options.queue,
                                 .stop = options.stop},
                                options.split,
                                {options.observe, options.trace, threads, options.resume, replay ? &*replay : nullptr});
        };
        auto found = [&] {
            // Where costs come one at a time, the threads may be needed to find them.
            if (!options.threads || options.threads->concurrency() == 1 || !model.concurrent) return search(nullptr);
            std::optional<search_result> by_all;
            sharing_executor together{*options.threads};
            together.run_here([&] { by_all = search(&together); });
            return std::move(*by_all);
        }();
        if (replay) detail::check_end(*replay, found.stats);
        report.cost_start = found.stats.start_cost;
        report.search = std::move(found.stats);
        report.split = std::move(found.split);
        report.inapplicable = found.inapplicable;
        report.remembered = found.remembered;
        report.replayed = replay.has_value();
        for (auto const& s : report.search.path) {
            auto const [rule, site] = detail::rule_and_site(s.label);
            report.applied.push_back({std::string{rule}, std::string{site}, s.cost, rewrite_check::not_asked});
        }
        if (options.trace)
            options.trace->on_event({.what = search_event::kind::stop,
                                     .steps = report.search.expanded,
                                     .cost = report.search.best_cost,
                                     .why = report.search.why});
        auto best = std::move(found.best);
        // Verified, folded and costed; `clean`: may be brought into canonical form after folding.
        auto const finish = [&](bool clean) {
            if (options.verify) {
                if (options.observe) options.observe->on_progress({"verify", 0, 0, {}});
                report.verification = verify_equal(original, best, evaluators, options.seed, options.threads);
                auto& v = report.verification;
                // Each rewrite by itself: the part that it replaced against the part that it put there.
                auto const whole = v.whole_in_field || v.on_numbers;
                v.equal = v.equal || (!whole && !v.different);
                detail::rewrite_checker<> one_by_one{v, evaluators, options.seed, options.threads};
                for (std::size_t i = 0; i < found.rewrites.size(); ++i)
                    report.applied[i].check = one_by_one(*found.rewrites[i].before, *found.rewrites[i].what);
                v.equal = v.equal && (whole || v.rewrites_skipped == 0);
            }
            if (options.fold) {
                if (options.observe) options.observe->on_progress({"fold", 0, 0, {}});
                fold_constants(best, evaluators,
                               {.max_weight_bytes = options.max_weight_bytes, .threads = options.threads})
                    .value();
                if (clean) canonicalize(best);
                if (options.verify && report.verification.on_numbers) {
                    // Folding rounds; the numbers that users get are those of the folded graph.
                    verification_report folded;
                    folded.equal = true;
                    detail::check_on_numbers(folded, original, best, evaluators, options.seed, options.threads);
                    report.verification.max_relative_error = folded.max_relative_error;
                    if (folded.different) detail::refute(report.verification);
                }
            }
            best.compact();
            report.cost_after = detail::checked_cost(model.of_graph(best), best, {}, model.unit);
        };
        finish(true);
        auto const dearer = [&] {
            if (report.cost_after > report.cost_before * (1 + 1e-9)) return true;
            if (!model.exactly || report.applied.empty()) return false;
            auto const before = model.exactly(original), after = model.exactly(best);
            return before && after && *after > *before * (1 + 1e-9 - model.resolution);
        };
        if (dearer()) {
            // Canonicalization patterns may cost under models such as peak memory, where a value that is shared lives
            // longer; parts that a search has looked at may cost more together; and what a model does not resolve is no
            // gain.
            found.rewrites.clear();
            best = original;
            report.applied.clear();
            report.canonicalized = {};
            finish(false);
        }
        report.nodes_after = detail::kernel_count(best);
        return {std::move(best), std::move(report)};
    });
}

} // namespace gsub
