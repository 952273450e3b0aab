// Random recurrent networks: cells of primitive operators, unrolled over their steps.
#pragma once

#include "random_builder.hpp"

#include <vector>

namespace bench {

/// One to three layers of LSTM-like, GRU-like or drawn cells, some of them in both directions.
class random_recurrent {
public:
    explicit random_recurrent(random_builder& net) : net_(net) {}

    void build() {
        auto& draw = net_.draw;
        batch_ = draw.pick<std::int64_t>({1, 1, 1, 2, 4, 8});
        auto const steps = net_.small ? draw.between(2, 4) : draw.between(8, 24);
        both_ways_ = draw.chance(0.3);
        auto const layers = both_ways_ ? draw.between(1, 2) : draw.between(1, 3);
        auto sequence = inputs(steps, width());
        for (std::int64_t i = 0; i < layers; ++i) sequence = layer(sequence);
        net_.output(head(sequence), "y");
    }

private:
    enum class cell_kind { lstm, gru, drawn };
    enum class join_kind { add, mul };

    /// The weights of a cell; what is drawn once holds for all steps.
    struct cell {
        cell_kind kind = cell_kind::lstm;
        std::int64_t width = 0;
        bool joined = false;  ///< one product of x and state side by side
        bool variant = false; ///< LSTM: the input gate is 1 - f; GRU: the state's product is taken before the reset
        value_id fresh{}, kept{}, shift{}, one{};
        std::vector<activation_kind> leaves{}; ///< of a drawn cell
        std::vector<join_kind> joins{};
    };
    struct state {
        value_id h{}, c{};
    };

    std::int64_t width() {
        auto const about = net_.small ? net_.draw.log_uniform(6, 20) : net_.draw.log_uniform(128, 448);
        return net_.draw.width(about);
    }

    /// The parts of a sequence, one a step.
    std::vector<value_id> inputs(std::int64_t steps, std::int64_t features) {
        auto& draw = net_.draw;
        std::vector<value_id> out;
        auto const form = draw.between(0, 4);
        if (form == 0) { // an input a step
            for (std::int64_t i = 0; i < steps; ++i)
                out.push_back(net_.input(dtype::f32, {batch_, features}, fmt::format("x{}", i)));
            return out;
        }
        value_id x{};
        if (form == 1) { // words
            auto const words = net_.input(dtype::i64, {batch_, steps}, "words");
            auto const table = net_.weights().normal("embedding", {1000, features}, 1);
            x = net_.op<ops::gather>("words", {net_.constant(table, "embedding.weight"), words});
        } else {
            x = net_.input(dtype::f32, {batch_, steps, features}, "x");
        }
        auto const pieces = form == 2 ? std::vector<value_id>{} : net_.split(x, 1, steps);
        for (std::int64_t i = 0; i < steps; ++i) {
            if (form == 2) {
                auto const at = net_.constant(tensor::scalar(i), net_.fresh("index"));
                out.push_back(net_.op<ops::gather>("step", {x, at}, {.axis = 1}));
            } else if (form == 3) {
                out.push_back(net_.op<ops::reshape>("step", {pieces[static_cast<std::size_t>(i)]},
                                                    {.shape = {batch_, features}}));
            } else {
                out.push_back(net_.op<ops::squeeze>("step", {pieces[static_cast<std::size_t>(i)]}, {.axes = {1}}));
            }
        }
        return out;
    }

    std::vector<value_id> layer(std::vector<value_id> const& sequence) {
        auto const there = direction(sequence);
        if (!both_ways_) return there;
        auto back = direction({sequence.rbegin(), sequence.rend()});
        std::reverse(back.begin(), back.end());
        std::vector<value_id> out;
        for (std::size_t i = 0; i < there.size(); ++i)
            out.push_back(net_.concat_along(1, std::vector{there[i], back[i]}));
        return out;
    }

    std::vector<value_id> direction(std::vector<value_id> const& sequence) {
        auto const made = make_cell(net_.last(sequence.front()));
        state s{begin(made.width, "h"), {}};
        if (made.kind == cell_kind::lstm) s.c = begin(made.width, "c");
        std::vector<value_id> out;
        for (auto const x : sequence) {
            s = made.kind == cell_kind::lstm
                    ? lstm(made, x, s)
                    : state{made.kind == cell_kind::gru ? gru(made, x, s.h) : drawn(made, x, s.h), {}};
            out.push_back(s.h);
        }
        return out;
    }

    value_id begin(std::int64_t width, std::string_view name) {
        if (net_.draw.chance(0.5)) return net_.input(dtype::f32, {batch_, width}, net_.fresh(name));
        return net_.constant(tensor::zeros(tensor_type{dtype::f32, {batch_, width}}), net_.fresh(name));
    }

