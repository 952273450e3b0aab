// Random convolutional networks: a stem, stages of drawn blocks, a head.
#pragma once

#include "random_builder.hpp"

#include <optional>
#include <vector>

namespace bench {

/// A convolution as the files can say it: what `models::conv_layer` leaves out are dilations and uneven borders.
struct random_window {
    models::extent kernel{1, 1}, stride{1, 1}, dilation{1, 1};
    std::int64_t group = 1;
    bool gain = true; ///< false: small weights, at the end of a branch
};

/// Two to five stages, each of half the size, of one to six blocks out of two or three kinds.
class random_conv {
public:
    explicit random_conv(random_builder& net) : net_(net) {}

    void build() {
        auto& draw = net_.draw;
        using enum activation_kind;
        using enum block;
        main_ =
            draw.pick({relu, relu, relu, relu6, leaky_relu, hard_swish, hard_swish, swish, swish, elu, gelu, gelu_erf});
        normal_ = draw.chance(0.8);
        budget_ = net_.small ? 1.5e6 : draw.log_uniform(3e8, 3e9);
        auto const kinds = draw.between(2, 3);
        for (std::int64_t i = 0; i < kinds; ++i)
            kinds_.push_back(draw.pick({plain, residual, residual, bottleneck, bottleneck, inverted, inverted, branches,
                                        branches, dense, separable, halves, patches}));
        auto const stages = draw.between(2, net_.small ? 3 : 5);
        auto x = stem();
        auto const start = net_.flop;
        auto width = static_cast<double>(net_.channels(x));
        for (std::int64_t stage = 0; stage < stages; ++stage) {
            if (stage > 0) width *= draw.log_uniform(1.2, 2.2);
            auto const share = start + (budget_ - start) * static_cast<double>(stage + 1) / static_cast<double>(stages);
            for (int i = 0; i < 6 && (i == 0 || net_.flop < share); ++i) {
                auto const outputs = draw.width(std::min(width, widest(x)));
                if (i == 0 && stage > 0) x = smaller(x, outputs);
                x = make(kinds_[static_cast<std::size_t>(draw.between(0, kinds - 1))], x,
                         draw.chance(0.7) ? net_.channels(x) : outputs);
            }
        }
        head(x);
    }

private:
    enum class block { plain, residual, bottleneck, inverted, branches, dense, separable, halves, patches };
    using maybe = std::optional<activation_kind>;

    [[nodiscard]] std::int64_t height(value_id x) const { return net_.size(x, 2); }
    [[nodiscard]] std::int64_t columns(value_id x) const { return net_.size(x, 3); }
    /// With more channels a single 3x3 layer takes a quarter of the budget.
    [[nodiscard]] double widest(value_id x) const {
        return std::max(8.0, std::sqrt(budget_ / 4 / 18 / static_cast<double>(height(x) * columns(x))));
    }

    /// Smooth activations keep less of the second moment than the rectifier for which weights are scaled.
    [[nodiscard]] double gain() const {
        using enum activation_kind;
        return main_ == hard_swish || main_ == swish || main_ == gelu || main_ == gelu_erf ? 1.2 : 1.0;
    }

    /// Begins, then ends, such that the size is divided by the stride alone.
    ints borders(value_id x, random_window const& w) {
        ints begins, ends;
        auto const place = net_.draw.between(0, 9);
        for (std::size_t i = 0; i < 2; ++i) {
            auto const size = net_.size(x, i + 2), reach = w.dilation[i] * (w.kernel[i] - 1);
            auto const whole = std::max<std::int64_t>(((size - 1) / w.stride[i]) * w.stride[i] + reach + 1 - size, 0);
            auto const even = reach / 2;
            begins.push_back(place == 0 ? whole : place == 1 ? whole / 2 : place == 2 ? 0 : even);
            ends.push_back(place < 3 ? whole - begins.back() : reach - even);
        }
        return {begins[0], begins[1], ends[0], ends[1]};
    }

