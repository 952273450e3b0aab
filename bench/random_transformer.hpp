// Random transformers: encoders, decoders and both, of primitive operators or of the composite ones.
#pragma once

#include "random_builder.hpp"

#include <numbers>
#include <optional>
#include <vector>

namespace bench {

/// Attention and feed-forward layers of drawn sizes; norms before or after, LayerNorm or RMS, a mask or none, rotary
/// places or learned ones, fewer heads of keys than of queries.
class random_transformer {
public:
    explicit random_transformer(random_builder& net) : net_(net) {}

    void build() {
        auto& draw = net_.draw;
        using enum activation_kind;
        head_ = net_.small ? draw.pick<std::int64_t>({4, 6})
                           : draw.pick<std::int64_t>({16, 20, 24, 32, 32, 40, 48, 64, 64});
        heads_ = draw.between(2, net_.small ? 3 : 10);
        if (!net_.small) heads_ = std::max(heads_, 96 / head_); // narrower ones take no time
        width_ = head_ * heads_;
        if (auto const groups = draw.pick<std::int64_t>({1, 1, 1, 2}); heads_ % groups == 0)
            key_heads_ = heads_ / groups;
        else
            key_heads_ = heads_;
        inner_ = draw.width(static_cast<double>(width_) * draw.pick({2.0, 8.0 / 3, 3.0, 4.0, 4.0}));
        batch_ = draw.pick<std::int64_t>({1, 1, 1, 1, 2});
        before_ = draw.chance(0.6);
        rms_ = draw.chance(0.3);
        norm_parts_ = draw.chance(0.6);
        gated_ = draw.chance(0.35);
        act_ = gated_ ? draw.pick({swish, swish, gelu, gelu_erf, sigmoid})
                      : draw.pick({gelu_erf, gelu_erf, gelu_tanh, gelu, relu, swish, hard_swish});
        biased_ = draw.chance(0.7);
        one_product_ = key_heads_ == heads_ && draw.chance(0.4);
        auto const flavour = draw.between(0, 9); // 0 to 4: encoder; 5 and 6: decoder; 7 and more: both
        rotary_ = flavour < 7 && head_ % 2 == 0 && draw.chance(0.3);
        auto const budget = net_.small ? 1e6 : draw.log_uniform(1.5e8, 1.5e9);

        auto x = embedded("", words(), flavour < 5 && draw.chance(0.35));
        auto const steps = net_.size(x, 1);
        if (flavour < 5) {
            auto const masked = draw.chance(0.5) ? padding_mask(steps) : std::nullopt;
            x = stack(x, masked, {}, budget);
        } else if (flavour < 7) {
            x = stack(x, causal_mask(steps), {}, budget);
        } else {
            auto const memory = stack(x, std::nullopt, {}, budget / 3);
            auto y = embedded("target_", words(), false);
            auto const unseen = causal_mask(net_.size(y, 1));
            x = stack(y, unseen, memory, budget);
        }
        if (before_) x = norm(x);
        net_.output(head(x), "y");
    }

private:
    using mask = std::optional<value_id>;

    std::int64_t words() {
        if (net_.small) return net_.draw.between(5, 9);
        return net_.draw.pick<std::int64_t>({24, 32, 50, 64, 77, 96, 100, 128, 144, 197});
    }

    /// `[batch, words, width]` out of words, numbers or the pieces of an image.
    value_id embedded(std::string const& prefix, std::int64_t words, bool image) {
        auto& draw = net_.draw;
        value_id x{};
        if (image) {
            auto const piece = net_.small ? 4 : draw.pick<std::int64_t>({8, 14, 16});
            auto const side = std::max<std::int64_t>(std::llround(std::sqrt(static_cast<double>(words))), 2);
            auto const picture = net_.input(dtype::f32, {batch_, 3, side * piece, side * piece}, prefix + "image");
            x = net_.conv(net_.fresh("pieces"), picture,
                          {.outputs = width_, .kernel = {piece, piece}, .stride = {piece, piece}, .bias = true});
            x = net_.op<ops::reshape>("rows", {x}, {.shape = {batch_, width_, side * side}});
            x = net_.op<ops::transpose>("words", {x}, {.perm = {0, 2, 1}});
            if (draw.chance(0.5)) { // one more word, which stands for all
                auto const whole = weight("class", {batch_, 1, width_}, 1);
                x = net_.concat_along(1, std::vector{whole, x});
            }
        } else if (draw.chance(0.5)) {
            auto const ids = net_.input(dtype::i64, {batch_, words}, prefix + "words");
            x = net_.op<ops::gather>("embedding", {weight("embedding", {1000, width_}, 1), ids});
        } else {
            auto const features = draw.width(static_cast<double>(width_) * 0.7);
            x = net_.dense(net_.input(dtype::f32, {batch_, words, features}, prefix + "x"), width_);
        }
        if (!rotary_) x = net_.add(x, weight("places", {1, net_.size(x, 1), width_}, 0.4));
        return before_ ? x : norm(x);
    }

