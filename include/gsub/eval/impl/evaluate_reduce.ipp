#pragma once

#include <gsub/eval/evaluate_reduce.hpp>
#include <gsub/eval/impl/evaluate_tensor.ipp>

namespace gsub {

GSUB_INLINE detail::reduction_plan::reduction_plan(op_call_args const& args) {
    auto const& a = typed_attributes<ops::reduce_sum>(args); // one struct for all
    auto const& x = *args.operands[0];
    auto const axes = setting(args, 1, a.axes);
    auto const reduced = reduced_dims(axes, a.noop_with_empty_axes, x.rank());
    small_vector<std::int64_t, 6> dims, strides; // of the reduced part
    auto const steps = row_major_strides(x.dims());
    for (std::size_t i = 0; i < x.rank(); ++i) {
        auto& to = reduced[i] ? dims : kept;
        auto& to_strides = reduced[i] ? strides : kept_strides;
        // Neighbours that are stepped through alike are one dimension.
        if (!to.empty() && to_strides.back() == steps[i] * x.dims()[i]) {
            to.back() *= x.dims()[i];
            to_strides.back() = steps[i];
        } else {
            to.push_back(x.dims()[i]);
            to_strides.push_back(steps[i]);
        }
    }
    if (!dims.empty()) {
        length = dims.back(), stride = strides.back();
        dims.pop_back(), strides.pop_back();
    }
    for (auto d : dims)
        if (d == 0) length = 0;
    if (length == 0) return;
    box_index at{dims};
    do {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < dims.size(); ++i) offset += at[i] * strides[i];
        runs.push_back(offset);
    } while (at.next());
}

} // namespace gsub
