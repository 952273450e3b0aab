// Gradients against dual numbers and central differences. Shared by the tests of the pass and of its rules.
#pragma once

#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/passes/gradient/first_order_gradient.hpp>

#include <cmath>
#include <numbers>

namespace gradient_check {

// a + b e with e^2 = 0: computing with it gives a directional derivative, exactly.
struct dual {
    double a = 0, b = 0;
    constexpr dual() = default;
    constexpr explicit dual(double value, double slope = 0) : a(value), b(slope) {}
    friend dual operator+(dual x, dual y) { return dual{x.a + y.a, x.b + y.b}; }
    friend dual operator-(dual x, dual y) { return dual{x.a - y.a, x.b - y.b}; }
    friend dual operator-(dual x) { return dual{-x.a, -x.b}; }
    friend dual operator*(dual x, dual y) { return dual{x.a * y.a, x.a * y.b + x.b * y.a}; }
    friend dual operator/(dual x, dual y) { return dual{x.a / y.a, (x.b * y.a - x.a * y.b) / (y.a * y.a)}; }
    dual& operator+=(dual x) { return *this = *this + x; }
    friend bool operator==(dual x, dual y) { return x.a == y.a; }
    friend bool operator<(dual x, dual y) { return x.a < y.a; }
    friend bool operator>(dual x, dual y) { return x.a > y.a; }
};

} // namespace gradient_check

namespace gsub {

template <> // of a convolution without activation, the only one below
inline gradient_check::dual apply_activation(activation, double, double, gradient_check::dual x) {
    return x;
}

// Operands and results as dual numbers; `args` holds their values alone.
template <>
class op_call<gradient_check::dual> {
    using dual = gradient_check::dual;

public:
    op_call(op_call_args& args, std::vector<std::vector<dual>> const& in, std::vector<dual>& out)
        : args_(&args), in_(&in), out_(&out) {}
    template <operation Op>
    attributes_of<Op> const& attributes() const {
        static attributes_of<Op> const defaults{};
        auto const* typed = static_cast<attributes_of<Op> const*>(args_->attributes.typed());
        return typed ? *typed : defaults;
    }
    std::size_t operands() const { return args_->operands.size(); }
    bool has(std::size_t i) const { return i < operands() && args_->operands[i]; }
    std::span<std::int64_t const> dims(std::size_t i) const { return args_->operands[i]->dims(); }
    std::span<dual const> in(std::size_t i) const { return (*in_)[i]; }
    std::size_t results() const { return 1; }
    tensor& result(std::size_t i) const { return args_->results[i]; }
    std::span<std::int64_t const> result_dims(std::size_t i = 0) const { return result(i).dims(); }
    std::span<dual> out(std::size_t = 0) const { return *out_; }
    executor& threads() const { return *args_->threads; }
    op_call_args& args() const { return *args_; }

private:
    op_call_args* args_;
    std::vector<std::vector<dual>> const* in_;
    std::vector<dual>* out_;
};

} // namespace gsub

namespace gradient_check {

using namespace gsub;
using namespace pass_trial;
using passes::first_order_gradient;

using polynomial_ops = type_list<ops::conv, ops::mat_mul, ops::gemm, ops::average_pool, ops::global_average_pool,
                                 ops::max_pool, ops::reduce_sum, ops::reduce_mean, ops::reduce_max, ops::add, ops::sub,
                                 ops::mul, ops::div, ops::neg, ops::relu, ops::abs, ops::clip>;

// Functions that are not rational, with their derivatives.
inline std::optional<dual> known_function(any_graph const& g, node_id n, dual x) {
    auto const chain = [&](double value, double slope) { return dual{value, slope * x.b}; };
    if (g.is<ops::exp>(n)) return chain(std::exp(x.a), std::exp(x.a));
    if (g.is<ops::log>(n)) return chain(std::log(x.a), 1 / x.a);
    if (g.is<ops::sqrt>(n)) return chain(std::sqrt(x.a), 0.5 / std::sqrt(x.a));
    if (g.is<ops::tanh>(n)) return chain(std::tanh(x.a), 1 / (std::cosh(x.a) * std::cosh(x.a)));
    if (g.is<ops::erf>(n)) return chain(std::erf(x.a), 2 * std::numbers::inv_sqrtpi * std::exp(-x.a * x.a));
    if (g.is<ops::sigmoid>(n)) {
        auto const y = 1 / (1 + std::exp(-x.a));
        return chain(y, y * (1 - y));
    }
    return std::nullopt;
}

inline double dot(tensor const& a, tensor const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.elements()); ++i)
        sum += a.data<double>()[i] * b.data<double>()[i];
    return sum;
}
inline double total(tensor const& a) {
    double sum = 0;
    for (auto v : a.data<double>()) sum += v;
    return sum;
}

