#pragma once

#include <gsub/core/format.hpp>
#include <gsub/optimize/search_part.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/search/backtracking.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

GSUB_LAZY_BODY std::pair<std::string_view, std::string_view> rule_and_site(std::string_view label) {
    auto const bracket = label.find('(');
    if (bracket == std::string_view::npos) return {label, {}};
    return {label.substr(0, bracket), label.substr(bracket + 1, label.size() - bracket - 2)};
}

/// Tells the caller's observer and listener how the search goes.
template <class = void>
struct search_progress : search::null_observer {
    using state = substitution_problem::state;
    search_hooks hooks;
    substitution_problem const& problem;
    std::uint64_t steps;
    std::string_view unit;
    double best;
    std::uint64_t expanded = 0, failed = 0;
    std::string detail_text;
    search_progress(search_hooks const& t, substitution_problem const& p, std::uint64_t s, std::string_view u,
                    state const& first)
        : hooks(t), problem(p), steps(s), unit(u), best(first.cost) {
        if (hooks.trace) tell({.what = search_event::kind::begin, .key = first.key, .path = first.path}, first.cost);
    }
    void on_expand(std::uint64_t done, double cost, state const& s) {
        expanded = done, failed = problem.inapplicable();
        if (hooks.trace) tell({.what = search_event::kind::expand, .key = s.key, .path = s.path}, cost);
        if (!hooks.observe || done % 16 != 0) return;
        detail_text = format_text("best {} {}", problem.in_units(best), unit);
        hooks.observe->on_progress(
            {"search", done, steps == std::numeric_limits<std::uint64_t>::max() ? 0 : steps, detail_text});
    }
    void on_admit(double cost, std::string_view label, state const& s) {
        if (hooks.trace) tell_successor(search_event::kind::admit, cost, label, s);
    }
    void on_refuse(double cost, state const& s) {
        if (hooks.trace) tell_successor(search_event::kind::refuse, cost, problem.label(s), s);
    }
    void on_known(double cost, state const& s) {
        if (hooks.trace) tell_successor(search_event::kind::known, cost, problem.label(s), s);
    }
    void on_expanded(std::uint64_t, state const& s) {
        if (hooks.trace)
            tell({.what = search_event::kind::expanded, .key = s.key, .failed = problem.inapplicable() - failed},
                 s.cost);
    }
    void on_improvement(std::uint64_t done, double cost) {
        best = cost, expanded = done;
        if (hooks.trace) tell({.what = search_event::kind::improvement}, cost);
    }
    void tell_successor(search_event::kind what, double cost, std::string_view label, state const& s) const {
        auto const [rule, site] = rule_and_site(label);
        tell({.what = what, .rule = rule, .site = site, .key = s.key, .move = s.move_id}, cost);
    }
    void tell(search_event e, double cost) const {
        e.steps = expanded, e.cost = problem.in_units(cost);
        hooks.trace->on_event(e);
    }
};

// What a search found, by what a log tells of it: its best state is the cheapest of those that waited, of equal ones
// the first. Costs are in ticks.
GSUB_LAZY search::outcome<substitution_problem::state>
reconstruct(substitution_problem const& problem, search_log const& log, search_log::section const& s) {
    struct origin {
        hash128 path; // of the successor
        std::size_t expansion = 0;
        search_log::successor const* what = nullptr;
    };
    search::outcome<substitution_problem::state> out{problem.start(), {}};
    auto& stats = out.stats;
    stats.start_cost = stats.best_cost = out.best.cost;
    stats.history.push_back({0, stats.best_cost});
    std::vector<origin> origins;
    origin best;
    auto const expansions = log.expansions(s);
    stats.expanded = expansions.size(), stats.distinct = 1;
    for (std::size_t i = 0; i < expansions.size(); ++i) {
        for (auto const& next : log.successors(expansions[i])) {
            ++stats.generated;
            if (next.fate == search_event::kind::known) {
                ++stats.duplicates;
                continue;
            }
            ++stats.distinct;
            origins.push_back({extend_path(expansions[i].path, next.move), i, &next});
            if (next.fate == search_event::kind::refuse)
                ++stats.refused;
            else if (auto const cost = problem.in_ticks(next.cost); cost < stats.best_cost)
                stats.best_cost = cost, best = origins.back();
        }
        if (stats.best_cost < stats.history.back().cost) stats.history.push_back({i + 1, stats.best_cost});
    }
    // How that was reached: each state on the way is a successor of one that was expanded before it.
    std::sort(origins.begin(), origins.end(), [](origin const& a, origin const& b) {
        return a.path != b.path ? a.path < b.path : a.expansion < b.expansion;
    });
    std::vector<search_log::successor const*> moves; // the last first
    while (best.what) {
        moves.push_back(best.what);
        auto const& from = expansions[best.expansion].path;
        if (from == s.path) break;
        auto const found = std::lower_bound(origins.begin(), origins.end(), from,
                                            [](origin const& o, hash128 path) { return o.path < path; });
        if (found == origins.end() || found->path != from || found->expansion >= best.expansion)
            throw error{
                errors::damaged_trace,
                format_text("the trace does not fit: nothing leads to the graph of expansion {}", best.expansion)};
        best = *found;
    }
    for (; !moves.empty(); moves.pop_back()) {
        out.best =
            problem.deferred(std::make_shared<substitution_problem::state const>(std::move(out.best)), *moves.back());
        stats.path.push_back({problem.label(out.best), out.best.cost});
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY search_result search_part(any_graph const& start, cost::any_cost const& model, rule_index const& rules,
                                         search::options const& options, search_hooks const& hooks) {
    substitution_problem problem{start,
                                 model,
                                 rules,
                                 hooks.threads,
                                 moves_of(options.admit, options.plateau, options.queue),
                                 hooks.replay ? &hooks.replay->log() : hooks.known};
    auto const first = problem.start();
    auto found =
        hooks.replay
            ? detail::reconstruct(problem, hooks.replay->log(), hooks.replay->next(first.path))
            : search::backtracking(problem, first, options,
                                   detail::search_progress<>{hooks, problem, options.budget.steps, model.unit, first});
    auto const best = problem.reconstructed(found.best);
    search_result out{problem.materialize(best)->graph, std::move(found.stats), {},
                      problem.inapplicable(),           problem.remembered(),   {}};
    for (auto& s : out.stats.path) s.cost = problem.in_units(s.cost);
    for (auto& h : out.stats.history) h.cost = problem.in_units(h.cost);
    out.stats.start_cost = problem.in_units(out.stats.start_cost);
    out.stats.best_cost = problem.in_units(out.stats.best_cost);
    for (auto const* s = &best; s->rule; s = s->before.get()) {
        out.rewrites.push_back({std::shared_ptr<any_graph const>{s->parent, &s->parent->graph},
                                std::make_shared<match const>(problem.move(*s))});
        out.stats.path[out.stats.path.size() - out.rewrites.size()].label = problem.label(*s); // not as a file says
    }
    std::reverse(out.rewrites.begin(), out.rewrites.end());
    return out;
}

} // namespace gsub
