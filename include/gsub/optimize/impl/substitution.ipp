#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/optimize/impl/search_log.ipp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace gsub {

namespace detail {

// A cost that is one: an error naming node and unit otherwise.
GSUB_LAZY double checked_cost(double cost, any_graph const& g, node_id n, std::string_view unit) {
    if (cost >= 0 && std::isfinite(cost)) return cost;
    throw error{problem{error_code::internal,
                        n.valid() ? g.display_name(n) : "",
                        n.valid() ? std::string{g.op(n).name} : "",
                        fmt::format("the cost model gives {} {}; costs are finite and >= 0", cost, unit),
                        {}}};
}

// What a rule's own code does at a match; where that throws, the move fails and is named.
template <class F>
bool by_rule(match const& m, F const& code) {
    try {
        return code();
    } catch (std::exception const& e) {
        throw search::failed_move{
            fmt::format("rule {} at {}: {}", m.rule().name, quoted{m.graph().display_name(m.site())}, e.what())};
    }
}
GSUB_LAZY_BODY bool fires(match const& m) {
    return by_rule(m, [&] { return !first_failure(m); });
}

// The graph with the rewrite made, in canonical form; false where the rewrite does not apply.
GSUB_LAZY bool apply_match(any_graph& g, match const& m) {
    auto const patch = prepare(m);
    if (patch.failed()) return false;
    g.start_journal();
    if (!patch.apply_to(g, shared_interior::refuse)) return false;
    canonicalize_changes(g);
    return true;
}

// Of all that decides which rewrites are made of a graph, in which order, and what they are called: structure, ids, and
// the order of nodes and of readers.
GSUB_LAZY hash128 hash_with_ids(any_graph const& g) {
    hasher h{g.capacity()};
    h.add(g.hash());
    for (auto n : g.order()) {
        h.add(n.index).add(g.hash(n));
        for (auto v : g.operands(n)) h.add(v.node.index).add(v.port);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            g.for_each_use({n, port}, [&](use u) { h.add(u.user.index).add(u.operand); });
    }
    return h.finish();
}

} // namespace detail

GSUB_LAZY_BODY substitution_problem::substitution_problem(any_graph start, cost::any_cost const& model,
                                                          rule_index const& rules, sharing_executor* threads,
                                                          explored_moves moves, search_log const* known)
    : model_(&model),
      rules_(&rules),
      threads_(model.concurrent ? threads : nullptr),
      known_(known),
      ordered_(moves == explored_moves::one_order) {
    auto const cost = detail::checked_cost(model.of_graph(start), start, {}, model.unit);
    // A power of two, so that scaling is exact: about 2^40 ticks for the start.
    ticks_per_unit_ = cost > 0 ? std::ldexp(1.0, 40 - std::ilogb(cost)) : 1;
    auto first = std::make_shared<costed_graph>(costed_graph{std::move(start), {}, 0});
    first->graph.rehash();
    compute_costs(*first);
    hasher costs;
    costs.add(model.unit).add(model.parameters).add_real(ticks_per_unit_).add_real(first->total);
    costs.add(model.of_node != nullptr).add(model.of_groups != nullptr);
    for (auto ticks : first->node_cost) costs.add_real(ticks);
    identity_ = {
        detail::hash_with_ids(first->graph), rules.hash(), costs.finish(), std::string{model.unit}, cost, moves};
    start_ = std::move(first);
    // One for each thread, and the caller's first.
    for (std::size_t i = 0; i <= (threads_ ? threads_->threads() : 0); ++i)
        workers_.push_back(std::make_unique<worker>(
            worker{any_graph{start_->graph.operators()}, any_graph{start_->graph.operators()}}));
}

GSUB_LAZY_BODY double substitution_problem::ticks(any_graph const& g, node_id n, double cost) const {
    return std::nearbyint(detail::checked_cost(cost, g, n, model_->unit) * ticks_per_unit_);
}
GSUB_LAZY_BODY double substitution_problem::ticks(any_graph const& g) const {
    return std::nearbyint(detail::checked_cost(model_->of_graph(g), g, {}, model_->unit) * ticks_per_unit_);
}