// Derivative of the sum of the outputs along directions of the inputs, with dual numbers; f64 graphs.
inline double dual_slope(any_graph const& g, std::vector<tensor> const& inputs, std::vector<tensor> const& along) {
    std::vector<std::vector<tensor>> values(g.capacity()), slopes(g.capacity());
    inline_executor alone;
    auto const table = table_of<eval_row, standard_ops>();
    double sum = 0;
    for (auto n : g.order()) {
        if (n == g.return_node()) break;
        auto& y = values[n.index];
        auto& dy = slopes[n.index];
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            y.push_back(tensor::zeros(g.type({n, port})));
            dy.push_back(tensor::zeros(g.type({n, port})));
        }
        if (g.is<ops::input>(n)) {
            y[0] = inputs[g.input_position(n)], dy[0] = along[g.input_position(n)];
            continue;
        }
        if (g.is<ops::constant>(n)) {
            y[0] = g.constant_data(n);
            continue;
        }
        std::vector<tensor const*> x, dx;
        std::vector<dtype> declared;
        std::vector<std::vector<dual>> in;
        for (auto v : g.operands(n)) {
            x.push_back(v.valid() ? &values[v.node.index][v.port] : nullptr);
            dx.push_back(x.back() && is_floating(x.back()->element()) ? &slopes[v.node.index][v.port] : x.back());
            declared.push_back(x.back() ? x.back()->element() : dtype::undefined);
            in.emplace_back();
            if (x.back() && x.back()->element() == dtype::f64)
                for (std::size_t i = 0; i < static_cast<std::size_t>(x.back()->elements()); ++i)
                    in.back().emplace_back(x.back()->data<double>()[i], dx.back()->data<double>()[i]);
        }
        op_call_args args{&g.op(n), g.attributes(n), x, y, declared, dtype::f64, &alone};
        std::vector<dual> out(static_cast<std::size_t>(y[0].elements()));
        bool computed = false;
        for_each_type(polynomial_ops{}, [&]<class Op>() {
            if (!g.is<Op>(n)) return;
            op_call<dual> k{args, in, out};
            computed = true;
            if constexpr (requires { evaluate<Op>::template run<dual>(k); })
                evaluate<Op>::template run<dual>(k);
            else if constexpr (gsub::detail::elementwise_unary<Op, dual>)
                gsub::detail::map_unary(k, [](dual v) { return evaluate<Op>::template scalar<dual>(v); });
            else
                gsub::detail::map_binary(k, [](dual v, dual w) { return evaluate<Op>::template scalar<dual>(v, w); });
        });
        if (!computed && !in.empty() && in[0].size() == out.size() && known_function(g, n, dual{1})) {
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = *known_function(g, n, in[0][i]);
            computed = true;
        }
        if (computed) {
            for (std::size_t i = 0; i < out.size(); ++i)
                y[0].mutable_data<double>()[i] = out[i].a, dy[0].mutable_data<double>()[i] = out[i].b;
            continue;
        }
        evaluate_node(g.operators(), table, g.row(n), args, {.compute = precision::f64});
        if (x.empty() || !is_floating(y[0].element())) continue;
        op_call_args linear{&g.op(n), g.attributes(n), dx, dy, declared, dtype::f64, &alone};
        REQUIRE(table[g.row(n)].move != nullptr); // moves slopes as it moves values
        evaluate_node(g.operators(), table, g.row(n), linear, {.compute = precision::f64});
    }
    for (std::size_t i = 0; i < g.output_count(); ++i)
        if (auto const v = g.output(i); is_floating(g.type(v).element)) sum += total(slopes[v.node.index][v.port]);
    return sum;
}

