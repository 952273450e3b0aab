#pragma once

#include <gsub/driver/impl/chain_planner.ipp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/pool2d.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/kernels/winograd.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// What follows a contraction within one kernel: an array added, then bounds.
struct epilogue {
    value_id residual{};
    double low = -1e300, high = 1e300;
    bool bounded() const noexcept { return low > -1e300 || high < 1e300; }
};

// Plans convolutions, normalisations by constants and poolings.
template <class = void>
class convolution_planner : protected chain_planner<> {
public:
    using chain_planner<>::chain_planner;

protected:
    // Nodes behind the last one of a kernel that it takes over: each reads the value before it and nothing else does.
    void absorb(std::vector<node_id>& nodes, epilogue& e) const {
        while (true) {
            value_id const before{nodes.back(), 0};
            auto const next = only_reader(before);
            if (!next || g_.type({*next, 0}) != g_.type(before)) return;
            auto const n = *next;
            if (g_.is<ops::add>(n) && !e.residual.valid() && !e.bounded()) {
                auto const left = g_.operand(n, 0), right = g_.operand(n, 1);
                auto const other = left == before ? right : right == before ? left : value_id{};
                if (!other.valid() || other == before || g_.type(other) != g_.type(before) || !exists(other)) return;
                e.residual = other;
            } else if (auto const b = bounds_of(n); b && g_.operand(n, 0) == before && !e.bounded()) {
                e.low = b->low, e.high = b->high;
            } else {
                return;
            }
            nodes.push_back(n);
        }
    }
    std::optional<epilogue> bounds_of(node_id n) const {
        epilogue e;
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

    // What a normalisation or arithmetic with constants does to each channel: a factor, and what is added.
    struct channel_lines {
        std::vector<float> scale, shift;
    };
    // The elements of a constant that is one number a channel, or one for all.
    std::optional<std::vector<float>> by_channel(value_id v, std::int64_t channels, std::size_t rank) const {
        auto const c = constant_of(v);
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
            auto c = constant_of(g_.operand(n, i));
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

    // A convolution of the first operand of its first node, with what its kernel takes over behind it.
    struct planned_conv {
        kernels::conv2d_shape s{};
        std::vector<node_id> nodes{};
        tensor weights{};
        std::vector<float> scale{}, bias{};          // of output channels, or empty
        std::optional<loop::scalar_op> activation{}; // a function; bounds are part of what follows
        epilogue after{};
        std::vector<value_id> arrays{}; // of the chain behind
    };

    // Rows of pixels are images one pixel high: [N, C, W] is stored as [N, C, 1, W] is.
    static bool has_pixels(tensor_type const& t) { return t.rank() == 3 || t.rank() == 4; }
    // Calls `body` with each dimension of an image and its number among those of pixels, and how many there are.
    template <class F>
    static void each_direction(tensor_type const& t, F&& body) {
        auto const count = t.rank() - 2;
        for (std::size_t d = 0; d < count; ++d) body(d + 2 - count, d, count);
    }

    // A line for each channel is a depthwise convolution of one pixel, and the image is one row.
    std::size_t plan_batch_norm(node_id n) {
        auto const& type = g_.type(g_.operand(n, 0));
        if (!computes_f32(type) || !has_pixels(type) || *type.elements() == 0 || g_.result_count(n) != 1) return 0;
        auto const lines = lines_of(n);
        kernels::conv2d_shape s;
        s.batch = type.dims[0].size();
        s.in_channels = s.out_channels = s.groups = type.dims[1].size();
        s.in = {1, *type.elements() / (s.batch * s.groups)};
        if (!lines || s.groups == 1) return 0;
        return add_conv({.s = s, .nodes = {n}, .weights = flat(lines->scale), .bias = lines->shift});
    }

    std::size_t plan_conv(node_id n) {
        auto c = read_conv(n);
        if (!c) return 0;
        release(g_.operand(n, 1));
        return add_conv(std::move(*c));
    }
    // A convolution by constant weights that there is a kernel for.
    std::optional<planned_conv> read_conv(node_id n) const {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto const& a = g_.attributes<ops::conv>(n);
        auto weights = constant_of(g_.operand(n, 1));
        auto bias = constant_of(g_.operand(n, 2));
        if (!computes_f32(in) || !has_pixels(in) || !weights || (g_.operand(n, 2).valid() && !bias))
            return std::nullopt;
        planned_conv c;
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
        if (*out.elements() == 0 || *in.elements() == 0) return std::nullopt;
        if (!kernels::conv2d_applies(s, set_)) return std::nullopt;
        if (a.act == activation::relu)
            c.after.low = 0;
        else if (a.act == activation::clip)
            c.after.low = a.act_min, c.after.high = a.act_max;
        else if (a.act != activation::none)
            c.activation = a.act == activation::tanh ? loop::scalar_op::tanh : loop::scalar_op::sigmoid;
        c.nodes.push_back(n);
        c.weights = std::move(*weights);
        if (bias) c.bias.assign(bias->template data<float>().begin(), bias->template data<float>().end());
        while (!c.after.bounded() && !c.activation) {
            value_id const before{c.nodes.back(), 0};
            auto const next = only_reader(before);
            auto const lines = next ? lines_behind(*next, before, s.out_channels) : std::nullopt;
            if (!lines || !take_over(*lines, c)) break;
            c.nodes.push_back(*next);
        }
        return c;
    }
    // Lines behind those so far; not where a channel's factor, or its products with weights, leave the range in which
    // floats keep their digits: one after the other, factors need not.
    static bool take_over(channel_lines const& lines, planned_conv& c) {
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
    static float greatest(std::span<float const> of) {
        float most = 0;
        for (auto const x : of) most = std::max(most, std::abs(x));
        return most;
    }
    static bool is_depthwise(kernels::conv2d_shape const& s) {
        return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
    }
    // Takes over what follows.
    void settle(planned_conv& c) {
        if (!c.activation) absorb(c.nodes, c.after);
        take_chain(c);
        c.s.bias = !c.bias.empty();
        c.s.residual = c.after.residual.valid();
        c.s.low = c.after.low, c.s.high = c.after.high;
    }
    // Arithmetic behind all that, on values that are stored alike.
    void take_chain(planned_conv& c) {
        value_id const before{c.nodes.back(), 0};
        auto const& type = g_.type(before);
        auto const view = [&](value_id v) {
            return g_.type(v) == type ? view_of(v) : std::optional<kernels::array_view>{};
        };
        chain_writer w{g_, scalar_rows(), type.sizes(), false, view};
        w.start_with(before);
        grow(w, before, true);
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
    // Whether what fills blocks up stays finite: Winograd kernels that read it would compute all tiles anew.
    static bool stays_finite(std::span<kernels::elementwise_op const> chain) {
        using loop::scalar_op;
        return std::none_of(chain.begin(), chain.end(), [](kernels::elementwise_op const& o) {
            auto const by_number = o.right < 0 && o.value != 0;
            return (o.op == scalar_op::divide && !by_number) || o.op == scalar_op::logarithm ||
                   o.op == scalar_op::square_root || o.op == scalar_op::power;
        });
    }
    // Whether Winograd kernels may have the weights: finite ones, and whatever scales them.
    static bool transforms(planned_conv const& c) {
        auto const weights = c.weights.template data<float>();
        float const scaled[] = {c.scale.empty() ? 0 : greatest(weights) * greatest(c.scale)};
        return kernels::winograd_holds(weights) && kernels::winograd_holds(c.scale) && kernels::winograd_holds(scaled);
    }
    std::size_t add_conv(planned_conv c) {
        settle(c);
        auto const x = g_.operand(c.nodes.front(), 0);
        auto& s = c.s;
        s.blocked_input = s.groups > 1 || s.in_channels >= set_.lanes() / 2 || blocked_.contains(x);
        if (add_separable(c)) return 1;
        auto tiles = kernels::choose_winograd(s, set_, options_.winograd);
        if (tiles && !transforms(c)) tiles.reset();
        std::vector<std::int32_t> values{s.blocked_input ? blocked(x) : plain(x)};
        add_operands(c, tiles, values);
        values.push_back(add_blocked({c.nodes.back(), 0}));
        mark_planned(c.nodes);
        if (tiles)
            add_kernel(kernels::winograd_shape{s, tiles->m}, c.nodes, kernels::winograd_nest(s, *tiles, set_),
                       std::move(values), s.operations());
        else
            add_kernel(s, c.nodes, kernels::conv2d_nest(s, kernels::default_config(s, set_), set_), std::move(values),
                       s.operations());
        return 1;
    }
    // A depthwise convolution together with the 1×1 convolution that alone reads it, where that is better.
    bool add_separable(planned_conv& c) {
        auto const next = only_reader({c.nodes.back(), 0});
        if (!next || !is_depthwise(c.s) || !g_.is<ops::conv>(*next)) return false;
        value_id const hidden{c.nodes.back(), 0};
        auto second = g_.operand(*next, 0) == hidden ? read_conv(*next) : std::nullopt;
        if (!second) return false;
        settle(*second);
        kernels::separable_shape const both{c.s, second->s};
        auto const config = kernels::choose_separable(both, set_);
        if (!config) return false;
        release(g_.operand(*next, 1));
        std::vector<std::int32_t> values{blocked(g_.operand(c.nodes.front(), 0))};
        add_operands(c, {}, values);
        add_operands(*second, {}, values);
        values.push_back(add_blocked({second->nodes.back(), 0}));
        c.nodes.insert(c.nodes.end(), second->nodes.begin(), second->nodes.end());
        mark_planned(c.nodes);
        add_kernel(both, c.nodes, kernels::separable_nest(both, *config, set_), std::move(values),
                   both.depthwise.operations() + both.pointwise.operations());
        return true;
    }
    // Weights, and what is added to results.
    void add_operands(planned_conv& c, std::optional<kernels::winograd_config> const& tiles,
                      std::vector<std::int32_t>& values) {
        auto const& s = c.s;
        auto const elements = c.weights.elements();
        auto const unit = s.groups > 1 ? s.out_channels : std::int64_t{set_.lanes()} * (tiles ? tiles->vectors : 1);
        auto pack = [s, tiles, unit, set = set_, per_channel = elements / s.out_channels,
                     weights = std::move(c.weights),
                     scale = std::move(c.scale)](std::int64_t first, std::int64_t count) mutable {
            auto const begin = first * unit;
            auto part = s;
            if (s.groups == 1) part.out_channels = std::min(count * unit, s.out_channels - begin);
            auto from =
                weights.template data<float>().subspan(static_cast<std::size_t>(begin * per_channel),
                                                       static_cast<std::size_t>(part.out_channels * per_channel));
            std::vector<float> scaled;
            if (!scale.empty()) {
                scaled.assign(from.begin(), from.end());
                for (std::size_t i = 0; i < scaled.size(); ++i)
                    scaled[i] *= scale[static_cast<std::size_t>(begin) + i / static_cast<std::size_t>(per_channel)];
                from = scaled;
            }
            auto packed = tiles ? kernels::pack_winograd_weights(part, *tiles, from, set)
                                : kernels::pack_conv2d_weights(part, from, set);
            weights.discard(begin * per_channel, part.out_channels * per_channel);
            return packed;
        };
        auto const units = (s.out_channels + unit - 1) / unit;
        values.push_back(add_packed(elements, units, std::move(pack)));
        if (s.bias) values.push_back(add_constant(filled_up(c.bias)));
        if (s.residual) values.push_back(blocked(c.after.residual));
        for (auto v : c.arrays) values.push_back(blocked(v));
    }

    std::size_t plan_pool(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        if (!computes_f32(in) || !has_pixels(in) || *in.elements() == 0 || *out.elements() == 0) return 0;
        for (std::size_t i = 1; i < g_.result_count(n); ++i)
            if (g_.used(value_id{n, static_cast<std::uint32_t>(i)})) return 0;
        kernels::pool2d_shape s;
        s.batch = in.dims[0].size();
        s.channels = in.dims[1].size();
        s.in = s.out = s.kernel = {1, 1};
        each_direction(in, [&](std::size_t i, std::size_t d, std::size_t) {
            s.in[i] = s.kernel[i] = in.dims[d + 2].size();
            s.out[i] = out.dims[d + 2].size();
        });
        auto const window = [&](auto const& a) {
            each_direction(in, [&](std::size_t i, std::size_t d, std::size_t count) {
                s.kernel[i] = a.kernel_shape[d];
                s.stride[i] = a.strides[d];
                s.dilation[i] = a.dilations[d];
                s.pads[i] = a.pads[d], s.pads_end[i] = a.pads[d + count];
            });
        };
        s.average = !g_.is<ops::max_pool>(n);
        if (g_.is<ops::max_pool>(n)) window(g_.attributes<ops::max_pool>(n));
        if (g_.is<ops::average_pool>(n)) {
            window(g_.attributes<ops::average_pool>(n));
            s.count_pads = g_.attributes<ops::average_pool>(n).count_include_pad;
        }
        std::vector<std::int32_t> values{blocked(x)};
        if (s.average) values.push_back(add_constant(kernels::pool2d_factors(s)));
        values.push_back(add_blocked({n, 0}));
        add_kernel(s, {&n, 1}, kernels::pool2d_nest(s, set_), std::move(values),
                   static_cast<double>(*out.elements() * s.kernel[0] * s.kernel[1]));
        return 1;
    }
};

} // namespace gsub::detail
