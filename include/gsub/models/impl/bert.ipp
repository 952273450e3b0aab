#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/network_builder.hpp>

#include <cmath>
#include <numeric>
#include <string>

namespace gsub::models {

namespace detail {

/// The layers of an encoder.
class bert_builder {
public:
    bert_builder(network_builder& net, bert_options const& options)
        : net_(net),
          o_(options),
          half_(number(0.5, "half")),
          one_(number(1, "one")),
          two_(number(2, "two")),
          root_two_(number(1.4142135623730951, "root_two")),
          epsilon_(number(1e-12, "epsilon")),
          masked_score_(number(-10000, "masked_score")),
          scale_(number(std::sqrt(static_cast<double>(head_size())), "scale")) {}

    /// 0 for words that count, -10000 for the others. *Shapes* `[batch, 1, 1, sequence]`.
    value_id mask(value_id attention_mask) {
        auto m = net_.apply<ops::unsqueeze>("mask.heads", {attention_mask}, {.axes = {1}});
        m = net_.apply<ops::unsqueeze>("mask.rows", {m}, {.axes = {2}});
        m = net_.apply<ops::cast>("mask.cast", {m}, {.to = dtype::f32});
        return apply<ops::mul>("mask", apply<ops::sub>("mask.inverted", one_, m), masked_score_);
    }

    value_id embeddings(value_id ids, value_id types) {
        ints places(static_cast<std::size_t>(o_.sequence));
        std::iota(places.begin(), places.end(), 0);
        auto const positions =
            net_.constant(tensor::from<std::int64_t>(ints{1, o_.sequence}, places), "embeddings.position_ids");
        auto x = embedding("embeddings.word_embeddings", o_.vocabulary, 0.8, ids);
        x = apply<ops::add>("embeddings.add_types", x, embedding("embeddings.token_type_embeddings", 2, 0.4, types));
        x = apply<ops::add>("embeddings.add_positions", x,
                            embedding("embeddings.position_embeddings", o_.positions, 0.4, positions));
        return layer_norm("embeddings.LayerNorm", x);
    }

    value_id layer(std::string const& name, value_id x, value_id mask) {
        x = attention(name + ".attention", x, mask);
        auto const y = gelu(name + ".intermediate.gelu", linear(name + ".intermediate.dense", x, o_.intermediate));
        return with_residual(name + ".output", y, x);
    }

private:
    std::int64_t head_size() const { return o_.hidden / o_.heads; }
    value_id number(double value, std::string_view name) {
        return net_.constant(tensor::scalar(static_cast<float>(value)), name);
    }
    template <operation Op, std::same_as<value_id>... Values>
    value_id apply(std::string const& name, Values... operands) {
        return net_.apply<Op>(name, {operands...});
    }

    value_id embedding(std::string const& name, std::int64_t rows, double deviation, value_id indices) {
        auto const weight = name + ".weight";
        auto const table = net_.constant(net_.weights().normal(weight, {rows, o_.hidden}, deviation), weight);
        return apply<ops::gather>(name, table, indices);
    }

    value_id linear(std::string const& name, value_id x, std::int64_t outputs) {
        auto const matrix = name + ".weight", shift = name + ".bias";
        auto const inputs = net_.type_of(x)->dims.back().size();
        auto const w = net_.constant(
            net_.weights().normal(matrix, {inputs, outputs}, 1 / std::sqrt(static_cast<double>(inputs))), matrix);
        auto const b = net_.constant(net_.weights().bias(shift, outputs), shift);
        return apply<ops::add>(name, apply<ops::mat_mul>(name + ".matmul", x, w), b);
    }