inline std::vector<tensor> computed(any_graph const& g, std::vector<tensor> const& inputs) {
    return evaluate_graph(g, table_of<eval_row, standard_ops>(), inputs, {.compute = precision::f64}).value();
}
inline double sum_of_outputs(any_graph const& g, std::vector<tensor> const& inputs) {
    double sum = 0;
    for (auto const& t : computed(g, inputs))
        if (t.element() == dtype::f64) sum += total(t);
    return sum;
}
inline tensor moved(tensor const& x, tensor const& along, double step) {
    auto y = x;
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.elements()); ++i)
        y.mutable_data<double>()[i] += step * along.data<double>()[i];
    return y;
}

inline any_graph with_gradients(any_graph g, first_order_gradient const& p = {}) {
    auto m = module_of(std::move(g));
    pass_context cx;
    auto const done = run_pass(p, m, cx);
    if (!done) FAIL(done.error().message());
    CHECK(done->changed == (done->matches > 0));
    return m.find("main")->body;
}
inline error failure(any_graph g, first_order_gradient const& p = {}) {
    auto m = module_of(std::move(g));
    auto const done = run_pass(p, m);
    REQUIRE_FALSE(done);
    return done.error();
}

enum class against { both, differences };

// Gradients by all floating inputs against dual numbers and central differences, along one random direction an input.
// `positive`: inputs in [0.5, 1.5).
inline void check(any_graph const& g, against how = against::both, bool positive = false, std::uint64_t seed = 7,
                  bool jumps = false) {
    auto const d = with_gradients(g);
    auto inputs = random_inputs(g, seed);
    random_stream draw{seed};
    for (auto& t : inputs)
        if (is_floating(t.element())) {
            t = t.converted_to(dtype::f64);
            if (positive)
                for (auto& v : t.mutable_data<double>()) v = draw.uniform(0.5, 1.5);
        }
    auto const before = computed(g, inputs), after = computed(d, inputs);
    REQUIRE(after.size() > before.size());
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(compare(after[i], before[i]).value().max_relative < 1e-12);
    auto gradient = before.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].element() != dtype::f64) continue;
        auto const& found = after[gradient++];
        REQUIRE(std::ranges::equal(found.dims(), inputs[i].dims()));
        auto along = tensor::zeros(dtype::f64, inputs[i].dims());
        fill_random(along, random_stream{seed + i});
        auto const slope = dot(found, along);
        auto const difference = [&](double h) {
            auto up = inputs, down = inputs;
            up[i] = moved(inputs[i], along, h), down[i] = moved(inputs[i], along, -h);
            return (sum_of_outputs(g, up) - sum_of_outputs(g, down)) / (2 * h);
        };
        // A step that crosses a jump of a derivative tells nothing: the next one is smaller.
        auto wide = difference(1e-4), narrow = wide;
        auto const scale = std::max({1.0, std::abs(wide), std::sqrt(dot(found, found))});
        if (!std::isfinite(wide)) continue;
        bool smooth = false;
        for (double h = 1e-5; !smooth && h > 1e-8; h /= 10, wide = narrow) {
            narrow = difference(h);
            smooth = std::abs(wide - narrow) < 1e-5 * scale;
        }
        if (!jumps) CHECK(smooth);
        if (smooth) CHECK(std::abs(slope - narrow) < 2e-6 * scale);
        if (how == against::differences) continue;
        std::vector<tensor> directions;
        for (auto const& t : inputs) directions.push_back(tensor::zeros(t.element(), t.dims()));
        directions[i] = along;
        CHECK(std::abs(slope - dual_slope(g, inputs, directions)) < 1e-11 * scale);
    }
}

struct wide_net : net {
    value_id in(ints const& sizes, std::string_view name = "x") { return input(sizes, name, dtype::f64); }
    value_id c(double v) { return b.constant(tensor::scalar(v)); }
    // Outputs are weighted, so that equal seeds hide nothing.
    any_graph const& of(value_id y) {
        g.set_outputs(std::vector{op<ops::mul>(y, weight(g.type(y).sizes(), 99, dtype::f64))});
        return g;
    }
};

} // namespace gradient_check
