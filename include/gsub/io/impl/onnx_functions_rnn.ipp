// Recurrent layers of a file: RNN, GRU and LSTM.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::io::detail {

/// An activation of a recurrent layer.
class recurrent_activation {
public:
    /// Takes the numbers that it has of those that are given to all activations of a node, in order.
    recurrent_activation(onnx_import_context& cx, std::string name, std::span<double const>& alphas,
                         std::span<double const>& betas) {
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        auto const found = std::ranges::find(all(), name, &row::name);
        if (found == all().end()) cx.unsupported(format_text("activation {}", quoted{name}));
        row_ = &*found;
        if (row_->alpha) alpha_ = taken(alphas, *row_->alpha);
        if (row_->beta) beta_ = taken(betas, *row_->beta);
    }
    [[nodiscard]] value_id operator()(function_writer const& to, value_id x) const {
        return row_->write(to, x, alpha_, beta_);
    }

private:
    struct row {
        std::string_view name;
        value_id (*write)(function_writer const&, value_id x, double alpha, double beta);
        std::optional<double> alpha{}, beta{}; // where it has one: what it is if none is given
    };
    static double taken(std::span<double const>& given, double otherwise) {
        if (given.empty()) return otherwise;
        auto const first = given.front();
        given = given.subspan(1);
        return first;
    }
    static std::span<row const> all() {
        using w = function_writer const;
        static row const rows[] = {
            {"sigmoid", [](w& to, value_id x, double, double) { return to.make<ops::sigmoid>(x); }},
            {"tanh", [](w& to, value_id x, double, double) { return to.make<ops::tanh>(x); }},
            {"relu", [](w& to, value_id x, double, double) { return to.make<ops::relu>(x); }},
            {"softsign", [](w& to, value_id x, double, double) { return to.make<ops::softsign>(x); }},
            {"softplus", [](w& to, value_id x, double, double) { return to.make<ops::softplus>(x); }},
            {"affine",
             [](w& to, value_id x, double a, double b) { return to.add(to.mul(to.number(a, x), x), to.number(b, x)); },
             1, 0},
            {"leakyrelu",
             [](w& to, value_id x, double a, double) { return to.make<ops::leaky_relu>({.alpha = a}, {x}); }, 0.01},
            {"thresholdedrelu",
             [](w& to, value_id x, double a, double) {
                 return to.select(to.make<ops::less>(x, to.number(a, x)), to.number(0, x), x);
             },
             1},
            {"scaledtanh",
             [](w& to, value_id x, double a, double b) {
                 return to.mul(to.number(a, x), to.make<ops::tanh>(to.mul(to.number(b, x), x)));
             },
             1, 1},
            {"hardsigmoid",
             [](w& to, value_id x, double a, double b) {
                 return to.make<ops::hard_sigmoid>({.alpha = a, .beta = b}, {x});
             },
             0.2, 0.5},
            {"elu", [](w& to, value_id x, double a, double) { return to.make<ops::elu>({.alpha = a}, {x}); }, 1},
        };
        return rows;
    }
    row const* row_ = nullptr;
    double alpha_ = 0, beta_ = 0;
};

enum class recurrent_kind { rnn, gru, lstm };

/// Recurrent layer of a file, written step by step: one product of all steps with the weights of the input, and one a
/// step with those of the state. Halves are computed in f32. A sequence that is shorter than others keeps its last
/// state, and its further outputs are 0.
class recurrent_reader {
public:
    recurrent_reader(onnx_import_context& cx, recurrent_kind kind)
        : cx_(cx), to_(cx), kind_(kind), layout_(cx.integer("layout").value_or(0)), clip_(cx.real("clip")) {
        auto const direction = cx.text("direction").value_or("forward");
        if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
            cx.invalid(format_text("direction {}", quoted{direction}));
        directions_ = direction == "bidirectional" ? 2 : 1;
        reverse_ = direction == "reverse";
        if (kind == recurrent_kind::lstm) coupled_ = cx.integer("input_forget").value_or(0) != 0;
        if (kind == recurrent_kind::gru) inside_ = cx.integer("linear_before_reset").value_or(0) != 0;
        cx.ignore("output_sequence"); // of operator sets before 7; the results that have names tell it
        read_activations();
    }