    value_id weight(std::string_view what, ints const& dims, double deviation) {
        auto const name = net_.fresh(what);
        return net_.constant(net_.weights().normal(name, dims, deviation), name);
    }

    /// Words that count are an input: 1, the others 0. *Shapes* `[batch, 1, 1, words]`.
    mask padding_mask(std::int64_t words) {
        auto const counts = net_.input(dtype::i64, {batch_, words}, "counts");
        auto m = net_.op<ops::unsqueeze>("mask", {counts}, {.axes = {1, 2}});
        m = net_.op<ops::cast>("mask", {m}, {.to = dtype::f32});
        auto const one = net_.number(1);
        auto const missing = net_.sub(one, m);
        return net_.mul(missing, net_.number(-10000));
    }
    /// No word sees those behind it. *Shapes* `[1, 1, words, words]`.
    mask causal_mask(std::int64_t words) {
        auto const hidden = net_.draw.pick({-10000.0f, -3.4028235e38f});
        auto t = tensor::zeros(dtype::f32, ints{1, 1, words, words});
        auto const values = t.mutable_data<float>();
        for (std::int64_t row = 0; row < words; ++row)
            for (std::int64_t column = row + 1; column < words; ++column)
                values[static_cast<std::size_t>(row * words + column)] = hidden;
        return net_.constant(t, net_.fresh("causal"));
    }

    value_id norm(value_id x) { return rms_ ? net_.rms_norm(x) : net_.layer_norm(x, norm_parts_); }

    /// Layers until the budget is used up, at least one and at most eight.
    value_id stack(value_id x, mask const& masked, std::optional<value_id> memory, double budget) {
        auto const most = net_.small ? 2 : 8;
        for (int i = 0; i < most && (i == 0 || net_.flop < budget); ++i) {
            x = residual(x, [&](value_id y) { return attention(y, y, masked); });
            if (memory) x = residual(x, [&](value_id y) { return attention(y, *memory, {}); });
            x = residual(x, [&](value_id y) { return feed_forward(y); });
        }
        return x;
    }
    template <class Layer>
    value_id residual(value_id x, Layer&& layer) {
        if (before_) {
            auto const y = norm(x);
            return net_.add(x, layer(y));
        }
        auto const y = layer(x);
        return norm(net_.add(x, y));
    }

    /// `[batch, words, heads * head]` to `[batch, heads, words, head]`, or with the last two exchanged.
    value_id by_heads(value_id x, std::int64_t heads, bool exchanged = false) {
        x = net_.op<ops::reshape>("heads", {x}, {.shape = {batch_, net_.size(x, 1), heads, head_}});
        return net_.op<ops::transpose>("heads", {x}, {.perm = exchanged ? ints{0, 2, 3, 1} : ints{0, 2, 1, 3}});
    }
    /// The heads of keys, as many times as queries share one.
    value_id repeated(value_id x) {
        auto const d = net_.dims(x);
        auto const times = heads_ / d[1];
        if (times == 1) return x;
        x = net_.op<ops::unsqueeze>("shared", {x}, {.axes = {2}});
        x = net_.op<ops::expand>("shared", {x}, {.shape = {d[0], d[1], times, d[2], d[3]}});
        return net_.op<ops::reshape>("shared", {x}, {.shape = {d[0], heads_, d[2], d[3]}});
    }
    /// Pairs of numbers turned by an angle that grows with the place. *Shapes* `[batch, heads, words, head]`.
    value_id turned(value_id x) {
        auto const words = net_.size(x, 2), half = head_ / 2;
        std::vector<float> cosines, sines;
        for (std::int64_t place = 0; place < words; ++place)
            for (std::int64_t i = 0; i < head_; ++i) {
                auto const rate = std::pow(10000.0, -2.0 * static_cast<double>(i % half) / static_cast<double>(head_));
                cosines.push_back(static_cast<float>(std::cos(static_cast<double>(place) * rate)));
                sines.push_back(static_cast<float>(std::sin(static_cast<double>(place) * rate)));
            }
        auto const table = [&](std::vector<float> const& values, std::string_view name) {
            return net_.constant(tensor::from<float>(ints{1, 1, words, head_}, values), net_.fresh(name));
        };
        auto const halves = net_.split(x, -1, 2);
        auto const other = net_.concat_along(-1, std::vector{net_.op<ops::neg>("neg", {halves[1]}), halves[0]});
        auto const kept = net_.mul(x, table(cosines, "cosines"));
        return net_.add(kept, net_.mul(other, table(sines, "sines")));
    }

