// Rule explainer: tries one rewrite rule in one graph, and puts into words where it fails.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/edit_distance.hpp>
#include <gsub/core/format.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/optimize/impl/substitution.ipp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gsub::detail {

// Throws an error that tells the nearest of the names known.
GSUB_LAZY [[noreturn]] void throw_unknown(std::string_view what, std::string_view name,
                                          std::vector<std::string> const& known, std::string_view where) {
    std::vector<std::pair<std::size_t, std::string_view>> near;
    for (auto const& k : known) near.emplace_back(edit_distance(name, k), k);
    std::stable_sort(near.begin(), near.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    std::string hint;
    for (auto const& [distance, k] : near) {
        if (hint.size() > 200 || distance > std::max<std::size_t>(3, name.size() / 2)) break;
        if (hint.find(in_quotes(k)) == std::string::npos)
            hint += format_text("{}{}", hint.empty() ? "" : ", ", quoted{k});
        if (static_cast<std::size_t>(std::count(hint.begin(), hint.end(), ',')) >= 2) break;
    }
    throw error{problem{what == "rule" ? errors::unknown_rule : error_id{error_code::usage},
                        {},
                        {},
                        format_text("there is no {} {}", what, quoted{name}),
                        hint.empty() ? std::string{where} : hint}};
}

// Nodes that a name stands for: that of a source node, of a result, or the one that reports use.
GSUB_LAZY std::vector<node_id> nodes_named(any_graph const& g, std::string_view name, std::vector<std::string>* known) {
    std::vector<node_id> out;
    for (auto n : g.order()) {
        if (n == g.return_node() || g.is<ops::constant>(n)) continue;
        auto names = g.sources(n);
        names.push_back(g.display_name(n));
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) names.emplace_back(g.name({n, port}));
        if (contains(names, name)) out.push_back(n);
        if (known) append(*known, names);
    }
    return out;
}
// The same in a graph as searches take it, and nothing where canonicalization has taken the node away. Throws where the
// graph as given lacks it too.
GSUB_LAZY std::vector<node_id> nodes_named(any_graph const& start, any_graph const& given, std::string_view name) {
    std::vector<std::string> known;
    auto named = nodes_named(start, name, nullptr);
    if (named.empty() && nodes_named(given, name, &known).empty())
        throw_unknown("node", name, known, "gsub inspect --text lists the nodes");
    return named;
}
// A graph as searches take it: in canonical form and canonical order.
GSUB_LAZY any_graph search_start(any_graph const& g, canonicalization_count& count) {
    auto start = g;
    start.order_canonically();
    count = canonicalize(start);
    start.order_canonically();
    start.compact();
    return start;
}

/// Puts mismatches of one rule into words.
template <class = void>
class miss_words {
public:
    miss_words(any_graph const& g, rule_program const& rule) : g_(g), rule_(rule) {}

    // What a node of the pattern stands for: `Conv`, `an elementwise operator of 2 operands`, `a value`.
    std::string wanted(std::uint16_t number) const {
        auto const& n = rule_.match_nodes[number];
        switch (n.kind) {
        case pattern::node_kind::operation: {
            auto const row = find_row(g_.operators().ops, n.op);
            return row ? std::string{g_.operators().ops[*row].name} : "an operator that the graph has not";
        }
        case pattern::node_kind::category:
            return format_text("an operator of kind {} with {} operands", to_string(n.category), n.links);
        case pattern::node_kind::every_part:
            return wanted(rule_.match_links[n.first_link]);
        default:
            return "a value";
        }
    }
    std::string op(value_id v) const {
        return !v.valid()                  ? "nothing"
               : g_.is<ops::input>(v.node) ? "an input"
               : g_.constant(v)            ? "a weight"
                                           : std::string{g_.op(v.node).name};
    }
    std::string named(node_id n) const { return format_text("{} {}", g_.op(n).name, quoted{g_.display_name(n)}); }
    std::string named(value_id v) const {
        if (!v.valid()) return "nothing";
        return g_.is<ops::input>(v.node) ? format_text("the input {}", quoted{g_.name(v)})
               : g_.constant(v)          ? "a weight"
                                         : named(v.node);
    }
    std::string place(mismatch const& m) const {
        return m.user.valid() ? format_text("operand {} of {}", m.operand, named(m.user)) : "the node";
    }
    void describe(mismatch const& m, rule_place& out) const {
        auto const w = wanted(m.wanted);
        out.depth = m.depth;
        switch (m.what) {
        case mismatch::kind::operation:
            out.reason = format_text("{} is {}, the pattern wants {}", place(m), named(m.found), w);
            out.kind = format_text("found {} where the pattern wants {}", op(m.found), w);
            return;
        case mismatch::kind::constant:
            out.reason = format_text("{} is made of weights alone, the pattern wants {} of data", place(m), w);
            out.kind = format_text("found weight arithmetic where the pattern wants {} of data", w);
            return;
        case mismatch::kind::absent:
            out.reason = format_text("{} is left out, the pattern wants {}", place(m), w);
            out.kind = format_text("an operand is left out where the pattern wants {}", w);
            return;
        case mismatch::kind::surplus:
            out.reason = format_text("{} has {} operands, in the pattern it has {}", named(m.found.node),
                                     g_.operand_count(m.found.node), rule_.match_nodes[m.wanted].links);
            out.kind = format_text("{} has more operands than in the pattern", w);
            return;
        case mismatch::kind::port:
            out.reason = format_text("{} is result {} of {}, the pattern wants the first", place(m), m.found.port,
                                     named(m.found.node));
            out.kind = format_text("another result of {} than the first", w);
            return;
        case mismatch::kind::rebound:
            out.reason =
                format_text("{} is {}, the pattern wants {} there once more", place(m), named(m.found), named(m.other));
            out.kind = "two operands differ that are the same in the pattern";
            return;
        case mismatch::kind::parts:
            out.reason = format_text("the operands of {} are not all parts of one {}, each once", named(m.user), w);
            out.kind = format_text("operands that are not all parts of one {}", w);
            return;
        case mismatch::kind::reader:
            out.reason =
                format_text("result {} of {} is not read by just one {}", m.found.port, named(m.found.node), w);
            out.kind = format_text("a part that is not read by just one {}", w);
            return;
        case mismatch::kind::alone:
            out.reason = format_text("beside the node no other {} reads {} as the pattern wants", w, named(m.found));
            out.kind = format_text("no other {} reads the same value", w);
            return;
        }
    }

private:
    any_graph const& g_;
    rule_program const& rule_;
};

