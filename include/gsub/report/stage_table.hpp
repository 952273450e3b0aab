// Stage table: the convolutions, products and pools of a network by the size of what they give, as papers print it.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/report/table.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace gsub::report {

/// Operators of a network that give results of one size.
struct network_stage {
    std::string size;      ///< `56x56` of images, rows of products; empty where it is not known
    std::string operators; ///< in order, repeats together: `[1x1 64, 3x3 64, 1x1 256] x 3`
    std::string beside;    ///< projections of residual blocks: pointwise convolutions beside others into a sum
    std::size_t count = 0; ///< of all of them
};

/// Stages of a network, by size in the order in which sizes first occur. A convolution is told by kernel and output
/// channels (`3x3 depthwise 144`, `3x3 128 in 32 groups`), a product by the width of its weight (`dense 768`, without
/// one `product`). Strides are left out: they show in sizes. *Source* He et al., "Deep residual learning for image
/// recognition", CVPR 2016, table 1.
[[nodiscard]] std::vector<network_stage> stages_of(any_graph const& g);
/// The same as a table with a column for each member.
[[nodiscard]] table stage_table(std::vector<network_stage> const& stages);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/stage_table.ipp>
#endif
