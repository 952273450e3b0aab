#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/lstm_lm.hpp>
#include <gsub/models/network_builder.hpp>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace gsub::models {

namespace detail {

/// The recurrent layers of a language model.
class lstm_builder {
public:
    lstm_builder(network_builder& net, lstm_lm_options const& options) : net_(net), o_(options) {}

    /// Output and cell of a step. *Shapes* `[batch, width]`.
    struct state {
        value_id output, cell;
    };
    struct sequence {
        value_id outputs; ///< `[steps, batch, width]`
        state last;       ///< `[1, batch, width]`
    };

    /// One layer. *Shapes* x is `[steps, batch, width]`, the first state `[1, batch, width]`.
    sequence layer(std::string const& name, value_id x, state first) {
        auto const rows = 4 * o_.width;
        auto const input = weight(name + ".input", {1, rows, o_.width}),
                   kept = weight(name + ".state", {1, rows, o_.width}), shift = biases(name, rows);
        auto const all = reshape(name + ".words", x, {o_.steps * o_.batch, o_.width});
        recurrent_ = transposed(name + ".state", kept);
        auto fed = net_.apply<ops::mat_mul>(name + ".input.product", {all, transposed(name + ".input", input)});
        auto const both = one(name + ".bias", shift, 0);
        auto const of_input = part(name + ".bias.input", both, 0, 0, rows),
                   of_state = part(name + ".bias.state", both, 0, rows, rows);
        fed = net_.sum(name + ".input.shifted", fed, of_input);
        fed = net_.sum(name + ".input.sum", fed, of_state);
        fed = reshape(name + ".input.steps", fed, {o_.steps, o_.batch, rows});
        state now{one(name + ".h0", first.output, 0), one(name + ".c0", first.cell, 0)};
        std::vector<value_id> outputs;
        for (std::int64_t t = 0; t < o_.steps; ++t) {
            auto const at = format_text("{}.step{}", name, t);
            now = step(at, one(at + ".input", fed, t), now);
            outputs.push_back(unsqueeze(at + ".result", now.output, 0));
        }
        auto y = outputs.size() == 1
                     ? outputs[0]
                     : net_.apply<ops::concat>(name + ".outputs", std::span<value_id const>{outputs}, {.axis = 0});
        y = unsqueeze(name + ".directions", y, 1); // of ONNX's result
        auto const h = unsqueeze(name + ".hn", now.output, 0), c = unsqueeze(name + ".cn", now.cell, 0);
        return {net_.apply<ops::squeeze>(name, {y}, {.axes = {1}}), {h, c}};
    }

    /// Entries of a value along an axis.
    value_id part(std::string const& name, value_id v, std::int64_t axis, std::int64_t first, std::int64_t count) {
        return net_.apply<ops::slice>(name, {v},
                                      {.starts = {first}, .ends = {first + count}, .axes = {axis}, .steps = {1}});
    }
    /// Normal weights of deviation 1 / sqrt(width), named `<name>.weight`.
    value_id weight(std::string const& name, ints const& sizes) {
        auto const matrix = name + ".weight";
        return net_.constant(net_.weights().normal(matrix, sizes, 1 / std::sqrt(static_cast<double>(o_.width))),
                             matrix);
    }

private:
    value_id biases(std::string const& name, std::int64_t rows) {
        auto const shift = name + ".bias";
        return net_.constant(net_.weights().normal(shift, {1, 2 * rows}, 0.05), shift);
    }
    // An entry of the first axis, without that.
    value_id one(std::string const& name, value_id v, std::int64_t i) {
        return net_.apply<ops::squeeze>(name + ".one", {part(name + ".slice", v, 0, i, 1)}, {.axes = {0}});
    }
    value_id transposed(std::string const& name, value_id v) {
        return net_.apply<ops::transpose>(name + ".transposed", {one(name, v, 0)}, {.perm = {1, 0}});
    }
    value_id reshape(std::string const& name, value_id v, ints const& sizes) {
        return net_.apply<ops::reshape>(name, {v}, attributes_of<ops::reshape>::to(sizes));
    }
    value_id unsqueeze(std::string const& name, value_id v, std::int64_t axis) {
        return net_.apply<ops::unsqueeze>(name, {v}, {.axes = {axis}});
    }

    state step(std::string const& name, value_id x, state const& was) {
        auto const of_state = net_.apply<ops::mat_mul>(name + ".product", {was.output, recurrent_});
        auto const all = net_.sum(name + ".gates", x, of_state);
        auto const gate = [&]<operation Op>(Op, std::string_view what, std::int64_t i) {
            auto const of = format_text("{}.{}", name, what);
            return net_.apply<Op>(of, {part(of + ".slice", all, 1, i * o_.width, o_.width)});
        };
        auto const in = gate(ops::sigmoid{}, "in", 0), forget = gate(ops::sigmoid{}, "forget", 2),
                   fresh = gate(ops::tanh{}, "fresh", 3);
        auto const kept = net_.apply<ops::mul>(name + ".kept", {forget, was.cell}),
                   taken = net_.apply<ops::mul>(name + ".taken", {in, fresh});
        auto const cell = net_.sum(name + ".cell", kept, taken);
        auto const out = gate(ops::sigmoid{}, "out", 1), bounded = net_.apply<ops::tanh>(name + ".bounded", {cell});
        return {net_.apply<ops::mul>(name, {out, bounded}), cell};
    }

    network_builder& net_;
    lstm_lm_options const& o_;
    value_id recurrent_{}; // of the layer
};

} // namespace detail

GSUB_INLINE graph lstm_lm(lstm_lm_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.steps > 0 && options.layers > 0 && options.width > 0 &&
                    options.vocabulary > 0,
                "a language model has texts, layers and words");
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::lstm_builder recurrent{net, options};
    auto const words = net.input(dtype::i64, {options.steps, options.batch}, "input_ids");
    auto const first = [&](std::string_view name) {
        return net.input(dtype::f32, {options.layers, options.batch, options.width}, name);
    };
    auto const h0 = first("h0"), c0 = first("c0");
    auto const table =
        net.constant(net.weights().normal("encoder.weight", {options.vocabulary, options.width}, 1), "encoder.weight");
    auto x = net.apply<ops::gather>("encoder", {table, words});
    std::vector<value_id> outputs, cells;
    for (std::int64_t i = 0; i < options.layers; ++i) {
        auto const name = format_text("rnn.{}", i);
        auto const h = recurrent.part(name + ".h0", h0, 0, i, 1), c = recurrent.part(name + ".c0", c0, 0, i, 1);
        auto const made = recurrent.layer(name, x, {h, c});
        x = made.outputs;
        outputs.push_back(made.last.output), cells.push_back(made.last.cell);
    }
    auto const joined = [&](std::string_view name, std::vector<value_id> const& of) {
        return net.apply<ops::concat>(name, std::span<value_id const>{of}, {.axis = 0});
    };
    auto const matrix = recurrent.weight("decoder", {options.width, options.vocabulary});
    auto const shift = net.constant(net.weights().bias("decoder.bias", options.vocabulary), "decoder.bias");
    auto const logits = net.sum("logits", net.apply<ops::mat_mul>("decoder", {x, matrix}), shift);
    auto const hn = joined("hn", outputs), cn = joined("cn", cells);
    net.outputs({logits, hn, cn}, {"logits", "hn", "cn"});
    return g;
}

} // namespace gsub::models