    /// Convolution, normalisation or bias, activation.
    value_id unit(value_id x, std::int64_t outputs, random_window w, maybe act, ints pads = {}) {
        auto& draw = net_.draw;
        auto const name = net_.fresh("conv"), kernel = name + ".weight", shift = name + ".bias";
        auto const channels = net_.channels(x);
        while (channels % w.group != 0 || outputs % w.group != 0) w.group /= 2;
        if (pads.empty()) pads = borders(x, w);
        auto weights = net_.weights().convolution(kernel, {outputs, channels / w.group, w.kernel[0], w.kernel[1]});
        auto const scale = static_cast<float>(gain() * (normal_ || w.gain ? 1 : 0.4));
        for (auto& v : weights.mutable_data<float>()) v *= scale;
        attributes_of<ops::conv> a{{{w.stride[0], w.stride[1]}, pads, {w.dilation[0], w.dilation[1]}}};
        a.group = w.group;
        std::vector<value_id> operands{x, net_.constant(weights, kernel)};
        if (!normal_ || draw.chance(0.1)) operands.push_back(net_.constant(net_.weights().bias(shift, outputs), shift));
        auto y = net_.apply<ops::conv>(name, operands, a);
        net_.flop += 2 * static_cast<double>(net_.size(y, 0) * outputs * height(y) * columns(y)) *
                     static_cast<double>(channels / w.group * w.kernel[0] * w.kernel[1]);
        if (normal_)
            y = net_.batch_norm(net_.fresh("bn"), y,
                                {.place = w.gain ? models::norm_place::chain : models::norm_place::branch_end});
        return act ? net_.activate(*act, y) : y;
    }

    /// A kernel of 3x3 and more, sometimes with holes.
    random_window spatial(value_id x, bool depthwise = false) {
        auto& draw = net_.draw;
        random_window w;
        using pair = models::extent;
        w.kernel = depthwise ? draw.pick<pair>({{3, 3}, {3, 3}, {5, 5}, {5, 5}, {7, 7}, {1, 7}, {7, 1}})
                             : draw.pick<pair>({{3, 3}, {3, 3}, {3, 3}, {3, 3}, {5, 5}, {1, 7}, {7, 1}, {1, 3}});
        if (draw.chance(0.15) && std::min(height(x), columns(x)) > 10) {
            auto const by = draw.between(2, 3);
            w.dilation = {by, by};
        }
        w.group = depthwise ? net_.channels(x) : draw.pick<std::int64_t>({1, 1, 1, 2, 4, 8});
        return w;
    }

    value_id depthwise(value_id x, maybe act) {
        auto const w = spatial(x, true);
        return unit(x, net_.channels(x), w, act);
    }

    /// Each channel times a number in (0, 1) that all pixels give.
    value_id squeeze_excite(value_id x) {
        auto& draw = net_.draw;
        using enum activation_kind;
        auto const channels = net_.channels(x), inner = std::max<std::int64_t>(channels / draw.pick({4, 8}), 4);
        auto const inside = draw.pick({relu, relu, swish, main_}), gate = draw.pick({sigmoid, hard_sigmoid});
        auto y = draw.chance(0.7) ? net_.op<ops::global_average_pool>("squeeze", {x})
                                  : net_.op<ops::reduce_mean>("squeeze", {x}, {.axes = {2, 3}});
        y = net_.conv(net_.fresh("squeeze"), y, {.outputs = inner, .bias = true});
        y = net_.activate(inside, y);
        y = net_.conv(net_.fresh("excite"), y, {.outputs = channels, .bias = true});
        y = net_.activate(gate, y);
        return draw.chance(0.5) ? net_.mul(x, y) : net_.mul(y, x);
    }

    value_id stem() {
        auto& draw = net_.draw;
        auto const base = net_.small ? 18.0 : 120.0;
        auto const h = std::llround(base * draw.log_uniform(0.8, 1.9)),
                   w = draw.chance(0.3) ? std::llround(base * draw.log_uniform(0.8, 1.9)) : h;
        auto const batch = draw.pick<std::int64_t>({1, 1, 1, 1, 1, 2}),
                   colours = draw.pick<std::int64_t>({3, 3, 3, 3, 1, 4});
        auto const x = net_.input(dtype::f32, {batch, colours, h, w}, "image");
        auto const outputs = draw.width(net_.small ? 8 : draw.log_uniform(16, 56));
        switch (draw.between(0, 3)) {
        case 0:
            return unit(x, outputs, {.kernel = {3, 3}, .stride = {2, 2}}, main_);
        case 1: {
            auto const y = unit(x, outputs, {.kernel = {7, 7}, .stride = {2, 2}}, main_);
            return pool(y);
        }
        case 2:
            return unit(x, outputs, {.kernel = {4, 4}, .stride = {4, 4}}, {}, {0, 0, 0, 0});
        default: {
            auto const y = unit(x, outputs, {.kernel = {5, 5}, .stride = {2, 2}}, main_);
            return unit(y, outputs, {.kernel = {3, 3}}, main_);
        }
        }
    }

