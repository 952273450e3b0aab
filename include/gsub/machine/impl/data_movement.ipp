#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/machine/data_movement.hpp>
#include <gsub/machine/impl/access_boxes.ipp>

#include <algorithm>
#include <utility>

namespace gsub::machine {

namespace detail {

// Visits the nodes of a tree from the leaves to the root. A node follows its parent, so that the order is theirs.
template <class = void>
class movement_counter {
public:
    movement_counter(access_tree const& tree, double capacity, cache_level const* level)
        : tree_(tree),
          capacity_(capacity),
          level_(level),
          boxes_(tree, level ? level->line_bytes : 1),
          below_(tree.nodes().size()) {
        auto const& nodes = tree.nodes();
        made_.nodes.resize(nodes.size());
        auto const variables = static_cast<std::size_t>(tree.variables());
        for (std::size_t a = 0; a < tree.accesses().size(); ++a) {
            loops_.push_back({std::vector<char>(variables, 0), std::vector<std::int64_t>(variables, 1),
                              std::vector<std::int64_t>(variables, 0)});
            for (auto n = tree.leaves()[a]; n >= 0; n = nodes[index(n)].parent) {
                below_[index(n)].push_back(a);
                if (auto const v = nodes[index(n)].var; v >= 0)
                    loops_[a].extents[index(v)] = nodes[index(n)].extent,
                    loops_[a].middles[index(v)] = nodes[index(n)].extent / 2;
            }
        }
        for (auto& accesses : below_) sort(accesses);
        only_written_.assign(tree.tensors().size(), 1);
        for (auto const& a : tree.accesses())
            if (a.reads()) only_written_[index(a.of)] = 0;
        for (auto n = nodes.size(); n-- > 0;) visit(n);
        if (level && !level->fetch_overwritten) leave_out_overwritten();
    }

