// loop_partition: the ranges into which a loop is cut, so that conditions are decided within each.
#pragma once

#include <gsub/codegen/impl/nest_position.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Partition of loops (TVM: LoopPartition), each into few ranges where conditions on reads decide. Answers are where
/// ranges begin, in order, and the end of the last.
class loop_partition {
public:
    loop_partition(nest_position& at, std::int32_t max_ranges) : at_(at), max_ranges_(max_ranges) {}

    /// Ranges of `v` within which the conditions on every inner position from `depth` on are the same; where these are
    /// more than allowed, within which positions exist alike.
    GSUB_LAZY [[nodiscard]] std::vector<std::int64_t> of(variable v, std::size_t depth);
    /// Ranges of the variable of a reduction loop within which its steps exist alike.
    GSUB_LAZY [[nodiscard]] std::vector<std::int64_t> of_reduction(variable v, std::size_t depth);

private:
    using cuts = std::vector<std::int64_t>;
    enum class decide : bool { where_nothing_else_does, always };

    GSUB_LAZY void add_cuts(loop::bound const& b, variable v, std::size_t depth, decide when, cuts& to);

    nest_position& at_;
    std::int32_t max_ranges_;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/loop_partition.ipp>
#endif
