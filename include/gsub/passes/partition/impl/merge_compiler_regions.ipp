#pragma once

#include <gsub/passes/partition/impl/outline.ipp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Joins the marked operators of a graph to regions, and writes into each mark which one its operator is in.
template <class = void>
class region_merger {
public:
    region_merger(any_graph const& g, pass_context& cx, pass_outcome& outcome)
        : g_(g), cx_(cx), outcome_(outcome), units_(g), colour_(g.capacity(), 0) {}

    // The graph with other marks, if any is another.
    std::optional<any_graph> run() {
        read_marks();
        if (colours_ == 0) return std::nullopt;
        for (std::uint32_t c = 1; c <= colours_; ++c) {
            cx_.check_stop();
            join(c);
        }
        number_regions();
        auto merged = rebuilt(g_, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
            auto const region = g_.is<ops::compiler_annotation>(n) ? new_region(n) : std::nullopt;
            map.set(g_, n, region ? marked(out, n, *region, operands) : clone_node(out, g_, n, operands));
        });
        if (!outcome_.changed) return std::nullopt;
        return merged;
    }

private:
    // A colour for each compiler, in the order of their names; an operator has that of its first mark.
    void read_marks() {
        std::map<std::string, std::uint32_t> colours;
        std::vector<std::pair<node_id, std::string const*>> said;
        for (auto n : g_.order()) {
            if (!g_.is<ops::compiler_annotation>(n)) continue;
            auto const of = behind_marks(g_, {n, 0}).node;
            if (g_.constant(of) || g_.is<ops::input>(of)) {
                outcome_.skip("a mark of no operator");
                continue;
            }
            auto const& compiler = what_mark_says(g_, n).compiler;
            if (compiler == "default") continue; // not compiled elsewhere
            colours.try_emplace(compiler, 0u);
            said.emplace_back(of, &compiler);
        }
        for (auto& entry : colours) entry.second = ++colours_;
        for (auto const& [n, compiler] : said)
            if (colour_[n.index] == 0) colour_[n.index] = colours.at(*compiler);
    }

    [[nodiscard]] bool has(node_id n, std::uint32_t c) const { return colour_[n.index] == c; }

    // Operators that feed each other and that no path which leaves their colour connects are one part.
    void join(std::uint32_t c) {
        auto const left = times_left(c);
        std::vector<std::pair<node_id, node_id>> joined;
        for (auto n : units_.nodes()) {
            if (!has(n, c)) continue;
            units_.for_each_edge_into(n, [&](node_id p) {
                if (has(p, c) && left[n.index] == left[p.index]) joined.emplace_back(p, n);
            });
        }
        for (auto const& [a, b] : joined) units_.join(a, b);
    }
    // How often a path to a unit leaves operators of a colour at most. Those that feed each other and have the same
    // figure are one part: a path that leaves them raises it.
    std::vector<std::uint32_t> times_left(std::uint32_t c) {
        std::vector<std::uint32_t> left(g_.capacity(), 0);
        for (auto const u : units_.sorted(members_)) {
            auto const own = has(members_[u].front(), c);
            auto const pass_on = [&](node_id p) {
                auto const from = units_.unit(p);
                if (from == u) return;
                auto const leaves = !own && has(p, c);
                left[u] = std::max(left[u], left[from] + (leaves ? 1u : 0u));
            };
            for (auto n : members_[u]) units_.for_each_edge_into(n, pass_on);
        }
        return left;
    }

    // Regions of several operators get numbers, which do not depend on the order of nodes.
    void number_regions() {
        auto canonical = g_;
        canonical.order_canonically();
        static_cast<void>(units_.sorted(members_));
        for (auto n : canonical.order())
            if (colour_[n.index] != 0 && members_[units_.unit(n)].size() > 1)
                numbers_.try_emplace(units_.unit(n), static_cast<std::int64_t>(numbers_.size()));
    }

    // The region that a mark is to name, where it names another; -1: none.
    std::optional<std::int64_t> new_region(node_id mark) {
        auto const of = behind_marks(g_, {mark, 0}).node;
        if (colour_[of.index] == 0) return std::nullopt;
        auto const found = numbers_.find(units_.unit(of));
        auto const region = found == numbers_.end() ? std::int64_t{-1} : found->second;
        if (region == what_mark_says(g_, mark).region) return std::nullopt;
        return region;
    }
    template <class Operands>
    node_id marked(any_graph& out, node_id n, std::int64_t region, Operands const& operands) {
        outcome_.changed = true;
        ++outcome_.matches;
        auto says = what_mark_says(g_, n);
        says.region = region;
        type_id const type = g_.type_of({n, 0});
        auto const mark = out.append_node(g_.row(n), intern<ops::compiler_annotation>(says), 0, operands, {&type, 1});
        out.set_sources(mark, g_.sources(n));
        if (auto const given = g_.name({n, 0}); !given.empty()) out.set_name({mark, 0}, given);
        return mark;
    }

    any_graph const& g_;
    pass_context& cx_;
    pass_outcome& outcome_;
    unit_graph units_;
    std::vector<std::uint32_t> colour_; // by node; 0: not marked
    std::uint32_t colours_ = 0;
    std::vector<std::vector<node_id>> members_;     // by unit
    std::map<std::uint32_t, std::int64_t> numbers_; // of units that are regions
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> merge_compiler_regions::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    if (auto merged = detail::region_merger<>{g, cx, outcome}.run()) g = std::move(*merged);
    return outcome;
}

} // namespace gsub::passes
