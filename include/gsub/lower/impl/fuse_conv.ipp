// Lowering of convolutions and of normalisations by constants, with the operators that they fuse.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/lower/impl/match_conv.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// What a normalisation or arithmetic with constants does to each channel: a factor, and what is added.
struct channel_lines {
    std::vector<float> scale, shift;
};
// What is done to the results of a convolution: to its weights, and behind it.
struct conv_constants {
    tensor weights{};
    std::vector<float> scale{}, bias{}; // of output channels, or empty
};

template <class = void>
class conv_fusion {
public:
    explicit conv_fusion(kernel_builder& b) : b_(b), g_(b.graph()), match_(b) {}

    bool conv(node_id n) {
        auto c = matched(n);
        if (!c) return false;
        auto& s = c->first.s;
        auto const in_blocks =
            s.groups > 1 || s.in_channels >= b_.isa().lanes() / 2 || b_.in_blocks(data_of(g_, n, b_.isa()));
        s.input = in_blocks ? kernels::image_layout::blocked : kernels::image_layout::planar;
        if (add_separable(*c)) return true;
        add(n, std::move(*c), [&] { return b_.operand(g_.operand(n, 1)); });
        return true;
    }
    bool batch_norm(node_id n) {
        auto c = match_.normalization(n);
        if (!c) return false;
        auto lines = lines_of(n);
        if (c->nodes.size() == 1 && match_.is_arithmetic(n)) return add_lines(n, lines);
        std::int64_t const dims[] = {c->s.groups, 1, 1, 1};
        auto factors = tensor::from(std::span<std::int64_t const>{dims}, as_span(lines.scale));
        c->s.input = kernels::image_layout::blocked;
        auto const weights = [&] { return b_.constant(std::move(factors), {}); };
        add(n, conv_group{std::move(*c), conv_constants{{}, {}, std::move(lines.shift)}}, weights);
        return true;
    }

private:
    using conv_group = std::pair<conv_match, conv_constants>;

    // A line for each channel as arithmetic.
    bool add_lines(node_id n, channel_lines const& lines) {
        auto const x = g_.operand(n, 0);
        auto const dims = g_.type(x).sizes();
        std::int64_t const channels[] = {dims[1]};
        kernel_op op{.operands = {b_.viewed(x)}};
        kernels::row_reduction_shape p;
        p.dims.assign(dims.begin(), dims.end());
        p.arrays.push_back(kernels::array_view::contiguous(p.dims));
        for (auto const* const of : {&lines.scale, &lines.shift}) {
            kernel_operand o{
                b_.constant(tensor::from(std::span<std::int64_t const>{channels}, as_span(*of)), {}), {}, {}};
            o.access.assign(dims.size(), -1);
            o.access[1] = 0;
            op.operands.push_back(std::move(o));
            kernels::array_view along{dims[1], 0, {}};
            along.strides.assign(dims.size(), 0);
            along.strides[1] = 1;
            p.arrays.push_back(std::move(along));
        }
        p.ops.push_back({kernels::reduction_step::elementwise, {loop::scalar_op::multiply, 0, 1}});
        p.ops.push_back({kernels::reduction_step::elementwise, {loop::scalar_op::add, 3, 2}});
        p.results.push_back({4, true});
        op.frame.append(std::span<std::int64_t const>{dims.data(), dims.size()});
        op.computes = std::move(p);
        finish({n}, std::move(op));
        return true;
    }

    // ---- constants

