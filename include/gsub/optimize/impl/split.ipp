#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/optimize/split.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/search/backtracking.hpp>
#include <gsub/search/split.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <thread>

namespace gsub {

namespace detail {

/// Rule and site of a move's label, `rule(site)`.
GSUB_LAZY std::pair<std::string_view, std::string_view> rule_and_site(std::string_view label) {
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
        detail_text = fmt::format("best {} {}", problem.in_units(best), unit);
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
                error_code::invalid_input,
                fmt::format("the trace does not fit: nothing leads to the graph of expansion {}", best.expansion)};
        best = *found;
    }
    for (; !moves.empty(); moves.pop_back()) {
        out.best =
            problem.deferred(std::make_shared<substitution_problem::state const>(std::move(out.best)), *moves.back());
        stats.path.push_back({problem.label(out.best), out.best.cost});
    }
    return out;
}

/// What is left of a budget.
template <class = void>
class budget_meter {
    using clock = std::chrono::steady_clock;

public:
    explicit budget_meter(search::budget const& b)
        : left_(b), timed_(b.time != std::chrono::nanoseconds::max()), begin_(clock::now()) {}
    /// A share of it, in [0, 1].
    [[nodiscard]] search::budget share(double part) const {
        auto out = left_;
        if (out.steps != std::numeric_limits<std::uint64_t>::max())
            out.steps = std::min(left_.steps, static_cast<std::uint64_t>(static_cast<double>(left_.steps) * part));
        if (timed_) {
            auto const left = std::max(left_.time - (clock::now() - begin_), std::chrono::nanoseconds::zero());
            out.time = std::chrono::duration_cast<std::chrono::nanoseconds>(left * part);
        }
        return out;
    }
    void spend(std::uint64_t steps) {
        if (left_.steps != std::numeric_limits<std::uint64_t>::max()) left_.steps -= std::min(left_.steps, steps);
    }

private:
    search::budget left_;
    bool timed_;
    clock::time_point begin_;
};

/// A part of a graph as a graph of its own. Inputs are the values that it reads, outputs those that are read outside of
/// it; constants and arithmetic on constants are taken along, shared.
struct cut_part {
    any_graph graph;
    std::vector<value_id> boundary, results; ///< in the whole graph: what inputs and outputs stand for
    std::vector<node_id> origin;             ///< in the whole graph, by id; invalid for inputs
};

// Not looked into, and never moved.
GSUB_LAZY bool fixed_node(any_graph const& g, node_id n) {
    auto const category = g.op(n).category;
    return category == op_category::opaque || category == op_category::structural;
}

// Nodes in the order of `nodes`, so that a part is the same whatever happens elsewhere in the graph.
GSUB_LAZY cut_part cut_out(any_graph const& g, std::span<node_id const> nodes) {
    cut_part part{any_graph{g.operators()}, {}, {}, {}};
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    graph_cloner copies{g, part.graph};
    auto const copy = [&](node_id n) {
        auto const to = copies.clone(n);
        part.origin.resize(part.graph.capacity());
        part.origin[to.index] = n;
        if (g.sources(n).empty() && g.name({n, 0}).empty()) part.graph.set_source(to, g.display_name(n));
    };
    // A value from outside: an input, or a constant after all that it is made of.
    std::vector<value_id> open;
    auto const bring = [&](value_id wanted) {
        open.assign(1, wanted);
        while (!open.empty()) {
            auto const v = open.back();
            if (copies.has(v)) {
                open.pop_back();
            } else if (g.constant(v)) {
                auto const ready = open.size();
                for (auto w : g.operands(v.node))
                    if (w.valid() && !copies.has(w)) open.push_back(w);
                if (open.size() == ready) copy(v.node);
            } else {
                copies.add_input(v);
                part.boundary.push_back(v);
            }
        }
    };
    std::vector<value_id> outputs;
    for (auto n : nodes) {
        for (auto v : g.operands(n))
            if (v.valid()) bring(v);
        copy(n);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            bool outside = false;
            g.for_each_use({n, port}, [&](use u) { outside |= !inside[u.user.index]; });
            if (outside) part.results.push_back({n, port}), outputs.push_back(copies({n, port}));
        }
    }
    part.origin.resize(part.graph.capacity());
    part.graph.set_outputs(outputs);
    return part;
}

