// The second pass of lowering: an algorithm for each kernel that several compute.
#pragma once

#include <gsub/lower/kernel_graph.hpp>

namespace gsub {

/// Chooses between direct convolution and Winograd's by counted cycles (`kernels::choose_winograd`), where the weights
/// allow tiles. *Requires* stage `fused`. *Complexity* O(kernels), and a look at the weights of those that may be
/// transformed.
GSUB_LAZY [[nodiscard]] kernel_graph select(kernel_graph g, isa const& set,
                                            kernels::winograd_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/select.ipp>
#endif
