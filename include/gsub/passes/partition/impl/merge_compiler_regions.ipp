#pragma once

#include <gsub/passes/partition/impl/outline.ipp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>

#include <algorithm>
#include <map>
#include <numeric>

namespace gsub::passes {

namespace detail {

// The value that a value stands for.
GSUB_LAZY value_id behind_marks(any_graph const& g, value_id v) {
    while (v.valid() && g.is<ops::compiler_annotation>(v.node)) v = g.operand(v.node, 0);
    return v;
}

GSUB_LAZY attributes_of<ops::compiler_annotation> const& what_mark_says(any_graph const& g, node_id mark) {
    return g.attributes<ops::compiler_annotation>(mark);
}

// A directed graph of operators joined into units.
class unit_graph {
public:
    explicit unit_graph(any_graph const& g) : g_(g), unit_(g.capacity()) {
        std::iota(unit_.begin(), unit_.end(), 0u);
        for (auto n : g.order())
            if (!g.is<ops::compiler_annotation>(n)) nodes_.push_back(n);
    }

    [[nodiscard]] std::uint32_t unit(node_id n) { return find(n.index); }
    // Makes each operator a unit of its own again.
    void separate(node_id n) { unit_[n.index] = n.index; }
    void join(node_id a, node_id b) {
        auto const x = find(a.index), y = find(b.index);
        if (x != y) unit_[std::max(x, y)] = std::min(x, y);
    }
    [[nodiscard]] std::vector<node_id> const& nodes() const noexcept { return nodes_; }

    // Calls `f(from, to)` for each edge between operators, marks left aside.
    template <class F>
    void for_each_edge_into(node_id n, F&& f) const {
        for (std::size_t i = 0; i < g_.operand_count(n); ++i) {
            auto v = g_.operand(n, i);
            while (v.valid() && g_.is<ops::compiler_annotation>(v.node)) v = g_.operand(v.node, 0);
            if (v.valid()) f(v.node);
        }
    }

    // Units in an order in which none comes before what it reads; those in circles and behind them are left out.
    // `members` gives the operators of each unit, by unit.
    [[nodiscard]] std::vector<std::uint32_t> sorted(std::vector<std::vector<node_id>>& members,
                                                    bool backwards = false) {
        members.assign(unit_.size(), {});
        std::vector<std::vector<std::uint32_t>> next(unit_.size());
        std::vector<std::uint32_t> missing(unit_.size(), 0);
        for (auto n : nodes_) {
            auto const to = find(n.index);
            members[to].push_back(n);
            for_each_edge_into(n, [&](node_id p) {
                auto const from = find(p.index);
                if (from == to) return;
                next[backwards ? to : from].push_back(backwards ? from : to);
                ++missing[backwards ? from : to];
            });
        }
        std::vector<std::uint32_t> order;
        for (auto n : nodes_)
            if (auto const u = find(n.index); missing[u] == 0 && members[u].front() == n) order.push_back(u);
        for (std::size_t at = 0; at < order.size(); ++at)
            for (auto to : next[order[at]])
                if (--missing[to] == 0) order.push_back(to);
        return order;
    }

private:
    std::uint32_t find(std::uint32_t u) {
        while (unit_[u] != u) u = unit_[u] = unit_[unit_[u]];
        return u;
    }
    any_graph const& g_;
    std::vector<std::uint32_t> unit_;
    std::vector<node_id> nodes_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> merge_compiler_regions::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    std::vector<std::uint32_t> colour(g.capacity(), 0); // 0: not marked
    std::map<std::string, std::uint32_t> colours;       // in the order of names
    std::vector<std::pair<node_id, std::string const*>> said;
    for (auto n : g.order()) {
        if (!g.is<ops::compiler_annotation>(n)) continue;
        auto const of = detail::behind_marks(g, {n, 0}).node;
        if (g.constant(of) || g.is<ops::input>(of)) {
            outcome.skip("a mark of no operator");
            continue;
        }
        auto const& compiler = detail::what_mark_says(g, n).compiler;
        if (compiler == "default") continue; // not compiled elsewhere
        colours.try_emplace(compiler, 0u);
        said.emplace_back(of, &compiler);
    }
    std::uint32_t number = 0;
    for (auto& entry : colours) entry.second = ++number;
    for (auto const& [n, compiler] : said)
        if (colour[n.index] == 0) colour[n.index] = colours.at(*compiler);
    if (colours.empty()) return outcome;

    detail::unit_graph units{g};
    std::vector<std::vector<node_id>> members;
    // How often a path to a unit leaves operators of this colour at most. Operators that feed each other and have the
    // same figure are one part: a path that leaves them raises it.
    std::vector<std::uint32_t> left(g.capacity());
    for (auto const& entry : colours) {
        cx.check_stop();
        auto const c = entry.second;
        std::fill(left.begin(), left.end(), 0u);
        std::vector<std::pair<node_id, node_id>> joined;
        for (auto const u : units.sorted(members)) {
            auto const own = colour[members[u].front().index] == c;
            for (auto n : members[u])
                units.for_each_edge_into(n, [&](node_id p) {
                    auto const from = units.unit(p);
                    if (from == u) return;
                    auto const leaves = !own && colour[p.index] == c;
                    left[u] = std::max(left[u], left[from] + (leaves ? 1u : 0u));
                });
        }
        for (auto n : units.nodes())
            if (colour[n.index] == c)
                units.for_each_edge_into(n, [&](node_id p) {
                    if (colour[p.index] == c && left[n.index] == left[p.index]) joined.emplace_back(p, n);
                });
        for (auto const& [a, b] : joined) units.join(a, b);
    }

    auto canonical = g;
    canonical.order_canonically();
    static_cast<void>(units.sorted(members));
    std::map<std::uint32_t, std::int64_t> numbers; // of units
    for (auto n : canonical.order())
        if (colour[n.index] != 0 && members[units.unit(n)].size() > 1)
            numbers.try_emplace(units.unit(n), static_cast<std::int64_t>(numbers.size()));
    auto merged = detail::rebuilt(g, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
        if (g.is<ops::compiler_annotation>(n)) {
            auto const of = detail::behind_marks(g, {n, 0}).node;
            auto says = detail::what_mark_says(g, n);
            if (colour[of.index] != 0) {
                auto const found = numbers.find(units.unit(of));
                auto const region = found == numbers.end() ? std::int64_t{-1} : found->second;
                if (region != says.region) {
                    says.region = region;
                    outcome.changed = true;
                    ++outcome.matches;
                    type_id const type = g.type_of({n, 0});
                    auto const mark =
                        out.append_node(g.row(n), intern<ops::compiler_annotation>(says), 0, operands, {&type, 1});
                    out.set_sources(mark, g.sources(n));
                    if (auto const given = g.name({n, 0}); !given.empty()) out.set_name({mark, 0}, given);
                    map.set(g, n, mark);
                    return;
                }
            }
        }
        map.set(g, n, clone_node(out, g, n, operands));
    });
    if (outcome.changed) g = std::move(merged);
    return outcome;
}

} // namespace gsub::passes
