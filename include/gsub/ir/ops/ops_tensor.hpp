// Tensor operators: those that move elements, and those that make tensors out of attributes.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

#include <algorithm>
#include <utility>

namespace gsub::ops {
struct identity {}; ///< x
struct concat {};   ///< operands one after the other along an axis
struct split {};    ///< parts of given sizes along an axis
struct slice {};    ///< a strided box; bounds are attributes, or operands where they are not constant
struct pad {};      ///< a border; widths are an attribute, or operands where they are not constant
struct gather {};   ///< entries of x along an axis, chosen by an integer tensor
struct reshape {
}; ///< other dimensions, same elements; the shape is an attribute, or an operand where it is not constant
struct flatten {};   ///< reshape to a matrix, split before an axis
struct transpose {}; ///< permuted dimensions
struct squeeze {};   ///< dimensions of size one removed
struct unsqueeze {}; ///< dimensions of size one inserted
struct shape {};     ///< the dimensions of x as an i64 vector
struct expand {};    ///< x repeated to other dimensions, as numpy broadcasts; the shape is an attribute, or an operand
struct range {};     ///< start, start + delta, ... before limit: three scalar operands
struct fill {};      ///< ONNX's ConstantOfShape: a tensor of one repeated value
struct layout_transform {}; ///< x, stored in another order: the elements are the same at the same indices
struct dirac {
}; ///< the kernel of the identity convolution: w[o,i,r,c] = 1 where i = o mod (o/group), r = row, c = column
} // namespace gsub::ops

namespace gsub {

namespace detail {
/// Facts shared by operators that make a tensor.
struct source_traits {
    static constexpr int min_inputs = 0, max_inputs = 0;
    static constexpr auto category = op_category::source;
    static constexpr auto needs = scalar_needs::nothing;
};
} // namespace detail

template <>
struct op_traits<ops::identity> : detail::identity_traits {
    static constexpr std::string_view name = "Identity";
};
template <>
struct op_traits<ops::concat> : detail::injective_traits {
    static constexpr std::string_view name = "Concat";
    static constexpr int max_inputs = variadic;
    static constexpr auto layouts = layout_policy::concatenates;
    struct attributes {
        std::int64_t axis = 0;
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}};
    };
};
template <>
struct op_traits<ops::split> : detail::injective_traits {
    static constexpr std::string_view name = "Split";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int max_inputs = 2, results = variadic;
    struct attributes {
        std::int64_t axis = 0;
        ints sizes{}; ///< one entry a result; empty where the sizes are an operand
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}, {"split", &attributes::sizes}};
    };
};
template <>
struct op_traits<ops::slice> : detail::injective_traits {
    static constexpr std::string_view name = "Slice";
    static constexpr auto layouts = layout_policy::propagates_first;
    static constexpr int max_inputs = 5; ///< x, starts, ends, axes, steps
    struct attributes {
        ints starts{}, ends{}, axes{}, steps{}; ///< four lists of one length, used where only x is given
        static constexpr field<attributes> fields[] = {{"starts", &attributes::starts},
                                                       {"ends", &attributes::ends},
                                                       {"axes", &attributes::axes},
                                                       {"steps", &attributes::steps}};
    };
};
template <>
struct op_traits<ops::pad> : detail::injective_traits {
    static constexpr std::string_view name = "Pad";
    static constexpr int max_inputs = 4; ///< x, pads, value, axes
    struct attributes {
        std::string mode = "constant"; ///< or `edge`, `reflect`
        ints pads{}; ///< begins of all dimensions, then ends; negative ones crop; used where only x is given
        double value = 0;
        static constexpr field<attributes> fields[] = {
            {"mode", &attributes::mode}, {"pads", &attributes::pads}, {"value", &attributes::value}};
    };
};
template <>
struct op_traits<ops::gather> : detail::injective_traits {
    static constexpr std::string_view name = "Gather";
    static constexpr int min_inputs = 2, max_inputs = 2;
    struct attributes {
        std::int64_t axis = 0;
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}};
    };
};
template <>
struct op_traits<ops::reshape> : detail::view_traits {
    static constexpr std::string_view name = "Reshape";
    static constexpr int max_inputs = 2;
    struct attributes {
        ints shape{};            ///< -1 once: what is left over; 0: copied from x unless `allow_zero`
        bool allow_zero = false; ///< 0 means size zero
        static constexpr field<attributes> fields[] = {{"shape", &attributes::shape},
                                                       {"allowzero", &attributes::allow_zero}};
        /// Attributes that reshape to exactly these sizes, some of which may be 0.
        [[nodiscard]] static attributes to(ints sizes) {
            auto const zero = contains(sizes, 0);
            return {std::move(sizes), zero};
        }
    };
};
template <>
struct op_traits<ops::flatten> : detail::view_traits {
    static constexpr std::string_view name = "Flatten";
    struct attributes {
        std::int64_t axis = 1;
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}};
    };
};
template <>
struct op_traits<ops::transpose> : detail::injective_traits {
    static constexpr std::string_view name = "Transpose";
    struct attributes {
        ints perm{}; ///< result dimension i is operand dimension perm[i]; never empty for rank > 0
        static constexpr field<attributes> fields[] = {{"perm", &attributes::perm}};
    };
};
template <>
struct op_traits<ops::squeeze> : detail::view_traits {
    static constexpr std::string_view name = "Squeeze";
    static constexpr int max_inputs = 2;
    struct attributes {
        ints axes{}; ///< empty: all dimensions of size one
        static constexpr field<attributes> fields[] = {{"axes", &attributes::axes}};
    };
};
template <>
struct op_traits<ops::unsqueeze> : detail::view_traits {
    static constexpr std::string_view name = "Unsqueeze";
    static constexpr int max_inputs = 2;
    struct attributes {
        ints axes{}; ///< positions in the result
        static constexpr field<attributes> fields[] = {{"axes", &attributes::axes}};
    };
};
template <>
struct op_traits<ops::shape> : detail::view_traits { // no element is read
    static constexpr std::string_view name = "Shape";
    static constexpr auto layouts = layout_policy::any;
    struct attributes {
        std::int64_t start = 0, end = std::numeric_limits<std::int64_t>::max();
        static constexpr field<attributes> fields[] = {{"start", &attributes::start}, {"end", &attributes::end}};
    };
};
template <>
struct op_traits<ops::expand> : detail::injective_traits {
    static constexpr std::string_view name = "Expand";
    static constexpr int max_inputs = 2; ///< x, shape
    struct attributes {
        ints shape{}; ///< broadcast against the operand's dimensions; used where only x is given
        static constexpr field<attributes> fields[] = {{"shape", &attributes::shape}};
    };
};
template <>
struct op_traits<ops::range> : detail::source_traits {
    static constexpr std::string_view name = "Range";
    static constexpr int min_inputs = 3, max_inputs = 3; ///< start, limit, delta
};
template <>
struct op_traits<ops::fill> : detail::source_traits {
    static constexpr std::string_view name = "ConstantOfShape";
    static constexpr int max_inputs = 1; ///< the shape, where it is not constant
    struct attributes {
        ints shape{};
        dtype element = dtype::f32;
        double value = 0;         ///< of floating types
        std::int64_t integer = 0; ///< of the others
        static constexpr field<attributes> fields[] = {{"shape", &attributes::shape},
                                                       {"dtype", &attributes::element},
                                                       {"value", &attributes::value},
                                                       {"integer", &attributes::integer}};
    };
};
template <>
struct op_traits<ops::dirac> : detail::source_traits {
    static constexpr std::string_view name = "Dirac", domain = "gsub";
    struct attributes {
        ints shape{};           ///< [o, i, spatial...]
        ints position{};        ///< place of the one in the spatial dimensions
        std::int64_t group = 1; ///< i = channels / group
        dtype element = dtype::f32;
        static constexpr field<attributes> fields[] = {{"shape", &attributes::shape},
                                                       {"position", &attributes::position},
                                                       {"group", &attributes::group},
                                                       {"dtype", &attributes::element}};
    };
};
template <>
struct op_traits<ops::layout_transform> : detail::injective_traits {
    static constexpr std::string_view name = "LayoutTransform", domain = "gsub";
    static constexpr auto layouts = layout_policy::any;
    struct attributes {
        std::string to{}; ///< a layout such as `NCHW16c`; empty: row-major
        static constexpr field<attributes> fields[] = {{"to", &attributes::to}};
    };
};

