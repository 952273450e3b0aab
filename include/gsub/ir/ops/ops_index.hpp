// Operators that read and write elements at places which an integer tensor names, or that tell such places.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

namespace gsub::ops {
struct gather_elements {};  ///< result[.., i, ..] = x[.., indices[.., i, ..], ..] along an axis
struct gather_nd {};        ///< parts of x, each at the place that a row of indices names
struct scatter_elements {}; ///< x with updates at the places that indices name along an axis
struct scatter_nd {};       ///< x with parts replaced, each at the place that a row of indices names
struct top_k {};            ///< the k greatest, or least, elements along an axis in order, and where they stand
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

/// The operators of this header.
using index_ops = op_set<ops::gather_elements, ops::gather_nd, ops::scatter_elements, ops::scatter_nd, ops::top_k>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_index.ipp>
#include <gsub/ir/ops/impl/tensor_inference.ipp>
#endif
