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

    // A convolution by constant weights, with at most so many lines behind it and all else that its kernel takes over.
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
    // Where neither what it reads nor what reads it is in blocks, arithmetic is cheaper than the way there and back.
    bool is_arithmetic(node_id n) const {
        auto const& type = g_.type({n, 0});
        return !has_pixels(type) || type.dims[1].size() == 1 ||
               (!s_.in_blocks(g_.operand(n, 0)) && !goes_to_blocks({n, 0}, 4));
    }
    // The 1x1 convolution that alone reads a depthwise one, where one kernel for both is better.
    std::optional<conv_match> pointwise_behind(conv_match const& c, std::size_t most_lines) const {
        value_id const hidden{c.nodes.back(), 0};
        auto const next = s_.only_reader(hidden);
        if (!next || c.s.groups == 1 || c.s.groups != c.s.in_channels || c.s.groups != c.s.out_channels ||
            !g_.is<ops::conv>(*next) || g_.operand(*next, 0) != hidden)
            return std::nullopt;
        auto second = conv(*next, most_lines);
        if (!second || !kernels::choose_separable({c.s, second->s}, s_.set())) return std::nullopt;
        return second;
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

    // ---- what follows

    // Nodes behind the last one of a kernel that it takes over: each reads the value before it and nothing else does.
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
            if (g_.operand_count(n) != 1) return std::nullopt;
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
        if (*out.elements() == 0 || *in.elements() == 0) return std::nullopt;
        if (!kernels::conv2d_applies(s, s_.set())) return std::nullopt;
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
        auto const x = g_.operand(n, 0);
        auto& s = c->first.s;
        auto const in_blocks = s.groups > 1 || s.in_channels >= b_.set().lanes() / 2 || b_.in_blocks(x);
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
        kernel_op op{.operands = {b_.whole(g_.operand(n, 0))}};
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
        if (!kernels::choose_separable(both, b_.set())) return false;
        kernel_op op{.computes = both, .operands = {b_.whole(g_.operand(c.first.nodes.front(), 0))}};
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
