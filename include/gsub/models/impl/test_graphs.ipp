#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/models/weights.hpp>

#include <array>

namespace gsub::models {

namespace detail {

/// Short names for what these graphs are made of.
class module_builder {
public:
    explicit module_builder(std::uint64_t seed) : weights_(seed), builder_(graph_) {}

    value_id input(std::string_view name, shape dims) { return builder_.input(dtype::f32, std::move(dims), name); }
    value_id named(value_id v, std::string_view name) {
        graph_.set_source(v.node, name);
        return v;
    }
    value_id conv(std::string_view name, value_id x, std::int64_t outputs, std::int64_t kernel, std::int64_t pad,
                  std::int64_t groups = 1, bool bias = false, float scale = 1) {
        auto const inputs = graph_.type(x).dims[1].size();
        auto weight = weights_.convolution(format_text("{}.weight", name), {outputs, inputs / groups, kernel, kernel});
        if (scale != 1)
            for (auto& v : weight.mutable_data<float>()) v *= scale;
        auto const w = builder_.constant(weight, format_text("{}.weight", name));
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1};
        a.pads = {pad, pad, pad, pad};
        a.group = groups;
        if (!bias) return named(builder_.add<ops::conv>(a, {x, w}), name);
        auto const b =
            builder_.constant(weights_.bias(format_text("{}.bias", name), outputs), format_text("{}.bias", name));
        return named(builder_.add<ops::conv>(a, {x, w, b}), name);
    }
    value_id matrix(std::string_view name, std::int64_t rows, std::int64_t columns) {
        return builder_.constant(weights_.normal(name, {rows, columns}, 1 / std::sqrt(static_cast<double>(rows))),
                                 name);
    }
    template <class Op, std::same_as<value_id>... Values>
    value_id apply(std::string_view name, Values... operands) {
        return named(builder_.template add<Op>(operands...), name);
    }
    graph_builder& builder() noexcept { return builder_; }
    weight_source const& weights() const noexcept { return weights_; }
    graph finish(std::string_view name, std::initializer_list<value_id> outputs) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            names.push_back(outputs.size() == 1 ? "y" : format_text("y{}", i));
        graph_info info;
        info.name = name;
        graph_.set_info(std::move(info));
        graph_.set_outputs({outputs.begin(), outputs.size()}, names);
        return std::move(graph_);
    }

private:
    weight_source weights_;
    graph graph_;
    graph_builder builder_;
};

} // namespace detail

namespace detail {

GSUB_INLINE value_id append_residual(module_builder& m, std::string const& prefix, value_id x, std::int64_t channels,
                                     float scale = 1) {
    auto const name = [&](std::string_view part) { return format_text("{}{}", prefix, part); };
    auto const inner = m.apply<ops::relu>(name("relu1"), m.conv(name("conv1"), x, channels, 3, 1));
    auto const deep = m.conv(name("conv2"), inner, channels, 3, 1, 1, false, scale);
    auto const shallow =
        m.apply<ops::relu>(name("relu2"), m.conv(name("shortcut"), x, channels, 1, 0, 1, false, scale));
    return m.apply<ops::relu>(name("relu3"), m.apply<ops::add>(name("add"), deep, shallow));
}

} // namespace detail

GSUB_INLINE graph residual_module(std::uint64_t seed, std::int64_t channels, std::int64_t size) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, channels, size, size});
    return m.finish("residual_module", {detail::append_residual(m, {}, x, channels)});
}

GSUB_INLINE graph residual_chain(std::uint64_t seed, std::int64_t channels, std::int64_t size, int modules) {
    detail::module_builder m{seed};
    auto x = m.input("x", {1, channels, size, size});
    // Scaled so that a sum of two branches is not larger than one: values neither grow nor fade along the chain.
    for (int i = 1; i <= modules; ++i) x = detail::append_residual(m, format_text("module{}.", i), x, channels, 0.7f);
    return m.finish("residual_chain", {x});
}

GSUB_INLINE graph fire_module(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 16, 13, 13});
    auto const small = m.apply<ops::relu>("relu1", m.conv("expand1x1", x, 64, 1, 0));
    auto const large = m.apply<ops::relu>("relu3", m.conv("expand3x3", x, 64, 3, 1));
    return m.finish("fire_module", {m.named(m.builder().add<ops::concat>({.axis = 1}, {small, large}), "concat")});
}

GSUB_INLINE graph inception_module(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 16, 7, 7});
    auto const one = m.conv("conv1x1", x, 16, 1, 0), three = m.conv("conv3x3", x, 16, 3, 1),
               five = m.conv("conv5x5", x, 16, 5, 2);
    return m.finish("inception_module",
                    {m.named(m.builder().add<ops::concat>({.axis = 1}, {one, three, five}), "concat")});
}

GSUB_INLINE graph query_key_value(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {64, 256});
    std::vector<value_id> out;
    for (std::string_view const name : {"query", "key", "value"}) {
        auto const bias =
            m.builder().constant(m.weights().bias(format_text("{}.bias", name), 256), format_text("{}.bias", name));
        auto const product = m.apply<ops::mat_mul>(name, x, m.matrix(format_text("{}.weight", name), 256, 256));
        out.push_back(m.apply<ops::add>(format_text("{}_bias", name), product, bias));
    }
    return m.finish("query_key_value", {out[0], out[1], out[2]});
}

