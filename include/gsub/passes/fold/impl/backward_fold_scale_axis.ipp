#pragma once

#include <gsub/eval/fold.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace gsub::passes::detail {

// Moves multiplications by constants, one number or one along an axis, into weights.
template <class = void>
class scale_folder {
public:
    scale_folder(any_graph& g, pass_context& cx) : g_(g), cx_(cx) {}

    pass_outcome backward() {
        collect();
        for (auto& s : scales_) fold(s, &scale_folder::plan_backward, &scale_folder::apply_backward);
        return finish();
    }
    // The last scale first: what is in front of it can then pass its place.
    pass_outcome forward() {
        collect();
        for (auto s = scales_.rbegin(); s != scales_.rend(); ++s)
            fold(*s, &scale_folder::plan_forward, &scale_folder::apply_forward);
        return finish();
    }

private:
    static constexpr std::size_t longest = 256; // nodes between a scale and the weights that it goes into
    struct scale {
        node_id node;
        value_id data, factor;
        std::size_t axis = 0;   // of the value that is scaled
        std::int64_t size = 1;  // 1: one factor for all
        std::string_view unfit; // why it stays
        bool any_negative = false, any_zero = false;
    };
    // A node that a scale passes or ends in, and the operand by which it was reached.
    struct step {
        node_id node;
        std::size_t operand = 0;
    };
    using plan = std::vector<step>;

    void collect() {
        if (!find_row(g_.operators().ops, id_of<ops::reshape>) || !find_row(g_.operators().ops, id_of<ops::div>))
            return;
        std::vector<value_id> factors;
        std::vector<std::size_t> computed; // whose factors these are
        for (auto n : g_.order()) {
            if (!g_.is<ops::mul>(n) || g_.constant(n) || !g_.used(n)) continue;
            auto const first = g_.constant(g_.operand(n, 0));
            if (!first && !g_.constant(g_.operand(n, 1))) continue;
            scale s;
            s.node = n;
            s.data = g_.operand(n, first ? 1 : 0);
            s.factor = g_.operand(n, first ? 0 : 1);
            if (!find_axis(s)) continue;
            scales_.push_back(s);
            if (g_.is<ops::constant>(s.factor.node)) {
                judge(scales_.back(), g_.constant_data(s.factor.node));
            } else {
                factors.push_back(s.factor);
                computed.push_back(scales_.size() - 1);
            }
        }
        if (computed.empty()) return;
        auto const values =
            compute_constants(g_, evaluators_of(cx_, g_), factors,
                              {.compute = precision::f64, .threads = cx_.threads, .round_outputs = true});
        for (std::size_t i = 0; i < computed.size(); ++i) {
            if (values)
                judge(scales_[computed[i]], (*values)[i]);
            else
                scales_[computed[i]].unfit = "a scale that cannot be computed";
        }
    }

    // Whether the factor is one number, or varies along one axis of the data, which it does not enlarge.
    bool find_axis(scale& s) {
        auto const &data = g_.type(s.data), &factor = g_.type(s.factor);
        if (!data.ranked || !factor.is_static() || factor.rank() > data.rank()) return false;
        if (!(data.dims == g_.type({s.node, 0}).dims)) return false;
        for (std::size_t i = 0; i < factor.rank(); ++i) {
            if (factor.dims[i].size() == 1) continue;
            if (s.size != 1) {
                outcome_.skip("a scale along several axes");
                return false;
            }
            s.size = factor.dims[i].size();
            s.axis = i + data.rank() - factor.rank();
        }
        if (data.element != dtype::f32 && data.element != dtype::f64) {
            outcome_.skip("elements other than f32 and f64");
            return false;
        }
        return true;
    }

    static void judge(scale& s, tensor const& values) {
        auto const numbers = values.converted_to(dtype::f64);
        for (auto x : numbers.template data<double>()) {
            if (!(std::abs(x) <= 0x1p60) || (x != 0 && std::abs(x) < 0x1p-60)) s.unfit = "a scale of extreme size";
            s.any_negative |= x < 0;
            s.any_zero |= x == 0;
        }
    }

    void fold(scale& s, std::string_view (scale_folder::*make)(scale const&, plan&) const,
              void (scale_folder::*apply)(scale const&, step)) {
        cx_.check_stop();
        s.data = g_.operand(s.node, g_.operand(s.node, 0) == s.factor ? 1 : 0); // another scale's operand by now
        plan p;
        auto const reason = s.unfit.empty() ? (this->*make)(s, p) : s.unfit;
        if (!reason.empty()) return outcome_.skip(reason);
        for (auto at : p) (this->*apply)(s, at);
        // The scale and what it was read by stand in one place now.
        std::vector<node_id> const both{p.back().node, s.node};
        g_.inherit_sources(p.back().node, both);
        g_.replace_uses({s.node, 0}, s.data);
        gone_.resize(std::max<std::size_t>(gone_.size(), s.node.index + 1));
        gone_[s.node.index] = true;
        ++outcome_.matches;
    }

    pass_outcome finish() {
        outcome_.changed = outcome_.matches > 0;
        if (outcome_.changed) {
            g_.erase_dead();
            GSUB_ASSERT(g_.sort(), "scaling weights cannot close a cycle");
        }
        return std::move(outcome_);
    }

    // Scales that are folded read their operand no longer.
    [[nodiscard]] bool gone(node_id n) const { return n.index < gone_.size() && gone_[n.index]; }
    [[nodiscard]] bool read_once(value_id v) const {
        std::size_t readers = 0;
        g_.for_each_use(v, [&](use u) {
            readers += gone(u.user) ? 0 : 1;
            return readers < 2;
        });
        return readers == 1;
    }
    [[nodiscard]] bool along(scale const& s, std::size_t axis) const { return s.size == 1 || s.axis == axis; }
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
    value_id vector(scale const& s, std::size_t rank, std::size_t at) {
        ints dims(rank, 1);
        dims[at] = s.size;
        return g_.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(dims)), {s.factor});
    }
    void multiply(scale const& s, node_id n, std::size_t operand, std::size_t along_axis) {
        auto const v = g_.operand(n, operand);
        if (!v.valid()) return;
        auto const rank = std::max<std::size_t>(1, g_.type(v).rank());
        g_.set_operand(n, operand, g_.add<ops::mul>(v, vector(s, rank, along_axis)));
    }

    // ---- towards the operands ----------------------------------------------------------------------------------

    std::string_view plan_backward(scale const& s, plan& p) const {
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

    void apply_backward(scale const& s, step at) {
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

    // ---- towards the readers -----------------------------------------------------------------------------------

    std::string_view plan_forward(scale const& s, plan& p) const {
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
        std::stable_partition(p.begin(), p.end(), [&](step at) { return !ends_in_weights(at.node); });
        return ends ? std::string_view{} : "no weights behind the scale";
    }
    [[nodiscard]] bool ends_in_weights(node_id n) const {
        return g_.is<ops::conv>(n) || g_.is<ops::mat_mul>(n) || g_.is<ops::gemm>(n);
    }

    // Why a scale cannot go into a reader or past it, or nothing; then its result may be one to look at.
    std::string_view reader(scale const& s, value_id v, use u, bool& ends, std::vector<value_id>& open) const {
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

    void apply_forward(scale const& s, step at) {
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

    any_graph& g_;
    pass_context& cx_;
    pass_outcome outcome_;
    std::vector<scale> scales_;
    std::vector<bool> gone_;
};

} // namespace gsub::passes::detail

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> backward_fold_scale_axis::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::scale_folder<>{g, cx}.backward(); });
}

} // namespace gsub::passes
