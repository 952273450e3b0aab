// scale_folder: moves scales into weights, in one direction or the other.
#pragma once

#include <gsub/passes/fold/impl/channel_scale.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

/// A node that a scale passes or ends in, and the operand by which it was reached.
struct scale_step {
    node_id node;
    std::size_t operand = 0;
};
using scale_plan = std::vector<scale_step>;

/// What both directions ask of a graph and do to it. A direction has `plan`, which says why a scale stays, or gives the
/// nodes on its way, the one whose weights stand for it last; and `apply`, which does what a scale asks of one of them.
template <class = void>
class scale_direction {
public:
    explicit scale_direction(any_graph& g) : g_(g) {}

    /// A scale is folded: it reads its operand no longer.
    void leave(node_id scale) {
        gone_.resize(std::max<std::size_t>(gone_.size(), scale.index + 1));
        gone_[scale.index] = true;
    }

protected:
    static constexpr std::size_t longest = 256; // nodes between a scale and the weights that it goes into

    [[nodiscard]] bool gone(node_id n) const { return n.index < gone_.size() && gone_[n.index]; }
    [[nodiscard]] bool read_once(value_id v) const {
        std::size_t readers = 0;
        g_.for_each_use(v, [&](use u) {
            readers += gone(u.user) ? 0 : 1;
            return readers < 2;
        });
        return readers == 1;
    }
    [[nodiscard]] bool along(channel_scale const& s, std::size_t axis) const { return s.size == 1 || s.axis == axis; }
    [[nodiscard]] bool weight(value_id v, std::size_t least_rank) const {
        return v.valid() && g_.constant(v) && g_.type(v).is_static() && g_.type(v).rank() >= least_rank;
    }
    [[nodiscard]] bool weight_or_none(value_id v) const { return !v.valid() || weight(v, 0); }
    [[nodiscard]] bool passes_unchanged(node_id n) const {
        return g_.is<ops::identity>(n) || g_.is<ops::layout_transform>(n);
    }
    [[nodiscard]] bool rectifier(node_id n) const { return g_.is<ops::relu>(n) || g_.is<ops::leaky_relu>(n); }
    [[nodiscard]] bool sum(node_id n) const { return g_.is<ops::add>(n) || g_.is<ops::sub>(n); }
    [[nodiscard]] bool same_dims(value_id a, value_id b) const {
        return g_.type(a).ranked && g_.type(b).ranked && g_.type(a).dims == g_.type(b).dims;
    }

    // The factor with these dimensions: its size among ones.
    value_id vector(channel_scale const& s, std::size_t rank, std::size_t at) {
        ints dims(rank, 1);
        dims[at] = s.size;
        return g_.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(dims)), {s.factor});
    }
    void multiply(channel_scale const& s, node_id n, std::size_t operand, std::size_t along_axis) {
        auto const v = g_.operand(n, operand);
        if (!v.valid()) return;
        auto const rank = std::max<std::size_t>(1, g_.type(v).rank());
        g_.set_operand(n, operand, g_.add<ops::mul>(v, vector(s, rank, along_axis)));
    }

    any_graph& g_;

private:
    std::vector<bool> gone_;
};

/// Folds the scales of a graph, one after the other.
template <class Direction>
class scale_folder {
public:
    scale_folder(any_graph& g, pass_context& cx) : g_(g), cx_(cx), direction_(g) {}

    pass_outcome run() {
        auto scales = scale_finder<>{g_, cx_, outcome_}.find();
        if (Direction::last_first) std::reverse(scales.begin(), scales.end());
        for (auto& s : scales) fold(s);
        erase_and_finish(g_, outcome_, "scaling weights cannot close a cycle");
        return std::move(outcome_);
    }

private:
    void fold(channel_scale& s) {
        cx_.check_stop();
        s.data = g_.operand(s.node, g_.operand(s.node, 0) == s.factor ? 1 : 0); // another scale's operand by now
        scale_plan p;
        auto const reason = s.unfit.empty() ? direction_.plan(s, p) : s.unfit;
        if (!reason.empty()) return outcome_.skip(reason);
        for (auto at : p) direction_.apply(s, at);
        // The scale and what it was read by stand in one place now.
        std::vector<node_id> const both{p.back().node, s.node};
        g_.inherit_sources(p.back().node, both);
        g_.replace_uses({s.node, 0}, s.data);
        direction_.leave(s.node);
        ++outcome_.matches;
    }

    any_graph& g_;
    pass_context& cx_;
    Direction direction_;
    pass_outcome outcome_;
};

} // namespace gsub::passes::detail