    [[nodiscard]] data_movement&& made() noexcept { return std::move(made_); }

private:
    static std::size_t index(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

    void visit(std::size_t n) {
        auto const& node = tree_.nodes()[n];
        auto& m = made_.nodes[n];
        m.tensors.resize(tree_.tensors().size());
        if (node.access >= 0) {
            auto const& a = tree_.accesses()[index(node.access)];
            m.iteration = m.footprint = m.moved = 1, m.written = level_ && a.writes() ? 1 : 0;
            m.tensors[index(a.of)] = {1, 1, m.written, true};
            return;
        }
        m.iteration =
            node.children.size() == 1 ? made_.nodes[index(node.children[0])].footprint : count_footprints(n, m, false);
        for (auto const a : below_[n])
            if (node.var >= 0) loops_[a].runs[index(node.var)] = 1;
        m.footprint = count_footprints(n, m, true);
        if (node.extent == 1) m.iteration = m.footprint;
        for (std::size_t t = 0; t < m.tensors.size(); ++t) {
            count_movement(n, m, t);
            m.moved += m.tensors[t].moved, m.written += m.tensors[t].written;
        }
    }

    // Footprints of the tensors while the loops below a node run; `keep`: also in the node, with what is written.
    double count_footprints(std::size_t n, node_movement& m, bool keep) {
        double sum = 0;
        for (std::size_t t = 0; t < m.tensors.size(); ++t) {
            auto const touched = union_of(n, t, false);
            sum += touched;
            if (!keep) continue;
            m.tensors[t].footprint = touched;
            m.tensors[t].written = level_ ? union_of(n, t, true) : 0;
        }
        return sum;
    }

    [[nodiscard]] double union_of(std::size_t n, std::size_t t, bool only_writes) const {
        auto const counted = [&](std::size_t a) {
            auto const& what = tree_.accesses()[a];
            return index(what.of) == t && (!only_writes || what.writes());
        };
        auto joined = tree_.tensors()[t].dims.size();
        if (level_)
            for (auto const a : below_[n])
                if (counted(a)) joined = std::min(joined, boxes_.contiguous_dims(tree_.accesses()[a], loops_[a]));
        return count_union(n, counted, [&](std::size_t a) {
            auto const& what = tree_.accesses()[a];
            return level_ ? boxes_.lines_of(what, loops_[a], joined) : boxes_.elements_of(what, loops_[a]);
        });
    }

    // Boxes of accesses that choose their entry have one dimension more, and are not joined with others.
    template <class Test, class Box>
    [[nodiscard]] double count_union(std::size_t n, Test counted, Box box_of) const {
        box_union all, chosen;
        for (auto const a : below_[n])
            if (counted(a)) (tree_.accesses()[a].entries > 1 ? chosen : all).add(box_of(a));
        return all.elements() + chosen.elements();
    }

    // How often a node whose one trip fits moves what it touches of a tensor: once where each trip meets again what the
    // trip before it left, or everything stays. With e(n) the elements of n trips, all of them bring
    // e(1) + (trips - 1) * (e(2) - e(1)). Accesses that a trip moves differently do not meet.
    [[nodiscard]] double times_moved(std::size_t n, node_movement const& m, std::size_t t) {
        auto const& node = tree_.nodes()[n];
        if (!level_ || node.var < 0 || m.footprint <= capacity_) return 1;
        auto const in_tensor = [&](std::size_t a) { return index(tree_.accesses()[a].of) == t; };
        auto const elements = [&](auto counted, std::int64_t trips) {
            for (auto const a : below_[n]) loops_[a].extents[index(node.var)] = trips;
            auto const count = count_union(
                n, counted, [&](std::size_t a) { return boxes_.elements_of(tree_.accesses()[a], loops_[a], true); });
            for (auto const a : below_[n]) loops_[a].extents[index(node.var)] = node.extent;
            return count;
        };
        std::vector<std::size_t> seen;
        double sum = 0;
        for (auto const a : below_[n]) {
            auto const moves_alike = [&](std::size_t b) { return in_tensor(b) && alike(a, b, node.var); };
            if (!in_tensor(a) || any_of(seen, moves_alike)) continue;
            seen.push_back(a);
            auto const first = elements(moves_alike, 1);
            sum += first + static_cast<double>(node.extent - 1) * (elements(moves_alike, 2) - first);
        }
        return seen.empty() ? 1 : std::max(1.0, sum / elements(in_tensor, node.extent));
    }

    // Whether a loop moves two accesses in equal steps.
    [[nodiscard]] bool alike(std::size_t a, std::size_t b, loop::variable var) const {
        auto const &x = tree_.accesses()[a].index, &y = tree_.accesses()[b].index;
        for (std::size_t d = 0; d < x.size(); ++d)
            if (x[d].factor(var) != y[d].factor(var)) return false;
        return true;
    }

    void count_movement(std::size_t n, node_movement& m, std::size_t t) {
        auto const& node = tree_.nodes()[n];
        auto& own = m.tensors[t];
        double moved = 0, written = 0;
        auto reused = true;
        for (auto const c : node.children) {
            auto const& below = made_.nodes[index(c)].tensors[t];
            moved += below.moved, written += below.written;
            reused = reused && below.reused;
        }
        auto const fits = m.iteration <= capacity_;
        auto const trips = static_cast<double>(node.extent);
        auto const again = std::max(own.footprint, trips * moved);
        own.moved = fits                ? std::min(own.footprint * times_moved(n, m, t), again)
                    : !level_ && reused ? own.footprint
                                        : again;
        if (!fits) own.written = std::max(own.written, trips * written);
        own.reused = reused && own.footprint <= capacity_ && !lost_between(node, t);
    }

    // Whether neighbouring child loops that do not touch a tensor exceed the cache together; the last one of a trip and
    // the first one of the next are neighbours.
    [[nodiscard]] bool lost_between(tree_node const& node, std::size_t t) const {
        if (!touched(node, t)) return false;
        double run = 0;
        for (std::size_t i = 0; i < 2 * node.children.size(); ++i) {
            auto const& child = made_.nodes[index(node.children[i % node.children.size()])];
            run = child.tensors[t].footprint > 0 ? 0 : run + child.footprint;
            if (run > capacity_) return true;
        }
        return false;
    }
    [[nodiscard]] bool touched(tree_node const& node, std::size_t t) const {
        return any_of(node.children, [&](std::int32_t c) { return made_.nodes[index(c)].tensors[t].footprint > 0; });
    }

    // Lines that are overwritten as a whole need not come in.
    void leave_out_overwritten() {
        for (std::size_t a = 0; a < tree_.accesses().size(); ++a)
            if (!boxes_.whole_lines(tree_.accesses()[a], loops_[a])) only_written_[index(tree_.accesses()[a].of)] = 0;
        for (auto& m : made_.nodes)
            for (std::size_t t = 0; t < m.tensors.size(); ++t)
                if (only_written_[t]) m.moved -= std::exchange(m.tensors[t].moved, 0.0);
    }

    access_tree const& tree_;
    double capacity_;
    cache_level const* level_; // null: the paper's mode
    access_boxes<> boxes_;
    std::vector<std::vector<std::size_t>> below_; // accesses below each node
    std::vector<running_loops> loops_;            // of each access
    std::vector<char> only_written_;              // by tensor
    data_movement made_;
};

} // namespace detail

GSUB_LAZY_BODY data_movement faithful_movement(access_tree const& tree, double capacity) {
    GSUB_ASSERT(capacity >= 1, "a cache holds an element");
    return detail::movement_counter<>{tree, capacity, nullptr}.made();
}

GSUB_LAZY_BODY data_movement line_movement(access_tree const& tree, cache_level const& level) {
    GSUB_ASSERT(level.line_bytes > 0 && level.lines() >= 1, "a cache holds a line");
    return detail::movement_counter<>{tree, level.lines(), &level}.made();
}

GSUB_LAZY_BODY std::array<cache_level, 3> cache_levels_of(microarchitecture const& core) {
    auto const bytes = [](std::uint64_t b) { return static_cast<double>(b); };
    auto const memory = core.memory_bytes_per_second / (core.gigahertz * 1e9);
    return {cache_level{"L1", bytes(core.l1_bytes), 64, 0.75, core.l2_bytes_per_cycle, true},
            cache_level{"L2", bytes(core.l2_bytes), 64, 0.5, core.l3_bytes_per_cycle, true},
            cache_level{"L3", bytes(core.l3_bytes), 64, 0.5, memory, true}};
}

GSUB_LAZY_BODY double movement_cycles(data_movement const& m, cache_level const& level) noexcept {
    auto const bytes = (m.total().moved + m.total().written) * level.line_bytes;
    return level.bytes_per_cycle > 0 ? bytes / level.bytes_per_cycle : 0.0;
}

} // namespace gsub::machine
