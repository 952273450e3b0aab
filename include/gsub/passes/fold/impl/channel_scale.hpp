// channel_scale: a multiplication by constants, one number or one along an axis, and a search for all of them.
#pragma once

#include <gsub/eval/fold.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/evaluators_of.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

struct channel_scale {
    node_id node;
    value_id data, factor;
    std::size_t axis = 0;   // of the value that is scaled
    std::int64_t size = 1;  // 1: one factor for all
    std::string_view unfit; // why it stays
    bool any_negative = false, any_zero = false;
};

/// Finds the scales of a graph, in its order.
template <class = void>
class scale_finder {
public:
    scale_finder(any_graph const& g, pass_context& cx, pass_outcome& outcome) : g_(g), cx_(cx), outcome_(outcome) {}

    std::vector<channel_scale> find() {
        collect();
        return std::move(scales_);
    }

private:
    void collect() {
        if (!find_row(g_.operators().ops, id_of<ops::reshape>) || !find_row(g_.operators().ops, id_of<ops::div>))
            return;
        std::vector<value_id> factors;
        std::vector<std::size_t> computed; // whose factors these are
        for (auto n : g_.order()) {
            if (!g_.is<ops::mul>(n) || g_.constant(n) || !g_.used(n)) continue;
            auto const first = g_.constant(g_.operand(n, 0));
            if (!first && !g_.constant(g_.operand(n, 1))) continue;
            channel_scale s;
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
    bool find_axis(channel_scale& s) {
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

    static void judge(channel_scale& s, tensor const& values) {
        auto const numbers = values.converted_to(dtype::f64);
        for (auto x : numbers.template data<double>()) {
            if (!(std::abs(x) <= 0x1p60) || (x != 0 && std::abs(x) < 0x1p-60)) s.unfit = "a scale of extreme size";
            s.any_negative |= x < 0;
            s.any_zero |= x == 0;
        }
    }

    any_graph const& g_;
    pass_context& cx_;
    pass_outcome& outcome_;
    std::vector<channel_scale> scales_;
};

} // namespace gsub::passes::detail
