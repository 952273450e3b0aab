// Convolutions and normalisations by constants, with what their kernels take over behind them.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/fuse_pool.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// What follows a contraction within one kernel: an array added, then bounds.
struct conv_epilogue {
    value_id residual{};
    double low = -1e300, high = 1e300;
    bool bounded() const noexcept { return low > -1e300 || high < 1e300; }
};

// What a normalisation or arithmetic with constants does to each channel: a factor, and what is added.
struct channel_lines {
    std::vector<float> scale, shift;
};

// A convolution of the first operand of its first node, with what its kernel takes over behind it.
struct conv_group {
    kernels::conv2d_shape s{};
    std::vector<node_id> nodes{};
    tensor weights{};
    value_id weights_of{};                       // the graph's, where it has them
    std::vector<float> scale{}, bias{};          // of output channels, or empty
    std::optional<loop::scalar_op> activation{}; // a function; bounds are part of what follows
    conv_epilogue after{};
    std::vector<value_id> arrays{}; // of the chain behind
};

template <class = void>
class conv_fusion {
public:
    explicit conv_fusion(kernel_builder& b) : b_(b), g_(b.graph()) {}

    bool conv(node_id n) {
        auto c = read(n);
        return c && add(std::move(*c));
    }
    // A line for each channel is a depthwise convolution of one pixel, and the image is one row. Where neither what it
    // reads nor what reads it is in blocks, arithmetic is cheaper than the way there and back.
    bool batch_norm(node_id n) {
        auto const& type = g_.type(g_.operand(n, 0));
        if (type.element != dtype::f32 || type.rank() < 2 || *type.elements() == 0 || g_.result_count(n) != 1)
            return false;
        auto lines = lines_of(n);
        auto const stays_plain = !b_.in_blocks(g_.operand(n, 0)) && !goes_to_blocks({n, 0}, 4);
        if (lines && (!has_pixels(type) || type.dims[1].size() == 1 || stays_plain)) return add_lines(n, *lines);
        kernels::conv2d_shape s;
        s.batch = type.dims[0].size();
        s.in_channels = s.out_channels = s.groups = type.dims[1].size();
        s.in = {1, *type.elements() / (s.batch * s.groups)};
        if (!lines) return false;
        std::int64_t const dims[] = {s.groups, 1, 1, 1};
        auto factors = tensor::from(std::span<std::int64_t const>{dims}, as_span(lines->scale));
        return add({.s = s, .nodes = {n}, .weights = std::move(factors), .bias = std::move(lines->shift)});
    }

private:
    // Whether a kernel in blocks reads a value, after so many elementwise operators at most.
    bool goes_to_blocks(value_id v, int steps) const {
        auto found = false;
        g_.for_each_use(v, [&](use u) {
            auto const n = u.user;
            if (found || n == g_.results_node()) return;
            auto const category = g_.op(n).category;
            found = g_.is<ops::conv>(n) || g_.is<ops::max_pool>(n) || g_.is<ops::average_pool>(n) ||
                    g_.is<ops::global_average_pool>(n) || g_.is<ops::batch_norm>(n) ||
                    (steps > 0 && category == op_category::elementwise && goes_to_blocks({n, 0}, steps - 1));
        });
        return found;
    }
    // A line for each channel as arithmetic.
    bool add_lines(node_id n, channel_lines const& lines) {
        auto const x = g_.operand(n, 0);
        auto const dims = g_.type(x).sizes();
        std::int64_t const channels[] = {dims[1]};
        kernel_op op{.operands = {b_.viewed(x)}};
        kernels::row_program p;
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
        p.ops.push_back({kernels::row_step::elementwise, {loop::scalar_op::multiply, 0, 1}});
        p.ops.push_back({kernels::row_step::elementwise, {loop::scalar_op::add, 3, 2}});
        p.results.push_back({4, true});
        op.frame.append(std::span<std::int64_t const>{dims.data(), dims.size()});
        op.computes = std::move(p);
        finish({n}, std::move(op));
        return true;
    }

    // ---- what follows