    cell make_cell(std::int64_t features) {
        auto& draw = net_.draw;
        cell made;
        made.kind = draw.pick({cell_kind::lstm, cell_kind::lstm, cell_kind::gru, cell_kind::drawn});
        made.width = width();
        made.variant = draw.chance(0.3);
        std::int64_t gates = made.kind == cell_kind::lstm ? (made.variant ? 3 : 4) : 3;
        if (made.kind == cell_kind::drawn) {
            using enum activation_kind;
            gates = draw.between(2, 6);
            for (std::int64_t i = 0; i < gates; ++i) {
                made.leaves.push_back(draw.pick({sigmoid, tanh, relu, hard_sigmoid, sigmoid, tanh}));
                made.joins.push_back(draw.pick({join_kind::add, join_kind::mul}));
            }
        }
        made.joined = made.kind != cell_kind::gru && draw.chance(0.4);
        auto const name = net_.fresh("cell");
        auto const matrix = [&](std::string const& what, std::int64_t rows) {
            auto const deviation = 1 / std::sqrt(static_cast<double>(rows));
            return net_.constant(net_.weights().normal(what, {rows, gates * made.width}, deviation), what);
        };
        if (made.joined) {
            made.fresh = matrix(name + ".weight", features + made.width);
        } else {
            made.fresh = matrix(name + ".x.weight", features);
            made.kept = matrix(name + ".h.weight", made.width);
        }
        made.shift = net_.constant(net_.weights().bias(name + ".bias", gates * made.width), name + ".bias");
        // A constant that nothing reads does not come back from a file.
        if (made.variant == (made.kind == cell_kind::lstm) && made.kind != cell_kind::drawn) made.one = net_.number(1);
        return made;
    }

    value_id product(value_id x, value_id w) {
        auto const rows = static_cast<double>(net_.size(w, 0)), columns = static_cast<double>(net_.size(w, 1));
        net_.flop += 2 * static_cast<double>(batch_) * rows * columns;
        return net_.op<ops::mat_mul>("product", {x, w});
    }
    value_id gates(cell const& c, value_id x, value_id h) {
        if (c.joined) return net_.add(product(net_.concat_along(1, std::vector{x, h}), c.fresh), c.shift);
        auto const of_x = product(x, c.fresh);
        auto const of_h = product(h, c.kept);
        return net_.add(net_.add(of_x, of_h), c.shift);
    }
    value_id sigmoid(value_id x) { return net_.op<ops::sigmoid>("sigmoid", {x}); }
    value_id tanh(value_id x) { return net_.op<ops::tanh>("tanh", {x}); }

    state lstm(cell const& c, value_id x, state const& s) {
        auto const g = net_.split(gates(c, x, s.h), 1, c.variant ? 3 : 4);
        auto const forget = sigmoid(g[0]), out = sigmoid(g[1]), fresh = tanh(g[2]);
        auto const in = c.variant ? net_.sub(c.one, forget) : sigmoid(g[3]);
        auto const kept = net_.mul(forget, s.c), added = net_.mul(in, fresh);
        auto const memory = net_.add(kept, added);
        return {net_.mul(out, tanh(memory)), memory};
    }

    value_id gru(cell const& c, value_id x, value_id h) {
        auto const a = net_.split(net_.add(product(x, c.fresh), c.shift), 1, 3);
        auto const b = net_.split(product(h, c.kept), 1, 3);
        auto const reset = sigmoid(net_.add(a[0], b[0])), update = sigmoid(net_.add(a[1], b[1]));
        auto const fresh = tanh(net_.add(a[2], net_.mul(reset, b[2])));
        if (c.variant) return net_.add(fresh, net_.mul(update, net_.sub(h, fresh)));
        auto const of_new = net_.mul(net_.sub(c.one, update), fresh);
        return net_.add(of_new, net_.mul(update, h));
    }

    /// The gates joined one after the other, as in searched cells.
    value_id drawn(cell const& c, value_id x, value_id h) {
        auto const g = net_.split(gates(c, x, h), 1, static_cast<std::int64_t>(c.leaves.size()));
        value_id all{};
        for (std::size_t i = 0; i < g.size(); ++i) {
            auto const leaf = net_.activate(c.leaves[i], g[i]);
            all = i == 0 ? leaf : c.joins[i] == join_kind::add ? net_.add(all, leaf) : net_.mul(all, leaf);
        }
        return tanh(net_.add(all, h));
    }

    /// The last state, or all of them, through a matrix.
    value_id head(std::vector<value_id> const& sequence) {
        auto const classes = net_.small ? 5 : net_.draw.between(10, 200);
        // In both directions the last row is the first of the way back.
        if (!both_ways_ && net_.draw.chance(0.5)) return net_.dense(sequence.back(), classes);
        std::vector<value_id> rows;
        for (auto const v : sequence) rows.push_back(net_.op<ops::unsqueeze>("row", {v}, {.axes = {1}}));
        return net_.dense(net_.concat_along(1, rows), classes);
    }

    random_builder& net_;
    std::int64_t batch_ = 1;
    bool both_ways_ = false;
};

} // namespace bench