// Whether two graphs have the same nodes under the same ids, whatever the elements of their constants are.
GSUB_LAZY bool same_form(any_graph const& a, any_graph const& b) {
    if (a.capacity() != b.capacity() || a.size() != b.size() || a.inputs().size() != b.inputs().size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto const n = a.order()[i];
        if (n != b.order()[i] || a.row(n) != b.row(n) || !(a.attributes(n) == b.attributes(n)) ||
            a.operand_count(n) != b.operand_count(n) || a.result_count(n) != b.result_count(n))
            return false;
        for (std::size_t k = 0; k < a.operand_count(n); ++k)
            if (a.operand(n, k) != b.operand(n, k)) return false;
        for (std::uint32_t port = 0; port < a.result_count(n); ++port)
            if (!(a.type_of({n, port}) == b.type_of({n, port}))) return false;
    }
    return true;
}

// Puts what a search made of a part in the place of the part; false, and `g` is of no more use, where that would close
// a cycle. Nodes that are as they were stay. `better` has come from the part's graph by rewrites.
GSUB_LAZY bool put_back(any_graph& g, cut_part const& part, std::span<node_id const> nodes, any_graph const& better) {
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    graph_cloner copies{better, g};
    for (std::size_t i = 0; i < part.boundary.size(); ++i) copies.stand({better.inputs()[i], 0}, part.boundary[i]);
    for (auto n : better.order()) {
        if (n == better.return_node() || better.is<ops::input>(n)) continue;
        auto const operands = copies.operands(n);
        auto same = n.index < part.origin.size() ? part.origin[n.index] : node_id{};
        for (std::size_t i = 0; same.valid() && i < operands.size(); ++i)
            if (g.operand(same, i) != operands[i]) same = {};
        if (same.valid())
            copies.stand(n, same);
        else
            copies.clone(n, operands);
    }
    for (std::size_t i = 0; i < part.results.size(); ++i) {
        auto const from = part.results[i], to = copies(better.output(i));
        if (from == to) continue;
        std::vector<use> outside;
        g.for_each_use(from, [&](use u) {
            if (u.user.index < first_new && !inside[u.user.index]) outside.push_back(u);
        });
        std::reverse(outside.begin(), outside.end()); // in order of age
        for (auto u : outside) g.set_operand(u.user, u.operand, to);
        if (g.name(to).empty()) g.set_name(to, g.name(from));
    }
    for (auto i = nodes.size(); i-- > 0;)
        if (g.live(nodes[i])) g.erase_unused(nodes[i]);
    return g.sort();
}

// The rewrites that a search made, in a graph of the same form; nothing where one does not match.
GSUB_LAZY std::optional<search_result> repeat(search_result const& model_search, any_graph const& start,
                                              cost::any_cost const& model, rule_index const& rules) {
    search_result out{start, {}, {}, 0, 0, {}};
    out.stats.start_cost = out.stats.best_cost = model.of_graph(start);
    for (auto const& r : model_search.rewrites) {
        auto const here = std::make_shared<any_graph const>(out.best);
        std::shared_ptr<match const> found;
        for (auto n : here->order()) // a match does not tell which of its nodes is the anchor
            for (auto const* rule : rules.anchored_at(here->op(n))) {
                if (found || rule != &r.what->rule() || here->constant(n) || n == here->return_node()) continue;
                find_matches_at(*here, *rule, n, [&](match const& m) {
                    if (!found && m == *r.what) found = std::make_shared<match const>(m);
                });
            }
        if (!found) return std::nullopt;
        auto const patch = prepare(*found);
        out.best.start_journal();
        if (patch.failed() || !patch.apply_to(out.best, shared_interior::refuse)) return std::nullopt;
        canonicalize_changes(out.best);
        out.stats.best_cost = model.of_graph(out.best);
        out.stats.path.push_back(
            {fmt::format("{}({})", found->rule().name, here->display_name(found->site())), out.stats.best_cost});
        out.rewrites.push_back({here, found});
    }
    return out;
}

GSUB_LAZY std::size_t kernels_among(any_graph const& g, std::span<node_id const> nodes) {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](node_id n) { return cost::is_executed(g, n); }));
}