    value_id layer_norm(std::string const& name, value_id x) {
        reduce_attributes const last{.axes = {-1}};
        auto const scale = name + ".weight", shift = name + ".bias";
        auto const centred =
            apply<ops::sub>(name + ".centred", x, net_.apply<ops::reduce_mean>(name + ".mean", {x}, last));
        auto const squares = apply<ops::pow>(name + ".squares", centred, two_);
        auto const variance = net_.apply<ops::reduce_mean>(name + ".variance", {squares}, last);
        auto const deviation =
            apply<ops::sqrt>(name + ".deviation", apply<ops::add>(name + ".stabilised", variance, epsilon_));
        auto const y = apply<ops::div>(name + ".normalised", centred, deviation);
        auto const w = net_.constant(net_.weights().uniform(scale, {o_.hidden}, 0.5, 1.5), scale);
        auto const b = net_.constant(net_.weights().normal(shift, {o_.hidden}, 0.1), shift);
        return apply<ops::add>(name, apply<ops::mul>(name + ".scaled", y, w), b);
    }

    value_id gelu(std::string const& name, value_id x) {
        auto const gate = apply<ops::erf>(name + ".erf", apply<ops::div>(name + ".div", x, root_two_));
        auto const y = apply<ops::mul>(name + ".gated", x, apply<ops::add>(name + ".add", gate, one_));
        return apply<ops::mul>(name, y, half_);
    }

    /// `[batch, sequence, hidden]` to `[batch, heads, sequence, head]`, or any other order.
    value_id heads(std::string const& name, value_id x, ints const& order) {
        x = linear(name, x, o_.hidden);
        x = net_.apply<ops::reshape>(name + ".heads", {x}, {.shape = {o_.batch, o_.sequence, o_.heads, head_size()}});
        return net_.apply<ops::transpose>(name + ".transpose", {x}, {.perm = order});
    }

    value_id attention(std::string const& name, value_id x, value_id mask) {
        auto const q = heads(name + ".self.query", x, {0, 2, 1, 3}), k = heads(name + ".self.key", x, {0, 2, 3, 1}),
                   v = heads(name + ".self.value", x, {0, 2, 1, 3});
        auto scores = apply<ops::mat_mul>(name + ".self.products", q, k);
        scores = apply<ops::div>(name + ".self.scores", scores, scale_);
        scores = apply<ops::add>(name + ".self.masked", scores, mask);
        auto const weights = net_.apply<ops::softmax>(name + ".self.softmax", {scores}, {.axis = -1});
        auto y = apply<ops::mat_mul>(name + ".self.context", weights, v);
        y = net_.apply<ops::transpose>(name + ".self.transpose", {y}, {.perm = {0, 2, 1, 3}});
        y = net_.apply<ops::reshape>(name + ".self", {y}, {.shape = {o_.batch, o_.sequence, o_.hidden}});
        return with_residual(name + ".output", y, x);
    }

    value_id with_residual(std::string const& name, value_id y, value_id x) {
        y = linear(name + ".dense", y, o_.hidden);
        return layer_norm(name + ".LayerNorm", apply<ops::add>(name + ".add", y, x));
    }

    network_builder& net_;
    bert_options const& o_;
    value_id half_, one_, two_, root_two_, epsilon_, masked_score_, scale_;
};

} // namespace detail

GSUB_INLINE graph bert_base(bert_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.sequence > 0 && options.hidden > 0, "an encoder has texts and values");
    GSUB_ASSERT(!options.fault(), options.fault());
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto const text = [&](std::string_view name) {
        return net.input(dtype::i64, {options.batch, options.sequence}, name);
    };
    auto const ids = text("input_ids"), counts = text("attention_mask"), types = text("token_type_ids");
    detail::bert_builder encoder{net, options};
    auto const mask = encoder.mask(counts);
    auto x = encoder.embeddings(ids, types);
    for (std::int64_t i = 0; i < options.layers; ++i) x = encoder.layer(format_text("encoder.layer.{}", i), x, mask);
    net.output(x, "last_hidden_state");
    return g;
}

GSUB_INLINE graph bert_small(std::uint64_t seed) {
    auto options = bert_small_options;
    options.seed = seed;
    return bert_base(options);
}

} // namespace gsub::models
