#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/rewrite/engine/impl/sum_terms.ipp>
#include <gsub/rewrite/engine/impl/term_matcher.ipp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

// Whether operators stand where a term has them, whatever its variables and labels are bound to. Most places are passed
// over by this alone.
GSUB_LAZY bool operators_fit(any_graph const& g, rule_program const& rule, std::uint16_t number, value_id v,
                             node_signature* looked_at) {
    auto const& n = rule.match_nodes[number];
    if (n.kind != node_kind::operation && n.kind != node_kind::category) return true;
    if (!v.valid()) return false;
    if (looked_at) looked_at->add(v.node);
    if (g.constant(v.node)) return false;
    auto const& op = g.op(v.node);
    if (n.kind == node_kind::operation ? op.id != n.op : !op.is_plain(n.category, n.links)) return false;
    auto const count = g.operand_count(v.node);
    auto const fits = [&](std::size_t swap) {
        for (std::size_t i = 0; i < std::min<std::size_t>(n.links, count); ++i)
            if (!operators_fit(g, rule, rule.match_links[n.first_link + i], g.operand(v.node, i ^ swap), looked_at))
                return false;
        return true;
    };
    return fits(0) || (n.commutative && count == 2 && fits(1));
}

// False where the second root must read an operand of the anchor that nothing else reads.
GSUB_LAZY bool has_company(any_graph const& g, rule_program const& rule, node_id anchor, node_signature* looked_at) {
    if (rule.roots.size() < 2) return true;
    auto const &first = rule.match_nodes[rule.roots[0]], &second = rule.match_nodes[rule.roots[1]];
    if (first.kind != node_kind::operation || first.commutative) return true;
    for (std::size_t i = 0; i < std::min<std::size_t>(first.links, g.operand_count(anchor)); ++i) {
        auto const& shared = rule.match_nodes[rule.match_links[first.first_link + i]];
        for (std::size_t k = 0; shared.kind == node_kind::variable && k < second.links; ++k) {
            auto const& other = rule.match_nodes[rule.match_links[second.first_link + k]];
            if (other.kind != node_kind::variable || other.name != shared.name) continue;
            auto const v = g.operand(anchor, i);
            if (!v.valid()) return false;
            if (looked_at) looked_at->add(v.node);
            if (g.use_count(v) < 2) return false;
        }
    }
    return true;
}

/// Matches one rule at one anchor: its first root there, each further one where it reads what has been bound. `Misses`
/// is told where the pattern fails.
template <class Misses = no_misses>
class matcher {
public:
    matcher(any_graph const& g, rule_program const& rule, function_ref<void(match const&)> found,
            node_signature* looked_at = nullptr, Misses misses = {})
        : g_(g), rule_(rule), found_(found), looked_at_(looked_at), term_(g, rule, looked_at, misses) {}

    void run(node_id anchor) {
        term_.each_order([&] {
            term_.bindings().rewind({});
            match_root(0, anchor);
        });
    }
    /// The same for two terms of the sum at the anchor, of which one stands deeper.
    void run(node_id anchor, sum_terms const& sum, std::size_t first, std::size_t second) {
        term_.set_terms(std::array{sum[first].value, sum[second].value});
        term_.each_order([&] {
            auto& m = term_.bindings();
            m.rewind({});
            for (auto const term : {first, second})
                for (auto i = term; sum[i].above != sum_terms::none; i = sum[i].above) {
                    m.cover(sum[sum[i].above].value.node);
                    m.add_addend(sum[i].beside);
                }
            match_root(0, anchor);
        });
        term_.set_terms(std::nullopt);
    }

private:
    void match_root(std::size_t root, node_id candidate) {
        auto& m = term_.bindings();
        auto const mark = m.position();
        if (term_.match_root(rule_.roots[root], candidate)) next_root(root + 1);
        m.rewind(mark);
    }

