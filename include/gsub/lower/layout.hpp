// The third pass of lowering: where each value lies, and how each kernel reads it.
#pragma once

#include <gsub/lower/kernel_graph.hpp>

namespace gsub {

/// Gives every value its storage. Kernels of images read and write blocks of channels; changes of layout become kernels
/// where a value is needed otherwise than it lies. Views become what descriptors read, or copies where a kernel cannot
/// read them; joins write to their place what they join, or become copies; borders become movements. In the graph made
/// values are pieces of storage, and no operator is a view, a join or a border.
/// *Requires* stage `selected`. *Errors* `unsupported` for values that are too large. *Complexity* O(operands).
GSUB_LAZY [[nodiscard]] result<kernel_graph> layout_values(kernel_graph g, isa const& isa);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/layout.ipp>
#include <gsub/lower/impl/value_storage.ipp>
#endif
