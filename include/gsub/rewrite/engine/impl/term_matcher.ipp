// Term matcher: matches one term of a pattern against a value of a graph.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace gsub::detail {

using pattern::node_kind;

/// Hears of no mismatch, for free.
struct no_misses {
    template <class Describe>
    void operator()(Describe&&) const noexcept {}
};

/// Keeps the deepest mismatch.
struct deepest_miss {
    std::optional<mismatch>* deepest;
    template <class Describe>
    void operator()(Describe&& describe) const {
        mismatch const m = describe();
        if (!*deepest || m.depth > (*deepest)->depth) *deepest = m;
    }
};

/// Term matcher: matches a term of a pattern against a value, and binds what it meets. `Misses` is told where the
/// pattern fails.
template <class Misses>
class term_matcher {
public:
    static constexpr bool tells = !std::is_same_v<Misses, no_misses>;

    term_matcher(any_graph const& g, rule_program const& rule, node_signature* looked_at, Misses misses)
        : g_(g), rule_(rule), looked_at_(looked_at), misses_(misses), m_(g, rule) {
        for (auto const& n : rule.match_nodes) commutative_ += n.commutative;
    }

    [[nodiscard]] pattern::node const& at(std::uint16_t number) const { return rule_.match_nodes[number]; }
    [[nodiscard]] std::uint16_t kid(pattern::node const& n, std::size_t i) const {
        return rule_.match_links[n.first_link + i];
    }
    /// What has been bound and covered so far.
    [[nodiscard]] match& bindings() { return m_; }
    [[nodiscard]] match const& bindings() const { return m_; }
    /// Whether the pattern has commutative operators.
    [[nodiscard]] bool commutes() const { return commutative_ > 0; }

    /// Calls `f` for each order of the operands of commutative operators.
    template <class F>
    void each_order(F const& f) {
        // Each bit says whether one commutative operator's operands are swapped.
        for (swaps_ = 0; swaps_ < 1u << commutative_; ++swaps_) f();
    }
    /// Two values stand in place of the anchor's operands; none: they stand for themselves.
    void set_terms(std::optional<std::array<value_id, 2>> terms) { terms_ = terms; }

    /// Matches a root; its other results are roots too, unless it is part of the context.
    bool match_root(std::uint16_t number, node_id candidate) {
        auto const& n = at(number);
        context_ = n.context;
        look_at({}, 0);
        auto const good = n.kind == node_kind::every_part ? match_parts(n, candidate) : match_whole(number, candidate);
        context_ = false;
        return good;
    }

    /// A node whose operands or readers decide what matches.
    void note(node_id n) {
        if (looked_at_) looked_at_->add(n);
    }
    /// False, having told of the mismatch.
    bool miss(mismatch::kind what, std::uint16_t wanted, value_id found, value_id other = {}) {
        misses_([&] {
            auto const at = m_.position();
            return mismatch{what, wanted, found, other, user_, operand_, at.bindings + at.covered};
        });
        return false;
    }

private:
    // Whose operand is matched next.
    void look_at(node_id user, std::uint32_t operand) {
        if constexpr (tells) user_ = user, operand_ = operand;
    }

    bool match_whole(std::uint16_t number, node_id candidate) {
        for (std::uint32_t port = 0; !at(number).context && port < g_.result_count(candidate); ++port)
            m_.add_root({candidate, port});
        return match_value(number, {candidate, 0}, 0);
    }

    // Of n operands or parts that match one term, each is sought among the bindings of all: n^2 steps. Of more there is
    // no match.
    static constexpr std::size_t most_of_a_list = 4096;

    // A split, and for each of its parts the one reader.
    bool match_parts(pattern::node const& n, node_id split) {
        if (g_.result_count(split) > most_of_a_list) return miss(mismatch::kind::surplus, kid(n, 0), {split, 0});
        if (!match_value(kid(n, 0), {split, 0}, 0)) return false;
        for (std::uint32_t port = 0; port < g_.result_count(split); ++port) {
            part_ = {split, port};
            if (g_.use_count(part_) != 1) return miss(mismatch::kind::reader, kid(n, 1), part_);
            node_id reader;
            g_.for_each_use(part_, [&](use u) { reader = u.user; });
            if (reader == g_.return_node() || g_.result_count(reader) != 1)
                return miss(mismatch::kind::reader, kid(n, 1), part_);
            look_at({}, 0);
            m_.add_root({reader, 0});
            if (!match_in_some_order(kid(n, 1), {reader, 0}, port)) return false;
        }
        return true;
    }

    // One of many that match one term: each may have its commutative operands in another order. The order of the whole
    // match goes first, then the others.
    bool match_in_some_order(std::uint16_t number, value_id v, std::uint32_t index) {
        auto const mark = m_.position();
        auto matched = false;
        for (flips_ = 0; !matched && flips_ < 1u << commutative_; ++flips_) {
            m_.rewind(mark);
            matched = match_value(number, v, index);
        }
        flips_ = 0;
        return matched;
    }