GSUB_INLINE graph concat_norm(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const left = m.conv("left", m.input("x0", {1, 64, 14, 14}), 64, 3, 1),
               right = m.conv("right", m.input("x1", {1, 64, 14, 14}), 64, 3, 1);
    auto const both = m.named(m.builder().add<ops::concat>({.axis = 1}, {left, right}), "concat");
    auto const norm = m.weights().batch_norm("norm", 128);
    auto const statistic = [&](tensor const& t, std::string_view name) { return m.builder().constant(t, name); };
    // The usual epsilon as a file holds it, in single precision.
    auto const normal = m.named(m.builder().add<ops::batch_norm>(
                                    {.epsilon = static_cast<double>(1e-5f)},
                                    {both, statistic(norm.scale, "norm.scale"), statistic(norm.shift, "norm.shift"),
                                     statistic(norm.mean, "norm.mean"), statistic(norm.variance, "norm.variance")}),
                                "norm");
    return m.finish("concat_norm", {m.apply<ops::relu>("relu", normal)});
}

GSUB_INLINE graph transposed_relu(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 28, 28, 64});
    auto const forth = m.named(m.builder().add<ops::transpose>({.perm = {0, 3, 1, 2}}, {x}), "to_channels_first");
    auto const back = m.builder().add<ops::transpose>({.perm = {0, 2, 3, 1}}, {m.apply<ops::relu>("relu", forth)});
    return m.finish("transposed_relu", {m.named(back, "to_channels_last")});
}

GSUB_INLINE graph mixed_gates(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 256});
    auto const product = [&](std::string_view name) {
        return m.apply<ops::mat_mul>(name, x, m.matrix(format_text("{}.weight", name), 256, 256));
    };
    return m.finish("mixed_gates",
                    {m.apply<ops::sigmoid>("sigmoid_a", product("a")), m.apply<ops::tanh>("tanh_b", product("b")),
                     m.apply<ops::sigmoid>("sigmoid_c", product("c"))});
}

GSUB_INLINE graph recurrent_cell(std::uint64_t seed) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 512}), h = m.input("h", {1, 512});
    std::vector<value_id> gates;
    for (int i = 0; i < 8; ++i) {
        auto const fresh =
            m.apply<ops::mat_mul>(format_text("x_gate{}", i), x, m.matrix(format_text("w{}", i), 512, 512));
        auto const kept =
            m.apply<ops::mat_mul>(format_text("h_gate{}", i), h, m.matrix(format_text("u{}", i), 512, 512));
        gates.push_back(m.apply<ops::add>(format_text("gate{}", i), fresh, kept));
    }
    return m.finish("recurrent_cell", {gates[0], gates[1], gates[2], gates[3], gates[4], gates[5], gates[6], gates[7]});
}

GSUB_INLINE graph grouped_conv(std::uint64_t seed, std::int64_t groups) {
    detail::module_builder m{seed};
    return m.finish("grouped_conv", {m.conv("conv", m.input("x", {1, 512, 28, 28}), 512, 3, 1, groups)});
}

GSUB_INLINE graph residual_conv(std::uint64_t seed, bool rectified) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 32, 14, 14});
    auto y = m.conv("conv", x, 32, 3, 1);
    if (rectified) y = m.apply<ops::relu>("relu", y);
    return m.finish("residual_conv", {m.apply<ops::add>("add", y, x)});
}

GSUB_INLINE graph biased_pointwise(std::uint64_t seed, std::int64_t pad) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 16, 14, 14});
    return m.finish("biased_pointwise", {m.conv("conv3x3", m.conv("conv1x1", x, 16, 1, 0, 1, true), 16, 3, pad)});
}

GSUB_INLINE graph low_rank(std::uint64_t seed, std::int64_t inner) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {256, 512});
    auto const down = m.apply<ops::mat_mul>("down", x, m.matrix("a", 512, inner));
    return m.finish("low_rank", {m.apply<ops::mat_mul>("up", down, m.matrix("b", inner, 512))});
}

GSUB_INLINE graph grouped_siblings(std::uint64_t seed, std::int64_t groups) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {1, 16, 14, 14});
    return m.finish("grouped_siblings", {m.conv("first", x, 16, 3, 1, groups), m.conv("second", x, 16, 3, 1, groups)});
}

GSUB_INLINE graph sibling_products(std::uint64_t seed, bool dependent) {
    detail::module_builder m{seed};
    auto const x = m.input("x", {16, 16});
    auto const first = m.apply<ops::mat_mul>("first", x, m.matrix("a", 16, 16));
    auto const right = dependent ? m.apply<ops::relu>("relu", first) : m.matrix("b", 16, 16);
    return m.finish("sibling_products", {first, m.apply<ops::mat_mul>("second", x, right)});
}

} // namespace gsub::models