    /// A pooling of stride 2.
    value_id pool(value_id x) {
        auto& draw = net_.draw;
        auto const k = draw.pick<std::int64_t>({2, 3, 3});
        auto const ceil = draw.chance(0.3);
        ints pads(4, k / 2);
        if (k == 2) pads = {0, 0, 0, 0};
        if (k == 3 && draw.chance(0.3)) pads = {0, 0, 1, 1};
        window_attributes const window{{2, 2}, pads, {1, 1}};
        if (draw.chance(0.7)) {
            attributes_of<ops::max_pool> a{window};
            a.kernel_shape = {k, k}, a.ceil_mode = ceil;
            return net_.op<ops::max_pool>("maxpool", {x}, a);
        }
        attributes_of<ops::average_pool> a{window};
        a.kernel_shape = {k, k}, a.count_include_pad = draw.chance(0.5);
        return net_.op<ops::average_pool>("avgpool", {x}, a);
    }

    /// Half the size, while there is something left to halve.
    value_id smaller(value_id x, std::int64_t outputs) {
        auto& draw = net_.draw;
        if (std::min(height(x), columns(x)) < 6) return unit(x, outputs, {}, main_);
        switch (draw.between(0, 3)) {
        case 0:
            return unit(pool(x), outputs, {}, main_);
        case 1: { // borders as an operator of their own
            auto const wide =
                net_.op<ops::pad>("pad", {x}, {.mode = "constant", .pads = {0, 0, 0, 0, 0, 0, 1, 1}, .value = 0});
            return unit(wide, outputs, {.kernel = {3, 3}, .stride = {2, 2}}, main_, {0, 0, 0, 0});
        }
        default: {
            auto const kernel = draw.pick<models::extent>({{3, 3}, {3, 3}, {5, 5}});
            auto const group = draw.pick<std::int64_t>({1, 1, 1, 2});
            return unit(x, outputs, {.kernel = kernel, .stride = {2, 2}, .group = group}, main_);
        }
        }
    }

    value_id joined(value_id x, value_id y) {
        if (net_.channels(x) != net_.channels(y)) x = unit(x, net_.channels(y), {.gain = false}, {});
        return net_.draw.chance(0.5) ? net_.add(x, y) : net_.add(y, x);
    }

    value_id make(block kind, value_id x, std::int64_t outputs) {
        auto& draw = net_.draw;
        using enum activation_kind;
        auto const act = draw.chance(0.2) ? draw.pick({relu, tanh, leaky_relu, elu, gelu, swish}) : main_;
        auto const channels = net_.channels(x);
        random_window const end{.gain = false};
        switch (kind) {
        case block::plain:
            return unit(x, outputs, spatial(x), act);
        case block::residual: {
            auto y = unit(x, outputs, spatial(x), act);
            auto w = spatial(y);
            w.gain = false;
            y = unit(y, outputs, w, {});
            if (draw.chance(0.25)) y = squeeze_excite(y);
            return net_.activate(main_, joined(x, y));
        }
        case block::bottleneck: {
            auto const inner = draw.width(static_cast<double>(outputs) * draw.pick({0.25, 0.5, 0.5, 1.0}));
            auto y = unit(x, inner, {}, act);
            y = unit(y, inner, spatial(y), act);
            if (draw.chance(0.3)) y = squeeze_excite(y);
            return net_.activate(main_, joined(x, unit(y, outputs, end, {})));
        }
        case block::inverted: {
            auto const inner = channels * draw.pick<std::int64_t>({2, 3, 4, 6});
            auto y = depthwise(unit(x, inner, {}, act), act);
            if (draw.chance(0.4)) y = squeeze_excite(y);
            y = unit(y, outputs, end, {});
            return channels == outputs ? net_.add(x, y) : y;
        }
        case block::branches:
            return inception(x, outputs, act);
        case block::dense: {
            auto const growth = draw.width(static_cast<double>(outputs) / 3);
            auto const y = unit(unit(x, growth * 2, {}, act), growth, {.kernel = {3, 3}}, act);
            return net_.concat_along(1, std::vector{x, y});
        }
        case block::separable: {
            auto const y = depthwise(x, draw.chance(0.5) ? maybe{act} : maybe{});
            return unit(y, outputs, {}, act);
        }
        case block::halves:
            return shuffled(x, act);
        case block::patches:
            return in_rows(x, act);
        }
        return x;
    }