    // What a node that is a line does to each of so many channels of `before`; nothing where that is not finite.
    std::optional<channel_lines> lines_behind(node_id n, value_id before, std::int64_t channels) const {
        auto const finite = [](channel_lines l) -> std::optional<channel_lines> {
            auto const all = [](std::vector<float> const& v) {
                return std::all_of(v.begin(), v.end(), [](float x) { return std::isfinite(x); });
            };
            if (!all(l.scale) || !all(l.shift)) return std::nullopt;
            return l;
        };
        if (g_.is<ops::batch_norm>(n)) return finite(lines_of(n));
        auto const difference = g_.is<ops::sub>(n), product = g_.is<ops::mul>(n);
        auto const first = g_.operand(n, 0) == before;
        auto const constant = *b_.constant_of(g_.operand(n, first ? 1 : 0));
        auto const values = constant.data<float>();
        std::vector<float> c(static_cast<std::size_t>(channels));
        for (std::size_t i = 0; i < c.size(); ++i) c[i] = values[values.size() == 1 ? 0 : i];
        std::vector<float> const ones(c.size(), difference && !first ? -1.0f : 1.0f), zeros(c.size(), 0.0f);
        if (product) return finite({std::move(c), zeros});
        if (difference && first)
            for (auto& x : c) x = -x;
        return finite({ones, std::move(c)});
    }
    channel_lines lines_of(node_id n) const {
        std::vector<tensor> constants; // scale, shift, mean, variance
        for (std::size_t i = 1; i < 5; ++i) constants.push_back(*b_.constant_of(g_.operand(n, i)));
        channel_lines out;
        for (std::size_t c = 0; c < static_cast<std::size_t>(constants[0].elements()); ++c) {
            auto const at = [&](std::size_t i) { return static_cast<double>(constants[i].data<float>()[c]); };
            auto const factor = at(0) / std::sqrt(at(3) + g_.attributes<ops::batch_norm>(n).epsilon);
            out.scale.push_back(static_cast<float>(factor));
            out.shift.push_back(static_cast<float>(at(1) - at(2) * factor));
        }
        return out;
    }
    // A convolution with its constants; without lines whose factors its weights cannot take, and what is behind those.
    std::optional<conv_group> matched(node_id n) const {
        auto most_lines = static_cast<std::size_t>(-1);
        for (;;) {
            auto c = match_.conv(n, most_lines);
            if (!c) return std::nullopt;
            conv_constants k{*b_.constant_of(g_.operand(n, 1)), {}, {}};
            if (auto const bias = b_.constant_of(g_.operand(n, 2)))
                k.bias.assign(bias->template data<float>().begin(), bias->template data<float>().end());
            std::size_t taken = 0;
            for (; taken < c->lines; ++taken) {
                auto const lines = lines_behind(c->nodes[taken + 1], {c->nodes[taken], 0}, c->s.out_channels);
                if (!lines || !take_over(*lines, k)) break;
            }
            if (taken == c->lines) return conv_group{std::move(*c), std::move(k)};
            most_lines = taken;
        }
    }
    // Lines behind those so far; not where a channel's factor, or its products with weights, leave the range in which
    // floats keep their digits: one after the other, factors need not.
    static bool take_over(channel_lines const& lines, conv_constants& c) {
        constexpr float most = 0x1p100f;
        channel_lines all{c.scale, c.bias};
        all.scale.resize(lines.scale.size(), 1.0f);
        all.shift.resize(lines.shift.size(), 0.0f);
        for (std::size_t i = 0; i < all.scale.size(); ++i) {
            auto const before = std::exchange(all.scale[i], all.scale[i] * lines.scale[i]);
            all.shift[i] = all.shift[i] * lines.scale[i] + lines.shift[i];
            auto const size = std::abs(all.scale[i]);
            auto const vanishes = size < 1 / most && before != 0 && lines.scale[i] != 0;
            if (vanishes || size > most || !std::isfinite(all.shift[i])) return false;
        }
        if (!std::isfinite(greatest(c.weights.template data<float>()) * greatest(all.scale))) return false;
        c.scale = std::move(all.scale), c.bias = std::move(all.shift);
        return true;
    }
    // The greatest magnitude of what is a number.
    static float greatest(std::span<float const> of) {
        if (auto const most = greatest_magnitude(of); !std::isnan(most)) return most;
        float most = 0;
        for (auto const x : of) most = std::max(most, std::abs(x));
        return most;
    }

    // ---- kernels

    template <class Weights>
    void add(node_id n, conv_group c, Weights const& weights) {
        kernel_op op{.operands = {b_.whole(data_of(g_, n, b_.isa()))}};
        add_operands(c, op, weights);
        op.computes = c.first.s;
        finish(c.first.nodes, std::move(op));
    }
    // A depthwise convolution together with the 1×1 convolution that alone reads it, where that is better.
    bool add_separable(conv_group& c) {
        auto const behind = match_.pointwise_behind(c.first, static_cast<std::size_t>(-1));
        auto second = behind ? matched(behind->nodes.front()) : std::nullopt;
        if (!second) return false;
        kernels::separable_shape const both{c.first.s, second->first.s};
        if (!kernels::choose_separable(both, b_.isa())) return false;
        kernel_op op{.computes = both, .operands = {b_.whole(data_of(g_, c.first.nodes.front(), b_.isa()))}};
        for (auto* const one : {&c, &*second})
            add_operands(*one, op, [&] { return b_.operand(g_.operand(one->first.nodes.front(), 1)); });
        auto& nodes = c.first.nodes;
        nodes.insert(nodes.end(), second->first.nodes.begin(), second->first.nodes.end());
        finish(nodes, std::move(op));
        return true;
    }
    // Weights, and what is added to results.
    template <class Weights>
    void add_operands(conv_group& c, kernel_op& op, Weights const& weights) {
        auto& [match, k] = c;
        k.weights = {};
        op.operands.push_back({weights(), {}, weight_packing{.scale = std::move(k.scale)}});
        if (match.s.bias) {
            std::int64_t const dims[] = {static_cast<std::int64_t>(k.bias.size())};
            op.operands.push_back(
                {b_.constant(tensor::from(std::span<std::int64_t const>{dims}, as_span(k.bias)), {}), {}, {}});
        }
        if (match.s.residual) op.operands.push_back(b_.whole(match.after.residual));
        for (auto v : match.arrays) op.operands.push_back(b_.whole(v));
    }
    void finish(std::vector<node_id> const& nodes, kernel_op op) {
        op.results.push_back(b_.result({nodes.back(), 0}));
        b_.add(nodes, std::move(op));
    }

    kernel_builder& b_;
    any_graph const& g_;
    conv_matcher<> match_;
};

} // namespace gsub::detail