template <>
struct infer_shape<ops::layout_transform> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::identity> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::concat> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::split> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::slice> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::pad> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::gather> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::reshape> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::flatten> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::transpose> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::squeeze> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::unsqueeze> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::shape> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::expand> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::range> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::fill> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::dirac> {
    static void infer(infer_context& cx);
};

/// Result dimensions of a reshape, or nothing where it is impossible. Unknown sizes stay unknown.
[[nodiscard]] std::optional<shape> reshaped_dims(tensor_type const& x, std::span<std::int64_t const> target,
                                                 bool allow_zero);

/// Number of elements of a range, or nothing where `delta` is 0 or there are more than 2^62.
[[nodiscard]] std::optional<std::int64_t> range_length(std::int64_t start, std::int64_t limit,
                                                       std::int64_t delta) noexcept;
[[nodiscard]] std::optional<std::int64_t> range_length(std::uint64_t start, std::uint64_t limit,
                                                       std::uint64_t delta) noexcept;

/// One dimension of a slice, clamped as ONNX says: `count` elements from `start` on, `step` apart.
struct slice_range {
    std::int64_t start = 0, step = 1, count = 0;
};
[[nodiscard]] slice_range clamped_slice(std::int64_t start, std::int64_t end, std::int64_t step,
                                        std::int64_t size) noexcept;

/// The operators of this header.
using tensor_ops = op_set<ops::identity, ops::concat, ops::split, ops::slice, ops::pad, ops::gather, ops::reshape,
                          ops::flatten, ops::transpose, ops::squeeze, ops::unsqueeze, ops::shape, ops::expand,
                          ops::range, ops::fill, ops::dirac, ops::layout_transform>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_tensor.ipp>
#include <gsub/ir/ops/impl/ops_tensor_shape.ipp>
#include <gsub/ir/ops/impl/tensor_inference.ipp>
#endif
