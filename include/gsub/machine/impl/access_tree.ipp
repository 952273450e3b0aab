#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/types/dtype.hpp>
#include <gsub/machine/access_tree.hpp>

#include <algorithm>
#include <utility>

namespace gsub::machine {

GSUB_LAZY_BODY access_tree::access_tree() : nodes_(1) {}

GSUB_LAZY_BODY std::int32_t access_tree::tensor(std::string_view name, std::span<std::int64_t const> dims,
                                                std::int32_t element_bytes, std::span<std::int64_t const> pitches) {
    GSUB_ASSERT(pitches.empty() || pitches.size() == dims.size(), "a tensor has a pitch for each dimension");
    GSUB_ASSERT(element_bytes > 0, "an element has bytes");
    tree_tensor t{std::string{name}, element_bytes, {}, {}};
    std::int64_t pitch = 1;
    t.dims.assign(dims.size(), 1), t.pitches.assign(dims.size(), 1);
    for (auto d = dims.size(); d-- > 0;) {
        t.dims[d] = dims[d];
        t.pitches[d] = pitches.empty() ? pitch : pitches[d];
        pitch *= dims[d];
    }
    tensors_.push_back(std::move(t));
    return static_cast<std::int32_t>(tensors_.size()) - 1;
}

GSUB_LAZY_BODY std::int32_t access_tree::loop(std::int32_t parent, loop::variable var, std::int64_t extent) {
    auto const at = static_cast<std::size_t>(parent);
    GSUB_ASSERT(at < nodes_.size() && nodes_[at].access < 0, "a loop stands in the root or in a loop");
    GSUB_ASSERT(var >= 0 && extent >= 1, "a loop has a variable and at least one trip");
    auto const made = static_cast<std::int32_t>(nodes_.size());
    nodes_[at].children.push_back(made);
    nodes_.push_back({parent, var, extent, -1, {}});
    variables_ = std::max(variables_, var + 1);
    return made;
}

GSUB_LAZY_BODY std::int32_t access_tree::access(std::int32_t parent, tree_access what) {
    auto const at = static_cast<std::size_t>(parent);
    GSUB_ASSERT(at < nodes_.size() && nodes_[at].access < 0, "an access stands in the root or in a loop");
    GSUB_ASSERT(static_cast<std::size_t>(what.of) < tensors_.size(), "an access is of a tensor of the tree");
    GSUB_ASSERT(what.index.size() == tensors_[static_cast<std::size_t>(what.of)].dims.size(),
                "an access has an index for each dimension");
    for (auto const& index : what.index)
        for (auto const& t : index.terms()) variables_ = std::max(variables_, t.of + 1);
    auto const made = static_cast<std::int32_t>(nodes_.size());
    nodes_[at].children.push_back(made);
    nodes_.push_back({parent, -1, 1, static_cast<std::int32_t>(accesses_.size()), {}});
    leaves_.push_back(made);
    accesses_.push_back(std::move(what));
    return made;
}

namespace detail {

template <class = void>
class nest_reader {
public:
    explicit nest_reader(loop::loop_nest const& nest) : nest_(nest), what_(nest.what) {
        for (auto const& b : what_.buffers) {
            auto const* const strides = b.strides.empty() ? nullptr : b.strides.data();
            tree_.tensor(b.name, {b.dims.data(), b.dims.size()}, static_cast<std::int32_t>(byte_size(b.element)),
                         {strides, b.strides.size()});
        }
    }

    [[nodiscard]] access_tree read() {
        auto const& loops = nest_.loops;
        std::size_t first = 0;
        while (first < loops.size() && !loops[first].reduction) ++first;
        auto const reduces = first < loops.size();
        std::int32_t around = 0;
        for (std::size_t i = 0; i < first; ++i) around = add_loop(around, loops[i]);
        auto tile = around;
        if (reduces) {
            auto inside = around;
            for (auto i = first; i < loops.size(); ++i) inside = add_loop(inside, loops[i]);
            add_loads(inside, {what_.update});
            for (auto i = first; i < loops.size(); ++i)
                if (!loops[i].reduction) tile = add_loop(tile, loops[i]);
        }
        std::vector<std::int32_t> values{what_.initial, what_.result, what_.guard};
        if (!reduces) values.push_back(what_.update);
        for (auto const& s : what_.more_stores) values.push_back(s.value);
        add_loads(tile, values);
        add_access(tile, what_.target, access_kind::write, 1);
        for (auto const& s : what_.more_stores) add_access(tile, s.target, access_kind::write, 1);
        return std::move(tree_);
    }

private:
    // A loop, or those of the indices into which it is taken apart, that which changes least often first.
    std::int32_t add_loop(std::int32_t parent, loop::nest_loop const& l) {
        struct part {
            loop::variable var;
            std::int64_t extent, weight;
        };
        std::vector<part> open{{l.var, l.extent, 1}};
        for (bool changed = true; changed;) {
            changed = false;
            std::vector<part> next;
            for (auto const& p : open) {
                auto const before = next.size();
                for (auto const& f : nest_.fused_indices)
                    if (f.of == p.var) next.push_back({f.var, f.extent, p.weight * f.divisor});
                if (next.size() == before)
                    next.push_back(p);
                else
                    changed = true;
            }
            open = std::move(next);
        }
        stable_sort(open, [](part const& a, part const& b) { return a.weight > b.weight; });
        for (auto const& p : open) parent = tree_.loop(parent, p.var, std::max<std::int64_t>(p.extent, 1));
        return parent;
    }

    // The loads that values need, in the order in which they are computed.
    void add_loads(std::int32_t parent, std::vector<std::int32_t> const& values) {
        std::vector<char> needed(what_.exprs.size(), 0);
        for (auto const v : values)
            if (v >= 0) needed[static_cast<std::size_t>(v)] = 1;
        for (auto i = what_.exprs.size(); i-- > 0;) {
            if (!needed[i]) continue;
            auto const& e = what_.exprs[i];
            for (auto const o : {e.operands[0], e.operands[1], e.operands[2], e.chosen.by})
                if (o >= 0) needed[static_cast<std::size_t>(o)] = 1;
        }
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (needed[i] && what_.exprs[i].op == loop::scalar_op::load)
                add_access(parent, what_.exprs[i].source, access_kind::read,
                           what_.exprs[i].chosen.by >= 0 ? what_.exprs[i].chosen.entries : 1);
    }

    void add_access(std::int32_t parent, loop::access const& a, access_kind kind, std::int64_t entries) {
        auto const& table = a.beyond.table;
        std::int64_t spread = 0;
        if (!table.empty()) {
            auto const [low, high] = std::minmax_element(table.data(), table.data() + table.size());
            spread = *high - std::min<std::int64_t>(*low, 0);
        }
        tree_.access(parent, tree_access{a.of, kind, a.index, spread, entries});
    }

    loop::loop_nest const& nest_;
    loop::tensor_expression const& what_;
    access_tree tree_;
};

} // namespace detail

GSUB_LAZY_BODY access_tree access_tree_of(loop::loop_nest const& nest) {
    return detail::nest_reader<>{nest}.read();
}

} // namespace gsub::machine
