#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/impl/substitution.ipp>
#include <gsub/optimize/impl/verify_equal.ipp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/search/backtracking.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY std::size_t kernel_count(any_graph const& g) {
    return static_cast<std::size_t>(
        std::count_if(g.order().begin(), g.order().end(), [&](node_id n) { return cost::is_executed(g, n); }));
}

// That a log is of the search which is to begin.
GSUB_LAZY void check_identity(search_log const& log, search_identity const& here) {
    auto const* there = log.identity();
    if (!there)
        throw error{errors::other_search,
                    "the trace does not say what was searched; `optimize` does in its first event"};
    std::vector<problem> problems;
    auto const differs = [&](std::string reason, std::string hint) {
        problems.push_back({errors::other_search, {}, {}, std::move(reason), std::move(hint)});
    };
    if (there->graph != here.graph) differs("the trace is of another model", {});
    if (there->rules != here.rules)
        differs("the trace is of a search with other rules, or by another version of gsub", "the rules it was given");
    if (there->moves != here.moves)
        differs(format_text("the trace is of a search that makes other moves: {} and not {}",
                            quoted{to_string(there->moves)}, quoted{to_string(here.moves)}),
                "the same --admit and --plateau, and --queue or none");
    if (there->unit != here.unit)
        differs(format_text("the trace counts costs in {}, this search in {}", quoted{there->unit}, quoted{here.unit}),
                "the cost model it was written with");
    else if (there->graph == here.graph && there->costs != here.costs)
        differs(there->cost == here.cost ? "the trace is of a search under another cost model"
                                         : format_text("the graph costs {} {} in the trace and {} here", there->cost,
                                                       there->unit, here.cost),
                "the cost model it was written with; costs by a clock need a profile");
    if (!problems.empty()) throw error{std::move(problems)};
}

// That a replay has come to the end of a log, and to what it says there.
GSUB_LAZY void check_end(search_replay const& replay, search::statistics& stats) {
    auto const& end = replay.log().end();
    if (replay.more()) throw error{errors::damaged_trace, "the trace goes on where the search is at its end"};
    if (stats.best_cost != end.cost)
        throw error{errors::damaged_trace,
                    format_text("the trace ends at a cost of {}, its rewrites at {}", end.cost, stats.best_cost)};
    stats.expanded = end.expanded;
    stats.why = end.why;
}

GSUB_LAZY void check_options(optimize_options const& options) {
    auto const refuse = [](std::string why) { throw error{errors::search_setting, std::move(why)}; };
    if (!(options.alpha >= 1)) refuse(format_text("alpha is {}; it must be at least 1", options.alpha));
    if (!search::detail::rises(options.alpha, options.schedule))
        refuse("the values of a schedule must rise, from alpha on");
    if (options.admit == search::admission::first && !options.schedule.empty())
        refuse("a search that takes the first cheaper graph has no schedule of alpha");
    if (options.queue < 2) refuse("a queue must hold at least 2 graphs");
    if (options.replay && (options.resume || options.trace))
        refuse("a replay searches nothing: it neither resumes a search nor writes a trace");
}

GSUB_LAZY std::vector<rule_program> chosen_rules(optimize_options const& options, cost::any_cost const& model) {
    std::vector<rule_program> given(options.rules.begin(), options.rules.end());
    return given.empty() ? choose_rules(standard_rules(), "all", model.by_clock).value() : given;
}

/// One run of `optimize`: canonical form, search or replay, verification and folding, with the report of it.
template <class = void>
class optimize_run {
public:
    optimize_run(any_graph const& original, cost::any_cost const& model, eval_table evaluators,
                 optimize_options const& options)
        : original_(original),
          model_(model),
          evaluators_(evaluators),
          options_(options),
          chosen_(chosen_rules(options, model)),
          rules_(as_span(chosen_)) {
        report_.unit = model.unit;
        report_.cost_before = cost_of(original);
        report_.nodes_before = kernel_count(original);
    }

    std::pair<any_graph, optimize_report> run() {
        auto start = canonical_start();
        begin_log(start);
        auto found = search(std::move(start));
        if (replay_) check_end(*replay_, found.stats);
        check_rewrites(found);
        note(found);
        auto best = std::move(found.best);
        finish(best, as_span(found.rewrites), true);
        if (is_dearer(best)) {
            // Canonicalization patterns may cost under models such as peak memory, where a value that is shared lives
            // longer; parts that a search has looked at may cost more together; and what a model does not resolve is no
            // gain.
            best = original_;
            report_.applied.clear();
            report_.canonicalized = {};
            finish(best, {}, false);
        }
        report_.nodes_after = kernel_count(best);
        return {std::move(best), std::move(report_)};
    }

private:
    [[nodiscard]] double cost_of(any_graph const& g) const {
        return checked_cost(model_.of_graph(g), g, {}, model_.unit);
    }
    void progress(std::string_view stage) const {
        if (options_.observe) options_.observe->on_progress({stage, 0, 0, {}});
    }

    any_graph canonical_start() {
        auto start = original_;
        start.order_canonically(); // the result must not depend on the order in which the graph was built
        report_.canonicalized = canonicalize(start);
        start.order_canonically();
        start.compact();
        check_canonical("canonicalization", start);
        return start;
    }