/// A graph on its way through searches of its parts.
template <class = void>
class split_search {
public:
    split_search(any_graph start, cost::any_cost const& model, rule_index const& rules, search::options const& options,
                 std::size_t bound, search_hooks const& hooks)
        : out_{std::move(start), {}, {}, 0, 0, {}}, model_(model), rules_(rules), options_(options), hooks_(hooks) {
        out_.split.bound = bound;
    }

    search_result run() {
        auto const begin = std::chrono::steady_clock::now();
        budget_meter<> meter{options_.budget};
        auto& g = out_.best;
        auto& stats = out_.stats;
        stats.start_cost = cost_ = model_.of_graph(g);
        stats.history.push_back({0, cost_});
        try {
            in_parts(meter);
            as_whole(meter);
        } catch (search::failed_move const& f) {
            stats.why = search::stop_reason::failed;
            stats.failure = f.what();
            stats.best_cost = cost_;
            g.order_canonically();
            g.compact();
        }
        stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return std::move(out_);
    }

private:
    void in_parts(budget_meter<>& meter) {
        auto& g = out_.best;
        auto const bound = out_.split.bound;
        auto const parts = split_graph(g, rules_, bound);
        out_.split.cuts = parts.cuts;
        out_.split.parts = parts.parts.size();
        out_.split.distinct_parts = search_all(parts.parts, meter);
        if (g.order_canonically(); kernels_among(g, g.order()) > bound) {
            auto const windows = split_graph(g, rules_, bound, as_span(piece_));
            out_.split.windows = windows.parts.size();
            out_.split.distinct_windows = search_all(windows.parts, meter);
        }
        g.order_canonically();
        g.compact();
    }

    void as_whole(budget_meter<> const& meter) {
        auto& stats = out_.stats;
        auto last = search_in(out_.best, meter.share(1));
        auto const before = stats.expanded - last.stats.expanded;
        for (auto& s : last.stats.path) stats.path.push_back(std::move(s));
        for (auto const& h : last.stats.history)
            if (h.steps > 0) stats.history.push_back({before + h.steps, h.cost});
        for (auto& r : last.rewrites) out_.rewrites.push_back(std::move(r));
        stats.why = last.stats.why;
        stats.failure = std::move(last.stats.failure);
        stats.best_cost = last.stats.best_cost;
        out_.best = std::move(last.best);
    }

    /// What is searched in place of all parts that are equal to it.
    struct form {
        any_graph start;
        std::size_t kernels = 0;
        search_result found;
        std::uint64_t until = 0; ///< states expanded when it had been searched, in the order of forms
    };

    /// Searches parts of one form once, and makes of each part what was found. Gives the number of searches.
    std::size_t search_all(std::vector<std::vector<node_id>> const& parts, budget_meter<>& meter) {
        auto& g = out_.best;
        piece_.assign(g.capacity(), 0);
        std::vector<form> forms;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for (auto n : parts[i]) piece_[n.index] = static_cast<std::uint32_t>(i + 1);
            auto part = cut_out(g, as_span(parts[i]));
            if (form_of(part.graph, forms)) continue;
            auto const found = search_result{part.graph, {}, {}, 0, 0, {}};
            forms.push_back({std::move(part.graph), kernels_among(g, as_span(parts[i])), found, 0});
        }
        search_forms(forms, meter.share(0.75));
        for (auto const& f : forms) meter.spend(f.found.stats.expanded);

