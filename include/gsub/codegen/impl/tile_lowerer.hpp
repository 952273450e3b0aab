// tile_lowerer: what stands within the loops of a register tile: its accumulators, their steps and what is stored.
#pragma once

#include <gsub/codegen/impl/expression_lowerer.hpp>
#include <gsub/codegen/impl/nest_position.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Lowers a register tile: everything from the first reduction loop on, or from where only unrolled loops remain. It
/// has one accumulator for each position of the unrolled spatial loops, kept in registers to the end.
class tile_lowerer {
public:
    tile_lowerer(nest_position& at, kernel& made) : at_(at), made_(made), expressions_(at, made) {}

    /// Conditions on what is read and stored at the end of a tile that loops have not decided, where they are many:
    /// those that differ by a constant as one.
    GSUB_LAZY [[nodiscard]] std::vector<assumption> open_conditions(std::size_t depth);

    /// A register that has no value yet.
    [[nodiscard]] reg fresh() { return expressions_.values().fresh(); }
    /// Begins the tile of the loops from `depth` on: what its accumulators start from.
    GSUB_LAZY void begin(std::size_t depth, statement_list& out);
    /// One step of the reduction at the present place.
    GSUB_LAZY void step(statement_list& out);
    /// Ends the tile: stores its results.
    GSUB_LAZY void end(statement_list& out);

private:
    GSUB_LAZY [[nodiscard]] reg new_accumulator(std::int32_t lanes, statement_list& out);
    GSUB_LAZY [[nodiscard]] reg neutral(statement_list& out);
    GSUB_LAZY [[nodiscard]] reg combined_lanes(reg accumulator, statement_list& out);
    GSUB_LAZY void accumulate(tile_place here, statement_list& out);
    GSUB_LAZY void store_results(tile_place here, statement_list& out);
    GSUB_LAZY void add_guard(tile_place here, statement_list& out);

    nest_position& at_;
    kernel& made_;
    expression_lowerer expressions_;
    std::size_t depth_ = 0;
    std::vector<tile_place> places_;
};

/// Orders the steps of a reduction in the blocks of a statement, from an instruction of its own block on. Products of
/// two vectors that are read: the steps that share the first stand together, in the order of memory, so that it is read
/// once and is in a register no longer than that. The steps of one accumulator stay in order where the loops of the
/// reduction walk memory forwards.
GSUB_LAZY void order_products(statement& n, std::size_t from);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/tile_lowerer.ipp>
#endif
