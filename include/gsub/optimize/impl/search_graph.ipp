#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/impl/budget_meter.hpp>
#include <gsub/optimize/impl/cut_part.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>

namespace gsub {

namespace detail {

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

// Equal for graphs of the same form.
GSUB_LAZY std::uint64_t hash_of_form(any_graph const& g) {
    hasher h{g.capacity()};
    h.add(g.inputs().size());
    for (auto n : g.order()) {
        h.add(n.index).add(std::uint64_t{g.row(n)}).add(g.attributes(n).hash()).add(g.result_count(n));
        for (std::size_t k = 0; k < g.operand_count(n); ++k)
            h.add(g.operand(n, k).node.index).add(g.operand(n, k).port);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) h.add(g.type_of({n, port}).hash());
    }
    return h.finish().low;
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
            {format_text("{}({})", found->rule().name, here->display_name(found->site())), out.stats.best_cost});
        out.rewrites.push_back({here, found});
    }
    return out;
}

GSUB_LAZY std::size_t kernels_among(any_graph const& g, std::span<node_id const> nodes) {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](node_id n) { return cost::is_executed(g, n); }));
}

// Adds what a search counted to the counts of others.
GSUB_LAZY void add_counts(search_result& to, search_result const& found) {
    auto& sum = to.stats;
    auto const& s = found.stats;
    sum.expanded += s.expanded, sum.generated += s.generated;
    sum.duplicates += s.duplicates, sum.refused += s.refused, sum.distinct += s.distinct, sum.dropped += s.dropped;
    to.inapplicable += found.inapplicable, to.remembered += found.remembered;
}

