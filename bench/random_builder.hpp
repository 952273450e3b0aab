// What all random networks are made of: seeded choices, and layers that bring their weights and a name of their own.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/models/network_builder.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace bench {

using namespace gsub;

/// Choices out of a stream. Each draw stands in a statement of its own: arguments have no order.
class chooser {
public:
    explicit chooser(random_stream draws) noexcept : draws_(draws) {}

    /// One of `least` to `most`, both included.
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(draws_.below(static_cast<std::uint64_t>(most - least + 1)));
    }
    bool chance(double p) { return draws_.uniform() < p; }
    /// Small and large ones are as likely as each other.
    double log_uniform(double low, double high) { return low * std::pow(high / low, draws_.uniform()); }
    template <class T>
    T pick(std::initializer_list<T> of) {
        return *(of.begin() + draws_.below(of.size()));
    }
    /// A width near `about`: a multiple of 8 or 4, seldom of 2.
    std::int64_t width(double about) {
        auto const unit = pick<std::int64_t>({8, 8, 8, 4, 4, 2});
        return std::max<std::int64_t>(std::llround(about / static_cast<double>(unit)), 2) * unit;
    }

private:
    random_stream draws_;
};

enum class activation_kind {
    relu,
    relu6,
    leaky_relu,
    elu,
    hard_swish,
    swish,
    gelu,      ///< one operator
    gelu_erf,  ///< of Div, Erf, Add, Mul, Mul
    gelu_tanh, ///< of Mul, Add, Tanh and powers
    tanh,
    sigmoid,
    hard_sigmoid,
};

/// A network builder that names its layers and counts what they multiply.
class random_builder : public models::network_builder {
public:
    random_builder(any_graph& g, random_stream stream, bool tiny)
        : network_builder(g, models::weight_source{stream.split(1)}), draw(stream.split(2)), small(tiny) {}

    chooser draw;
    bool const small; ///< for tests: a few million operations
    double flop = 0;  ///< of convolutions and products so far

    std::string fresh(std::string_view what) { return fmt::format("{}{}", what, layers_++); }

    /// An operator under a fresh name.
    template <operation Op>
    value_id op(std::string_view what, std::initializer_list<value_id> operands,
                attributes_of<Op> const& attributes = {}) {
        return apply<Op>(fresh(what), operands, attributes);
    }
    template <operation Op>
    value_id op(std::string_view what, std::span<value_id const> operands, attributes_of<Op> const& attributes = {}) {
        return apply<Op>(fresh(what), operands, attributes);
    }

    value_id number(double x) { return constant(tensor::scalar(static_cast<float>(x)), fresh("number")); }
    value_id add(value_id a, value_id b) { return op<ops::add>("add", {a, b}); }
    value_id sub(value_id a, value_id b) { return op<ops::sub>("sub", {a, b}); }
    value_id mul(value_id a, value_id b) { return op<ops::mul>("mul", {a, b}); }
    value_id div(value_id a, value_id b) { return op<ops::div>("div", {a, b}); }
    value_id concat_along(std::int64_t axis, std::span<value_id const> parts) {
        return op<ops::concat>("concat", parts, {.axis = axis});
    }
    /// As the files store it, so that a graph equals what is read back.
    static double stored(double x) { return static_cast<double>(static_cast<float>(x)); }

    [[nodiscard]] std::int64_t size(value_id x, std::size_t axis) const { return type_of(x)->dims[axis].size(); }
    [[nodiscard]] std::int64_t last(value_id x) const { return type_of(x)->dims.back().size(); }
    [[nodiscard]] ints dims(value_id x) const {
        ints out;
        for (auto const& d : type_of(x)->dims) out.push_back(d.size());
        return out;
    }

