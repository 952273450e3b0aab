// layout_values: the third pass of lowering: where each value is stored, and how each kernel reads it.
#pragma once

#include <gsub/lower/kernel_graph.hpp>

namespace gsub {

/// Assigns storage to every value. Kernels of images read and write blocks of channels; layout transforms become
/// kernels where a value is needed in another layout. Views become strided operands of descriptors, or copies where a
/// kernel cannot read them; operands of concatenations are written in place, or copied; paddings become movements. In
/// the resulting graph values are pieces of storage, and no operator is a view, a concatenation or a padding.
/// *Requires* stage `selected`. *Errors* `unsupported` for values that are too large. *Complexity* O(operands).
GSUB_LAZY [[nodiscard]] result<kernel_graph> layout_values(kernel_graph g, isa const& isa);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/layout.ipp>
#include <gsub/lower/impl/place_kernel.ipp>
#include <gsub/lower/impl/place_movement.ipp>
#include <gsub/lower/impl/place_result.ipp>
#include <gsub/lower/impl/row_gathers.ipp>
#include <gsub/lower/impl/value_storage.ipp>
#endif
