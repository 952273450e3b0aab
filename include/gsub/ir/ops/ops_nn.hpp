// Neural-network operators: convolution, normalisation, pooling, softmax.
#pragma once

#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

namespace gsub::ops {
struct conv {};                ///< cross-correlation [n,c,*] x [o,c/g,*] (+ [o]) -> [n,o,*], with a fused activation
struct batch_norm {};          ///< (x - mean) / sqrt(variance + epsilon) * scale + shift, per channel, inference form
struct batch_norm_training {}; ///< normalisation by the statistics of the batch itself; optionally the running ones
struct max_pool {};            ///< maximum over windows; optionally the flat index of each maximum
struct average_pool {};        ///< mean over windows
struct global_average_pool {}; ///< mean over all spatial positions
struct lrn {};                 ///< local response normalisation across channels
struct softmax {};             ///< exp(x - max) / sum, along one axis or over all axes from one on
struct layer_norm {};          ///< (x - mean) / sqrt(variance + epsilon) * scale + shift over the last dimensions
struct dropout {};             ///< the identity at inference; optionally the all-true mask. Ratio and mode may be
                               ///< operands; what the mode asks for at run time beyond the identity is refused
} // namespace gsub::ops

namespace gsub {

/// Window attributes, shared by convolution and pooling: how a window slides over the spatial dimensions. Every list
/// has one entry a spatial dimension; `pads` has the begins of all dimensions, then the ends, as in ONNX. An empty list
/// never stands for a default.
struct window_attributes {
    ints strides{}, pads{}, dilations{};
};

template <>
struct op_traits<ops::conv> {
    static constexpr std::string_view name = "Conv";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 2, max_inputs = 3;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
    struct attributes : window_attributes {
        std::int64_t group = 1;
        gsub::activation act = activation::none;
        double act_min = 0, act_max = 0; ///< bounds of activation `clip`
        static constexpr field<attributes> fields[] = {
            {"strides", &attributes::strides},       {"pads", &attributes::pads},
            {"dilations", &attributes::dilations},   {"group", &attributes::group},
            {"activation", &attributes::act},        {"activation_min", &attributes::act_min},
            {"activation_max", &attributes::act_max}};
    };
};
template <>
struct op_traits<ops::batch_norm> {
    static constexpr std::string_view name = "BatchNormalization";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 5, max_inputs = 5; ///< x, scale, shift, mean, variance
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::field; // the square root is uninterpreted in a field
    struct attributes {
        double epsilon = 1e-5;
        static constexpr field<attributes> fields[] = {{"epsilon", &attributes::epsilon}};
    };
};
template <>
struct op_traits<ops::batch_norm_training> {
    static constexpr std::string_view name = "BatchNormTraining", domain = "gsub"; // ONNX: an attribute of the other
    static constexpr int min_inputs = 5, max_inputs = 5, results = variadic; ///< 1, or with running mean and variance 3
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::field;
    struct attributes {
        double epsilon = 1e-5;
        double momentum = 0.9; ///< weight of the running statistics so far
        static constexpr field<attributes> fields[] = {{"epsilon", &attributes::epsilon},
                                                       {"momentum", &attributes::momentum}};
    };
};
template <>
struct op_traits<ops::max_pool> {
    static constexpr std::string_view name = "MaxPool";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 1, max_inputs = 1, results = variadic;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::ordered;
    struct attributes : window_attributes {
        ints kernel_shape{};
        bool ceil_mode = false;
        bool column_major_indices = false; ///< ONNX's storage_order
        static constexpr field<attributes> fields[] = {{"kernel_shape", &attributes::kernel_shape},
                                                       {"strides", &attributes::strides},
                                                       {"pads", &attributes::pads},
                                                       {"dilations", &attributes::dilations},
                                                       {"ceil_mode", &attributes::ceil_mode},
                                                       {"storage_order", &attributes::column_major_indices}};
    };
};
template <>
struct op_traits<ops::average_pool> {
    static constexpr std::string_view name = "AveragePool";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::field;
    struct attributes : window_attributes {
        ints kernel_shape{};
        bool ceil_mode = false;
        bool count_include_pad = false;
        static constexpr field<attributes> fields[] = {{"kernel_shape", &attributes::kernel_shape},
                                                       {"strides", &attributes::strides},
                                                       {"pads", &attributes::pads},
                                                       {"dilations", &attributes::dilations},
                                                       {"ceil_mode", &attributes::ceil_mode},
                                                       {"count_include_pad", &attributes::count_include_pad}};
    };
};
template <>
struct op_traits<ops::global_average_pool> {
    static constexpr std::string_view name = "GlobalAveragePool";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::field;
};
template <>
struct op_traits<ops::lrn> {
    static constexpr std::string_view name = "LRN";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::reduction;
    struct attributes {
        std::int64_t size = 1;
        double alpha = 1e-4, beta = 0.75, bias = 1;
        static constexpr field<attributes> fields[] = {{"size", &attributes::size},
                                                       {"alpha", &attributes::alpha},
                                                       {"beta", &attributes::beta},
                                                       {"bias", &attributes::bias}};
    };
};
template <>
struct op_traits<ops::softmax> {
    static constexpr std::string_view name = "Softmax";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::reduction;
    struct attributes {
        std::int64_t axis = -1;
        bool flatten = false; ///< before opset 13: over all dimensions from `axis` on
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}, {"flatten", &attributes::flatten}};
    };
};
template <>
struct op_traits<ops::layer_norm> {
    static constexpr std::string_view name = "LayerNormalization";
    static constexpr int min_inputs = 2, max_inputs = 3; ///< x, scale, shift
    static constexpr auto category = op_category::reduction;
    static constexpr bool composite = true;
    struct attributes {
        std::int64_t axis = -1; ///< the first dimension of what is normalised
        double epsilon = 1e-5;
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}, {"epsilon", &attributes::epsilon}};
    };
};
template <>
struct op_traits<ops::dropout> {
    static constexpr std::string_view name = "Dropout";
    static constexpr int min_inputs = 1, max_inputs = 3, results = variadic; ///< x, ratio, training mode
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::nothing;
    static constexpr bool aliasing_view = true;
};

namespace detail {
/// Dimensions of a convolution's result, whatever the element types; nothing after `fail`.
std::optional<shape> convolution_shape(infer_context& cx, window_attributes const& window, std::int64_t group,
                                       tensor_type const& x, tensor_type const& w);
} // namespace detail

template <>
struct infer_shape<ops::conv> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::batch_norm> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::batch_norm_training> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::max_pool> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::average_pool> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::global_average_pool> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::lrn> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::softmax> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::layer_norm> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::dropout> {
    static void infer(infer_context& cx);
};

template <>
struct decompose<ops::layer_norm> {
    static value_id build(node_sink& sink, attributes_of<ops::layer_norm> const& a, std::span<value_id const> operands);
};

/// Extent of a window along one dimension: `dilation * (kernel - 1) + 1`.
[[nodiscard]] constexpr std::int64_t window_extent(std::int64_t kernel, std::int64_t dilation) noexcept {
    return dilation * (kernel - 1) + 1;
}

/// The operators of this header.
using nn_ops = op_set<ops::conv, ops::batch_norm, ops::batch_norm_training, ops::max_pool, ops::average_pool,
                      ops::global_average_pool, ops::lrn, ops::softmax, ops::layer_norm, ops::dropout>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_nn.ipp>
#endif