    void next_root(std::size_t root) {
        if (root == rule_.roots.size()) return report();
        // A further root reads a value that is bound already; its candidates are the readers of that value.
        auto const number = rule_.roots[root];
        auto const& n = term_.at(number);
        for (std::size_t i = 0; i < n.links; ++i) {
            auto const& child = term_.at(term_.kid(n, i));
            if (child.kind != node_kind::variable && child.kind != node_kind::some) continue;
            auto const bound = term_.bindings().value(child.name);
            if (!bound.valid()) continue;
            small_vector<node_id, 8> readers;
            auto const read_by = [&](value_id v) {
                term_.note(v.node);
                g_.for_each_use(v, [&](use u) {
                    if ((n.commutative || u.operand == i) &&
                        (term_matcher<Misses>::tells || operators_fit(g_, rule_, number, {u.user, 0}, looked_at_)))
                        readers.push_back(u.user);
                });
            };
            if (child.kind == node_kind::variable)
                read_by(bound);
            else
                for (auto const v : term_.bindings().values(child.name)) read_by(v);
            std::sort(readers.begin(), readers.end());
            auto tried = false;
            for (std::size_t k = 0; k < readers.size(); ++k)
                if (auto const r = readers[k]; (k == 0 || r != readers[k - 1]) && !is_taken(r))
                    match_root(root, r), tried = true;
            if (!tried) term_.miss(mismatch::kind::alone, rule_.roots[root], bound);
            return;
        }
        // Or it reads such a value through others, or is such a value.
        for (auto const v : places(number))
            if (!is_taken(v.node)) match_root(root, v.node);
    }
    // Where a term may match that has something bound in it, in order; nowhere, for one that has not.
    std::vector<value_id> places(std::uint16_t number) {
        auto const& n = term_.at(number);
        if (auto const bound = n.name ? term_.bindings().value(n.name) : value_id{}; bound.valid())
            return {value_id{bound.node, bound.port + n.port}};
        std::vector<node_id> readers;
        for (std::size_t i = 0; readers.empty() && i < n.links; ++i)
            for (auto const v : places(term_.kid(n, i))) {
                term_.note(v.node);
                g_.for_each_use(v, [&](use u) {
                    if ((n.commutative || u.operand == i) && n.port < g_.result_count(u.user))
                        readers.push_back(u.user);
                });
            }
        std::sort(readers.begin(), readers.end());
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        std::vector<value_id> out;
        for (auto const r : readers) out.push_back({r, n.port});
        return out;
    }
    bool is_taken(node_id n) const {
        return any_of(term_.bindings().roots(), [&](value_id v) { return v.node == n; });
    }

    void report() {
        // Swapping operands that are the same finds the same match again.
        for (auto const& known : reported_)
            if (known == term_.bindings()) return;
        if (term_.commutes()) reported_.push_back(term_.bindings());
        found_(term_.bindings());
    }

    any_graph const& g_;
    rule_program const& rule_;
    function_ref<void(match const&)> found_;
    node_signature* looked_at_; // or null
    term_matcher<Misses> term_;
    std::vector<match> reported_;
};

// The sum at the anchor as it stands, then each term of its left side with each of its right side.
GSUB_LAZY void find_in_sum(any_graph const& g, rule_program const& rule, node_id anchor,
                           function_ref<void(match const&)> found, node_signature* looked_at) {
    auto const& root = rule.match_nodes[rule.roots[0]];
    auto const left = is_inner_sum(g, anchor, g.operand(anchor, 0), looked_at),
               right = is_inner_sum(g, anchor, g.operand(anchor, 1), looked_at);
    if (!left && !right) {
        if (operators_fit(g, rule, rule.roots[0], {anchor, 0}, looked_at))
            matcher<>{g, rule, found, looked_at}.run(anchor);
        return;
    }
    sum_terms const sum{g, anchor, looked_at};
    auto const fits = [&](std::size_t term, std::size_t operand) {
        return operators_fit(g, rule, rule.match_links[root.first_link + operand], sum[term].value, looked_at);
    };
    small_vector<std::uint8_t, 8> operands; // which of the pattern's operands a term may be, as bits
    for (std::size_t i = 0; i < sum.size(); ++i)
        operands.push_back(static_cast<std::uint8_t>((fits(i, 0) ? 1 : 0) | (fits(i, 1) ? 2 : 0)));
    std::optional<matcher<>> engine; // one for all, so that it finds no match twice
    for (std::size_t p = 0; p < sum.left(); ++p)
        for (auto q = sum.left(); operands[p] != 0 && q < sum.size(); ++q) {
            auto const in_order = (operands[p] & 1) && (operands[q] & 2);
            auto const swapped = (operands[p] & 2) && (operands[q] & 1);
            if (!in_order && !swapped) continue;
            if (!engine) engine.emplace(g, rule, found, looked_at);
            if (p == 0 && q == sum.left())
                engine->run(anchor);
            else
                engine->run(anchor, sum, p, q);
        }
}

