#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/select/architecture.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace gsub {

namespace detail {

// Part of what a node does for the features of a network.
enum class network_role : std::uint8_t {
    nothing,
    convolution,
    product,
    attention,
    softmax,
    addition,
    passing ///< hands on what it reads: arithmetic of elements, movement, normalisation
};

template <class = void>
class feature_counter {
public:
    explicit feature_counter(any_graph const& g) : g_(g) {
        for (auto n : g.order()) {
            roles_.resize(std::max<std::size_t>(roles_.size(), n.index + 1), network_role::nothing);
            varies_.resize(roles_.size(), 0);
            varies_[n.index] = g.is<ops::input>(n) || !variable_operands(n).empty();
            if (varies_[n.index]) roles_[n.index] = role_of(n);
        }
    }

    architecture_features run() {
        for (auto n : g_.order()) {
            if (!varies_[n.index] || g_.is<ops::input>(n) || n == g_.return_node()) continue;
            ++f_.nodes;
            switch (roles_[n.index]) {
            case network_role::convolution:
                ++f_.convolutions;
                if (is_depthwise(n)) {
                    ++f_.depthwise;
                    if (reaches(n, true, [&](node_id m) { return is_pointwise(m); })) ++f_.separable_blocks;
                }
                if (variable_operands(n).size() > 1) ++f_.residual_blocks; // an addition is fused into it
                break;
            case network_role::product:
                ++f_.products;
                break;
            case network_role::attention:
                ++f_.attention_blocks;
                break;
            case network_role::softmax:
                if (reaches(n, false, [&](node_id m) { return joins_variables(m); }) &&
                    reaches(n, true, [&](node_id m) { return joins_variables(m); }))
                    ++f_.attention_blocks;
                break;
            case network_role::addition:
                if (is_residual(n)) ++f_.residual_blocks;
                break;
            default:
                break;
            }
        }
        f_.head_maps = head_maps();
        return f_;
    }

private:
    using nodes = std::vector<node_id>;

    [[nodiscard]] network_role role_of(node_id n) const {
        if (g_.is<ops::conv>(n) || g_.is<ops::conv_integer>(n) || g_.is<ops::qlinear_conv>(n))
            return network_role::convolution;
        if (g_.is<ops::quantize>(n) || g_.is<ops::dequantize>(n)) return network_role::passing;
        if (g_.is<ops::softmax>(n)) return network_role::softmax;
        auto const sums = [&] {
            return variable_operands(n).size() > 1 ? network_role::addition : network_role::passing;
        };
        if (g_.is<ops::add>(n) || g_.is<ops::sum>(n)) return sums();
        switch (g_.op(n).category) {
        case op_category::contraction:
            return network_role::product;
        case op_category::elementwise:
        case op_category::injective:
            return network_role::passing;
        case op_category::opaque: {
            auto const role = role_of_type(g_.attributes<ops::opaque>(n).op_type);
            return role == network_role::addition ? sums() : role;
        }
        default:
            return network_role::nothing;
        }
    }
    // Fused operators of other tools carry the names of what they are made of.
    [[nodiscard]] static network_role role_of_type(std::string_view type) {
        constexpr std::pair<std::string_view, network_role> parts[] = {
            {"Convert", network_role::passing},        {"Conv", network_role::convolution},
            {"Attention", network_role::attention},    {"MatMul", network_role::product},
            {"Gemm", network_role::product},           {"Softmax", network_role::softmax},
            {"SkipLayerNorm", network_role::addition}, {"Add", network_role::addition},
            {"Normalization", network_role::passing},  {"Relu", network_role::passing},
            {"Gelu", network_role::passing},           {"QuantizeLinear", network_role::passing},
            {"Reorder", network_role::passing},        {"Clip", network_role::passing},
        };
        for (auto const& [part, role] : parts)
            if (type.find(part) != type.npos) return role;
        return network_role::nothing;
    }

    [[nodiscard]] std::vector<value_id> variable_operands(node_id n) const {
        std::vector<value_id> out;
        for (auto v : g_.operands(n))
            if (v.valid() && varies_[v.node.index]) out.push_back(v);
        return out;
    }
    [[nodiscard]] bool joins_variables(node_id n) const {
        return roles_[n.index] == network_role::product && variable_operands(n).size() > 1;
    }
    // The type of a convolution's weights: the first constant of a filter's form.
    [[nodiscard]] tensor_type const* weights_of(node_id n) const {
        for (auto v : g_.operands(n))
            if (v.valid() && !varies_[v.node.index] && g_.type(v).rank() >= 3) return &g_.type(v);
        return nullptr;
    }
    [[nodiscard]] bool is_depthwise(node_id n) const {
        auto const* const w = weights_of(n);
        if (!w || !w->dims[1].fixed() || w->dims[1].size() != 1 || !w->dims[0].fixed() || is_pointwise(n)) return false;
        auto const x = variable_operands(n);
        // An operator that gsub does not know says nothing of groups: all but images of one channel have them.
        if (!g_.is<ops::conv>(n)) return w->dims[0].size() > 1 && !x.empty() && !g_.is<ops::input>(x[0].node);
        return g_.attributes<ops::conv>(n).group > 1;
    }
    [[nodiscard]] bool is_pointwise(node_id n) const {
        if (roles_[n.index] != network_role::convolution) return false;
        auto const* const w = weights_of(n);
        return w && std::all_of(w->dims.begin() + 2, w->dims.end(),
                                [](auto const& d) { return d.fixed() && d.size() == 1; });
    }

