#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/tensor_inference.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>

namespace gsub {

GSUB_INLINE small_vector<bool, 6> reduced_dims(ints const& axes, bool none_means_nothing, std::size_t rank) {
    small_vector<bool, 6> reduced(rank, axes.empty() && !none_means_nothing);
    for (auto axis : axes) reduced[*normalized_axis(axis, rank)] = true;
    return reduced;
}

GSUB_INLINE void detail::reduction_shape::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::reduce_sum>(); // one struct for all
    auto const& x = cx.type(0);
    auto const axes = detail::setting(cx, 1, a.axes);
    if (!x.ranked) return cx.result(0, x);
    if (!axes) {
        // Each dimension may be reduced or not; how many stay is known only where all do.
        if (a.keepdims) return cx.result(0, detail::of_rank(x.element, x.rank()));
        return cx.result(0, detail::unranked(x.element));
    }
    if (!detail::sorted_axes(cx, *axes, x.rank())) return;
    auto const reduced = reduced_dims(*axes, a.noop_with_empty_axes, x.rank());
    tensor_type out{x.element, shape{}};
    for (std::size_t i = 0; i < x.rank(); ++i)
        if (!reduced[i])
            out.dims.push_back(x.dims[i]);
        else if (a.keepdims)
            out.dims.push_back(dim{1});
    cx.result(0, out);
}

} // namespace gsub
