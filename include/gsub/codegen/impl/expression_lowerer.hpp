// expression_lowerer: the scalar expressions of a nest as vector instructions, at one place of a tile.
#pragma once

#include <gsub/codegen/impl/nest_position.hpp>
#include <gsub/codegen/impl/value_numbering.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// A place of a tile: what has been reduced there, and how many lanes exist.
struct tile_place {
    reg accumulator = -1; ///< -1: the place does not exist, or nothing is reduced
    std::int32_t lanes = 0;
};

/// Lowers expressions at the present position.
class expression_lowerer {
public:
    expression_lowerer(nest_position& at, kernel& made)
        : at_(at),
          made_(made),
          values_(made),
          loads_(at.nest().what.loads.size()),
          stores_(1 + at.nest().what.more_stores.size()) {}

    [[nodiscard]] value_numbering& values() noexcept { return values_; }
    [[nodiscard]] dtype type_of(std::int32_t id) const { return expression(id).type; }

    GSUB_LAZY reg value_of(std::int32_t id, tile_place here, statement_list& out);
    /// An expression that is stored at the present place: what many stores share is lowered once.
    GSUB_LAZY reg stored_value(std::int32_t id, tile_place here, statement_list& out);
    /// Stores the result, number 0, or one of what is stored more. *Errors* throws `error` (`unsupported`) where the
    /// vectorised loop decides whether an element is stored, or does not store one after another.
    GSUB_LAZY void store(std::size_t number, tile_place here, statement_list& out);

private:
    [[nodiscard]] loop::scalar_expr const& expression(std::int32_t id) const {
        return at_.nest().what.exprs[static_cast<std::size_t>(id)];
    }
    GSUB_LAZY reg new_value(std::int32_t id, tile_place here, statement_list& out);
    GSUB_LAZY reg load(std::int32_t id, tile_place here, statement_list& out);
    GSUB_LAZY bool add_predicate(loop::loaded_element const& read, std::int64_t step, instruction& i,
                                 std::int32_t& lanes);
    GSUB_LAZY [[nodiscard]] reg chosen_entry(loop::chosen_entry const& chosen, tile_place here, statement_list& out);
    // An access as an offset in its buffer.
    struct flat_access {
        affine offset{};        // of the first lane, in elements
        std::int64_t step = 0;  // from one lane to the next
        std::int64_t limit = 0; // elements of the buffer; 0: not computed yet
    };
    GSUB_LAZY [[nodiscard]] bool reads_whole_vector(affine const& offset, flat_access const& from,
                                                    loop::chosen_entry const& chosen) const;
    GSUB_LAZY flat_access const& flat(loop::access const& a, flat_access& made) const;
    GSUB_LAZY [[nodiscard]] std::vector<std::int64_t> places_of(loop::lookup const& beyond, std::int64_t step) const;
    GSUB_LAZY [[nodiscard]] bool varies(std::int32_t id);

    nest_position& at_;
    kernel& made_;
    value_numbering values_;
    std::vector<flat_access> loads_, stores_; // by expression, by number
    bool storing_ = false;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/expression_lowerer.ipp>
#endif