    value_id run() {
        read_operands();
        std::vector<value_id> sequences, states, cells;
        for (std::int64_t d = 0; d < directions_; ++d) {
            auto const made = steps_of(d);
            sequences.push_back(to_.make<ops::unsqueeze>({.axes = {1}}, {made.sequence}));
            states.push_back(to_.make<ops::unsqueeze>({.axes = {0}}, {made.last.output}));
            if (kind_ == recurrent_kind::lstm)
                cells.push_back(to_.make<ops::unsqueeze>({.axes = {0}}, {made.last.cell}));
        }
        if (cx_.results() > 1) cx_.give(1, state_of(states));
        if (cx_.results() > 2) cx_.give(2, state_of(cells));
        auto const all = to_.cast(joined(sequences, 1), element_); // [steps, directions, batch, hidden]
        return layout_ ? to_.make<ops::transpose>({.perm = {2, 0, 1, 3}}, {all}) : all;
    }

private:
    struct state {
        value_id output, cell; // [batch, hidden]; `cell` of an LSTM
    };
    struct sequence_of_states {
        value_id sequence; // [steps, batch, hidden]
        state last;
    };

    // ---- what the node says

    void read_activations() {
        std::vector<std::string> names;
        for (std::int64_t d = 0; d < directions_; ++d) {
            if (kind_ != recurrent_kind::rnn) names.emplace_back("sigmoid");
            names.emplace_back("tanh");
            if (kind_ == recurrent_kind::lstm) names.emplace_back("tanh");
        }
        if (auto const given = cx_.text_list("activations")) {
            if (given->size() != names.size())
                cx_.invalid(format_text("{} activations; it has {}", given->size(), names.size()));
            names = *given;
        }
        auto const alphas = cx_.real_list("activation_alpha").value_or(reals{}),
                   betas = cx_.real_list("activation_beta").value_or(reals{});
        std::span<double const> a{alphas.data(), alphas.size()}, b{betas.data(), betas.size()};
        for (auto& name : names) activations_.emplace_back(cx_, std::move(name), a, b);
    }
    void read_operands() {
        auto x = to_.floating(0);
        element_ = to_.element(x);
        weights_ = to_.widened(to_.floating(1)), recurrence_ = to_.widened(to_.floating(2));
        if (to_.rank(x) != 3 || to_.rank(weights_) != 3 || to_.rank(recurrence_) != 3)
            cx_.invalid(format_text("operands {}, {}, {}; each has three dimensions", to_string(cx_.type(0)),
                                    to_string(cx_.type(1)), to_string(cx_.type(2))));
        x = time_first(to_.widened(x));
        steps_ = to_.size(x, 0), batch_ = to_.size(x, 1), inputs_ = to_.size(x, 2);
        hidden_ = to_.size(recurrence_, 2);
        auto const rows = to_.product({gates(), hidden_});
        if (cx_.integer("hidden_size").value_or(hidden_) != hidden_ || to_.size(weights_, 0) != directions_ ||
            to_.size(weights_, 1) != rows || to_.size(weights_, 2) != inputs_ ||
            to_.size(recurrence_, 0) != directions_ || to_.size(recurrence_, 1) != rows)
            cx_.invalid(format_text("weights {} and {} for operand {}", to_string(cx_.type(1)), to_string(cx_.type(2)),
                                    to_string(cx_.type(0))));
        constexpr std::int64_t most = 4096;
        if (steps_ == 0) cx_.unsupported("a sequence without steps");
        if (auto const steps = to_.product({steps_, directions_}); steps > most)
            cx_.unsupported(format_text("{} steps; at most {} are written one by one", steps, most));
        auto const pieces = to_.product({steps_, batch_});
        all_steps_ = to_.make<ops::reshape>(attributes_of<ops::reshape>::to({pieces, inputs_}), {x});
        if (!cx_.has(4)) return;
        auto const known = cx_.known_ints(4);
        if (known && std::ranges::all_of(*known, [&](auto length) { return length == steps_; })) return;
        lengths_ = to_.make<ops::unsqueeze>({.axes = {1}}, {to_.cast(to_.typed(4), dtype::i64)});
    }
    [[nodiscard]] std::int64_t gates() const {
        return kind_ == recurrent_kind::rnn ? 1 : kind_ == recurrent_kind::gru ? 3 : 4;
    }