GSUB_LAZY void add_to(hasher& h, std::span<pattern::node const> nodes, std::span<std::uint16_t const> links,
                      std::span<std::uint16_t const> roots) {
    h.add(nodes.size()).add(links.size()).add(roots.size());
    for (auto const& n : nodes)
        h.add(static_cast<std::uint64_t>(n.kind))
            .add(static_cast<std::uint64_t>(n.category))
            .add(n.commutative)
            .add(n.context)
            .add(n.apart)
            .add(static_cast<std::uint64_t>(n.op))
            .add(n.name)
            .add(n.first_link)
            .add(n.links)
            .add(n.results)
            .add(n.port);
    for (auto i : links) h.add(i);
    for (auto i : roots) h.add(i);
}

GSUB_LAZY hash128 hash_of(std::span<rule_program const> rules) {
    hasher h{static_cast<std::uint64_t>(version)};
    for (auto const& r : rules) {
        h.add(r.name).add(static_cast<std::uint64_t>(r.kind)).add(r.data_hash);
        add_to(h, r.match_nodes, r.match_links, r.roots);
        add_to(h, r.build_nodes, r.build_links, r.outputs);
        for (auto const& c : r.where) h.add(c.sentence);
        for (auto const& c : r.prefer) h.add(c.sentence);
    }
    return h.finish();
}

} // namespace detail

GSUB_LAZY_BODY rule_index::rule_index(std::span<rule_program const> rules)
    : rules_(rules), hash_(detail::hash_of(rules)) {
    auto const anchor = [](rule_program const& r) -> pattern::node const& {
        auto const& root = r.match_nodes[r.roots[0]];
        return root.kind == pattern::node_kind::every_part ? r.match_nodes[r.match_links[root.first_link]] : root;
    };
    for (auto const& r : rules)
        if (anchor(r).kind == pattern::node_kind::operation) by_op_[anchor(r).op];
    for (auto const& r : rules) {
        if (anchor(r).kind == pattern::node_kind::operation) {
            by_op_[anchor(r).op].push_back(&r);
        } else {
            by_category_.push_back(&r);
            for (auto& [op, list] : by_op_) list.push_back(&r);
        }
    }
}

GSUB_LAZY_BODY std::span<rule_program const* const> rule_index::anchored_at(op_info const& op) const {
    auto const found = by_op_.find(op.id);
    return as_span(found == by_op_.end() ? by_category_ : found->second);
}

GSUB_LAZY_BODY void find_pattern_at(any_graph const& g, rule_program const& rule, node_id anchor,
                                    function_ref<void(match const&)> found, node_signature* looked_at) {
    if (looked_at) looked_at->add(anchor);
    if (g.constant(anchor) || g.result_count(anchor) == 0) return;
    auto const root = rule.roots[0];
    if (!rule.match_nodes[root].apart) {
        if (detail::operators_fit(g, rule, root, {anchor, 0}, looked_at) &&
            detail::has_company(g, rule, anchor, looked_at))
            detail::matcher<>{g, rule, found, looked_at}.run(anchor);
    } else if (g.op(anchor).id == rule.match_nodes[root].op) {
        detail::find_in_sum(g, rule, anchor, found, looked_at);
    }
}

GSUB_LAZY_BODY std::optional<mismatch> nearest_miss(any_graph const& g, rule_program const& rule, node_id anchor) {
    std::optional<mismatch> deepest;
    auto const root = rule.roots[0];
    if (g.constant(anchor) || g.result_count(anchor) == 0)
        return mismatch{mismatch::kind::constant, root, {anchor, 0}, {}, {}, 0, 0};
    auto matched = false;
    auto const found = [&](match const&) { matched = true; };
    detail::matcher<detail::deepest_miss>{g, rule, found, nullptr, {&deepest}}.run(anchor);
    if (matched) return std::nullopt;
    return deepest;
}

GSUB_LAZY_BODY rule_condition const* first_failure(match const& m) {
    for (auto const* list : {&m.rule().where, &m.rule().prefer})
        for (auto const& c : *list)
            if (!c.holds(m)) return &c;
    return nullptr;
}

GSUB_LAZY_BODY void find_matches_at(any_graph const& g, rule_program const& rule, node_id anchor,
                                    function_ref<void(match const&)> found) {
    find_pattern_at(g, rule, anchor, [&](match const& m) {
        if (!first_failure(m)) found(m);
    });
}

GSUB_LAZY_BODY void find_matches(any_graph const& g, rule_index const& rules, function_ref<void(match const&)> found) {
    for (auto n : g.order()) {
        if (n == g.return_node() || g.constant(n)) continue;
        for (auto const* rule : rules.anchored_at(g.op(n))) find_matches_at(g, *rule, n, found);
    }
}

} // namespace gsub
