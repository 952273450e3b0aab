#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>
#include <gsub/passes/fold/impl/scale_folder.hpp>

#include <string_view>
#include <vector>

namespace gsub::passes::detail {

// Towards the operands.
template <class = void>
class backward_scale : public scale_direction<> {
public:
    using scale_direction<>::scale_direction;
    static constexpr bool last_first = false;

    std::string_view plan(channel_scale const& s, scale_plan& p) const {
        std::vector<value_id> open{s.data};
        while (!open.empty()) {
            auto const v = open.back();
            open.pop_back();
            auto const n = v.node;
            if (!read_once(v)) return "a value on the way has other readers";
            if (p.size() == longest) return "too many nodes on the way";
            p.push_back({n, 0});
            if (g_.is<ops::conv>(n)) {
                auto const act = g_.attributes<ops::conv>(n).act;
                if (act != activation::none && act != activation::relu) return "an activation on the way";
                if (act == activation::relu && s.any_negative) return "a negative scale behind a rectifier";
                if (!along(s, 1)) return "another axis than that of the channels";
                if (!weight(g_.operand(n, 1), 3) || !weight_or_none(g_.operand(n, 2)))
                    return "weights that are not constant";
            } else if (g_.is<ops::mat_mul>(n)) {
                if (!weight(g_.operand(n, 1), 2)) return "weights that are not constant";
                if (!along(s, g_.type(v).rank() - 1)) return "another axis than that of the channels";
            } else if (g_.is<ops::gemm>(n)) {
                if (!along(s, 1)) return "another axis than that of the channels";
                if (!weight(g_.operand(n, 1), 2) || !weight_or_none(g_.operand(n, 2)))
                    return "weights that are not constant";
            } else if (rectifier(n)) {
                if (s.any_negative) return "a negative scale behind a rectifier";
                open.push_back(g_.operand(n, 0));
            } else if (passes_unchanged(n)) {
                open.push_back(g_.operand(n, 0));
            } else if (sum(n)) {
                for (std::size_t i = 0; i < 2; ++i) {
                    auto const from = g_.operand(n, i);
                    if (g_.constant(from)) continue;
                    if (!same_dims(from, v)) return "an operand that is repeated";
                    open.push_back(from);
                }
            } else {
                return "no weights in front of the scale";
            }
        }
        return {};
    }

    void apply(channel_scale const& s, scale_step at) {
        auto const n = at.node;
        if (g_.is<ops::conv>(n)) {
            multiply(s, n, 1, 0);
            multiply(s, n, 2, 0);
        } else if (g_.is<ops::mat_mul>(n)) {
            multiply(s, n, 1, g_.type(g_.operand(n, 1)).rank() - 1);
        } else if (g_.is<ops::gemm>(n)) {
            multiply(s, n, 1, g_.attributes<ops::gemm>(n).transpose_b ? 0 : 1);
            if (auto const c = g_.operand(n, 2); c.valid()) g_.set_operand(n, 2, g_.add<ops::mul>(c, vector(s, 1, 0)));
        } else if (sum(n)) {
            for (std::size_t i = 0; i < 2; ++i)
                if (auto const v = g_.operand(n, i); g_.constant(v))
                    g_.set_operand(n, i, g_.add<ops::mul>(v, s.factor));
        }
    }
};

} // namespace gsub::passes::detail

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> backward_fold_scale_axis::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::scale_folder<detail::backward_scale<>>{g, cx}.run(); });
}

} // namespace gsub::passes