    // ---- pieces

    [[nodiscard]] value_id time_first(value_id v) const {
        return layout_ ? to_.make<ops::transpose>({.perm = {1, 0, 2}}, {v}) : v;
    }
    [[nodiscard]] value_id part(value_id v, std::int64_t axis, std::int64_t first, std::int64_t count) const {
        return to_.make<ops::slice>({.starts = {first}, .ends = {first + count}, .axes = {axis}, .steps = {1}}, {v});
    }
    // What one direction, or one step, has of a value: without that dimension.
    [[nodiscard]] value_id one(value_id v, std::int64_t i) const {
        return to_.make<ops::squeeze>({.axes = {0}}, {part(v, 0, i, 1)});
    }
    [[nodiscard]] value_id gate(value_id v, std::int64_t g, std::int64_t count = 1) const {
        return part(v, static_cast<std::int64_t>(to_.rank(v)) - 1, g * hidden_, count * hidden_);
    }
    [[nodiscard]] value_id joined(std::vector<value_id> const& parts, std::int64_t axis) const {
        return parts.size() == 1 ? parts[0] : cx_.builder().template add<ops::concat>({.axis = axis}, as_span(parts));
    }
    [[nodiscard]] value_id state_of(std::vector<value_id> const& parts) const { // [directions, batch, hidden]
        return to_.cast(time_first(joined(parts, 0)), element_);
    }
    [[nodiscard]] value_id transposed(value_id v) const { return to_.make<ops::transpose>({.perm = {1, 0}}, {v}); }
    [[nodiscard]] value_id activated(std::size_t which, value_id x) const {
        if (clip_) x = to_.make<ops::clip>({.min = -*clip_, .max = *clip_}, {x});
        return activations_[which](to_, x);
    }
    [[nodiscard]] value_id initial(std::size_t operand, std::int64_t d) const {
        if (!cx_.has(operand)) return to_.make<ops::expand>({.shape = {batch_, hidden_}}, {to_.number(0, weights_)});
        return one(time_first(to_.widened(to_.floating(operand))), d);
    }

    // ---- one direction

    sequence_of_states steps_of(std::int64_t d) {
        first_ = static_cast<std::size_t>(d) * activations_.size() / static_cast<std::size_t>(directions_);
        auto const rows = gates() * hidden_;
        recurrent_ = transposed(one(recurrence_, d));
        auto fed = to_.make<ops::mat_mul>(all_steps_, transposed(one(weights_, d)));
        bias_ = {};
        if (cx_.has(3)) {
            auto const both = one(to_.widened(to_.floating(3)), d);
            auto const of_input = part(both, 0, 0, rows), of_state = part(both, 0, rows, rows);
            fed = to_.add(fed, of_input);
            if (inside_) // of the new state it is behind the reset
                bias_ = gate(of_state, 2);
            else
                fed = to_.add(fed, of_state);
            if (inside_) fed = to_.add(fed, without_last(of_state));
        }
        fed = to_.make<ops::reshape>(attributes_of<ops::reshape>::to({steps_, batch_, rows}), {fed});
        peepholes_ = kind_ == recurrent_kind::lstm && cx_.has(7) ? one(to_.widened(to_.floating(7)), d) : value_id{};

        state now{initial(5, d), kind_ == recurrent_kind::lstm ? initial(6, d) : value_id{}};
        std::vector<value_id> outputs(static_cast<std::size_t>(steps_));
        auto const backwards = reverse_ || d == 1;
        for (std::int64_t i = 0; i < steps_; ++i) {
            auto const t = backwards ? steps_ - 1 - i : i;
            auto next = step(one(fed, t), now);
            auto output = next.output;
            if (lengths_.valid()) {
                auto const runs = to_.make<ops::less>(to_.integer(t, dtype::i64), lengths_);
                output = to_.select(runs, next.output, to_.number(0, next.output));
                next.output = to_.select(runs, next.output, now.output);
                if (next.cell.valid()) next.cell = to_.select(runs, next.cell, now.cell);
            }
            outputs[static_cast<std::size_t>(t)] = to_.make<ops::unsqueeze>({.axes = {0}}, {output});
            now = next;
        }
        return {joined(outputs, 0), now};
    }
    // All gates but the last, and 0 for that.
    [[nodiscard]] value_id without_last(value_id v) const {
        return to_.make<ops::concat>({.axis = 0},
                                     {gate(v, 0, 2), to_.make<ops::expand>({.shape = {hidden_}}, {to_.number(0, v)})});
    }
    [[nodiscard]] value_id product(value_id h, value_id w) const { return to_.make<ops::mat_mul>(h, w); }