    /// Two to four branches side by side, joined along the channels.
    value_id inception(value_id x, std::int64_t outputs, activation_kind act) {
        auto& draw = net_.draw;
        auto const count = draw.between(2, 4);
        auto const each = draw.width(static_cast<double>(outputs) / static_cast<double>(count));
        std::vector<value_id> parts;
        for (std::int64_t i = 0; i < count; ++i) {
            switch (draw.between(0, 4)) {
            case 0:
                parts.push_back(unit(x, each, {}, act));
                break;
            case 1: {
                auto const y = unit(x, each, {}, act);
                parts.push_back(unit(y, each, spatial(y), act));
                break;
            }
            case 2: {
                auto const y = unit(x, each, {.kernel = {1, 7}}, act);
                parts.push_back(unit(y, each, {.kernel = {7, 1}}, act));
                break;
            }
            case 3: {
                auto const y = draw.chance(0.5)
                                   ? net_.average_pool(net_.fresh("avgpool"), x, {.kernel = {3, 3}, .pad = {1, 1}})
                                   : net_.max_pool(net_.fresh("maxpool"), x, {.kernel = {3, 3}, .pad = {1, 1}});
                parts.push_back(unit(y, each, {}, act));
                break;
            }
            default:
                parts.push_back(unit(x, each, {.kernel = {3, 3}}, act));
            }
        }
        auto const y = net_.concat_along(1, parts);
        return draw.chance(0.4) ? joined(x, unit(y, outputs, {.gain = false}, {})) : y;
    }

    /// One half of the channels goes through layers, the other one past them; then the channels are interleaved.
    value_id shuffled(value_id x, activation_kind act) {
        auto const channels = net_.channels(x);
        if (channels % 2 != 0) return unit(x, channels, {}, act);
        auto const parts = net_.split(x, 1, 2);
        auto const y = unit(depthwise(unit(parts[1], channels / 2, {}, act), {}), channels / 2, {}, act);
        auto const whole = net_.concat_along(1, std::vector{parts[0], y});
        auto d = net_.dims(whole);
        auto z = net_.op<ops::reshape>("shuffle", {whole}, {.shape = {d[0], 2, channels / 2, d[2], d[3]}});
        z = net_.op<ops::transpose>("shuffle", {z}, {.perm = {0, 2, 1, 3, 4}});
        return net_.op<ops::reshape>("shuffle", {z}, {.shape = d});
    }

    /// A depthwise convolution, then two products along the channels, which are moved to the end.
    value_id in_rows(value_id x, activation_kind act) {
        auto& draw = net_.draw;
        auto const channels = net_.channels(x);
        auto y = depthwise(x, {});
        y = net_.op<ops::transpose>("rows", {y}, {.perm = {0, 2, 3, 1}});
        y = net_.layer_norm(y, draw.chance(0.5));
        y = net_.activate(act, net_.dense(y, channels * draw.pick<std::int64_t>({2, 3, 4})));
        y = net_.dense(y, channels, true, 0.4);
        y = net_.op<ops::transpose>("channels", {y}, {.perm = {0, 3, 1, 2}});
        return net_.add(x, y);
    }

    void head(value_id x) {
        auto& draw = net_.draw;
        auto const classes = net_.small ? 5 : draw.between(10, 1000);
        auto const form = draw.between(0, 4);
        if (form == 0) { // something for each pixel
            auto const y =
                net_.conv(net_.fresh("pixels"), x, {.outputs = std::min<std::int64_t>(classes, 40), .bias = true});
            return net_.output(draw.chance(0.5) ? net_.op<ops::sigmoid>("scores", {y}) : y, "y");
        }
        if (form == 1) x = unit(x, draw.width(static_cast<double>(net_.channels(x)) * 2), {}, main_);
        auto y = draw.chance(0.7) ? net_.pooled_features(x)
                                  : net_.op<ops::reduce_mean>("features", {x}, {.axes = {2, 3}, .keepdims = false});
        if (form == 2) y = net_.activate(main_, net_.dense(y, draw.width(net_.small ? 8 : 256)));
        y = net_.linear("logits", y, classes);
        net_.output(draw.chance(0.3) ? net_.op<ops::softmax>("softmax", {y}, {.axis = -1}) : y, "y");
    }

    random_builder& net_;
    activation_kind main_ = activation_kind::relu;
    bool normal_ = true; ///< batch normalisations; else biases
    double budget_ = 0;
    std::vector<block> kinds_{};
};

} // namespace bench
