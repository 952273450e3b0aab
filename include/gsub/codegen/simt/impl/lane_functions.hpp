// lane_functions: what a thread computes of its element, as text of C that CUDA C++ and OpenCL C share, and the
// functions that this text calls.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gsub::codegen::detail {

/// Literal of a number: exact, and of the type's C type. f16 and bf16 are their bits.
GSUB_LAZY [[nodiscard]] std::string lane_literal(double real, std::int64_t integer, dtype t);

/// Collects the functions that a kernel calls, each after those that it calls itself. They rely on `bits_of_f32`,
/// `f32_of_bits` and `f64_of_bits`, and on the names that both languages have for functions of f32 and f64.
class lane_functions {
public:
    /// `qualifiers` stand before each function.
    explicit lane_functions(std::string_view qualifiers) : qualifiers_(qualifiers) {}

    /// What an operation gives of operands of type `of`; those of a select come after its bool. *Requires* names or
    /// literals as operands, and an operation that takes them and is no cast.
    GSUB_LAZY [[nodiscard]] std::string call(loop::scalar_op op, dtype of, std::span<std::string const> operands);
    /// An element of one type as one of another.
    GSUB_LAZY [[nodiscard]] std::string cast(dtype from, dtype to, std::string const& value);
    /// An accumulator combined with a value, by a sum or the maximum that keeps any NaN.
    GSUB_LAZY [[nodiscard]] std::string combine(loop::scalar_op op, dtype of, std::string const& accumulator,
                                                std::string const& value);
    /// The entry that an integer chooses, as an i64.
    GSUB_LAZY [[nodiscard]] std::string entry(std::string const& integer, std::int64_t entries,
                                              std::string const& status, std::string_view memory);

    /// Adds a function once, from its result type on.
    GSUB_LAZY void define(std::string_view name, std::string_view text);
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

private:
    GSUB_LAZY [[nodiscard]] std::string half_to_f32(dtype from, std::string const& value);
    GSUB_LAZY [[nodiscard]] std::string f32_to_half(dtype to, std::string const& value);
    GSUB_LAZY [[nodiscard]] std::string rounded_to_odd(dtype from, std::string const& value);
    GSUB_LAZY [[nodiscard]] std::string saturated(dtype from, dtype to, std::string const& value);

    std::string qualifiers_, names_, text_;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/simt/impl/lane_functions.ipp>
#endif
