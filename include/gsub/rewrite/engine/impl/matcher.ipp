#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

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

// Whether a term is a sum that is taken apart.
GSUB_LAZY bool is_inner_sum(any_graph const& g, node_id whole, value_id v, node_signature* looked_at) {
    if (g.row(v.node) != g.row(whole) || g.constant(v.node)) return false;
    if (looked_at) looked_at->add(v.node);
    return g.use_count(v) == 1 && g.type(v).is_static() && g.type(v) == g.type({whole, 0});
}

/// The terms on both sides of a sum, and how deep they stand. A term that is a sum is taken apart where it has the type
/// of the whole and no other reader.
class sum_terms {
public:
    static constexpr std::size_t none = ~std::size_t{0};
    struct term {
        value_id value;
        value_id beside;          // what it is added to, unless that is the other side
        std::size_t above = none; // the sum that it is a term of, unless that is the whole
    };

    sum_terms(any_graph const& g, node_id whole, node_signature* looked_at) {
        for (std::uint32_t side = 0; side < 2; ++side) {
            terms_.push_back({g.operand(whole, side), {}, none});
            for (auto i = terms_.size() - 1; i < terms_.size(); ++i) {
                auto const v = terms_[i].value;
                if (!is_inner_sum(g, whole, v, looked_at)) continue;
                auto const first = g.operand(v.node, 0), second = g.operand(v.node, 1);
                terms_.push_back({first, second, i});
                terms_.push_back({second, first, i});
            }
            if (side == 0) left_ = terms_.size();
        }
    }
    term const& operator[](std::size_t i) const { return terms_[i]; }
    [[nodiscard]] std::size_t size() const { return terms_.size(); }
    /// Number of terms on the left side, which come first.
    [[nodiscard]] std::size_t left() const { return left_; }

private:
    small_vector<term, 8> terms_;
    std::size_t left_ = 0;
};

/// Matches one rule at one anchor. `Misses` is told where the pattern fails.
template <class Misses = no_misses>
class matcher {
public:
    matcher(any_graph const& g, rule_program const& rule, function_ref<void(match const&)> found,
            node_signature* looked_at = nullptr, Misses misses = {})
        : g_(g), rule_(rule), found_(found), looked_at_(looked_at), misses_(misses), m_(g, rule) {
        for (auto const& n : rule.match_nodes) commutative_ += n.commutative;
    }

    void run(node_id anchor) {
        // Each bit says whether one commutative operator's operands are swapped.
        for (swaps_ = 0; swaps_ < 1u << commutative_; ++swaps_) {
            m_.rewind({});
            match_root(0, anchor);
        }
    }
    /// The same for two terms of the sum at the anchor, of which one stands deeper.
    void run(node_id anchor, sum_terms const& sum, std::size_t first, std::size_t second) {
        terms_ = {sum[first].value, sum[second].value};
        for (swaps_ = 0; swaps_ < 1u << commutative_; ++swaps_) {
            m_.rewind({});
            for (auto const term : {first, second}) {
                for (auto i = term; sum[i].above != sum_terms::none; i = sum[i].above) {
                    m_.cover(sum[sum[i].above].value.node);
                    m_.add_addend(sum[i].beside);
                }
            }
            match_root(0, anchor);
        }
        terms_.reset();
    }

private:
    static constexpr bool tells = !std::is_same_v<Misses, no_misses>;
    pattern::node const& at(std::uint16_t number) const { return rule_.match_nodes[number]; }
    std::uint16_t kid(pattern::node const& n, std::size_t i) const { return rule_.match_links[n.first_link + i]; }

    // A node whose operands or readers decide what matches.
    void note(node_id n) {
        if (looked_at_) looked_at_->add(n);
    }

    // Whose operand is matched next.
    void look_at(node_id user, std::uint32_t operand) {
        if constexpr (tells) user_ = user, operand_ = operand;
    }
    // False, having told of the mismatch.
    bool miss(mismatch::kind what, std::uint16_t wanted, value_id found, value_id other = {}) {
        misses_([&] {
            auto const at = m_.position();
            return mismatch{what, wanted, found, other, user_, operand_, at.bindings + at.covered};
        });
        return false;
    }

