// legalize: replaces operators that no kernel computes by operators that kernels compute, the first step of lowering.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/lower/lowering.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub {

/// Replaces operators by what their rows say (`lowering<Op>::legalize`), and what stands for them likewise, where all
/// types are static and row-major; then arithmetic on halves that contractions have made goes on in f32, rounded to
/// halves behind each operator. What stands for a node has its group in `within`, unless that is empty, and its
/// names of a file. *Returns* whether anything was replaced. *Requires* a row for each operator of the graph's set.
/// *Complexity* O(nodes + nodes added).
GSUB_LAZY bool legalize(any_graph& g, std::span<lowering_row const> rows, std::vector<std::uint32_t>& within);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/legalize.ipp>
#include <gsub/lower/impl/legalize_index.ipp>
#include <gsub/lower/impl/legalize_nn.ipp>
#include <gsub/lower/impl/legalize_product.ipp>
#include <gsub/lower/impl/legalize_quantized.ipp>
#endif