/// Tries one rule at the nodes of a graph: every place with its outcome, and the rewrites that can be made.
template <class = void>
class rule_explainer {
public:
    /// Hears of a rewrite that can be made, with the graph in which it is made, its changes in its journal.
    using made_listener = std::function<void(match const&, any_graph const&, rule_place&)>;

    rule_explainer(any_graph const& g, cost::any_cost const& model, rule_program const& rule,
                   std::size_t max_matches_a_node, made_listener on_made = {})
        : g_(g),
          model_(model),
          rule_(rule),
          max_matches_(max_matches_a_node),
          on_made_(std::move(on_made)),
          words_(g, rule),
          index_(std::span{&rule, 1}) {}

    std::vector<rule_place> places;
    std::size_t anchors = 0;

    void everywhere() {
        for (auto n : g_.order())
            if (is_anchor(n)) at_anchor(n, {});
    }
    // Wherever the node stands in the pattern.
    void around(node_id n) {
        if (is_anchor(n)) at_anchor(n, {});
        std::vector<node_id> reached;
        rule_place miss;
        for (std::uint16_t number = 0; number < rule_.match_nodes.size(); ++number)
            if (fits(number, n)) climb(number, n, reached, miss);
        for (auto a : reached)
            if (a != n) at_anchor(a, n);
        if (!places.empty()) return;
        if (miss.reason.empty()) {
            miss.reason = format_text("no part of the pattern is {}; the rule looks at {}", words_.named(n),
                                      words_.wanted(rule_.roots[0]));
            miss.kind = format_text("no part of the pattern is {}", words_.op({n, 0}));
        }
        miss.site = g_.display_name(n);
        places.push_back(std::move(miss));
    }

private:
    bool is_anchor(node_id n) const {
        return n != g_.return_node() && !g_.constant(n) && !index_.anchored_at(g_.op(n)).empty() &&
               fits(anchor_number(), n);
    }
    std::uint16_t anchor_number() const {
        auto const& root = rule_.match_nodes[rule_.roots[0]];
        return root.kind == pattern::node_kind::every_part ? rule_.match_links[root.first_link] : rule_.roots[0];
    }
    // Whether a node is of the operator that a node of the pattern wants.
    bool fits(std::uint16_t number, node_id n) const {
        auto const& p = rule_.match_nodes[number];
        if (p.kind == pattern::node_kind::operation) return g_.op(n).id == p.op;
        return p.kind == pattern::node_kind::category && g_.op(n).category == p.category;
    }
    // Nodes of the pattern that have this one for an operand; terms that stand for several operands are passed over.
    std::vector<std::uint16_t> readers_in_pattern(std::uint16_t number) const {
        std::vector<std::uint16_t> out;
        for (std::uint16_t i = 0; i < rule_.match_nodes.size(); ++i) {
            auto const& p = rule_.match_nodes[i];
            for (std::size_t k = 0; k < p.links; ++k) {
                if (rule_.match_links[p.first_link + k] != number) continue;
                if (p.kind == pattern::node_kind::operation || p.kind == pattern::node_kind::category)
                    out.push_back(i);
                else if (p.kind == pattern::node_kind::each || p.kind == pattern::node_kind::all_parts)
                    append(out, readers_in_pattern(i));
            }
        }
        return out;
    }
    // From a node to the anchors of which it may be a part. Patterns are small: the depth is that of the pattern.
    void climb(std::uint16_t number, node_id n, std::vector<node_id>& reached, rule_place& miss,
               std::size_t depth = 1) {
        if (number == anchor_number() && !contains(reached, n)) reached.push_back(n);
        if (number == anchor_number() && rule_.match_nodes[number].apart) climb_sum(n, reached);
        for (auto const parent : readers_in_pattern(number)) {
            auto readers = 0;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                g_.for_each_use({n, port}, [&](use u) {
                    if (++readers > 64) return;
                    if (u.user != g_.return_node() && fits(parent, u.user))
                        return climb(parent, u.user, reached, miss, depth + 1);
                    if (depth <= miss.depth) return;
                    auto const output = u.user == g_.return_node();
                    auto const w = words_.wanted(parent);
                    miss.depth = depth;
                    miss.reason = format_text("the reader of {} is {}, the pattern wants {}", words_.named(n),
                                              output ? "the graph's output" : words_.named(u.user), w);
                    miss.kind = format_text("read by {} where the pattern wants {}",
                                            output ? "the graph's output" : words_.op({u.user, 0}), w);
                });
        }
    }