        auto until = forms.empty() ? 0 : forms.front().until;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            auto nodes = parts[i];
            std::erase_if(nodes, [&](node_id n) { return !g.live(n); }); // equal to one of another part
            auto const part = cut_out(g, as_span(nodes));
            // A rule may ask for more of a constant than its type; and what went before may have changed the part.
            // Then it is searched too.
            auto const* known = form_of(part.graph, forms);
            auto made = known ? repeat(known->found, part.graph, model_, rules_) : std::nullopt;
            if (known) until = std::max(until, known->until);
            if (!made) {
                auto const own = kernels_among(g, as_span(nodes)),
                           all = std::max<std::size_t>(kernels_among(g, g.order()), 1);
                made = search_in(part.graph, meter.share(static_cast<double>(own) / static_cast<double>(all)));
                meter.spend(made->stats.expanded);
                until = out_.stats.expanded;
                forms.push_back({part.graph, own, *made, until});
            }
            replace(nodes, part, *made, until);
            piece_.resize(g.capacity(), static_cast<std::uint32_t>(i + 1));
        }
        if (!failure_.empty()) throw search::failed_move{failure_};
        return forms.size();
    }

    static form const* form_of(any_graph const& g, std::vector<form> const& forms) {
        auto const found =
            std::find_if(forms.begin(), forms.end(), [&](form const& f) { return same_form(f.start, g); });
        return found != forms.end() ? &*found : nullptr;
    }

    // Each with its share of the steps, whatever the others leave, so that they may be searched side by side.
    void search_forms(std::vector<form>& forms, search::budget const& whole) {
        std::size_t kernels = 0;
        for (auto const& f : forms) kernels += f.kernels;
        // What listens hears of one search after the other; and a limit of memory is that of one.
        auto* const threads = hooks_.threads;
        auto const apart = threads && model_.concurrent && !hooks_.trace && !hooks_.replay &&
                           whole.bytes == std::numeric_limits<std::uint64_t>::max();
        auto const at_once = apart ? std::min(threads->threads(), forms.size()) : 1;
        std::vector<std::size_t> order; // the largest first, so that none is waited for long
        for (std::size_t i = 0; i < forms.size(); ++i) order.push_back(i);
        if (apart)
            std::stable_sort(order.begin(), order.end(),
                             [&](std::size_t a, std::size_t b) { return forms[a].kernels > forms[b].kernels; });
        std::vector<std::exception_ptr> failures(forms.size());
        budget_meter<> const meter{whole};
        auto const caller = std::this_thread::get_id();
        std::atomic<std::size_t> kernels_left{kernels};
        auto const search = [&](std::size_t k) {
            auto& f = forms[order[k]];
            auto const part = [&](std::size_t own, std::size_t all) {
                return own < all ? static_cast<double>(own) / static_cast<double>(all) : 1;
            };
            auto options = options_;
            options.budget = meter.share(part(f.kernels, kernels));
            options.budget.time = meter.share(part(f.kernels * at_once, kernels_left.fetch_sub(f.kernels))).time;
            auto hooks = hooks_;
            if (std::this_thread::get_id() != caller) hooks.observe = nullptr;
            try {
                f.found = search_part(f.start, model_, rules_, options, hooks);
            } catch (...) { failures[order[k]] = std::current_exception(); }
        };
        if (apart)
            threads->parallel_for(forms.size(), search);
        else
            for (std::size_t k = 0; k < forms.size(); ++k) search(k);
        for (std::size_t i = 0; i < forms.size(); ++i) {
            if (failures[i]) std::rethrow_exception(failures[i]);
            count(forms[i].found);
            forms[i].until = out_.stats.expanded;
        }
    }

    void replace(std::vector<node_id> const& nodes, cut_part const& part, search_result& made, std::uint64_t until) {
        if (made.rewrites.empty()) return;
        auto& g = out_.best;
        auto whole = g;
        whole.start_journal();
        if (!put_back(whole, part, as_span(nodes), made.best)) return;
        canonicalize_changes(whole);
        auto const after = model_.of_graph(whole);
        if (!(after < cost_)) return;
        g = std::move(whole);
        auto& stats = out_.stats;
        for (auto& s : made.stats.path)
            stats.path.push_back({std::move(s.label), cost_ + (s.cost - made.stats.start_cost)});
        stats.path.back().cost = cost_ = after;
        stats.history.push_back({until, cost_});
        for (auto& r : made.rewrites) out_.rewrites.push_back(std::move(r));
    }

    search_result search_in(any_graph const& start, search::budget const& budget) {
        auto options = options_;
        options.budget = budget;
        auto found = search_part(start, model_, rules_, options, hooks_);
        count(found);
        return found;
    }

    void count(search_result const& found) {
        auto& sum = out_.stats;
        auto const& s = found.stats;
        if (failure_.empty()) failure_ = s.failure;
        sum.expanded += s.expanded, sum.generated += s.generated;
        sum.duplicates += s.duplicates, sum.refused += s.refused, sum.distinct += s.distinct, sum.dropped += s.dropped;
        out_.inapplicable += found.inapplicable, out_.remembered += found.remembered;
    }

    search_result out_; // `best` is the graph as it is by now
    cost::any_cost const& model_;
    rule_index const& rules_;
    search::options const& options_;
    search_hooks hooks_;
    double cost_ = 0;
    std::string failure_;              // of the first search that ended by one
    std::vector<std::uint32_t> piece_; // by node id: number of the part that the node came from, from 1 on
};

