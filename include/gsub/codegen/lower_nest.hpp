// From a loop nest to kernel IR. Conditions are decided here where they can be: loops are cut into ranges within which
// every condition of the unrolled positions is known, limits of reduction loops take the rest, and only what remains is
// tested while the kernel runs.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::codegen {

/// How a nest is lowered.
struct lower_options {
    /// Ranges that a loop is cut into at most for conditions on reads; a loop that would need more tests at run time.
    std::int32_t max_ranges = 8;
};

/// The kernel of a nest, or of stages that share loops. Its parallel loop is the nest's one parallel loop; the width of
/// vectors is the extent of the vectorised loop, which is one in all stages. Where that loop belongs to a reduction,
/// the lanes are combined at its end, and one element is stored. *Errors* `usage` where the nest has two parallel loops
/// (fuse them) or no vectorised loop; `unsupported` where results are stored with a step by the vectorised loop, a
/// bound of a read depends on that loop, a place is looked up by another loop that is not unrolled, or an axis that is
/// split more than once, by factors that do not divide, ends within a tile. Cost: proportional to the number of
/// instructions.
GSUB_LAZY [[nodiscard]] result<kernel> lower(loop::fused_nest const& nest, std::string_view name,
                                             lower_options const& options = {});

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/lower_nest.ipp>
#endif