// Beyond so many kernels a graph is searched in parts alone: each of as many rewrites would be made in a copy of the
// whole, for each expansion. Models of some thousand operators stay below.
inline constexpr std::size_t most_kernels_of_whole = 4096;
// As many nodes are costed anew in graphs in which parts are replaced, one part after the other.
inline constexpr std::uint64_t most_nodes_costed = std::uint64_t{1} << 23;

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
        budget_meter meter{options_.budget};
        auto& g = out_.best;
        auto& stats = out_.stats;
        stats.start_cost = cost_ = model_.of_graph(g);
        stats.history.push_back({0, cost_});
        try {
            in_parts(meter);
            as_whole(meter);
            if (nodes_costed_ > most_nodes_costed && stats.why == search::stop_reason::exhausted)
                stats.why = search::stop_reason::steps;
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
    void in_parts(budget_meter& meter) {
        auto& g = out_.best;
        auto const bound = out_.split.bound;
        auto const parts = split_graph(g, rules_, bound, as_span(groups_of(g)));
        out_.split.cuts = parts.cuts;
        out_.split.parts = parts.parts.size();
        out_.split.distinct_parts = search_all(parts.parts, meter);
        if (g.order_canonically(); kernels_among(g, g.order()) > bound) {
            auto const windows = split_graph(g, rules_, bound, as_span(groups_of(g)), as_span(piece_));
            out_.split.windows = windows.parts.size();
            out_.split.distinct_windows = search_all(windows.parts, meter);
        }
        g.order_canonically();
        g.compact();
    }

    [[nodiscard]] std::vector<std::uint32_t> groups_of(any_graph const& g) const {
        return model_.group_of_nodes ? model_.group_of_nodes(g) : std::vector<std::uint32_t>{};
    }

    void as_whole(budget_meter const& meter) {
        auto& stats = out_.stats;
        if (auto const kernels = kernels_among(out_.best, out_.best.order()); kernels > most_kernels_of_whole) {
            note(format_text("{} kernels are searched in parts alone: a whole has {} at most", kernels,
                             most_kernels_of_whole));
            stats.why = search::stop_reason::steps;
            stats.best_cost = cost_;
            return;
        }
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
    /// Forms in the order in which they were met.
    struct known_forms {
        std::vector<form> all;
        std::unordered_multimap<std::uint64_t, std::size_t> places; ///< among `all`, by `hash_of_form`

        /// The first of the form of a graph; null where there is none.
        [[nodiscard]] form const* find(any_graph const& g) const {
            auto first = all.size();
            auto const [begin, end] = places.equal_range(hash_of_form(g));
            for (auto i = begin; i != end; ++i)
                if (i->second < first && same_form(all[i->second].start, g)) first = i->second;
            return first < all.size() ? &all[first] : nullptr;
        }
        void add(form f) {
            places.emplace(hash_of_form(f.start), all.size());
            all.push_back(std::move(f));
        }
    };

    /// Searches parts of one form once, and makes of each part what was found. Gives the number of searches.
    std::size_t search_all(std::vector<std::vector<node_id>> const& parts, budget_meter& meter) {
        auto& g = out_.best;
        piece_.assign(g.capacity(), 0);
        known_forms forms;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for (auto n : parts[i]) piece_[n.index] = static_cast<std::uint32_t>(i + 1);
            auto part = cut_out(g, as_span(parts[i]));
            if (forms.find(part.graph)) continue;
            auto const found = search_result{part.graph, {}, {}, 0, 0, {}};
            forms.add({std::move(part.graph), kernels_among(g, as_span(parts[i])), found, 0});
        }
        search_forms(forms.all, meter.share(0.75));
        for (auto const& f : forms.all) meter.spend(f.found.stats.expanded);

        auto until = forms.all.empty() ? 0 : forms.all.front().until;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            auto nodes = parts[i];
            std::erase_if(nodes, [&](node_id n) { return !g.live(n); }); // equal to one of another part
            auto const part = cut_out(g, as_span(nodes));
            // A rule may ask for more of a constant than its type; and what went before may have changed the part.
            // Then it is searched too.
            auto const* known = forms.find(part.graph);
            auto made = known ? repeat(known->found, part.graph, model_, rules_) : std::nullopt;
            if (known) until = std::max(until, known->until);
            if (!made) {
                auto const own = kernels_among(g, as_span(nodes)),
                           all = std::max<std::size_t>(kernels_among(g, g.order()), 1);
                made = search_in(part.graph, meter.share(static_cast<double>(own) / static_cast<double>(all)));
                meter.spend(made->stats.expanded);
                until = out_.stats.expanded;
                forms.add({part.graph, own, *made, until});
            }
            replace(nodes, part, *made, until);
            piece_.resize(g.capacity(), static_cast<std::uint32_t>(i + 1));
        }
        if (!failure_.empty()) throw search::failed_move{failure_};
        return forms.all.size();
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
        budget_meter const meter{whole};
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
        if (nodes_costed_ > most_nodes_costed) return;
        if ((nodes_costed_ += g.size()) > most_nodes_costed) {
            note("parts that are left stay as they are: rewrites have been costed in graphs of 2^23 nodes together");
            return;
        }
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

    void note(std::string_view text) const {
        if (hooks_.observe) hooks_.observe->on_note(text);
    }

    void count(search_result const& found) {
        if (failure_.empty()) failure_ = found.stats.failure;
        add_counts(out_, found);
    }

    search_result out_; // `best` is the graph as it is by now
    cost::any_cost const& model_;
    rule_index const& rules_;
    search::options const& options_;
    search_hooks hooks_;
    double cost_ = 0;
    std::uint64_t nodes_costed_ = 0;   // of graphs in which parts were replaced
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
    if (kernels_among(start, start.order()) > most_kernels_of_whole)
        return split_search<>{std::move(start), model, rules, options, bound, hooks}.run();
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
    add_counts(kept, other);
    kept.stats.seconds += other.stats.seconds;
    kept.stats.why = whole.stats.why;
    kept.stats.failure = whole.stats.failure;
    return std::move(kept);
}

} // namespace detail

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