    value_id attention(value_id x, value_id source, mask const& masked) {
        auto& draw = net_.draw;
        std::vector<value_id> made;
        if (one_product_ && x == source) {
            made = net_.split(net_.dense(x, 3 * width_, biased_), -1, 3);
        } else {
            made.push_back(net_.dense(x, width_, biased_));
            for (int i = 0; i < 2; ++i) made.push_back(net_.dense(source, key_heads_ * head_, biased_));
        }
        auto const early = rotary_ || key_heads_ != heads_; // what needs the keys as they are
        auto q = by_heads(made[0], heads_), k = by_heads(made[1], key_heads_, !early);
        auto const v = repeated(by_heads(made[2], key_heads_));
        auto const scale = std::sqrt(static_cast<double>(head_));
        auto const form = draw.between(0, 2);
        if (rotary_) q = turned(q), k = turned(k);
        if (form == 0) q = net_.mul(q, net_.number(1 / scale));
        if (early) k = net_.op<ops::transpose>("keys", {repeated(k)}, {.perm = {0, 1, 3, 2}});
        auto scores = net_.op<ops::mat_mul>("scores", {q, k});
        if (form == 1) scores = net_.div(scores, net_.number(scale));
        if (form == 2) scores = net_.mul(scores, net_.number(1 / scale));
        if (masked) scores = net_.add(scores, *masked);
        auto const shares = net_.op<ops::softmax>("softmax", {scores}, {.axis = -1});
        auto y = net_.op<ops::mat_mul>("context", {shares, v});
        auto const products = static_cast<double>(batch_ * heads_ * head_ * net_.size(x, 1) * net_.size(source, 1));
        net_.flop += 4 * products;
        y = net_.op<ops::transpose>("words", {y}, {.perm = {0, 2, 1, 3}});
        y = net_.op<ops::reshape>("words", {y}, {.shape = {batch_, net_.size(x, 1), width_}});
        return net_.dense(y, width_, biased_);
    }

    value_id feed_forward(value_id x) {
        if (!gated_) return net_.dense(net_.activate(act_, net_.dense(x, inner_, biased_)), width_, biased_);
        auto const gate = net_.dense(x, inner_, biased_), value = net_.dense(x, inner_, biased_);
        auto const opened = net_.activate(act_, gate);
        return net_.dense(net_.mul(opened, value), width_, biased_);
    }

    /// All words, one of them, or their mean; through a matrix but in the first case.
    value_id head(value_id x) {
        auto& draw = net_.draw;
        auto const form = draw.between(0, 3);
        auto const classes = net_.small ? 5 : draw.between(10, 1000);
        if (form == 0) return x;
        if (form == 1) return net_.dense(x, classes);
        if (form == 2) {
            auto const mean = net_.op<ops::reduce_mean>("mean", {x}, {.axes = {1}, .keepdims = false});
            return net_.dense(mean, classes);
        }
        auto const at = net_.constant(tensor::scalar(std::int64_t{0}), net_.fresh("index"));
        return net_.dense(net_.op<ops::gather>("first", {x, at}, {.axis = 1}), classes);
    }

    random_builder& net_;
    std::int64_t head_ = 0, heads_ = 0, key_heads_ = 0, width_ = 0, inner_ = 0, batch_ = 1;
    bool before_ = false, rms_ = false, norm_parts_ = false, gated_ = false, biased_ = false, one_product_ = false,
         rotary_ = false;
    activation_kind act_ = activation_kind::relu;
};

} // namespace bench