    void match_root(std::size_t root, node_id candidate) {
        auto const mark = m_.position();
        auto const number = rule_.roots[root];
        auto const& n = at(number);
        context_ = n.context;
        look_at({}, 0);
        bool good;
        if (n.kind == node_kind::every_part) {
            good = match_parts(n, candidate);
        } else {
            for (std::uint32_t port = 0; !n.context && port < g_.result_count(candidate); ++port)
                m_.add_root({candidate, port});
            good = match_value(number, {candidate, 0}, 0);
        }
        context_ = false;
        if (good) next_root(root + 1);
        m_.rewind(mark);
    }

    void next_root(std::size_t root) {
        if (root == rule_.roots.size()) return report();
        // A further root reads a value that is bound already; its candidates are the readers of that value.
        auto const number = rule_.roots[root];
        auto const& n = at(number);
        for (std::size_t i = 0; i < n.links; ++i) {
            auto const& child = at(kid(n, i));
            if (child.kind != node_kind::variable && child.kind != node_kind::some) continue;
            auto const bound = m_.value(child.name);
            if (!bound.valid()) continue;
            small_vector<node_id, 8> readers;
            auto const read_by = [&](value_id v) {
                note(v.node);
                g_.for_each_use(v, [&](use u) {
                    if ((n.commutative || u.operand == i) &&
                        (tells || operators_fit(g_, rule_, number, {u.user, 0}, looked_at_)))
                        readers.push_back(u.user);
                });
            };
            if (child.kind == node_kind::variable)
                read_by(bound);
            else
                for (auto const v : m_.values(child.name)) read_by(v);
            std::sort(readers.begin(), readers.end());
            auto tried = false;
            for (std::size_t k = 0; k < readers.size(); ++k)
                if (auto const r = readers[k]; (k == 0 || r != readers[k - 1]) && !is_taken(r))
                    match_root(root, r), tried = true;
            if (!tried) miss(mismatch::kind::alone, rule_.roots[root], bound);
            return;
        }
        // Or it reads such a value through others, or is such a value.
        for (auto const v : places(number))
            if (!is_taken(v.node)) match_root(root, v.node);
    }
    // Where a term may match that has something bound in it, in order; nowhere, for one that has not.
    std::vector<value_id> places(std::uint16_t number) {
        auto const& n = at(number);
        if (auto const bound = n.name ? m_.value(n.name) : value_id{}; bound.valid())
            return {value_id{bound.node, bound.port + n.port}};
        std::vector<node_id> readers;
        for (std::size_t i = 0; readers.empty() && i < n.links; ++i)
            for (auto const v : places(kid(n, i))) {
                note(v.node);
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
        return any_of(m_.roots(), [&](value_id v) { return v.node == n; });
    }

    // A split, and for each of its parts the one reader.
    bool match_parts(pattern::node const& n, node_id split) {
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
        if (n.links == 1 && at(kid(n, 0)).kind == node_kind::each) {
            auto const inner = kid(at(kid(n, 0)), 0);
            for (std::uint32_t i = 0; i < count; ++i) {
                look_at(v.node, i);
                if (!match_in_some_order(inner, g_.operand(v.node, i), i)) return false;
            }
            return true;
        }
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

    void report() {
        // Swapping operands that are the same finds the same match again.
        for (auto const& known : reported_)
            if (known == m_) return;
        if (commutative_ > 0) reported_.push_back(m_);
        found_(m_);
    }

    any_graph const& g_;
    rule_program const& rule_;
    function_ref<void(match const&)> found_;
    node_signature* looked_at_; // or null
    [[no_unique_address]] Misses misses_;
    match m_;
    unsigned commutative_ = 0, swaps_ = 0, flips_ = 0;
    value_id part_;
    std::optional<std::array<value_id, 2>> terms_; // in place of the anchor's operands
    node_id user_;                                 // whose operand is matched, for the report of a mismatch
    std::uint32_t operand_ = 0;                    // which
    bool context_ = false;
    std::vector<match> reported_;
};

} // namespace detail

namespace detail {

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
