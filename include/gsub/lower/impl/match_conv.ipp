// Fusion matching of convolutions and of normalisations by constants: which operators their kernels take.
#pragma once

#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/lower/fusion_scope.hpp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/fuse_pool.ipp>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::detail {

// What follows a contraction within one kernel: an array added, then bounds.
struct conv_epilogue {
    value_id residual{};
    double low = -1e300, high = 1e300;
    bool bounded() const noexcept { return low > -1e300 || high < 1e300; }
};

// What the kernel of a convolution, or of a normalisation, takes over: as far as types and attributes tell.
struct conv_match {
    kernels::conv2d_shape s{};
    std::vector<node_id> nodes{};                ///< the first one leads
    std::size_t lines = 0;                       ///< of the nodes behind it, so many are arithmetic by channel
    std::optional<loop::scalar_op> activation{}; ///< a function; bounds are part of what follows
    conv_epilogue after{};
    std::vector<value_id> arrays{}; ///< of the chain behind
};

template <class = void>
class conv_matcher {
public:
    explicit conv_matcher(fusion_scope const& s) : s_(s), g_(s.graph()) {}

    // A convolution by constant weights, with at most so many lines behind it and all else that its kernel takes
    // over.
    std::optional<conv_match> conv(node_id n, std::size_t most_lines) const {
        auto c = read(n, most_lines);
        if (c) settle(*c);
        return c;
    }
    // A line for each channel, as a depthwise convolution of one pixel: the image is one row.
    std::optional<conv_match> normalization(node_id n) const {
        auto const& type = g_.type(g_.operand(n, 0));
        if (!has_constant_lines(n) || type.element != dtype::f32 || type.rank() < 2 || *type.elements() == 0 ||
            g_.result_count(n) != 1)
            return std::nullopt;
        conv_match c;
        c.s.batch = type.dims[0].size();
        c.s.in_channels = c.s.out_channels = c.s.groups = type.dims[1].size();
        c.s.in = {1, *type.elements() / (c.s.batch * c.s.groups)};
        c.s.bias = true;
        c.nodes.push_back(n);
        if (!is_arithmetic(n)) settle(c);
        return c;
    }
    // Where it is not in blocks, arithmetic is cheaper than the way there and back.
    bool is_arithmetic(node_id n) const {
        auto const& type = g_.type({n, 0});
        return !has_pixels(type) || type.dims[1].size() == 1 || !s_.in_blocks({n, 0});
    }
    // The 1x1 convolution that alone reads a depthwise one, where one kernel for both is better.
    std::optional<conv_match> pointwise_behind(conv_match const& c, std::size_t most_lines) const {
        value_id const hidden{c.nodes.back(), 0};
        auto const next = s_.only_reader(hidden);
        if (!next || c.s.groups == 1 || c.s.groups != c.s.in_channels || c.s.groups != c.s.out_channels ||
            !g_.is<ops::conv>(*next) || g_.operand(*next, 0) != hidden)
            return std::nullopt;
        auto second = conv(*next, most_lines);
        if (!second || !kernels::choose_separable({c.s, second->s}, s_.isa())) return std::nullopt;
        return second;
    }

private:
    // ---- what follows

    // Nodes behind the last one of a kernel that it takes over: each reads the value before it and nothing else
    // does.
    void absorb(std::vector<node_id>& nodes, conv_epilogue& e) const {
        while (true) {
            value_id const before{nodes.back(), 0};
            auto const next = s_.only_reader(before);
            if (!next || g_.type({*next, 0}) != g_.type(before)) return;
            auto const n = *next;
            if (g_.is<ops::add>(n) && !e.residual.valid() && !e.bounded()) {
                auto const left = g_.operand(n, 0), right = g_.operand(n, 1);
                auto const other = left == before ? right : right == before ? left : value_id{};
                if (!other.valid() || other == before || g_.type(other) != g_.type(before) || !s_.is_there(other))
                    return;
                e.residual = other;
            } else if (auto const bounds = bounds_of(n); bounds && g_.operand(n, 0) == before && !e.bounded()) {
                e.low = bounds->low, e.high = bounds->high;
            } else {
                return;
            }
            nodes.push_back(n);
        }
    }
    std::optional<conv_epilogue> bounds_of(node_id n) const {
        conv_epilogue e;
        if (g_.is<ops::relu>(n)) {
            e.low = 0;
        } else if (g_.is<ops::clip>(n)) {
            auto const& a = g_.attributes<ops::clip>(n);
            constexpr auto infinity = std::numeric_limits<double>::infinity();
            // An infinite bound on the wrong side is what every element becomes.
            if (g_.operand_count(n) != 1 || a.min == infinity || a.max == -infinity) return std::nullopt;
            if (std::isfinite(a.min)) e.low = a.min;
            if (std::isfinite(a.max)) e.high = a.max;
        } else {
            return std::nullopt;
        }
        return e;
    }
    bool constant_floats(value_id v) const {
        return v.valid() && g_.constant(v) && g_.type(v).is_static() && g_.type(v).element == dtype::f32;
    }
    bool has_constant_lines(node_id n) const {
        for (std::size_t i = 1; i < 5; ++i)
            if (!constant_floats(g_.operand(n, i))) return false;
        return true;
    }
    // Whether a constant is one number a channel, or one for all.
    bool is_by_channel(value_id v, std::int64_t channels, std::size_t rank) const {
        if (!constant_floats(v)) return false;
        auto const dims = g_.type(v).sizes();
        for (std::size_t behind = 0; behind < dims.size(); ++behind) {
            auto const size = dims[dims.size() - 1 - behind];
            if (behind >= rank || (size != 1 && (behind + 2 != rank || size != channels))) return false;
        }
        return true;
    }
    // Whether a node does no more to each channel of `before` than a factor, and something added.
    bool is_line(node_id n, value_id before) const {
        if (g_.is<ops::batch_norm>(n)) return g_.operand(n, 0) == before && has_constant_lines(n);
        if ((!g_.is<ops::add>(n) && !g_.is<ops::sub>(n) && !g_.is<ops::mul>(n)) || g_.type({n, 0}) != g_.type(before))
            return false;
        auto const& type = g_.type(before);
        return is_by_channel(g_.operand(n, g_.operand(n, 0) == before ? 1 : 0), type.dims[1].size(), type.rank());
    }