GSUB_LAZY_BODY void substitution_problem::compute_costs(costed_graph& p) const {
    if (!model_->is_sum()) {
        p.total = ticks(p.graph);
        return;
    }
    p.node_cost.assign(p.graph.capacity(), 0);
    p.total = 0;
    auto const set = [&](node_id n, double ticks) { p.total += p.node_cost[n.index] = ticks; };
    if (model_->of_groups)
        for (auto const& cost : model_->of_groups(p.graph)) set(cost.node, ticks(p.graph, cost.node, cost.amount));
    else
        for (auto n : p.graph.order()) set(n, ticks(p.graph, n, model_->of_node(p.graph, n)));
}

GSUB_LAZY_BODY std::string substitution_problem::label(state const& s) const {
    if (s.deferred) return fmt::format("{}({})", known_->rule(*s.deferred), known_->site(*s.deferred));
    return s.rule ? fmt::format("{}({})", s.rule->name, s.parent->graph.display_name(s.site)) : std::string{};
}

namespace detail {

// The nodes that changes in a graph's journal have left with other values or other readers.
struct journal_changes {
    std::vector<node_id> values, readers;
    explicit journal_changes(any_graph const& g)
        : values(g.changes().added.begin(), g.changes().added.end()),
          readers(g.changes().released.begin(), g.changes().released.end()) {
        append(values, g.changes().rewired);
        once(values, g);
        for (auto n : values)
            for (auto v : g.operands(n))
                if (v.valid()) readers.push_back(v.node);
        once(readers, g);
    }
    [[nodiscard]] changed_nodes nodes() const { return {as_span(values), as_span(readers)}; }

private:
    static void once(std::vector<node_id>& nodes, any_graph const& g) {
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        std::erase_if(nodes, [&](node_id n) { return !g.live(n); });
    }
};

} // namespace detail

// Calls `f(node, ticks)` for each node whose cost may differ from what it was before the changes in the graph's
// journal, by the model's memory of the graph before them.
GSUB_LAZY_BODY void substitution_problem::update_costs(any_graph const& g, void const* memory,
                                                       function_ref<void(node_id, double)> f) const {
    detail::journal_changes const changed{g};
    if (!model_->of_groups_near)
        for (auto n : changed.values) f(n, ticks(g, n, model_->of_node(g, n)));
    else
        for (auto const& p : model_->of_groups_near(g, memory, changed.nodes())) f(p.node, ticks(g, p.node, p.amount));
}

// A graph that a state's move has made of its parent's, its changes in its journal.
GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::costed(state const& s, any_graph g, cost::grouped_costs& known) const {
    auto made = std::make_shared<costed_graph>(costed_graph{std::move(g), {}, s.cost});
    made->counted = {held_, made->graph.own_bytes() + s.parent->node_cost.size() * sizeof(double)};
    if (!model_->is_sum()) return made;
    made->node_cost = s.parent->node_cost;
    made->node_cost.resize(made->graph.capacity(), 0);
    for (auto n : made->graph.changes().erased) made->node_cost[n.index] = 0;
    auto const set = [&](node_id n, double ticks) { made->node_cost[n.index] = ticks; };
    auto const before = std::find_if(memories_.begin(), memories_.end(),
                                     [&](auto const& m) { return s.before && m.first == s.before->path; });
    if (model_->remembered && before != memories_.end()) {
        detail::journal_changes const changed{made->graph};
        known = model_->remembered_near(made->graph, before->second.get(), changed.nodes());
    } else if (model_->remembered) {
        known = model_->remembered(made->graph);
        update_costs(made->graph, known.memory.get(), set); // of what is in no group
    } else {
        update_costs(made->graph, nullptr, set);
    }
    for (auto const& p : known.nodes) set(p.node, ticks(made->graph, p.node, p.amount));
    return made;
}

GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::materialize(state const& s) const {
    cost::grouped_costs known;
    return materialize(s, known);
}
GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::materialize(state const& s, cost::grouped_costs& known) const {
    if (!s.rule) {
        if (model_->remembered) known = model_->remembered(s.parent->graph);
        return s.parent;
    }
    auto g = s.parent->graph;
    GSUB_ASSERT(detail::apply_match(g, move(s)), "a rewrite that applied once applies again");
    g.rehash();
    return costed(s, std::move(g), known);
}

