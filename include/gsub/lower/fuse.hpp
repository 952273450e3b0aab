// fuse: the first pass of lowering, from operators to kernels, each of as many operators as its template takes.
#pragma once

#include <gsub/lower/kernel_builder.hpp>
#include <gsub/lower/lowering_rows.hpp>
#include <gsub/lower/scalar_rows.hpp>

namespace gsub {

/// Fuses the operators of a graph into kernels, each with the operators that it covers and the reason why it covers no
/// more. Each of `kernel_groups` becomes one kernel, by the `lowering` row of its first operator, or as an expression
/// of elements, or a call of the application or of the reference evaluator; several where no single one computes a
/// group. Views and concatenations remain operators. *Requires* static types. *Errors* `unsupported` for values that
/// are too large. *Complexity* O(n k) for n operators and kernels of at most k.
GSUB_LAZY [[nodiscard]] result<kernel_graph> fuse(any_graph const& g, fuse_context const& cx);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/expression_writer.ipp>
#include <gsub/lower/impl/fuse.ipp>
#include <gsub/lower/impl/fuse_conv.ipp>
#include <gsub/lower/impl/fuse_conv_windows.ipp>
#include <gsub/lower/impl/fuse_einsum.ipp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/fuse_matmul.ipp>
#include <gsub/lower/impl/fuse_movement.ipp>
#include <gsub/lower/impl/fuse_pool.ipp>
#include <gsub/lower/impl/kernel_frame.ipp>
#include <gsub/lower/impl/match_conv.ipp>
#endif