    void check_canonical(std::string_view step, any_graph const& g) const {
        if (options_.check || verifies_stages()) verify_behind(step, g, stage::canonical).value();
    }
    void check_rewrites(search_result const& found) const {
        auto const& path = found.stats.path;
        for (std::size_t i = 0; i < found.rewrites.size(); ++i)
            check_canonical(i == 0 ? "the start of a search" : path[i - 1].label, *found.rewrites[i].before);
        check_canonical("the search", found.best);
    }

    // Logs are of the search that begins here: those that are read, and that which is written.
    void begin_log(any_graph const& start) {
        if (!options_.trace && !options_.resume && !options_.replay) return;
        auto const moves = moves_of(options_.admit, options_.plateau, options_.queue);
        auto const here = substitution_problem{start, model_, rules_, nullptr, moves}.identity();
        if (auto const* log = options_.replay ? options_.replay : options_.resume) check_identity(*log, here);
        if (options_.replay && !options_.replay->end().recorded)
            throw error{
                problem{errors::other_search, {}, {}, "the trace ends before the search did", "to resume the search"}};
        if (options_.replay) replay_.emplace(*options_.replay);
        if (options_.trace)
            options_.trace->on_event({.what = search_event::kind::header, .cost = here.cost, .of = &here});
    }

    search_result search(any_graph start) {
        auto const by = [&](sharing_executor* threads) {
            return search_graph(
                std::move(start), model_, rules_,
                {.alpha = options_.alpha,
                 .schedule = options_.schedule,
                 .admit = options_.admit,
                 .plateau = options_.plateau,
                 .budget = options_.budget,
                 .queue = options_.queue,
                 .stop = options_.stop},
                options_.split,
                {options_.observe, options_.trace, threads, options_.resume, replay_ ? &*replay_ : nullptr});
        };
        // Where costs come one at a time, the threads may be needed to find them.
        if (!options_.threads || options_.threads->concurrency() == 1 || !model_.concurrent) return by(nullptr);
        std::optional<search_result> by_all;
        sharing_executor together{*options_.threads};
        together.run_here([&] { by_all = by(&together); });
        return std::move(*by_all);
    }

    void note(search_result& found) {
        report_.cost_start = found.stats.start_cost;
        report_.search = std::move(found.stats);
        report_.split = std::move(found.split);
        report_.inapplicable = found.inapplicable;
        report_.remembered = found.remembered;
        report_.replayed = replay_.has_value();
        for (auto const& s : report_.search.path) {
            auto const [rule, site] = rule_and_site(s.label);
            report_.applied.push_back({std::string{rule}, std::string{site}, s.cost, rewrite_check::not_asked});
        }
        if (options_.trace)
            options_.trace->on_event({.what = search_event::kind::stop,
                                      .steps = report_.search.expanded,
                                      .cost = report_.search.best_cost,
                                      .why = report_.search.why});
    }

    // Verified, folded and costed; `clean`: may be brought into canonical form after folding.
    void finish(any_graph& best, std::span<applied_rewrite const> rewrites, bool clean) {
        if (options_.verify) verify(best, rewrites);
        if (options_.fold) fold(best, clean);
        best.compact();
        report_.cost_after = cost_of(best);
    }

    void verify(any_graph const& best, std::span<applied_rewrite const> rewrites) {
        progress("verify");
        report_.verification = verify_equal(original_, best, evaluators_, options_.seed, options_.threads);
        auto& v = report_.verification;
        // Each rewrite by itself: the part that it replaced against the part that it put there.
        auto const whole = v.whole_in_field || v.on_numbers;
        v.equal = v.equal || (!whole && !v.different);
        rewrite_checker<> one_by_one{v, evaluators_, options_.seed, options_.threads};
        for (std::size_t i = 0; i < rewrites.size(); ++i)
            report_.applied[i].check = one_by_one(*rewrites[i].before, *rewrites[i].what);
        v.equal = v.equal && (whole || v.rewrites_skipped == 0);
    }

    void fold(any_graph& best, bool clean) {
        progress("fold");
        fold_constants(best, evaluators_, {.max_weight_bytes = options_.max_weight_bytes, .threads = options_.threads})
            .value();
        if (clean) {
            canonicalize(best);
            check_canonical("folding", best);
        }
        if (!options_.verify || !report_.verification.on_numbers) return;
        // Folding rounds; the numbers that users get are those of the folded graph.
        verification_report folded;
        folded.equal = true;
        check_on_numbers(folded, original_, best, evaluators_, options_.seed, options_.threads);
        report_.verification.max_relative_error = folded.max_relative_error;
        if (folded.different) refute(report_.verification);
    }

    [[nodiscard]] bool is_dearer(any_graph const& best) const {
        if (report_.cost_after > report_.cost_before * (1 + 1e-9)) return true;
        if (!model_.exactly || report_.applied.empty()) return false;
        auto const before = model_.exactly(original_), after = model_.exactly(best);
        return before && after && *after > *before * (1 + 1e-9 - model_.resolution);
    }

    any_graph const& original_;
    cost::any_cost const& model_;
    eval_table evaluators_;
    optimize_options const& options_;
    std::vector<rule_program> chosen_;
    rule_index rules_;
    std::optional<search_replay> replay_;
    optimize_report report_;
};

} // namespace detail

GSUB_LAZY_BODY result<std::pair<any_graph, optimize_report>> optimize(any_graph const& original,
                                                                      cost::any_cost const& model,
                                                                      eval_table evaluators,
                                                                      optimize_options const& options) {
    return capture([&] {
        detail::check_options(options);
        return detail::optimize_run<>{original, model, evaluators, options}.run();
    });
}

} // namespace gsub