    // From a sum to those that it is a term of.
    void climb_sum(node_id n, std::vector<node_id>& reached) const {
        auto const is_term = [&] {
            auto term = false;
            g_.for_each_use({n, 0}, [&](use u) {
                if (u.user != g_.return_node() && g_.row(u.user) == g_.row(n)) n = u.user, term = true;
            });
            return term;
        };
        while (g_.use_count({n, 0}) == 1 && is_term())
            if (!contains(reached, n)) reached.push_back(n);
    }

    // All matches at an anchor, or those alone that a node takes part in.
    void at_anchor(node_id anchor, node_id with) {
        ++anchors;
        std::size_t matches = 0, told = 0;
        find_pattern_at(g_, rule_, anchor, [&](match const& m) {
            ++matches;
            if (told >= max_matches_ || (with.valid() && !takes_part(m, with))) return;
            ++told;
            places.push_back(of_match(m));
        });
        if (told > 0) return;
        rule_place p;
        p.site = g_.display_name(anchor);
        if (matches > 0) {
            p.reason = format_text("the pattern matches at {}, without {}", words_.named(anchor), words_.named(with));
            p.kind = "the pattern matches with other nodes";
        } else if (auto const miss = nearest_miss(g_, rule_, anchor)) {
            words_.describe(*miss, p);
        }
        places.push_back(std::move(p));
    }
    bool takes_part(match const& m, node_id n) const {
        return contains(m.covered(), n) || any_of(m.roots(), [&](value_id v) { return v.node == n; });
    }

    rule_place of_match(match const& m) {
        rule_place p;
        p.site = g_.display_name(m.site());
        for (auto const& c : rule_.where)
            if (!c.holds(m)) {
                fail(p, rule_outcome::condition_fails, format_text("where: {}", c.sentence), c.sentence);
                return p;
            }
        auto const made = attempt(m, p);
        auto const failed = std::ranges::find_if(rule_.prefer, [&](rule_condition const& c) { return !c.holds(m); });
        if (failed != rule_.prefer.end())
            fail(p, rule_outcome::hint_fails, format_text("prefer: {}", failed->sentence), failed->sentence);
        if (made && on_made_) on_made_(m, *made, p);
        return p;
    }
    static void fail(rule_place& p, rule_outcome o, std::string reason, std::string_view kind) {
        p.outcome = o;
        p.reason = std::move(reason);
        p.kind = kind;
    }
    // Makes the rewrite as the search does: `applies` with its cost, or `refused` with the reason, and no graph.
    std::optional<any_graph> attempt(match const& m, rule_place& p) {
        auto const refused = [&](std::string const& reason, std::string_view kind) {
            fail(p, rule_outcome::refused, reason, kind);
            return std::nullopt;
        };
        auto const patch = prepare(m);
        if (patch.failed()) return refused(patch.reason(), patch.reason());
        auto made = g_;
        made.start_journal();
        if (auto const done = patch.apply_to(made, shared_interior::refuse); !done) {
            if (auto const reader = outside_reader(m); !reader.empty())
                return refused(reader, "a node inside of the match is read from outside");
            auto const& reason = done.error().problems()[0].reason;
            return refused(reason, reason);
        }
        canonicalize_changes(made);
        p.outcome = rule_outcome::applies;
        p.cost_after = checked_cost(model_.of_graph(made), made, {}, model_.unit);
        return made;
    }
    // A reader of what the match covers that is no part of it, in words; empty where there is none.
    std::string outside_reader(match const& m) const {
        std::string out;
        for (auto n : m.covered())
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                if (contains(m.roots(), value_id{n, port})) continue;
                g_.for_each_use({n, port}, [&](use u) {
                    if (!out.empty() || contains(m.covered(), u.user)) return;
                    out = format_text("{} inside of the match is read by {} too", words_.named(n),
                                      u.user == g_.return_node() ? "the graph's output" : words_.named(u.user));
                });
            }
        return out;
    }

    any_graph const& g_;
    cost::any_cost const& model_;
    rule_program const& rule_;
    std::size_t max_matches_;
    made_listener on_made_;
    miss_words<> words_;
    rule_index index_;
};

} // namespace gsub::detail
