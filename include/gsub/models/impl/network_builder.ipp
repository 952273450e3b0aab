#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/network_builder.hpp>

namespace gsub::models {

namespace detail {

GSUB_INLINE window_attributes window(extent stride, extent pad) {
    return {{stride[0], stride[1]}, {pad[0], pad[1], pad[0], pad[1]}, {1, 1}};
}

} // namespace detail

GSUB_INLINE value_id network_builder::named(std::string_view name, value_id v) {
    graph().set_source(v.node, name);
    graph().set_name(v, name);
    return v;
}

GSUB_INLINE std::int64_t network_builder::channels(value_id x) const {
    auto const type = type_of(x);
    GSUB_ASSERT(type->ranked && type->rank() >= 2 && type->dims[1].fixed(), "a layer needs to know its channels");
    return type->dims[1].size();
}

GSUB_INLINE value_id network_builder::conv(std::string_view name, value_id x, conv_layer const& layer) {
    GSUB_ASSERT(layer.outputs > 0, "a convolution has output channels");
    GSUB_ASSERT(layer.group > 0 && channels(x) % layer.group == 0, "group divides the channels of the input");
    auto const kernel = format_text("{}.weight", name), shift = format_text("{}.bias", name);
    auto const w = constant(
        weights_.convolution(kernel, {layer.outputs, channels(x) / layer.group, layer.kernel[0], layer.kernel[1]}),
        kernel);
    attributes_of<ops::conv> a{detail::window(layer.stride, layer.pad)};
    a.group = layer.group;
    if (!layer.bias) return apply<ops::conv>(name, {x, w}, a);
    return apply<ops::conv>(name, {x, w, constant(weights_.bias(shift, layer.outputs), shift)}, a);
}

GSUB_INLINE value_id network_builder::batch_norm(std::string_view name, value_id x, norm_layer const& layer) {
    auto const w = weights_.batch_norm(name, channels(x), layer.place);
    auto const part = [&](std::string_view suffix, tensor const& t) {
        return constant(t, format_text("{}{}", name, suffix));
    };
    auto const scale = part(".weight", w.scale), shift = part(".bias", w.shift);
    auto const mean = part(".running_mean", w.mean), variance = part(".running_var", w.variance);
    // As ONNX stores it, so that a graph equals what is read from its file.
    auto const epsilon = static_cast<double>(static_cast<float>(layer.epsilon));
    return apply<ops::batch_norm>(name, {x, scale, shift, mean, variance}, {.epsilon = epsilon});
}

GSUB_INLINE value_id network_builder::max_pool(std::string_view name, value_id x, pool_layer const& layer) {
    attributes_of<ops::max_pool> a{detail::window(layer.stride, layer.pad)};
    a.kernel_shape = {layer.kernel[0], layer.kernel[1]};
    a.ceil_mode = layer.ceil_mode;
    return apply<ops::max_pool>(name, {x}, a);
}

GSUB_INLINE value_id network_builder::average_pool(std::string_view name, value_id x, pool_layer const& layer) {
    attributes_of<ops::average_pool> a{detail::window(layer.stride, layer.pad)};
    a.kernel_shape = {layer.kernel[0], layer.kernel[1]};
    a.ceil_mode = layer.ceil_mode;
    a.count_include_pad = layer.count_include_pad;
    return apply<ops::average_pool>(name, {x}, a);
}

GSUB_INLINE value_id network_builder::linear(std::string_view name, value_id x, std::int64_t outputs) {
    auto const matrix = format_text("{}.weight", name), shift = format_text("{}.bias", name);
    auto const w = constant(weights_.linear(matrix, outputs, channels(x)), matrix);
    auto const b = constant(weights_.bias(shift, outputs), shift);
    return apply<ops::gemm>(name, {x, w, b}, {.transpose_b = true});
}

GSUB_INLINE void network_builder::output(value_id v, std::string_view name) {
    graph().set_name(v, name);
    outputs({v}, {std::string{name}});
}

} // namespace gsub::models