    /// x in `parts` equal pieces.
    std::vector<value_id> split(value_id x, std::int64_t axis, std::int64_t parts) {
        auto const at =
            static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(type_of(x)->rank()) : axis);
        ints const sizes(static_cast<std::size_t>(parts), size(x, at) / parts);
        auto const name = fresh("split");
        auto const first =
            network_builder::add<ops::split>({.axis = axis, .sizes = sizes}, {x}, static_cast<std::size_t>(parts));
        graph().set_source(first.node, name);
        std::vector<value_id> out;
        for (std::uint32_t i = 0; i < sizes.size(); ++i) {
            out.push_back({first.node, i});
            graph().set_name(out.back(), fmt::format("{}.{}", name, i));
        }
        return out;
    }

    value_id activate(activation_kind kind, value_id x) {
        using enum activation_kind;
        switch (kind) {
        case relu:
            return op<ops::relu>("relu", {x});
        case relu6:
            return op<ops::clip>("relu6", {x}, {.min = 0, .max = 6});
        case leaky_relu:
            return op<ops::leaky_relu>("leaky", {x}, {.alpha = stored(draw.pick({0.01, 0.1, 0.2}))});
        case elu:
            return op<ops::elu>("elu", {x}, {.alpha = stored(draw.pick({1.0, 0.5}))});
        case hard_swish:
            return op<ops::hard_swish>("hswish", {x});
        case swish:
            return mul(x, op<ops::sigmoid>("gate", {x}));
        case gelu:
            return op<ops::gelu>("gelu", {x}, {.approximate = draw.pick<char const*>({"none", "tanh"})});
        case gelu_erf: {
            auto const gate = op<ops::erf>("erf", {div(x, number(std::sqrt(2.0)))});
            return mul(mul(x, add(gate, number(1))), number(0.5));
        }
        case gelu_tanh: {
            auto const cube = op<ops::pow>("cube", {x, number(3)});
            auto const inner = mul(add(x, mul(cube, number(0.044715))), number(std::sqrt(2 / 3.141592653589793)));
            return mul(mul(x, number(0.5)), add(op<ops::tanh>("tanh", {inner}), number(1)));
        }
        case tanh:
            return op<ops::tanh>("tanh", {x});
        case sigmoid:
            return op<ops::sigmoid>("sigmoid", {x});
        case hard_sigmoid: {
            auto const slope = draw.pick({0.2, 1.0 / 6});
            return op<ops::hard_sigmoid>("hsigmoid", {x}, {.alpha = stored(slope), .beta = 0.5});
        }
        }
        return x;
    }

    /// x times a matrix, with or without a bias. *Shapes* `[*, i]` to `[*, outputs]`.
    value_id dense(value_id x, std::int64_t outputs, bool bias = true, double gain = 1) {
        auto const name = fresh("dense"), matrix = name + ".weight", shift = name + ".bias";
        auto const inputs = last(x);
        auto const w = constant(
            weights().normal(matrix, {inputs, outputs}, gain / std::sqrt(static_cast<double>(inputs))), matrix);
        double rows = 1;
        for (auto d : dims(x)) rows *= static_cast<double>(d);
        flop += 2 * rows * static_cast<double>(outputs);
        if (!bias) return apply<ops::mat_mul>(name, {x, w});
        auto const b = constant(weights().bias(shift, outputs), shift);
        auto const product = apply<ops::mat_mul>(name + ".matmul", {x, w});
        // Exporters write the bias on either side.
        return draw.chance(0.5) ? apply<ops::add>(name, {product, b}) : apply<ops::add>(name, {b, product});
    }

    /// Normalised along the last dimension. `parts`: of primitive operators.
    value_id layer_norm(value_id x, bool parts) {
        auto const w = constant(weights().uniform(fresh("scale"), {last(x)}, 0.5, 1.5), fresh("norm.weight"));
        auto const b = constant(weights().normal(fresh("shift"), {last(x)}, 0.1), fresh("norm.bias"));
        if (!parts) return op<ops::layer_norm>("norm", {x, w, b}, {.axis = -1, .epsilon = stored(1e-5)});
        reduce_attributes const along{.axes = {-1}};
        auto const centred = sub(x, op<ops::reduce_mean>("mean", {x}, along));
        auto const variance = op<ops::reduce_mean>("variance", {squares(centred)}, along);
        return add(mul(div(centred, root(variance, 1e-5)), w), b);
    }
    /// Divided by the root of the mean square.
    value_id rms_norm(value_id x) {
        auto const w = constant(weights().uniform(fresh("scale"), {last(x)}, 0.5, 1.5), fresh("rms.weight"));
        auto const mean = op<ops::reduce_mean>("mean", {squares(x)}, {.axes = {-1}});
        return mul(div(x, root(mean, 1e-6)), w);
    }

private:
    value_id squares(value_id x) { return draw.chance(0.5) ? op<ops::pow>("squares", {x, number(2)}) : mul(x, x); }
    value_id root(value_id x, double epsilon) { return op<ops::sqrt>("root", {add(x, number(epsilon))}); }

    std::size_t layers_ = 0;
};

} // namespace bench
