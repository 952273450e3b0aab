#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/search/max_flow.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

// The layout that each operator gives its results in, so that changes of layout cost little. A change is paid once for
// each value and layout, however many operators read it.
//
// With one layout besides the row-major one, the choice is a cut of least cost: values on the source's side have that
// layout, and an edge is a change. With several, each in turn takes what it makes cheaper (Boykov, Veksler, Zabih,
// "Fast approximate energy minimization via graph cuts", 2001).
template <class = void>
class layout_choice {
public:
    layout_choice(any_graph const& g, layout_cost cost)
        : g_(g), cost_(cost), of_(g.capacity()), first_value_(g.capacity()) {
        for (auto n : g.order()) {
            first_value_[n.index] = values_.size();
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) values_.push_back({n, port});
        }
    }

    // An operator whose layout is settled; its kernel may read a row-major operand at no cost.
    void settle(node_id n, layout as, bool reads_plain) {
        of_[n.index] = {role::settled, reads_plain, as};
        add_label(as);
    }
    // An operator that takes a layout of what it reads.
    void follow(node_id n) { of_[n.index] = {role::follows, false, {}}; }
    [[nodiscard]] layout of(node_id n) const { return of_[n.index].as; }

    // Chooses for those that follow, of what they may have. *Complexity* a largest flow through operators and values
    // for each layout, a few times where there are several.
    template <class May>
    void solve(May const& may_have) {
        for (auto n : g_.order()) collect(n);
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            demands_.push_back({value(g_.output(i)), nobody, g_.type(g_.output(i)).layout});
        auto const rounds = labels_.size() > 1 ? 4 : 1;
        auto now = total();
        for (int i = 0; i < rounds; ++i) {
            auto const before = chosen();
            for (auto as : labels_) {
                auto const kept = of_;
                expand(as, may_have);
                auto const then = total();
                if (then > now)
                    of_ = kept;
                else
                    now = then;
            }
            if (chosen() == before) break;
        }
    }

private:
    enum class role : char { outside, follows, settled };
    static constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();
    struct choice {
        role is = role::outside;
        bool reads_plain = false;
        layout as{};
    };
    // A value that is read in a layout: the reader's, or one that is fixed.
    struct demand {
        std::size_t value;
        std::uint32_t reader; // the node that it follows, or nobody
        layout as;
    };

    void add_label(layout as) {
        if (!as.empty() && std::find(labels_.begin(), labels_.end(), as) == labels_.end()) labels_.push_back(as);
    }
    // Changes of layout that stand in the graph are made anew.
    [[nodiscard]] value_id source(value_id v) const {
        while (g_.is<ops::layout_transform>(v.node)) v = g_.operand(v.node, 0);
        return v;
    }
    [[nodiscard]] std::size_t value(value_id v) const {
        v = source(v);
        return first_value_[v.node.index] + v.port;
    }
    [[nodiscard]] layout stored(std::size_t value) const {
        auto const v = values_[value];
        auto const& c = of_[v.node.index];
        return c.is == role::outside ? g_.type(v).layout : c.as;
    }
    [[nodiscard]] std::vector<layout> chosen() const {
        std::vector<layout> all;
        for (auto const& c : of_) all.push_back(c.as);
        return all;
    }

    void collect(node_id n) {
        auto const& c = of_[n.index];
        auto const rule = g_.op(n).layouts;
        if (n == g_.return_node() || g_.is<ops::layout_transform>(n) || g_.constant(n)) return;
        if (c.is == role::outside && rule == layout_policy::any) return;
        auto const operands = g_.operands(n);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto const v = operands[i];
            if (!v.valid()) continue;
            if (c.is == role::outside)
                demands_.push_back({value(v), nobody, g_.type(v).layout});
            else if (rule == layout_policy::propagates_first && i > 0)
                demands_.push_back({value(v), nobody, layout{}});
            else if (rule != layout_policy::propagates || g_.type(v).dims == g_.type({n, 0}).dims)
                demands_.push_back({value(v), n.index, layout{}});
        }
    }
    [[nodiscard]] layout wanted(demand const& d) const { return d.reader == nobody ? d.as : of_[d.reader].as; }
    [[nodiscard]] bool is_free(demand const& d) const {
        return d.reader != nobody && of_[d.reader].reads_plain && stored(d.value).empty();
    }
    [[nodiscard]] std::uint64_t cost_of(std::size_t value, layout from, layout to) const {
        auto const v = values_[value];
        constexpr auto most = std::uint64_t{1} << 40;
        return g_.constant(v) ? 0 : std::min(most, cost_(g_.type(v), from, to));
    }

    [[nodiscard]] std::uint64_t total() const {
        std::vector<std::pair<std::size_t, std::string_view>> changes;
        for (auto const& d : demands_)
            if (auto const as = wanted(d); !(stored(d.value) == as) && !is_free(d))
                changes.emplace_back(d.value, as.text());
        std::sort(changes.begin(), changes.end());
        changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
        std::uint64_t sum = 0;
        for (auto const& [v, as] : changes) sum += cost_of(v, stored(v), layout{as});
        return sum;
    }

    // Operators that follow take a layout where that makes all changes together cheaper, or no dearer.
    template <class May>
    void expand(layout as, May const& may_have) {
        using search::flow_network;
        using node = flow_network::node;
        // Source and sink, operators, and two of each value: whether it is read in that layout, and in another.
        constexpr node source = 0, sink = 1;
        auto const operators = node{2}, read = static_cast<node>(operators + of_.size()),
                   read_otherwise = static_cast<node>(read + values_.size());
        flow_network net{read_otherwise + values_.size()};
        std::vector<char> free(of_.size(), 0);
        for (auto n : g_.order()) free[n.index] = of_[n.index].is == role::follows && may_have(n, as);
        auto const side = [&](std::uint32_t n) -> node {
            return free[n] ? operators + n : of_[n].as == as && of_[n].is != role::outside ? source : sink;
        };
        std::vector<char> known(values_.size(), 0);
        for (auto const& d : demands_) {
            auto const v = values_[d.value];
            auto const stored_so = of_[v.node.index].is == role::outside && stored(d.value) == as;
            auto const from = stored_so ? source : side(v.node.index);
            auto const to = d.reader == nobody ? (d.as == as ? source : sink) : side(d.reader);
            if (from == to && from <= sink) continue;
            if (d.reader != nobody && of_[d.reader].reads_plain && stored(d.value).empty()) continue;
            auto const in = static_cast<node>(read + d.value), out = static_cast<node>(read_otherwise + d.value);
            if (!std::exchange(known[d.value], 1)) {
                auto const other = stored(d.value) == as ? layout{} : stored(d.value);
                if (from != source) net.connect(in, from, cost_of(d.value, other, as));
                if (from != sink) net.connect(from, out, cost_of(d.value, as, other));
            }
            if (to != sink) net.connect(to, in, flow_network::unlimited);
            if (to != source) net.connect(out, to, flow_network::unlimited);
        }
        static_cast<void>(net.maximize(source, sink));
        auto const others = net.reaching(sink);
        for (auto n : g_.order())
            if (free[n.index]) {
                if (!others[operators + n.index])
                    of_[n.index].as = as;
                else if (of_[n.index].as == as)
                    of_[n.index].as = {};
            }
    }

    any_graph const& g_;
    layout_cost cost_;
    std::vector<choice> of_;               // by node id
    std::vector<std::size_t> first_value_; // by node id
    std::vector<value_id> values_;
    std::vector<demand> demands_;
    std::vector<layout> labels_; // besides the row-major one
};

} // namespace gsub::passes::detail
