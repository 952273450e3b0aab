// nest_lowerer: the loops of a nest as statements, cut where conditions change.
#pragma once

#include <gsub/codegen/impl/loop_partition.hpp>
#include <gsub/codegen/impl/nest_position.hpp>
#include <gsub/codegen/impl/tile_lowerer.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Lowers a stage of a kernel, within so many of its loops. Variables are the stage's own.
class nest_lowerer {
public:
    /// *Errors* as `lower`, and `usage` where stages have vectors of different widths.
    GSUB_LAZY nest_lowerer(loop::loop_nest const& nest, std::size_t within, std::int32_t max_ranges, kernel& made);

    GSUB_LAZY [[nodiscard]] statement_list run();

private:
    // What stands within a loop `of`, at `depth`: its fused indices from the `next` one on, then the loops inside.
    struct loop_body {
        variable of;
        std::size_t depth, next;
    };

    GSUB_LAZY void descend(std::size_t depth, statement_list& out);
    GSUB_LAZY void unroll(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_parallel(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_serial(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_reduction(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_reduction_range(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_tile(std::size_t depth, statement_list& out);
    GSUB_LAZY void lower_whole_tile(std::size_t depth, statement_list& out);
    GSUB_LAZY void enter(loop_body body, statement_list& out);
    GSUB_LAZY void choose(std::size_t depth, std::size_t next, statement_list& out);
    // Calls `body` with the list for what stands where the positions at a depth exist, if some may: as far as the first
    // `known` of the chosen indices say.
    template <class F>
    void where_positions_exist(std::size_t depth, std::size_t known, statement_list& out, F&& body);
    GSUB_LAZY void branch_on_ranges(variable v, loop_body body, statement_list& out);
    GSUB_LAZY void alternatives(variable v, std::vector<std::int64_t> const& cuts, std::size_t range, loop_body body,
                                statement_list& out);
    [[nodiscard]] loop::nest_loop const& loop_at(std::size_t depth) const { return at_.nest().loops[depth]; }
    GSUB_LAZY [[nodiscard]] statement loop_over_range(variable v);

    nest_position at_;
    loop_partition partition_;
    tile_lowerer tile_;
    std::size_t within_; // leading loops that stand outside
    bool in_tile_ = false;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/nest_lowerer.ipp>
#endif
