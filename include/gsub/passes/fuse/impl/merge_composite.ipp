#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/fuse/merge_composite.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/partition/outline.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/pattern/conditions.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gsub::passes {

namespace detail::composites {

using namespace gsub::pattern;
using gsub::pattern::constant;

inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto z = var<"z">;
inline constexpr auto w = var<"w">;
inline constexpr auto b = var<"b">;
inline constexpr auto c1 = var<"c1">;
inline constexpr auto c2 = var<"c2">;
inline constexpr auto c3 = var<"c3">;
inline constexpr auto some_bias = maybe<"bias">;
inline constexpr auto low = maybe<"low">;
inline constexpr auto high = maybe<"high">;

// Whether a value is a constant of one element that is near to `wanted`.
inline bool is_number(match const& m, value_id v, double wanted) {
    auto const& g = m.graph();
    if (!g.is<ops::constant>(v.node) || g.constant_data(v.node).elements() != 1) return false;
    auto const element = g.constant_data(v.node).element();
    if (element != dtype::f32 && element != dtype::f64 && element != dtype::f16 && element != dtype::bf16) return false;
    auto const value = g.constant_data(v.node).converted_to(dtype::f64).template data<double>()[0];
    return std::abs(value - wanted) <= (element == dtype::f16 || element == dtype::bf16 ? 1e-2 : 1e-5);
}
inline bool is_number(match const& m, value_id v) {
    return m.graph().is<ops::constant>(v.node) && m.graph().constant_data(v.node).elements() == 1;
}

// Members of a template: compiled where they are asked for.
template <class = void>
struct library {
    static constexpr auto gelu_numbers = condition("the numbers are those of gelu", [](match const& m) {
        return is_number(m, m[c1], std::sqrt(2.0)) && is_number(m, m[c2], 1) && is_number(m, m[c3], 0.5);
    });
    // Both means are over the same axes, which stay.
    static constexpr auto layer_norm_means =
        condition("means are taken over the same axes and squares are squares", [](match const& m) {
            auto const &a = m.template attributes<ops::reduce_mean>(label<"m">),
                       &v = m.template attributes<ops::reduce_mean>(label<"v">);
            return a.axes == v.axes && a.keepdims && v.keepdims && is_number(m, m[c1]) && is_number(m, m[c2], 2);
        });
    static constexpr auto one_scale =
        condition("the scale is one number", [](match const& m) { return is_number(m, m[c1]); });

    static constexpr auto convolved = conv[label<"c">](x, w, some_bias);
    static constexpr auto centred = sub[label<"s">](x, op<ops::reduce_mean>[label<"m">](x));

    static constexpr auto attention = composite<"attention">(
        mat_mul(op<ops::softmax>[label<"p">](add(div(mat_mul[label<"q">](x, y), c1), b)), z), where(one_scale));
    static constexpr auto plain_attention = composite<"attention">(
        mat_mul(op<ops::softmax>[label<"p">](div(mat_mul[label<"q">](x, y), c1)), z), where(one_scale));
    static constexpr auto layer_norm = composite<"layer_norm">(
        add(mul(div(centred, op<ops::sqrt>(add(op<ops::reduce_mean>[label<"v">](op<ops::pow>(centred, c2)), c1))), w),
            b),
        where(layer_norm_means, constant(w, b)));
    static constexpr auto gelu =
        composite<"gelu">(mul(mul(x, add(op<ops::erf>(div(x, c1)), c2)), c3), where(gelu_numbers));
    static constexpr auto gelu_scaled_first =
        composite<"gelu">(mul(mul(x, c3), add(op<ops::erf>(div(x, c1)), c2)), where(gelu_numbers));
    static constexpr auto conv_bias_add_relu =
        composite<"conv_bias_add_relu">(relu(add(add(convolved, b), y)), where(constant(b)));
    static constexpr auto conv_bias_relu = composite<"conv_bias_relu">(relu(add(convolved, b)), where(constant(b)));
    static constexpr auto conv_add_relu = composite<"conv_add_relu">(relu(add(convolved, y)));
    static constexpr auto conv_relu = composite<"conv_relu">(relu(convolved));
    static constexpr auto conv_clip = composite<"conv_clip">(clip(convolved, low, high));
    static constexpr auto conv_bias = composite<"conv_bias">(add(convolved, b), where(constant(b)));
    static constexpr auto mat_mul_add = composite<"matmul_add">(add(mat_mul(x, w), b), where(constant(w, b)));

    static constexpr auto table =
        rule_list(attention, plain_attention, layer_norm, gelu, gelu_scaled_first, conv_bias_add_relu, conv_bias_relu,
                  conv_add_relu, conv_relu, conv_clip, conv_bias, mat_mul_add);
};

} // namespace detail::composites

