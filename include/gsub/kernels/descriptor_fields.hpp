// Member listings of kernel descriptors for text: each member of the templates' shapes, with its name. A member that is
// added to a shape gets a field here; a shape with a missing one does not compile.
#pragma once

#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/record_text.hpp>

#include <array>
#include <string_view>

namespace gsub::kernels {

template <>
struct word_traits<dtype> {
    static constexpr auto words = [] {
        std::array<std::string_view, gsub::detail::dtype_table.size()> names{};
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = gsub::detail::dtype_table[i].name;
        return names;
    }();
};

template <>
struct word_traits<loop::scalar_op> {
    static constexpr auto words = [] {
        std::array<std::string_view, loop::scalar_op_count> names{};
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = loop::info(static_cast<loop::scalar_op>(i)).name;
        return names;
    }();
};

template <>
struct word_traits<reduction_step> {
    static constexpr std::string_view words[] = {"elementwise", "sum", "maximum"};
};

template <>
struct word_traits<movement_kind> {
    static constexpr std::string_view words[] = {"copy", "concat", "pad", "gather", "to_blocked", "from_blocked"};
};

template <>
struct word_traits<image_layout> {
    static constexpr std::string_view words[] = {"blocked", "planar", "channels_last"};
};

// ---- parts

template <>
struct record_traits<array_view> {
    using s = array_view;
    static constexpr void each_field(auto&& field) {
        field("elements", &s::elements), field("offset", &s::offset), field("strides", &s::strides),
            field("element", &s::element);
    }
};

template <>
struct record_traits<elementwise_op> {
    using s = elementwise_op;
    static constexpr void each_field(auto&& field) {
        field("op", &s::op), field("left", &s::left), field("right", &s::right), field("value", &s::value),
            field("third", &s::third), field("type", &s::type), field("integer", &s::integer);
    }
};

template <>
struct record_traits<row_reduction_op> {
    using s = row_reduction_op;
    static constexpr void each_field(auto&& field) { field("step", &s::step), field("what", &s::what); }
};

template <>
struct record_traits<row_reduction_result> {
    using s = row_reduction_result;
    static constexpr void each_field(auto&& field) {
        field("value", &s::value), field("whole", &s::whole), field("strides", &s::strides);
    }
};

template <>
struct record_traits<chosen_entries> {
    using s = chosen_entries;
    static constexpr void each_field(auto&& field) {
        field("integers", &s::integers), field("at", &s::at), field("entries", &s::entries),
            field("stride", &s::stride);
    }
};

template <>
struct record_traits<chosen_rows> {
    using s = chosen_rows;
    static constexpr void each_field(auto&& field) { field("array", &s::array), field("by", &s::by); }
};

template <>
struct record_traits<moved_box> {
    using s = moved_box;
    static constexpr void each_field(auto&& field) {
        field("first", &s::first), field("extent", &s::extent), field("array", &s::array), field("offset", &s::offset),
            field("strides", &s::strides), field("fill", &s::fill);
    }
};

template <>
struct record_traits<winograd_config> {
    using s = winograd_config;
    static constexpr void each_field(auto&& field) {
        field("m", &s::m), field("rows", &s::rows), field("columns", &s::columns), field("tile", &s::tile),
            field("vectors", &s::vectors), field("unroll_ic", &s::unroll_ic), field("parts", &s::parts),
            field("points_outer", &s::points_outer);
    }
};

// ---- what a descriptor may be

template <>
struct record_traits<depth_direction> {
    using s = depth_direction;
    static constexpr void each_field(auto&& field) {
        field("in", &s::in), field("kernel", &s::kernel), field("stride", &s::stride), field("dilation", &s::dilation),
            field("pads", &s::pads);
    }
};

template <>
struct record_traits<conv2d_shape> {
    using s = conv2d_shape;
    static constexpr std::string_view word = "conv2d";
    static constexpr void each_field(auto&& field) {
        field("batch", &s::batch), field("in_channels", &s::in_channels), field("out_channels", &s::out_channels),
            field("groups", &s::groups), field("in", &s::in), field("depth", &s::depth), field("kernel", &s::kernel),
            field("stride", &s::stride), field("dilation", &s::dilation), field("pads", &s::pads),
            field("input", &s::input), field("result", &s::result), field("bias", &s::bias),
            field("residual", &s::residual), field("low", &s::low), field("high", &s::high),
            field("epilogue", &s::epilogue), field("arrays", &s::arrays);
    }
};

template <>
struct record_traits<winograd_shape> {
    using s = winograd_shape;
    static constexpr std::string_view word = "winograd";
    static constexpr void each_field(auto&& field) { field("conv", &s::conv), field("m", &s::m); }
};

template <>
struct record_traits<separable_shape> {
    using s = separable_shape;
    static constexpr std::string_view word = "separable";
    static constexpr void each_field(auto&& field) {
        field("depthwise", &s::depthwise), field("pointwise", &s::pointwise);
    }
};

template <>
struct record_traits<matmul_shape> {
    using s = matmul_shape;
    static constexpr std::string_view word = "matmul";
    static constexpr void each_field(auto&& field) {
        field("m", &s::m), field("n", &s::n), field("k", &s::k), field("batch", &s::batch), field("a", &s::a),
            field("b", &s::b), field("y", &s::y), field("constant", &s::constant), field("bias", &s::bias),
            field("arrays", &s::arrays), field("epilogue", &s::epilogue);
    }
};

template <>
struct record_traits<attention_shape> {
    using s = attention_shape;
    static constexpr std::string_view word = "attention";
    static constexpr void each_field(auto&& field) {
        field("m", &s::m), field("k", &s::k), field("s", &s::s), field("n", &s::n), field("batch", &s::batch),
            field("q", &s::q), field("keys", &s::keys), field("values", &s::values), field("y", &s::y),
            field("exponential", &s::exponential), field("arrays", &s::arrays), field("epilogue", &s::epilogue);
    }
};

template <>
struct record_traits<pool2d_shape> {
    using s = pool2d_shape;
    static constexpr std::string_view word = "pool2d";
    static constexpr void each_field(auto&& field) {
        field("batch", &s::batch), field("channels", &s::channels), field("in", &s::in), field("kernel", &s::kernel),
            field("stride", &s::stride), field("dilation", &s::dilation), field("out", &s::out),
            field("pads", &s::pads), field("pads_end", &s::pads_end), field("average", &s::average),
            field("count_pads", &s::count_pads), field("input", &s::input), field("result", &s::result),
            field("element", &s::element), field("depth", &s::depth), field("out_depth", &s::out_depth);
    }
};

template <>
struct record_traits<elementwise_shape> {
    using s = elementwise_shape;
    static constexpr std::string_view word = "elementwise";
    static constexpr void each_field(auto&& field) {
        field("elements", &s::elements), field("arrays", &s::arrays), field("ops", &s::ops);
    }
};

template <>
struct record_traits<row_reduction_shape> {
    using s = row_reduction_shape;
    static constexpr std::string_view word = "row_reduction";
    static constexpr void each_field(auto&& field) {
        field("dims", &s::dims), field("arrays", &s::arrays), field("ops", &s::ops), field("results", &s::results),
            field("chosen", &s::chosen);
    }
};

template <>
struct record_traits<reduction_shape> {
    using s = reduction_shape;
    static constexpr std::string_view word = "reduction";
    static constexpr void each_field(auto&& field) {
        field("x", &s::x), field("dims", &s::dims), field("reduced", &s::reduced), field("step", &s::step),
            field("divisor", &s::divisor);
    }
};

template <>
struct record_traits<local_response_norm_shape> {
    using s = local_response_norm_shape;
    static constexpr std::string_view word = "local_response_norm";
    static constexpr void each_field(auto&& field) {
        field("batch", &s::batch), field("channels", &s::channels), field("area", &s::area), field("size", &s::size),
            field("alpha", &s::alpha), field("beta", &s::beta), field("bias", &s::bias), field("element", &s::element);
    }
};

template <>
struct record_traits<movement_shape> {
    using s = movement_shape;
    static constexpr std::string_view word = "movement";
    static constexpr void each_field(auto&& field) {
        field("kind", &s::kind), field("element", &s::element), field("dims", &s::dims), field("target", &s::target),
            field("arrays", &s::arrays), field("boxes", &s::boxes), field("chosen", &s::chosen);
    }
};

template <>
struct record_traits<scatter_shape> {
    using s = scatter_shape;
    static constexpr std::string_view word = "scatter";
    static constexpr void each_field(auto&& field) {
        field("element", &s::element), field("integers", &s::integers), field("dims", &s::dims),
            field("updates", &s::updates), field("axis", &s::axis), field("at", &s::at),
            field("combined", &s::combined), field("in_place", &s::in_place);
    }
};

} // namespace gsub::kernels