    // Whether what is looked for is read by a node, or reads it, with nodes between that only hand on.
    template <class F>
    [[nodiscard]] bool reaches(node_id from, bool forward, F&& found) const {
        constexpr std::size_t most = 32;
        nodes seen{from};
        auto here = false;
        auto const visit = [&](node_id m) {
            if (here || seen.size() > most || std::find(seen.begin(), seen.end(), m) != seen.end()) return;
            here = found(m);
            if (roles_[m.index] == network_role::passing || roles_[m.index] == network_role::addition)
                seen.push_back(m);
        };
        for (std::size_t i = 0; i < seen.size() && !here; ++i) {
            if (!forward)
                for (auto v : variable_operands(seen[i])) visit(v.node);
            for (std::uint32_t port = 0; forward && port < g_.result_count(seen[i]); ++port)
                g_.for_each_use({seen[i], port}, [&](use u) {
                    if (u.user != g_.return_node()) visit(u.user);
                });
        }
        return here;
    }

    // What computes a value, before nodes with one variable operand that hand it on.
    [[nodiscard]] node_id maker(value_id v) const {
        while (roles_[v.node.index] == network_role::passing) {
            auto const from = variable_operands(v.node);
            if (from.size() != 1) break;
            v = from[0];
        }
        return v.node;
    }
    [[nodiscard]] nodes before(value_id v) const {
        constexpr std::size_t most = 48;
        nodes seen{v.node};
        for (std::size_t i = 0; i < seen.size() && seen.size() < most; ++i)
            for (auto o : variable_operands(seen[i]))
                if (std::find(seen.begin(), seen.end(), o.node) == seen.end()) seen.push_back(o.node);
        std::sort(seen.begin(), seen.end());
        return seen;
    }
    // An addition of two values that come from one, at least one of them out of a convolution or product.
    [[nodiscard]] bool is_residual(node_id n) const {
        auto const operands = variable_operands(n);
        auto const contracted = std::any_of(operands.begin(), operands.end(), [&](value_id v) {
            auto const role = roles_[maker(v).index];
            return role == network_role::convolution || role == network_role::product ||
                   role == network_role::attention;
        });
        if (!contracted || operands.size() < 2) return false;
        auto const a = before(operands[0]), b = before(operands[1]);
        nodes both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        return !both.empty();
    }

    // From the outputs backwards, through everything but contractions, sums and reductions.
    [[nodiscard]] std::size_t head_maps() const {
        std::vector<char> seen(roles_.size(), 0);
        nodes waiting;
        for (std::size_t i = 0; i < g_.output_count(); ++i) waiting.push_back(g_.output(i).node);
        std::set<std::pair<std::int64_t, std::int64_t>> sizes;
        std::set<value_id> images; // of unknown sizes
        while (!waiting.empty()) {
            auto const n = waiting.back();
            waiting.pop_back();
            if (!varies_[n.index] || std::exchange(seen[n.index], 1)) continue;
            auto const role = roles_[n.index];
            auto const operands = variable_operands(n);
            if (role == network_role::convolution && !operands.empty()) {
                auto const& t = g_.type(operands[0]);
                if (t.rank() == 4 && t.dims[2].fixed() && t.dims[3].fixed())
                    sizes.insert({t.dims[2].size(), t.dims[3].size()});
                else
                    images.insert(operands[0]);
            } else if (role == network_role::passing || role == network_role::softmax ||
                       (role == network_role::nothing && g_.is<ops::opaque>(n))) {
                for (auto v : operands) waiting.push_back(v.node);
            }
        }
        return sizes.size() + images.size();
    }

    any_graph const& g_;
    std::vector<char> varies_;        // nodes: whether their results depend on an input
    std::vector<network_role> roles_; // of nodes; of what does not vary nothing
    architecture_features f_;
};

} // namespace detail

GSUB_LAZY_BODY architecture_features features_of(any_graph const& g) {
    return detail::feature_counter{g}.run();
}

} // namespace gsub
