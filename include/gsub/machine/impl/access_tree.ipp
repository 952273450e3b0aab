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

// Reads stages of nests into one tree.
template <class = void>
class nest_reader {
public:
    explicit nest_reader(std::span<loop::buffer const> buffers) {
        for (auto const& b : buffers) {
            auto const* const strides = b.strides.empty() ? nullptr : b.strides.data();
            tree_.tensor(b.name, {b.dims.data(), b.dims.size()}, static_cast<std::int32_t>(byte_size(b.element)),
                         {strides, b.strides.size()});
        }
    }

    // Adds a stage, which shares its first loops with the one before.
    void add(loop::loop_nest const& nest, std::size_t shared) {
        auto const before = std::exchange(places_, {});
        base_ = tree_.variables();
        renamed_.clear(), chosen_.clear();
        auto const& loops = nest.loops;
        std::int32_t around = 0;
        std::size_t first = 0;
        for (auto joins = true; first < loops.size() && !loops[first].reduction; ++first) {
            auto parts = parts_of(nest, loops[first]);
            joins = joins && first < shared && rename(parts, before[first].parts);
            around = joins ? before[first].node : add_loops(around, parts);
            places_.push_back({around, joins ? before[first].parts : std::move(parts)});
        }
        auto const& what = nest.what;
        auto tile = around;
        if (first < loops.size()) {
            auto inside = around;
            for (auto i = first; i < loops.size(); ++i) inside = add_loops(inside, parts_of(nest, loops[i]));
            add_loads(inside, what, {what.update});
            for (auto i = first; i < loops.size(); ++i)
                if (!loops[i].reduction) tile = add_loops(tile, parts_of(nest, loops[i]));
        }
        for (auto const& c : what.chosen) chosen_.push_back({c.var, c.entries});
        for (auto const& c : what.chosen) add_access(tile, c.source, access_kind::read, 1);
        std::vector<std::int32_t> values{what.initial, what.result, what.guard};
        if (first == loops.size()) values.push_back(what.update);
        for (auto const& s : what.more_stores) values.push_back(s.value);
        add_loads(tile, what, values);
        add_access(tile, what.target, access_kind::write, 1);
        for (auto const& s : what.more_stores) add_access(tile, s.target, access_kind::write, 1);
    }

    [[nodiscard]] access_tree&& tree() noexcept { return std::move(tree_); }

private:
    struct part {
        loop::variable var; // of the tree
        std::int64_t extent, weight;
    };
    struct place {
        std::int32_t node; // the innermost of its parts
        std::vector<part> parts;
    };

    // A loop, or the indices into which it is taken apart, that which changes least often first.
    [[nodiscard]] std::vector<part> parts_of(loop::loop_nest const& nest, loop::nest_loop const& l) const {
        std::vector<part> open{{l.var, l.extent, 1}};
        for (bool changed = true; changed;) {
            changed = false;
            std::vector<part> next;
            for (auto const& p : open) {
                auto const size = next.size();
                for (auto const& f : nest.fused_indices)
                    if (f.of == p.var) next.push_back({f.var, f.extent, p.weight * f.divisor});
                if (next.size() == size)
                    next.push_back(p);
                else
                    changed = true;
            }
            open = std::move(next);
        }
        for (auto& p : open) p.var += base_, p.extent = std::max<std::int64_t>(p.extent, 1);
        stable_sort(open, [](part const& a, part const& b) { return a.weight > b.weight; });
        return open;
    }

    // Gives parts of a shared loop the variables of the stage before. *Returns* whether they are the same parts.
    bool rename(std::vector<part> const& parts, std::vector<part> const& as) {
        auto const same =
            std::equal(parts.begin(), parts.end(), as.begin(), as.end(),
                       [](part const& a, part const& b) { return a.extent == b.extent && a.weight == b.weight; });
        for (std::size_t i = 0; same && i < parts.size(); ++i) renamed_.push_back({parts[i].var, as[i].var});
        return same;
    }

    std::int32_t add_loops(std::int32_t parent, std::vector<part> const& parts) {
        for (auto const& p : parts) parent = tree_.loop(parent, p.var, p.extent);
        return parent;
    }

    // The loads that values need, in the order in which they are computed.
    void add_loads(std::int32_t parent, loop::tensor_expression const& what, std::vector<std::int32_t> const& values) {
        std::vector<char> needed(what.exprs.size(), 0);
        for (auto const v : values)
            if (v >= 0) needed[static_cast<std::size_t>(v)] = 1;
        for (auto i = what.exprs.size(); i-- > 0;) {
            if (!needed[i]) continue;
            auto const& e = what.exprs[i];
            auto const by = e.op == loop::scalar_op::load ? what.read_by(e).chosen.by : -1;
            for (auto const o : {e.operands[0], e.operands[1], e.operands[2], by})
                if (o >= 0) needed[static_cast<std::size_t>(o)] = 1;
        }
        for (std::size_t i = 0; i < needed.size(); ++i) {
            if (!needed[i] || what.exprs[i].op != loop::scalar_op::load) continue;
            auto const& read = what.read_by(what.exprs[i]);
            add_access(parent, read.source, access_kind::read, read.chosen.by >= 0 ? read.chosen.entries : 1);
        }
    }

    void add_access(std::int32_t parent, loop::access const& a, access_kind kind, std::int64_t entries) {
        auto const& table = a.beyond.table;
        std::int64_t spread = 0;
        if (!table.empty()) {
            auto const [low, high] = std::minmax_element(table.data(), table.data() + table.size());
            spread = *high - std::min<std::int64_t>(*low, 0);
        }
        std::vector<loop::affine> index;
        for (auto const& of_stage : a.index) {
            loop::affine in_tree{of_stage.constant()};
            for (auto const& t : of_stage.terms()) {
                auto const by =
                    std::find_if(chosen_.begin(), chosen_.end(), [&](auto const& c) { return c.first == t.of; });
                if (by != chosen_.end())
                    entries *= by->second;
                else
                    in_tree += loop::affine::of(variable_of(t.of + base_), t.factor);
            }
            index.push_back(std::move(in_tree));
        }
        tree_.access(parent, tree_access{a.of, kind, std::move(index), spread, entries});
    }
    [[nodiscard]] loop::variable variable_of(loop::variable v) const noexcept {
        for (auto const& [from, to] : renamed_)
            if (from == v) return to;
        return v;
    }

    access_tree tree_;
    std::int32_t base_ = 0;     // what variables of the stage have added in the tree
    std::vector<place> places_; // of the spatial loops around the stage
    std::vector<std::pair<loop::variable, loop::variable>> renamed_;
    std::vector<std::pair<loop::variable, std::int64_t>> chosen_; // indices of the stage, and their entries
};

} // namespace detail

GSUB_LAZY_BODY access_tree access_tree_of(loop::loop_nest const& nest) {
    detail::nest_reader<> reader{as_span(nest.what.buffers)};
    reader.add(nest, 0);
    return reader.tree();
}

GSUB_LAZY_BODY access_tree access_tree_of(loop::fused_nest const& nest) {
    detail::nest_reader<> reader{nest.buffers()};
    for (std::size_t i = 0; i < nest.stages().size(); ++i) reader.add(nest.stages()[i], nest.shared(i));
    return reader.tree();
}

} // namespace gsub::machine