    bool match_value(std::uint16_t number, value_id v, std::uint32_t index) {
        auto const& n = at(number);
        switch (n.kind) {
        case node_kind::variable:
        case node_kind::optional: {
            if (!v.valid()) return n.kind == node_kind::optional || miss(mismatch::kind::absent, number, v);
            if (auto const bound = m_.value(n.name, index); bound.valid())
                return value_id{bound.node, bound.port + n.port} == v ||
                       miss(mismatch::kind::rebound, number, v, bound);
            m_.bind(n.name, v, index);
            return true;
        }
        case node_kind::some:
            return any_of(m_.values(n.name), [&](value_id one) { return one == v; }) ||
                   miss(mismatch::kind::rebound, number, v, m_.value(n.name));
        case node_kind::part:
            return v == part_ || miss(mismatch::kind::rebound, number, v, part_);
        case node_kind::operation:
            if (!v.valid()) return miss(mismatch::kind::absent, number, v);
            note(v.node);
            if (g_.op(v.node).id != n.op) return miss(mismatch::kind::operation, number, v);
            return match_node(number, n, v, index);
        case node_kind::category: {
            if (!v.valid()) return miss(mismatch::kind::absent, number, v);
            note(v.node);
            auto const& op = g_.op(v.node);
            if (g_.operand_count(v.node) != n.links || !op.is_plain(n.category, n.links))
                return miss(mismatch::kind::operation, number, v);
            return match_node(number, n, v, index);
        }
        default:
            return false;
        }
    }

    bool match_node(std::uint16_t number, pattern::node const& n, value_id v, std::uint32_t index) {
        if (g_.constant(v.node)) return miss(mismatch::kind::constant, number, v);
        if (v.port != n.port) return miss(mismatch::kind::port, number, v);
        if (n.name) {
            if (auto const bound = m_.value(n.name, index); bound.valid() && bound.node != v.node)
                return miss(mismatch::kind::rebound, number, v, bound);
            m_.bind(n.name, {v.node, 0}, index);
        }
        if (!context_) m_.cover(v.node);
        auto const count = g_.operand_count(v.node);
        if (n.links == 1 && at(kid(n, 0)).kind == node_kind::all_parts) return match_all_parts(at(kid(n, 0)), v.node);
        if (n.links == 1 && at(kid(n, 0)).kind == node_kind::each) return match_each(at(kid(n, 0)), v.node);
        if (count > n.links) return miss(mismatch::kind::surplus, number, v);
        auto const swapped = n.commutative && ((swaps_ ^ flips_) >> swap_bit(number) & 1u);
        for (std::uint32_t i = 0; i < n.links; ++i) {
            auto const operand = swapped ? 1 - i : i;
            look_at(v.node, operand);
            auto const found = terms_ && number == rule_.roots[0] ? (*terms_)[operand] : g_.operand(v.node, operand);
            if (!match_value(kid(n, i), found, index)) return false;
        }
        return true;
    }

    // Each operand of a node matches one term.
    bool match_each(pattern::node const& n, node_id reader) {
        if (g_.operand_count(reader) > most_of_a_list) return miss(mismatch::kind::surplus, kid(n, 0), {reader, 0});
        for (std::uint32_t i = 0; i < g_.operand_count(reader); ++i) {
            look_at(reader, i);
            if (!match_in_some_order(kid(n, 0), g_.operand(reader, i), i)) return false;
        }
        return true;
    }

    // The node's operands are the parts of one split, each once.
    bool match_all_parts(pattern::node const& n, node_id reader) {
        auto const split = g_.operand(reader, 0).node;
        auto const count = g_.operand_count(reader);
        look_at(reader, 0);
        if (!split.valid() || g_.result_count(split) != count)
            return miss(mismatch::kind::parts, kid(n, 0), g_.operand(reader, 0));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < count; ++i) {
            auto const v = g_.operand(reader, i);
            if (v.node != split || v.port >= 64 || (seen >> v.port & 1u)) {
                look_at(reader, static_cast<std::uint32_t>(i));
                return miss(mismatch::kind::parts, kid(n, 0), v);
            }
            seen |= std::uint64_t{1} << v.port;
        }
        return match_value(kid(n, 0), {split, 0}, 0);
    }

    unsigned swap_bit(std::uint16_t number) const {
        unsigned bit = 0;
        for (std::uint16_t i = 0; i < number; ++i) bit += at(i).commutative;
        return bit;
    }

    any_graph const& g_;
    rule_program const& rule_;
    node_signature* looked_at_; // or null
    [[no_unique_address]] Misses misses_;
    match m_;
    unsigned commutative_ = 0, swaps_ = 0, flips_ = 0;
    value_id part_;
    std::optional<std::array<value_id, 2>> terms_; // in place of the anchor's operands
    node_id user_;                                 // whose operand is matched, for the report of a mismatch
    std::uint32_t operand_ = 0;                    // which
    bool context_ = false;
};

} // namespace gsub::detail