// What parts leave of a budget for the search of the whole.
inline constexpr std::uint64_t kept_for_whole = 8; // one of so many steps, and of as much time

// In parts; then once more from the start as a whole, with what is left of the budget: parts may have ended where no
// way leads on to what the whole would have found. The better of the two.
GSUB_LAZY search_result search_divided(any_graph start, cost::any_cost const& model, rule_index const& rules,
                                       search::options options, std::size_t bound, search_hooks const& hooks) {
    using search::stop_reason;
    auto& left = options.budget;
    auto const limited = left.steps != std::numeric_limits<std::uint64_t>::max();
    auto const timed = left.time != std::chrono::nanoseconds::max();
    auto of_parts = options;
    if (limited) of_parts.budget.steps -= left.steps / kept_for_whole;
    if (timed) of_parts.budget.time -= left.time / kept_for_whole;
    auto in_parts = split_search<>{start, model, rules, of_parts, bound, hooks}.run();
    auto const& spent = in_parts.stats;
    if (hooks.replay) {
        if (!hooks.replay->more()) return in_parts;
    } else {
        auto const ended =
            spent.why == stop_reason::exhausted || spent.why == stop_reason::steps || spent.why == stop_reason::time;
        if (!ended || spent.expanded >= left.steps) return in_parts;
        if (limited) left.steps -= spent.expanded;
        if (timed) {
            std::chrono::duration<double> const gone{spent.seconds};
            left.time -= std::chrono::duration_cast<std::chrono::nanoseconds>(gone);
            if (left.time <= std::chrono::nanoseconds::zero()) return in_parts;
        }
    }
    auto whole = search_part(start, model, rules, options, hooks);
    auto const better = whole.stats.best_cost < in_parts.stats.best_cost;
    auto& kept = better ? whole : in_parts;
    auto const& other = better ? in_parts : whole;
    if (better) {
        // The best cost over time: first that of the parts, then what is below it.
        auto history = in_parts.stats.history;
        for (auto const& h : whole.stats.history)
            if (h.cost < in_parts.stats.best_cost) history.push_back({in_parts.stats.expanded + h.steps, h.cost});
        whole.stats.history = std::move(history);
        whole.split = in_parts.split;
        whole.split.better_whole = true;
    }
    auto& sum = kept.stats;
    sum.expanded += other.stats.expanded, sum.generated += other.stats.generated;
    sum.duplicates += other.stats.duplicates, sum.refused += other.stats.refused;
    sum.distinct += other.stats.distinct, sum.dropped += other.stats.dropped;
    sum.seconds += other.stats.seconds;
    sum.why = whole.stats.why;
    sum.failure = whole.stats.failure;
    kept.inapplicable += other.inapplicable, kept.remembered += other.remembered;
    return std::move(kept);
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

GSUB_LAZY_BODY graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                       std::span<std::uint32_t const> piece) {
    GSUB_ASSERT(piece.empty() || piece.size() >= g.capacity(), "every node id has a piece, or none");
    constexpr std::uint64_t of_value = 4, of_fusion = 1, between_pieces = 64;
    constexpr auto nowhere = 0xffffffffu;
    // Nodes between the same fixed nodes: as many of these lie on the longest path from the inputs to each.
    std::vector<std::uint32_t> level(g.capacity(), 0), place(g.capacity(), nowhere);
    std::vector<std::vector<node_id>> levels;
    for (auto n : g.order()) {
        if (g.constant(n) || n == g.return_node()) continue;
        for (auto v : g.operands(n)) {
            if (!v.valid() || g.constant(v)) continue;
            auto const behind = detail::fixed_node(g, v.node) && !g.is<ops::input>(v.node) ? 1u : 0u;
            level[n.index] = std::max(level[n.index], level[v.node.index] + behind);
        }
        if (detail::fixed_node(g, n)) continue;
        if (level[n.index] >= levels.size()) levels.resize(level[n.index] + 1);
        place[n.index] = static_cast<std::uint32_t>(levels[level[n.index]].size());
        levels[level[n.index]].push_back(n);
    }
    // Kernels that lowering would make: a value between two operators of one is dear to cut.
    std::vector<std::uint32_t> kernel(g.capacity(), nowhere);
    auto const groups = kernel_groups(g, fusion_rules_of(g, isa::avx512));
    for (std::uint32_t i = 0; i < groups.size(); ++i)
        for (auto n : groups[i]) kernel[n.index] = i;
    std::vector<search::split_problem> problems(levels.size());
    std::vector<node_id> joined;
    auto const tie = [&](std::uint64_t weight) {
        std::erase_if(joined, [&](node_id n) { return place[n.index] == nowhere; });
        stable_sort(joined, [&](node_id a, node_id b) { return level[a.index] < level[b.index]; });
        for (auto first = joined.begin(); first != joined.end();) {
            search::tie t{{}, weight};
            auto const where = level[first->index];
            for (; first != joined.end() && level[first->index] == where; ++first)
                t.nodes.push_back(place[first->index]);
            if (t.nodes.size() > 1) problems[where].ties.push_back(std::move(t));
        }
    };
    for (std::size_t i = 0; i < levels.size(); ++i)
        for (auto n : levels[i]) problems[i].sizes.push_back(cost::is_executed(g, n) ? 1 : 0);
    for (auto n : g.order()) {
        if (g.constant(n) || n == g.return_node()) continue;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            joined.clear();
            std::uint64_t weight = of_value;
            g.for_each_use({n, port}, [&](use u) {
                if (place[u.user.index] == nowhere) return;
                joined.push_back(u.user);
                if (place[n.index] != nowhere && level[n.index] == level[u.user.index])
                    problems[level[n.index]].edges.emplace_back(place[n.index], place[u.user.index]);
            });
            auto const is_inner = [&](node_id m) {
                return kernel[m.index] != nowhere && kernel[m.index] == kernel[n.index];
            };
            if (std::any_of(joined.begin(), joined.end(), is_inner)) weight += of_fusion;
            if (place[n.index] != nowhere) joined.push_back(n);
            if (!piece.empty())
                for (auto m : joined)
                    if (piece[m.index] != piece[joined.front().index]) {
                        weight += between_pieces;
                        break;
                    }
            tie(weight);
        }
    }
    for (auto n : g.order()) {
        if (n == g.return_node() || g.constant(n)) continue;
        for (auto const* rule : rules.anchored_at(g.op(n)))
            find_pattern_at(g, *rule, n, [&](match const& m) {
                if (!detail::fires(m)) return;
                joined.assign(m.covered().begin(), m.covered().end());
                tie(1);
            });
    }
    graph_parts out;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        auto const found = search::split(problems[i], {.bound = bound});
        out.cuts.insert(out.cuts.end(), found.cuts.begin(), found.cuts.end());
        for (auto const& part : found.parts) {
            out.parts.emplace_back();
            for (auto n : part) out.parts.back().push_back(levels[i][n]);
        }
    }
    return out;
}

GSUB_LAZY_BODY any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes) {
    return detail::cut_out(g, nodes).graph;
}

GSUB_LAZY_BODY search_result search_graph(any_graph start, cost::any_cost const& model, rule_index const& rules,
                                          search::options const& options, std::size_t bound,
                                          search_hooks const& hooks) {
    std::string_view whole;
    if (bound == 0)
        whole = "it was not asked for";
    else if (detail::kernels_among(start, start.order()) <= bound)
        whole = "the graph is not larger than a part";
    else if (!model.is_sum())
        whole = "the cost model is not additive";
    else
        return detail::search_divided(std::move(start), model, rules, options, bound, hooks);
    auto out = search_part(start, model, rules, options, hooks);
    out.split.why_whole = whole;
    return out;
}

} // namespace gsub