// The same, where it has been made already.
GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::materialized(state const& s, cost::grouped_costs& known) {
    for (auto& w : workers_)
        if (s.rule && w->path_of_cheapest == s.path) {
            w->path_of_cheapest = {};
            return costed(s, std::exchange(w->cheapest, any_graph{start_->graph.operators()}), known);
        }
    return materialize(s, known);
}

namespace detail {

// All nodes that a match stands on but for constants: who reads these does not matter to rewrites.
GSUB_LAZY node_signature nodes_of(match const& m) {
    node_signature out;
    auto const& g = m.graph();
    for (auto v : m.roots()) out.add(v.node);
    for (auto n : m.covered()) out.add(n);
    m.for_each_binding([&](binding const& b) {
        if (b.value.valid() && !g.is<ops::constant>(b.value.node)) out.add(b.value.node);
    });
    return out;
}

// The nodes of `before` that a rewrite has changed: those gone, with other operands, or with other readers.
GSUB_LAZY node_signature nodes_changed(any_graph const& before, any_graph const& after) {
    node_signature out;
    auto const known = before.capacity();
    auto const add = [&](node_id n) {
        if (n.index < known) out.add(n);
    };
    auto const add_operands = [&](any_graph const& g, node_id n) {
        for (auto v : g.operands(n))
            if (v.valid()) add(v.node);
    };
    auto const& changes = after.changes();
    for (auto const* list : {&changes.erased, &changes.rewired, &changes.added})
        for (auto n : *list) {
            add(n);
            if (n.index < known && before.live(n)) add_operands(before, n);
            if (after.live(n)) add_operands(after, n);
        }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY std::uint64_t substitution_problem::move_id(match const& m) const {
    hasher h{static_cast<std::uint64_t>(&m.rule() - rules_->rules().data())};
    for (auto v : m.roots()) h.add(v.node.index).add(v.port);
    m.for_each_binding([&](binding const& b) { h.add(b.name).add(b.value.node.index).add(b.value.port).add(b.index); });
    for (auto v : m.addends()) h.add(v.node.index).add(v.port);
    return h.finish().low;
}

GSUB_LAZY_BODY bool substitution_problem::successor(expansion const& here, match const& m, node_id anchor, worker& w,
                                                    found_move& out) const {
    auto const& from = *here.graph;
    auto& scratch = w.scratch;
    scratch = from.graph;
    if (!detail::by_rule(m, [&] { return detail::apply_match(scratch, m); })) return false;
    scratch.rehash();
    auto const known = from.node_cost.size();
    auto& next = out.next;
    next = {.parent = here.graph,
            .rule = &m.rule(),
            .anchor = anchor,
            .site = m.site(),
            .cost = from.total,
            .key = scratch.hash(),
            .move_id = out.what.id,
            .path = extend_path(here.what.path, out.what.id)};
    if (!model_->is_sum()) {
        next.cost = ticks(scratch);
    } else {
        // What the rewrite took away, added, or gave other operands.
        auto const before = [&](node_id n) { return n.index < known ? from.node_cost[n.index] : 0; };
        for (auto n : scratch.changes().erased) next.cost -= before(n);
        update_costs(scratch, here.known.memory.get(),
                     [&](node_id n, double ticks) { next.cost += ticks - before(n); });
    }
    out.what.cost = next.cost;
    if (ordered_) out.what.reads = detail::nodes_of(m);
    out.what.changes = detail::nodes_changed(from.graph, scratch);
    if (w.path_of_cheapest == hash128{} || next.cost < w.cost_of_cheapest) {
        std::swap(scratch, w.cheapest);
        w.cost_of_cheapest = next.cost;
        w.path_of_cheapest = next.path;
    }
    return true;
}

namespace detail {

// The move of that id, if there is just one.
GSUB_LAZY substitution_problem::known_move const* find_move(std::span<substitution_problem::known_move const> moves,
                                                            std::uint64_t id) {
    auto const found =
        std::lower_bound(moves.begin(), moves.end(), id,
                         [](substitution_problem::known_move const& m, std::uint64_t wanted) { return m.id < wanted; });
    if (found == moves.end() || found->id != id || (found + 1 != moves.end() && found[1].id == id)) return nullptr;
    return &*found;
}

} // namespace detail

// The move of the parent by which the same rewrites have been made in the other order, if there is one.
GSUB_LAZY_BODY substitution_problem::known_move const* substitution_problem::made_before(expansion const& here,
                                                                                         std::uint64_t id) const {
    auto const* by = here.by;
    if (!ordered_ || !by || by->id == id) return nullptr;
    auto const* found = detail::find_move(here.what.parent_cache->moves, id);
    if (!found) return nullptr;
    auto const earlier =
        found->cost < by->cost || (found->cost == by->cost && found->place != elsewhere && found->place < by->place);
    auto const apart =
        !found->reads.meets(by->changes) && !by->reads.meets(found->changes) && !found->changes.meets(by->changes);
    return earlier && apart ? found : nullptr;
}

// What decided that nothing matches at a node, where that is known from before the last move, which left it alone.
GSUB_LAZY_BODY node_signature const* substitution_problem::still_negative(expansion const& here, node_id anchor) const {
    if (!here.by) return nullptr;
    auto const& places = here.what.parent_cache->negatives;
    auto const found = std::lower_bound(places.begin(), places.end(), anchor,
                                        [](negative_match const& p, node_id n) { return p.anchor < n; });
    return found != places.end() && found->anchor == anchor && !found->by.meets(here.by->changes) ? &found->by
                                                                                                  : nullptr;
}

GSUB_LAZY_BODY void substitution_problem::find_successors(expansion const& here, node_id anchor, worker& w,
                                                          match_batch& out) const {
    if (auto const* by = still_negative(here, anchor)) {
        out.negatives.push_back({anchor, *by});
        return;
    }
    auto const& g = here.graph->graph;
    node_signature looked_at;
    auto negatives = true;
    for (auto const* rule : rules_->anchored_at(g.op(anchor))) {
        auto const found_match = [&](match const& m) {
            negatives = false;
            if (!detail::fires(m)) return;
            found_move found{{.id = move_id(m), .reads = {}, .changes = {}}, {}};
            if (auto const* other = made_before(here, found.what.id)) {
                found.what = *other;
                found.what.place = elsewhere;
                // What one move changes the cost by, it does beside the other.
                found.what.cost += here.what.cost - here.by_cost;
                out.found.push_back(std::move(found));
            } else if (successor(here, m, anchor, w, found)) {
                out.found.push_back(std::move(found));
            } else {
                ++out.inapplicable;
            }
        };
        find_pattern_at(g, *rule, anchor, found_match, &looked_at);
    }
    if (negatives) out.negatives.push_back({anchor, looked_at});
}

GSUB_LAZY_BODY substitution_problem::state substitution_problem::deferred(std::shared_ptr<state const> before,
                                                                          search_log::successor const& next) const {
    auto const path = extend_path(before->path, next.move);
    return {.parent = nullptr,
            .before = std::move(before),
            .cost = in_ticks(next.cost),
            .key = next.key,
            .move_id = next.move,
            .path = path,
            .deferred = &next};
}

GSUB_LAZY_BODY void substitution_problem::find_move(any_graph const& g, rule_program const& rule, node_id anchor,
                                                    std::uint64_t id, std::optional<match>& out) const {
    find_matches_at(g, rule, anchor, [&](match const& m) {
        if (!out && move_id(m) == id) out = m;
    });
}

GSUB_LAZY_BODY match substitution_problem::move(state const& s) const {
    std::optional<match> out;
    find_move(s.parent->graph, *s.rule, s.anchor, s.move_id, out);
    GSUB_ASSERT(out, "a rule that matched once matches again");
    return *out;
}

GSUB_LAZY_BODY substitution_problem::state substitution_problem::reconstructed(state const& s) {
    if (!s.deferred) return s;
    std::vector<state const*> moves{&s}; // the last first
    auto here = s.before;
    while (here->deferred) {
        if (auto const known = reconstructed_.find(here->path); known != reconstructed_.end()) {
            here = known->second;
        } else {
            moves.push_back(here.get());
            here = here->before;
        }
    }
    std::size_t step = 0;
    for (auto const* x = here.get(); x; x = x->before.get()) ++step;
    for (; !moves.empty(); moves.pop_back(), ++step) {
        auto const& wanted = *moves.back();
        auto const refuse = [&](std::string_view why) {
            throw error{problem{error_code::invalid_input, std::string{known_->site(*wanted.deferred)},
                                std::string{known_->rule(*wanted.deferred)},
                                fmt::format("the trace does not fit: rewrite {} from the start {}", step, why),
                                "a search without it"}};
        };
        cost::grouped_costs known;
        auto const materialized = materialize(*here, known);
        auto const& g = materialized->graph;
        std::optional<match> move;
        node_id anchor;
        for (auto n : g.order()) {
            if (n == g.return_node() || g.constant(n)) continue;
            for (auto const* rule : rules_->anchored_at(g.op(n)))
                if (!move && rule->name == known_->rule(*wanted.deferred))
                    find_move(g, *rule, anchor = n, wanted.move_id, move);
        }
        if (!move) refuse("does not match");
        expansion const from{*here, materialized, known};
        found_move found{{.id = wanted.move_id, .reads = {}, .changes = {}}, {}};
        if (!successor(from, *move, anchor, *workers_[0], found)) refuse("cannot be applied");
        auto& next = found.next;
        if (next.key != wanted.key) refuse("leads to another graph");
        if (next.cost != wanted.cost)
            refuse(fmt::format("leads to a cost of {}, not of {}", in_units(next.cost), in_units(wanted.cost)));
        next.before = here;
        here = std::make_shared<state const>(std::move(next));
        if (&wanted != &s) reconstructed_.emplace(here->path, here);
    }
    return *here;
}

GSUB_LAZY_BODY void substitution_problem::for_each_successor(state const& s, function_ref<bool(state&&)> emit) {
    auto const* known = known_ ? known_->find(s.path) : nullptr;
    if (!known) return s.deferred ? make_successors(reconstructed(s), emit) : make_successors(s, emit);
    auto before = std::make_shared<state>(s);
    before->parent_cache = nullptr;
    // A search that goes on from the first cheaper graph says no at the last successor that its log notes.
    auto const successors = known_->successors(*known);
    for (std::size_t i = 0; i < successors.size(); ++i)
        if (!emit(deferred(before, successors[i])) && i + 1 < successors.size()) return;
    inapplicable_ += known->failed;
    ++remembered_;
}

GSUB_LAZY_BODY substitution_problem::expansion substitution_problem::begin_expansion(state const& s) {
    expansion here{s, {}, {}};
    here.graph = materialized(s, here.known);
    if (here.known.memory) {
        constexpr std::size_t kept = 16; // most states are expanded soon after those that they were made of
        if (memories_.size() == kept) memories_.erase(memories_.begin());
        memories_.emplace_back(s.path, here.known.memory);
    }
    for (auto& w : workers_) w->path_of_cheapest = {};
    if (s.parent_cache) {
        here.by = detail::find_move(s.parent_cache->moves, s.move_id);
        here.by_cost = s.parent->total;
    }
    auto const& g = here.graph->graph;
    here.anchors.reserve(g.size());
    for (auto n : g.order())
        if (n != g.return_node() && !g.constant(n) && !rules_->anchored_at(g.op(n)).empty()) here.anchors.push_back(n);
    return here;
}

GSUB_LAZY_BODY void substitution_problem::find_successors(expansion const& here, std::span<node_id const> anchors,
                                                          worker& w, match_batch& out) const {
    match_batch found; // here, so that no other thread's cache holds what is written often
    try {
        for (auto n : anchors) find_successors(here, n, w, found);
    } catch (...) { found.failure = std::current_exception(); }
    out = std::move(found);
}

// Whether to share an expansion. Threads read the same graph, which one of them has just made, some three lines of a
// cache for a node. Between cores of one last-level cache a line takes 40 to 100 ns, and two threads make
// successors 1.2 to 1.6 times as fast as one; between cores that share none 170 to 260, and they would be slower than
// one unless there is much to do at each node (two vCPUs of a Zen 5, which the host moves from time to time). So the
// distance is measured, now and then again.
GSUB_LAZY_BODY bool substitution_problem::wants_help(any_graph const& g) const {
    constexpr std::chrono::nanoseconds near{130};
    constexpr double lines = 6; // a node: there and back
    constexpr std::uint64_t now_and_then = 32;
    if (!threads_ || threads_->concurrency() == 1) return false;
    return distance_ < near || usual_ > lines * static_cast<double>(g.size()) * distance_ ||
           expanded_ % now_and_then == 0;
}

GSUB_LAZY_BODY void substitution_problem::make_successors(state const& s, function_ref<bool(state&&)> emit) {
    auto before = std::make_shared<state>(s);
    before->parent_cache = nullptr; // of use to this expansion alone
    auto const findings_here = std::make_shared<expansion_cache>();
    std::uint32_t place = 0;
    auto const pass_on = [&](match_batch& p) {
        inapplicable_ += p.inapplicable;
        if (p.failure) std::rethrow_exception(p.failure);
        append(findings_here->negatives, p.negatives);
        for (auto& found : p.found) {
            auto& what = found.what;
            if (what.place == elsewhere) {
                ++reordered_;
                // A kernel's cost need not be the sum of what two moves make of it.
                if (model_->of_node) findings_here->moves.push_back(what);
                continue;
            }
            what.place = place++;
            findings_here->moves.push_back(what);
            found.next.before = before;
            found.next.parent_cache = findings_here;
            if (!emit(std::move(found.next))) return false;
        }
        return true;
    };
    auto const make_all = [&] {
        auto const here = begin_expansion(s);
        std::span const anchors{here.anchors};
        // Many pieces of work for each thread, as most of the work is often at a few anchors, and not too many anchors
        // in each, so that a search which is to stop does soon.
        auto const shared = wants_help(here.graph->graph);
        auto const threads = shared ? threads_->threads() : 1;
        auto const parts = [](std::size_t of, std::size_t size) { return (of + size - 1) / size; };
        auto const each = shared ? std::clamp<std::size_t>(parts(anchors.size(), 32 * threads), 1, 64) : 1;
        std::vector<match_batch> pieces(shared ? std::min(parts(anchors.size(), each), 32 * threads) : 1);
        auto const caller = std::this_thread::get_id();
        auto const beginning = threads_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
        constexpr auto unknown = std::chrono::steady_clock::duration::max();
        auto nearest = unknown;
        for (std::size_t first = 0; first < anchors.size(); first += pieces.size() * each) {
            auto const work = [&](std::size_t k, worker& w) {
                auto const from = std::min(first + k * each, anchors.size());
                find_successors(here, anchors.subspan(from, std::min(each, anchors.size() - from)), w, pieces[k]);
            };
            if (shared) {
                std::atomic<std::size_t> next{0};
                threads_->parallel_for(threads, [&](std::size_t i) {
                    if (std::this_thread::get_id() != caller) {
                        for (auto k = next++; k < pieces.size(); k = next++) work(k, *workers_[i + 1]);
                        return;
                    }
                    for (std::size_t expected = 0;; ++expected) {
                        auto const begin = std::chrono::steady_clock::now();
                        auto const k = next++;
                        // Where another thread was there in between, its cache had the counter.
                        if (k != expected) nearest = std::min(nearest, std::chrono::steady_clock::now() - begin);
                        if (k >= pieces.size()) return;
                        expected = k;
                        work(k, *workers_[0]);
                    }
                });
            } else {
                work(0, *workers_[0]);
            }
            for (auto& p : pieces)
                if (!pass_on(p)) return;
        }
        ++expanded_;
        if (threads_) usual_ = (3 * usual_ + (std::chrono::steady_clock::now() - beginning)) / 4;
        if (nearest != unknown) distance_ = distance_.count() > 0 ? (distance_ + nearest) / 2 : nearest;
    };
    make_all();
    auto& moves = findings_here->moves;
    auto& negatives = findings_here->negatives;
    std::sort(moves.begin(), moves.end(), [](known_move const& a, known_move const& b) { return a.id < b.id; });
    std::sort(negatives.begin(), negatives.end(),
              [](negative_match const& a, negative_match const& b) { return a.anchor < b.anchor; });
    findings_here->counted = {held_,
                              moves.capacity() * sizeof(known_move) + negatives.capacity() * sizeof(negative_match)};
}

} // namespace gsub
