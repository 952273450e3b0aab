// Reduction operators: sum, mean and maximum along dimensions.
#pragma once

#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

namespace gsub::ops {
struct reduce_sum {};  ///< sum along dimensions; of nothing it is 0
struct reduce_mean {}; ///< mean along dimensions; integers truncate
struct reduce_max {};  ///< maximum along dimensions, NaN where there is one; of nothing the least value of the type
} // namespace gsub::ops

namespace gsub {

/// Reduction attributes, shared by all reductions: which dimensions they combine.
struct reduce_attributes {
    ints axes{};          ///< in [-rank, rank), used where only x is given; none: all dimensions
    bool keepdims = true; ///< dimensions that were reduced stay, with size one
    /// Where the axes are an operand and empty: true gives x, false reduces all dimensions.
    bool noop_with_empty_axes = false;
    static constexpr field<reduce_attributes> fields[] = {
        {"axes", &reduce_attributes::axes},
        {"keepdims", &reduce_attributes::keepdims},
        {"noop_with_empty_axes", &reduce_attributes::noop_with_empty_axes}};
};

namespace detail {
/// Facts shared by reductions.
struct reduction_traits {
    static constexpr int min_inputs = 1, max_inputs = 2; ///< x, axes
    static constexpr auto category = op_category::reduction;
    static constexpr bool commutative_reduction = true;
    using attributes = reduce_attributes;
};
/// Inference shared by reductions.
struct reduction_shape {
    static void infer(infer_context& cx);
};
} // namespace detail

template <>
struct op_traits<ops::reduce_sum> : detail::reduction_traits {
    static constexpr std::string_view name = "ReduceSum";
    static constexpr auto needs = scalar_needs::ring;
};
template <>
struct op_traits<ops::reduce_mean> : detail::reduction_traits {
    static constexpr std::string_view name = "ReduceMean";
    static constexpr auto needs = scalar_needs::field;
};
template <>
struct op_traits<ops::reduce_max> : detail::reduction_traits {
    static constexpr std::string_view name = "ReduceMax";
    static constexpr auto needs = scalar_needs::ordered;
};

template <>
struct infer_shape<ops::reduce_sum> : detail::reduction_shape {};
template <>
struct infer_shape<ops::reduce_mean> : detail::reduction_shape {};
template <>
struct infer_shape<ops::reduce_max> : detail::reduction_shape {};

/// Reduced dimensions of a tensor under these axes, one entry a dimension. *Requires* axes in [-rank, rank).
[[nodiscard]] small_vector<bool, 6> reduced_dims(ints const& axes, bool none_means_nothing, std::size_t rank);

/// The operators of this header.
using reduce_ops = op_set<ops::reduce_sum, ops::reduce_mean, ops::reduce_max>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_reduce.ipp>
#include <gsub/ir/ops/impl/tensor_inference.ipp>
#endif
