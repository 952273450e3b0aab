// Operators that read and write elements at places which an integer tensor names, or that tell such places.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

namespace gsub::ops {
struct gather_elements {};     ///< result[.., i, ..] = x[.., indices[.., i, ..], ..] along an axis
struct gather_nd {};           ///< parts of x, each at the place that a row of indices names
struct scatter_elements {};    ///< x with updates at the places that indices name along an axis
struct scatter_nd {};          ///< x with parts replaced, each at the place that a row of indices names
struct top_k {};               ///< the k greatest, or least, elements along an axis in order, and where they stand
struct non_zero {};            ///< the places of elements that are not zero, a row an axis
struct unique {};              ///< different elements, or slices along an axis, and where they stand
struct non_max_suppression {}; ///< the boxes of greatest scores that overlap no better one by more than a bound
} // namespace gsub::ops

namespace gsub {

/// How updates of a scatter meet what is there, as files name it: `none` replaces it, and of updates of one place the
/// last one counts; `add`, `mul`, `max` and `min` combine, in the order of the updates.
enum class scatter_mode : std::uint8_t { none, add, mul, max, min };
/// The mode of a name, or nothing.
[[nodiscard]] std::optional<scatter_mode> scatter_mode_named(std::string_view name) noexcept;

namespace detail {
/// Facts shared by scatters: x, indices, updates.
struct scatter_traits {
    static constexpr int min_inputs = 3, max_inputs = 3;
    static constexpr auto category = op_category::injective;
};
} // namespace detail

template <>
struct op_traits<ops::gather_elements> : detail::injective_traits {
    static constexpr std::string_view name = "GatherElements";
    static constexpr int min_inputs = 2, max_inputs = 2;
    struct attributes {
        std::int64_t axis = 0;
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis}};
    };
};
template <>
struct op_traits<ops::gather_nd> : detail::injective_traits {
    static constexpr std::string_view name = "GatherND";
    static constexpr int min_inputs = 2, max_inputs = 2;
    struct attributes {
        std::int64_t batch_dims = 0; ///< leading dimensions that x and indices have in common
        static constexpr field<attributes> fields[] = {{"batch_dims", &attributes::batch_dims}};
    };
};
template <>
struct op_traits<ops::scatter_elements> : detail::scatter_traits {
    static constexpr std::string_view name = "ScatterElements";
    struct attributes {
        std::int64_t axis = 0;
        std::string reduction = "none"; ///< see `scatter_mode`
        static constexpr field<attributes> fields[] = {{"axis", &attributes::axis},
                                                       {"reduction", &attributes::reduction}};
    };
};
template <>
struct op_traits<ops::scatter_nd> : detail::scatter_traits {
    static constexpr std::string_view name = "ScatterND";
    struct attributes {
        std::string reduction = "none"; ///< see `scatter_mode`
        static constexpr field<attributes> fields[] = {{"reduction", &attributes::reduction}};
    };
};

/// Two results: elements and their indices, i64. Of equal elements the first comes first; NaN counts as the greatest.
template <>
struct op_traits<ops::top_k> {
    static constexpr std::string_view name = "TopK";
    static constexpr int min_inputs = 1, max_inputs = 2, results = 2; ///< x, k
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::ordered;
    struct attributes {
        std::int64_t k = 1; ///< where only x is given
        std::int64_t axis = -1;
        bool largest = true;
        bool sorted = true; ///< false: any order; it is this one
        static constexpr field<attributes> fields[] = {{"k", &attributes::k},
                                                       {"axis", &attributes::axis},
                                                       {"largest", &attributes::largest},
                                                       {"sorted", &attributes::sorted}};
    };
};

// Data decide the sizes of what follows: these dimensions of the results are unknown.

/// One result, i64 [rank of x, ?]: a column a place, in row-major order. NaN is not zero.
template <>
struct op_traits<ops::non_zero> {
    static constexpr std::string_view name = "NonZero";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::nothing;
};
/// Four results: the elements, i64 vectors of where each stands first, of which one each element of x is, and of how
/// often each stands there. NaN are equal and the greatest, -0 is 0; slices are in lexicographic order.
template <>
struct op_traits<ops::unique> {
    static constexpr std::string_view name = "Unique";
    static constexpr int min_inputs = 1, max_inputs = 1, results = 4;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::nothing;
    struct attributes {
        bool flat = true;      ///< of single elements of x; false: of slices along `axis`
        std::int64_t axis = 0; ///< where not `flat`
        bool sorted = true;    ///< false: in the order of where they stand first
        static constexpr field<attributes> fields[] = {
            {"flat", &attributes::flat}, {"axis", &attributes::axis}, {"sorted", &attributes::sorted}};
    };
};
/// One result, i64 [?, 3]: batch, class and box of each that is selected, by batch and class and from the greatest
/// score down; of equal scores the first box comes first. Operands: boxes [batch, boxes, 4], scores [batch, classes,
/// boxes], and numbers that may be left out: the most boxes of a class (0), the greatest ratio of intersection to union
/// (0), the score that one must exceed (any will do).
template <>
struct op_traits<ops::non_max_suppression> {
    static constexpr std::string_view name = "NonMaxSuppression";
    static constexpr int min_inputs = 2, max_inputs = 5;
    static constexpr auto category = op_category::reduction;
    static constexpr auto needs = scalar_needs::ordered;
    struct attributes {
        bool center = false; ///< a box is its centre, width and height (x, y, w, h); false: two corners (y, x, y, x)
        static constexpr field<attributes> fields[] = {{"center", &attributes::center}};
    };
};

template <>
struct infer_shape<ops::gather_elements> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::gather_nd> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::scatter_elements> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::scatter_nd> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::top_k> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::non_zero> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::unique> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::non_max_suppression> {
    static void infer(infer_context& cx);
};

/// The operators of this header.
using index_ops = op_set<ops::gather_elements, ops::gather_nd, ops::scatter_elements, ops::scatter_nd, ops::top_k,
                         ops::non_zero, ops::unique, ops::non_max_suppression>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_index.ipp>
#include <gsub/ir/ops/impl/tensor_inference.ipp>
#endif