    // Nodes behind the last one of a kernel that it takes over: each reads the value before it and nothing else does.
    void absorb(std::vector<node_id>& nodes, conv_epilogue& e) const {
        while (true) {
            value_id const before{nodes.back(), 0};
            auto const next = b_.only_reader(before);
            if (!next || g_.type({*next, 0}) != g_.type(before)) return;
            auto const n = *next;
            if (g_.is<ops::add>(n) && !e.residual.valid() && !e.bounded()) {
                auto const left = g_.operand(n, 0), right = g_.operand(n, 1);
                auto const other = left == before ? right : right == before ? left : value_id{};
                if (!other.valid() || other == before || g_.type(other) != g_.type(before) || !b_.exists(other)) return;
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
            if (g_.operand_count(n) != 1) return std::nullopt;
            if (std::isfinite(a.min)) e.low = a.min;
            if (std::isfinite(a.max)) e.high = a.max;
        } else {
            return std::nullopt;
        }
        return e;
    }
    // The elements of a constant that is one number a channel, or one for all.
    std::optional<std::vector<float>> by_channel(value_id v, std::int64_t channels, std::size_t rank) const {
        auto const c = b_.constant_of(v);
        if (!c || c->element() != dtype::f32 || c->dims().size() > rank) return std::nullopt;
        auto const behind = [&](std::size_t i) {
            return i < c->dims().size() ? c->dims()[c->dims().size() - 1 - i] : 1;
        };
        for (std::size_t i = 0; i < rank; ++i)
            if (i + 2 != rank && behind(i) != 1) return std::nullopt;
        auto const values = c->template data<float>();
        std::vector<float> out(static_cast<std::size_t>(channels));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[values.size() == 1 ? 0 : i];
        return out;
    }
    // Of a node that reads `before`, of that many channels.
    std::optional<channel_lines> lines_behind(node_id n, value_id before, std::int64_t channels) const {
        auto const finite = [](std::optional<channel_lines> l) {
            auto const all = [](std::vector<float> const& v) {
                return std::all_of(v.begin(), v.end(), [](float x) { return std::isfinite(x); });
            };
            return l && all(l->scale) && all(l->shift) ? std::move(l) : std::nullopt;
        };
        if (g_.is<ops::batch_norm>(n)) return g_.operand(n, 0) == before ? finite(lines_of(n)) : std::nullopt;
        auto const sum = g_.is<ops::add>(n), difference = g_.is<ops::sub>(n), product = g_.is<ops::mul>(n);
        if ((!sum && !difference && !product) || g_.type({n, 0}) != g_.type(before)) return std::nullopt;
        auto const first = g_.operand(n, 0) == before;
        auto c = by_channel(g_.operand(n, first ? 1 : 0), channels, g_.type(before).rank());
        if (!c) return std::nullopt;
        std::vector<float> const ones(c->size(), difference && !first ? -1.0f : 1.0f), zeros(c->size(), 0.0f);
        if (product) return finite(channel_lines{std::move(*c), zeros});
        if (difference && first)
            for (auto& x : *c) x = -x;
        return finite(channel_lines{ones, std::move(*c)});
    }
    std::optional<channel_lines> lines_of(node_id n) const {
        std::vector<tensor> constants; // scale, shift, mean, variance
        for (std::size_t i = 1; i < 5; ++i) {
            auto c = b_.constant_of(g_.operand(n, i));
            if (!c || c->element() != dtype::f32) return std::nullopt;
            constants.push_back(std::move(*c));
        }
        channel_lines out;
        for (std::size_t c = 0; c < static_cast<std::size_t>(constants[0].elements()); ++c) {
            auto const at = [&](std::size_t i) { return static_cast<double>(constants[i].data<float>()[c]); };
            auto const factor = at(0) / std::sqrt(at(3) + g_.attributes<ops::batch_norm>(n).epsilon);
            out.scale.push_back(static_cast<float>(factor));
            out.shift.push_back(static_cast<float>(at(1) - at(2) * factor));
        }
        return out;
    }

    // ---- convolutions

    // A convolution by constant weights that there is a kernel for.
    std::optional<conv_group> read(node_id n) const {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto const& a = g_.attributes<ops::conv>(n);
        auto weights = b_.constant_of(g_.operand(n, 1));
        auto bias = b_.constant_of(g_.operand(n, 2));
        if (!has_pixels(in) || in.element != dtype::f32 || !weights || (g_.operand(n, 2).valid() && !bias))
            return std::nullopt;
        conv_group c;
        auto& s = c.s;
        s.batch = in.dims[0].size();
        s.in_channels = in.dims[1].size();
        s.out_channels = out.dims[1].size();
        s.groups = a.group;
        s.in = {1, 1};
        each_direction(in, [&](std::size_t i, std::size_t d, std::size_t count) {
            s.in[i] = in.dims[d + 2].size();
            s.kernel[i] = weights->dims()[d + 2];
            s.stride[i] = a.strides[d];
            s.dilation[i] = a.dilations[d];
            s.pads[i] = a.pads[d], s.pads[i + 2] = a.pads[d + count];
        });
        s.depth = depth_of(in, weights->dims()[2], a);
        if (*out.elements() == 0 || *in.elements() == 0) return std::nullopt;
        if (!kernels::conv2d_applies(s, b_.set())) return std::nullopt;
        if (a.act == activation::relu)
            c.after.low = 0;
        else if (a.act == activation::clip)
            c.after.low = a.act_min, c.after.high = a.act_max;
        else if (a.act != activation::none)
            c.activation = a.act == activation::tanh ? loop::scalar_op::tanh : loop::scalar_op::sigmoid;
        c.nodes.push_back(n);
        c.weights = std::move(*weights);
        c.weights_of = g_.operand(n, 1);
        if (bias) c.bias.assign(bias->template data<float>().begin(), bias->template data<float>().end());
        while (!c.after.bounded() && !c.activation) {
            value_id const before{c.nodes.back(), 0};
            auto const next = b_.only_reader(before);
            auto const lines = next ? lines_behind(*next, before, s.out_channels) : std::nullopt;
            if (!lines || !take_over(*lines, c)) break;
            c.nodes.push_back(*next);
        }
        return c;
    }
    // Lines behind those so far; not where a channel's factor, or its products with weights, leave the range in which
    // floats keep their digits: one after the other, factors need not.
    static bool take_over(channel_lines const& lines, conv_group& c) {
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
    // Takes over what follows.
    void settle(conv_group& c) {
        if (!c.activation) absorb(c.nodes, c.after);
        take_chain(c);
        c.s.bias = !c.bias.empty();
        c.s.residual = c.after.residual.valid();
        c.s.low = c.after.low, c.s.high = c.after.high;
    }
    // Arithmetic behind all that, on values that are stored alike.
    void take_chain(conv_group& c) {
        value_id const before{c.nodes.back(), 0};
        auto const& type = g_.type(before);
        auto const takes = [&](value_id v) { return g_.type(v) == type && b_.exists(v); };
        expression_writer w{g_, b_.context().scalars, type.sizes(), false, takes};
        w.start_with(before);
        grow(b_, w, before, true);
        auto chain = w.chain();
        if (stays_finite(chain)) {
            c.arrays = w.arrays();
            c.nodes.insert(c.nodes.end(), w.nodes().begin(), w.nodes().end());
        } else {
            chain.clear();
        }
        c.s.arrays = static_cast<std::int32_t>(c.arrays.size());
        if (c.activation) { // the rest is of its result
            auto const first = c.s.arrays + 1;
            for (auto& o : chain)
                for (auto* const operand : {&o.left, &o.right, &o.third})
                    if (*operand == 0 || *operand >= first) *operand = *operand == 0 ? first : *operand + 1;
            chain.insert(chain.begin(), kernels::elementwise_op{*c.activation, 0, -1, 0});
        }
        c.s.chain = std::move(chain);
    }
    bool add(conv_group c) {
        settle(c);
        auto const x = g_.operand(c.nodes.front(), 0);
        auto& s = c.s;
        auto const in_blocks = s.groups > 1 || s.in_channels >= b_.set().lanes() / 2 || b_.in_blocks(x);
        s.input = in_blocks ? kernels::image_layout::blocked : kernels::image_layout::planar;
        if (add_separable(c)) return true;
        kernel_op op{.operands = {b_.whole(x)}};
        add_operands(c, op);
        op.computes = c.s;
        finish(c.nodes, std::move(op));
        return true;
    }
    // A depthwise convolution together with the 1×1 convolution that alone reads it, where that is better.
    bool add_separable(conv_group& c) {
        value_id const hidden{c.nodes.back(), 0};
        auto const next = b_.only_reader(hidden);
        if (!next || c.s.groups == 1 || c.s.groups != c.s.in_channels || c.s.groups != c.s.out_channels ||
            !g_.is<ops::conv>(*next))
            return false;
        auto second = g_.operand(*next, 0) == hidden ? read(*next) : std::nullopt;
        if (!second) return false;
        settle(*second);
        kernels::separable_shape const both{c.s, second->s};
        if (!kernels::choose_separable(both, b_.set())) return false;
        kernel_op op{.computes = both, .operands = {b_.whole(g_.operand(c.nodes.front(), 0))}};
        add_operands(c, op);
        add_operands(*second, op);
        c.nodes.insert(c.nodes.end(), second->nodes.begin(), second->nodes.end());
        finish(c.nodes, std::move(op));
        return true;
    }
    // Weights, and what is added to results.
    void add_operands(conv_group& c, kernel_op& op) {
        auto const weights = c.weights_of.valid() ? b_.operand(c.weights_of) : b_.constant(std::move(c.weights), {});
        c.weights = {};
        op.operands.push_back({weights, {}, weight_packing{.scale = std::move(c.scale)}});
        if (c.s.bias) {
            std::int64_t const dims[] = {static_cast<std::int64_t>(c.bias.size())};
            op.operands.push_back(
                {b_.constant(tensor::from(std::span<std::int64_t const>{dims}, as_span(c.bias)), {}), {}, {}});
        }
        if (c.s.residual) op.operands.push_back(b_.whole(c.after.residual));
        for (auto v : c.arrays) op.operands.push_back(b_.whole(v));
    }
    void finish(std::vector<node_id> const& nodes, kernel_op op) {
        op.results.push_back(b_.result({nodes.back(), 0}));
        b_.add(nodes, std::move(op));
    }

    kernel_builder& b_;
    any_graph const& g_;
};

} // namespace gsub::detail
