#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/nasrnn.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <cmath>
#include <string>

namespace gsub::models {

namespace detail {

/// The weights of a cell, and its step.
class nasrnn_cell {
public:
    static constexpr std::size_t gate_count = 8;

    nasrnn_cell(network_builder& net, std::int64_t width) : net_(net) {
        auto const deviation = 1 / std::sqrt(static_cast<double>(width));
        for (std::size_t i = 0; i < gate_count; ++i) {
            auto const matrix = [&](std::string_view suffix) {
                auto const name = format_text("gate{}{}", i, suffix);
                return net_.constant(net_.weights().normal(name, {width, width}, deviation), name);
            };
            fresh_[i] = matrix(".x.weight"), kept_[i] = matrix(".h.weight");
        }
    }

    value_id step(std::string const& name, value_id x, value_id h) {
        std::array<value_id, gate_count> t;
        for (std::size_t i = 0; i < gate_count; ++i) {
            auto const gate = format_text("{}.gate{}", name, i);
            auto const of_state = net_.apply<ops::mat_mul>(gate + ".h", {h, kept_[i]});
            t[i] = net_.sum(gate, net_.apply<ops::mat_mul>(gate + ".x", {x, fresh_[i]}), of_state);
        }
        int joined = 0, applied = 0;
        auto const f = [&]<class Op>(Op, value_id a) {
            return net_.apply<Op>(format_text("{}.act{}", name, applied++), {a});
        };
        // Nodes are made in the order of statements: compilers evaluate arguments in any order.
        auto const join = [&]<class Op, class Left, class Right>(Op, Left l, value_id a, Right r, value_id b) {
            auto const right = f(r, b), left = f(l, a);
            return net_.apply<Op>(format_text("{}.join{}", name, joined++), {left, right});
        };
        constexpr ops::add add;
        constexpr ops::mul mul;
        constexpr ops::relu relu;
        constexpr ops::tanh tanh;
        constexpr ops::sigmoid sigmoid;
        auto const a = join(add, relu, t[0], sigmoid, t[3]), b = join(add, sigmoid, t[1], tanh, t[2]),
                   c = join(mul, sigmoid, t[4], tanh, t[5]), d = join(mul, sigmoid, t[6], relu, t[7]);
        auto const left = join(add, sigmoid, b, tanh, c), right = join(mul, tanh, a, tanh, d);
        return net_.apply<ops::tanh>(name + ".state", {join(mul, tanh, left, tanh, right)});
    }

private:
    network_builder& net_;
    std::array<value_id, gate_count> fresh_, kept_;
};

} // namespace detail

GSUB_INLINE graph nasrnn(nasrnn_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.steps > 0 && options.width > 0, "a recurrent network has steps and width");
    graph g;
    network_builder net{g, weight_source{options.seed}};
    std::vector<value_id> inputs;
    for (std::int64_t i = 0; i < options.steps; ++i)
        inputs.push_back(net.input(dtype::f32, {options.batch, options.width}, format_text("x{}", i)));
    auto state = net.input(dtype::f32, {options.batch, options.width}, "h");
    detail::nasrnn_cell cell{net, options.width};
    for (std::size_t i = 0; i < inputs.size(); ++i) state = cell.step(format_text("step{}", i), inputs[i], state);
    net.output(state, "state");
    return g;
}

} // namespace gsub::models
