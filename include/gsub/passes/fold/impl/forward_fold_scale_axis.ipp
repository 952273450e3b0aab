#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/fold/forward_fold_scale_axis.hpp>
#include <gsub/passes/fold/impl/scale_folder.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gsub::passes::detail {

// Towards the readers. The last scale first: what is in front of it can then pass its place.
template <class = void>
class forward_scale : public scale_direction<> {
public:
    using scale_direction<>::scale_direction;
    static constexpr bool last_first = true;

    std::string_view plan(channel_scale const& s, scale_plan& p) const {
        std::vector<value_id> open{{s.node, 0}};
        bool ends = false;
        while (!open.empty()) {
            auto const v = open.back();
            open.pop_back();
            std::string_view reason;
            g_.for_each_use(v, [&](use u) {
                if (gone(u.user)) return true;
                reason = p.size() == longest ? "too many nodes on the way" : reader(s, v, u, ends, open);
                p.push_back({u.user, u.operand});
                return reason.empty();
            });
            if (!reason.empty()) return reason;
        }
        // Weights last: they stand for the scale afterwards.
        std::stable_partition(p.begin(), p.end(), [&](scale_step at) { return !ends_in_weights(at.node); });
        return ends ? std::string_view{} : "no weights behind the scale";
    }
    void apply(channel_scale const& s, scale_step at) {
        auto const n = at.node;
        if (g_.is<ops::conv>(n)) {
            multiply(s, n, 1, g_.attributes<ops::conv>(n).group == 1 ? 1 : 0);
        } else if (g_.is<ops::mat_mul>(n)) {
            auto const rank = g_.type(g_.operand(n, 1)).rank();
            multiply(s, n, 1, rank == 1 ? 0 : rank - 2);
        } else if (g_.is<ops::gemm>(n)) {
            multiply(s, n, 1, g_.attributes<ops::gemm>(n).transpose_b ? 1 : 0);
        } else if (sum(n)) {
            auto const other = 1 - at.operand;
            g_.set_operand(n, other, g_.add<ops::div>(g_.operand(n, other), s.factor));
        }
    }

private:
    [[nodiscard]] bool ends_in_weights(node_id n) const {
        return g_.is<ops::conv>(n) || g_.is<ops::mat_mul>(n) || g_.is<ops::gemm>(n);
    }

    // Why a scale cannot go into a reader or past it, or nothing; then its result may be one to look at.
    std::string_view reader(channel_scale const& s, value_id v, use u, bool& ends, std::vector<value_id>& open) const {
        auto const n = u.user;
        if (n == g_.return_node()) return "an output of the graph";
        if (ends_in_weights(n)) {
            if (u.operand != 0) return "a reader that a scale cannot pass";
            ends = true;
            auto const w = g_.operand(n, 1);
            if (g_.is<ops::conv>(n)) {
                if (!weight(w, 3)) return "weights that are not constant";
                if (!along(s, 1)) return "another axis than that of the channels";
                auto const group = g_.attributes<ops::conv>(n).group;
                auto const& dims = g_.type(w).dims;
                if (s.size != 1 && group != 1 && !(dims[0].size() == group && dims[1].size() == 1))
                    return "a convolution of several groups";
                return {};
            }
            if (g_.is<ops::mat_mul>(n)) {
                if (!weight(w, 1)) return "weights that are not constant";
                if (!along(s, g_.type(v).rank() - 1)) return "another axis than that of the channels";
                return {};
            }
            if (!weight(w, 2)) return "weights that are not constant";
            if (!along(s, g_.attributes<ops::gemm>(n).transpose_a ? 0 : 1))
                return "another axis than that of the channels";
            return {};
        }
        if (rectifier(n)) {
            if (s.any_negative) return "a negative scale in front of a rectifier";
        } else if (sum(n)) {
            if (!g_.constant(g_.operand(n, 1 - u.operand)) || !same_dims(v, {n, 0}))
                return "a reader that a scale cannot pass";
            if (s.any_zero) return "a scale of zero in front of an addition";
        } else if (!passes_unchanged(n)) {
            return "a reader that a scale cannot pass";
        }
        open.push_back({n, 0});
        return {};
    }
};

} // namespace gsub::passes::detail

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> forward_fold_scale_axis::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::scale_folder<detail::forward_scale<>>{g, cx}.run(); });
}

} // namespace gsub::passes