    // ---- convolutions

    std::optional<conv_match> read(node_id n, std::size_t most_lines) const {
        auto const x = g_.operand(n, 0), w = g_.operand(n, 1), bias = g_.operand(n, 2);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto const& a = g_.attributes<ops::conv>(n);
        if (!has_pixels(in) || in.element != dtype::f32 || !constant_floats(w) ||
            (bias.valid() && !constant_floats(bias)))
            return std::nullopt;
        auto const weights = g_.type(w).sizes();
        conv_match c;
        auto& s = c.s;
        s.batch = in.dims[0].size();
        s.in_channels = in.dims[1].size();
        s.out_channels = out.dims[1].size();
        s.groups = a.group;
        s.in = {1, 1};
        each_direction(in, [&](std::size_t i, std::size_t d, std::size_t count) {
            s.in[i] = in.dims[d + 2].size();
            s.kernel[i] = weights[d + 2];
            s.stride[i] = a.strides[d];
            s.dilation[i] = a.dilations[d];
            s.pads[i] = a.pads[d], s.pads[i + 2] = a.pads[d + count];
        });
        s.depth = depth_of(in, weights[2], a);
        if (is_column(s) && s.pads[1] == 0 && s.pads[3] == 0) {
            swap_directions(s.in, s.kernel, s.stride, s.dilation);
            std::swap(s.pads[0], s.pads[1]), std::swap(s.pads[2], s.pads[3]);
        }
        if (*out.elements() == 0 || *in.elements() == 0) return std::nullopt;
        if (!kernels::conv2d_applies(s, s_.isa())) return std::nullopt;
        if (a.act == activation::relu)
            c.after.low = 0;
        else if (a.act == activation::clip)
            c.after.low = a.act_min, c.after.high = a.act_max;
        else if (a.act != activation::none)
            c.activation = a.act == activation::tanh ? loop::scalar_op::tanh : loop::scalar_op::sigmoid;
        c.nodes.push_back(n);
        while (!c.after.bounded() && !c.activation && c.lines < most_lines) {
            value_id const before{c.nodes.back(), 0};
            auto const next = s_.only_reader(before);
            if (!next || !is_line(*next, before)) break;
            c.nodes.push_back(*next);
            ++c.lines;
        }
        s.bias = bias.valid() || c.lines > 0;
        return c;
    }
    // Takes over what follows.
    void settle(conv_match& c) const {
        if (!c.activation) absorb(c.nodes, c.after);
        take_chain(c);
        c.s.residual = c.after.residual.valid();
        c.s.low = c.after.low, c.s.high = c.after.high;
    }
    // Arithmetic behind all that, on values that are stored alike.
    void take_chain(conv_match& c) const {
        value_id const before{c.nodes.back(), 0};
        auto const& type = g_.type(before);
        auto const takes = [&](value_id v) { return g_.type(v) == type && s_.is_there(v); };
        expression_writer w{g_, s_.rules().scalars, type.sizes(), false, takes};
        w.start_with(before);
        grow(s_, w, before, true);
        auto epilogue = w.epilogue();
        if (stays_finite(epilogue)) {
            c.arrays = w.arrays();
            c.nodes.insert(c.nodes.end(), w.nodes().begin(), w.nodes().end());
        } else {
            epilogue.clear();
        }
        c.s.arrays = static_cast<std::int32_t>(c.arrays.size());
        if (c.activation) { // the rest is of its result
            auto const first = c.s.arrays + 1;
            for (auto& o : epilogue)
                for (auto* const operand : {&o.left, &o.right, &o.third})
                    if (*operand == 0 || *operand >= first) *operand = *operand == 0 ? first : *operand + 1;
            epilogue.insert(epilogue.begin(), kernels::elementwise_op{*c.activation, 0, -1, 0});
        }
        c.s.epilogue = std::move(epilogue);
    }

    fusion_scope const& s_;
    any_graph const& g_;
};

GSUB_LAZY [[nodiscard]] kernel_group match_conv(fusion_scope const& s, node_id n) {
    conv_matcher const m{s};
    constexpr auto any = static_cast<std::size_t>(-1);
    auto c = m.conv(n, any);
    if (!c) return {};
    if (auto const second = m.pointwise_behind(*c, any))
        c->nodes.insert(c->nodes.end(), second->nodes.begin(), second->nodes.end());
    return std::move(c->nodes);
}
GSUB_LAZY [[nodiscard]] kernel_group match_batch_norm(fusion_scope const& s, node_id n) {
    auto c = conv_matcher{s}.normalization(n);
    return c ? std::move(c->nodes) : kernel_group{};
}

} // namespace gsub::detail
