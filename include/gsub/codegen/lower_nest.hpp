// lower: a loop nest to kernel IR. It decides conditions where it can: it cuts loops into ranges within which all
// conditions of unrolled positions are known, limits of reduction loops take the rest, and only the rest is tested at
// run time.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::codegen {

/// Options of `lower`.
struct lower_options {
    /// Most ranges into which a loop is cut for conditions on reads; a loop that needs more tests at run time.
    std::int32_t max_ranges = 8;
};

/// Lowers a fused nest to kernel IR. The kernel's parallel loop is the nest's one parallel loop; the vector width is
/// the extent of the vectorised loop, the same in all stages. Where that loop belongs to a reduction, the lanes are
/// combined at its end, and one element is stored. *Errors* `usage` where the nest has two parallel loops (fuse them)
/// or no vectorised loop; `unsupported` where results are stored with a step by the vectorised loop, a bound of a read
/// depends on that loop, a place is looked up by another loop that is not unrolled, or an axis that is split more than
/// once, by factors that do not divide, ends within a tile. *Complexity* proportional to the number of instructions.
GSUB_LAZY [[nodiscard]] result<kernel> lower(loop::fused_nest const& nest, std::string_view name,
                                             lower_options const& options = {});

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/lower_nest.ipp>
#endif