    [[nodiscard]] state step(value_id x, state const& was) const {
        switch (kind_) {
        case recurrent_kind::gru:
            return {gru_step(x, was.output), {}};
        case recurrent_kind::lstm:
            return lstm_step(x, was);
        case recurrent_kind::rnn:
            break;
        }
        return {activated(first_, to_.add(x, product(was.output, recurrent_))), {}};
    }
    // Gates: update, reset, new state. Where one product serves all, each gate is arithmetic of its own on as many
    // elements as the state, so that one kernel computes the step behind it.
    [[nodiscard]] value_id gru_step(value_id x, value_id h) const {
        auto const width = 2 * hidden_;
        value_id update, reset, of_state;
        if (inside_) {
            auto const of_all = product(h, recurrent_);
            auto const activated_gate = [&](std::int64_t g) {
                return activated(first_, to_.add(gate(x, g), gate(of_all, g)));
            };
            update = activated_gate(0), reset = activated_gate(1), of_state = gate(of_all, 2);
            if (bias_.valid()) of_state = to_.add(of_state, bias_);
            of_state = to_.mul(reset, of_state);
        } else {
            auto const both = activated(first_, to_.add(gate(x, 0, 2), product(h, part(recurrent_, 1, 0, width))));
            update = gate(both, 0), reset = gate(both, 1);
            of_state = product(to_.mul(reset, h), part(recurrent_, 1, width, hidden_));
        }
        auto const fresh = activated(first_ + 1, to_.add(gate(x, 2), of_state));
        return to_.add(to_.mul(to_.sub(to_.number(1, update), update), fresh), to_.mul(update, h));
    }
    // Gates: input, output, forget, cell. Peepholes: input, output, forget.
    [[nodiscard]] state lstm_step(value_id x, state const& was) const {
        auto const all = to_.add(x, product(was.output, recurrent_));
        auto const peeped = [&](std::int64_t g, value_id cell) {
            auto const v = gate(all, g);
            return peepholes_.valid() ? to_.add(v, to_.mul(gate(peepholes_, g), cell)) : v;
        };
        auto const in = activated(first_, peeped(0, was.cell));
        auto const forget = coupled_ ? to_.sub(to_.number(1, in), in) : activated(first_, peeped(2, was.cell));
        auto const fresh = activated(first_ + 1, gate(all, 3));
        auto const cell = to_.add(to_.mul(forget, was.cell), to_.mul(in, fresh));
        auto const out = activated(first_, peeped(1, cell));
        return {to_.mul(out, activated(first_ + 2, cell)), cell};
    }

    onnx_import_context& cx_;
    function_writer to_;
    recurrent_kind kind_;
    std::int64_t layout_;
    std::optional<double> clip_;
    std::int64_t directions_ = 1, steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0;
    bool reverse_ = false;
    bool coupled_ = false; // an LSTM forgets what it does not take in
    bool inside_ = false;  // a GRU resets what its product with the state gives, not the state
    std::vector<recurrent_activation> activations_;
    dtype element_ = dtype::undefined;
    value_id weights_, recurrence_, all_steps_, lengths_;
    std::size_t first_ = 0;                   // activation of the direction
    value_id recurrent_, bias_, peepholes_{}; // of the direction
};

GSUB_INLINE value_id import_rnn(onnx_import_context& cx) {
    return recurrent_reader{cx, recurrent_kind::rnn}.run();
}
GSUB_INLINE value_id import_gru(onnx_import_context& cx) {
    return recurrent_reader{cx, recurrent_kind::gru}.run();
}
GSUB_INLINE value_id import_lstm(onnx_import_context& cx) {
    return recurrent_reader{cx, recurrent_kind::lstm}.run();
}

} // namespace gsub::io::detail
