// value_numbering: the registers of a kernel, and the values that the block being written has in them.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

using statement_list = std::vector<statement>;

/// Local value numbering: instructions of one block that compute the same have one register.
class value_numbering {
public:
    explicit value_numbering(kernel& made) : made_(made) {}

    /// The block at the end of a list. A new one knows no values: what an earlier one computed may be out of scope.
    GSUB_LAZY std::vector<instruction>& block(statement_list& out);
    [[nodiscard]] reg fresh() { return made_.registers++; }
    /// The register of a pure instruction: one that computes the same in this block, or a new one.
    GSUB_LAZY reg value_of(instruction&& i, statement_list& out);
    /// What was read of a buffer before something is stored there may be old.
    GSUB_LAZY void forget_loads_of(std::int32_t buffer);

    /// The register of an expression at the present place, -1 where there is none yet. What forgets values forgets
    /// these.
    [[nodiscard]] reg expression(std::int32_t id) const {
        auto const n = static_cast<std::size_t>(id);
        return n < expressions_.size() ? expressions_[n] : -1;
    }
    GSUB_LAZY void set_expression(std::int32_t id, reg value);
    void forget_expressions() { expressions_.clear(); }

private:
    // Where a value is computed; the steps of a tile are put in another order, so that it may have moved.
    struct known_value {
        reg result;
        std::int32_t buffer;
        std::size_t at;
    };
    GSUB_LAZY void forget();
    GSUB_LAZY void fill_slots();
    GSUB_LAZY [[nodiscard]] static bool is_value(std::vector<instruction> const& code, known_value& v,
                                                 instruction const& i);

    kernel& made_;
    statement_list const* list_ = nullptr; // whose last block is the one that is known
    std::size_t length_ = 0;
    std::vector<known_value> values_;
    std::vector<std::uint64_t> keys_;  // of the values: equal where these are, and soon compared
    std::vector<std::uint32_t> slots_; // hash table with open addressing: numbers of values plus 1; a power of 2
    std::uint64_t loaded_ = 0;         // buffers that known values read, by their numbers modulo 64
    std::vector<reg> expressions_;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/value_numbering.ipp>
#endif