namespace detail {

// Finds the matches of one function's body that can become functions.
template <class = void>
class composite_finder {
public:
    composite_finder(any_graph const& g, pass_outcome& outcome)
        : g_(g), outcome_(outcome), taken_(g.capacity(), none), inside_(g.capacity(), 0), seen_(g.capacity(), 0) {
        auto const results = g.return_node();
        auto const needed = upstream(g, {&results, 1});
        auto canonical = g; // so that the order of insertion decides nothing
        canonical.order_canonically();
        for (auto n : canonical.order())
            if (needed[n.index] && !g.constant(n) && n != results && !g.is<ops::input>(n)) nodes_.push_back(n);
        std::reverse(nodes_.begin(), nodes_.end());
    }

    void look_for(rule_program const& r) {
        auto const& root = r.match_nodes[r.roots[0]];
        for (auto n : nodes_) {
            if (taken_[n.index] != none) continue;
            if (root.kind == pattern::node_kind::operation && g_.op(n).id != root.op) continue;
            bool done = false;
            std::string_view why;
            find_pattern_at(g_, r, n, [&](match const& m) {
                if (done || !m.addends().empty()) return; // a composite is what its pattern says
                auto const reason = obstacle(m);
                if (reason.empty())
                    take(m), done = true;
                else if (why.empty())
                    why = reason;
            });
            if (!done && !why.empty()) outcome_.skip(format_text("{}: {}", r.name, why));
        }
    }
    [[nodiscard]] std::vector<outlined_part> const& parts() const noexcept { return parts_; }

private:
    static constexpr std::uint32_t none = 0xffffffffu;

    // Why a match cannot become a function; empty: it can.
    std::string_view obstacle(match const& m) {
        ++round_;
        members_.clear();
        for (auto n : m.covered())
            if (inside_[n.index] != round_) inside_[n.index] = round_, members_.push_back(n);
        for (auto n : members_)
            if (taken_[n.index] != none) return "overlaps another match";
        if (members_.empty()) return "covers no operator";
        if (auto const* failed = first_failure(m)) return failed->sentence;
        auto const is_root = [&](value_id v) {
            return std::find(m.roots().begin(), m.roots().end(), v) != m.roots().end();
        };
        bool fine = true, several = false;
        node_id first_root;
        for (auto n : members_)
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                auto const root = is_root({n, port});
                if (root && first_root.valid() && !(first_root == n)) several = true;
                if (root) first_root = n;
                g_.for_each_use({n, port}, [&](use u) {
                    if (inside_[u.user.index] != round_ && !root) fine = false;
                    return fine;
                });
            }
        if (!fine) return "a value inside is read elsewhere";
        if (several && comes_back()) return "it would need its own results";
        return {};
    }

    // Whether a path leaves the members and comes back to them, functions made so far being one node each.
    bool comes_back() {
        open_.clear();
        auto const spread = [&](node_id n) {
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                g_.for_each_use({n, port}, [&](use u) {
                    if (seen_[u.user.index] != round_) seen_[u.user.index] = round_, open_.push_back(u.user);
                });
        };
        // Uses among the members do not leave.
        for (auto n : members_)
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                g_.for_each_use({n, port}, [&](use u) {
                    if (inside_[u.user.index] != round_ && seen_[u.user.index] != round_)
                        seen_[u.user.index] = round_, open_.push_back(u.user);
                });
        while (!open_.empty()) {
            auto const n = open_.back();
            open_.pop_back();
            if (inside_[n.index] == round_) return true;
            if (auto const part = taken_[n.index]; part != none)
                for (auto member : parts_[part].nodes) spread(member);
            else
                spread(n);
        }
        return false;
    }

    void take(match const& m) {
        for (auto n : members_) taken_[n.index] = static_cast<std::uint32_t>(parts_.size());
        std::string const composite{m.rule().name};
        parts_.push_back({members_, identifier_of(composite), {.composite_name = composite}});
    }

    any_graph const& g_;
    pass_outcome& outcome_;
    std::vector<node_id> nodes_;        // outputs first
    std::vector<std::uint32_t> taken_;  // part of each node
    std::vector<std::uint64_t> inside_; // of the match of which round
    std::vector<std::uint64_t> seen_;
    std::uint64_t round_ = 0;
    std::vector<node_id> members_, open_;
    std::vector<outlined_part> parts_;
};

} // namespace detail

GSUB_LAZY_BODY std::span<rule_program const> standard_composites() noexcept {
    return detail::composites::library<>::table;
}

GSUB_LAZY_BODY result<pass_outcome> merge_composite::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        if (table.empty()) outcome.skip("no patterns given");
        outliner make_functions{m};
        for (auto const& function_name : detail::functions_seen(pass_info::of<merge_composite>(), m, outcome)) {
            auto const& f = *m.find(function_name);
            if (!f.attributes.composite_name.empty()) continue;
            auto const& body = f.body;
            detail::composite_finder finder{body, outcome};
            for (auto const& pattern : table) {
                cx.check_stop();
                finder.look_for(pattern);
            }
            if (finder.parts().empty()) continue;
            make_functions(function_name, finder.parts(), {.copied_elements = 1});
            outcome.matches += finder.parts().size();
            outcome.changed = true;
        }
        return outcome;
    });
}

} // namespace gsub::passes
