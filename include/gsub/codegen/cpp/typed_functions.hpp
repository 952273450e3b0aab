// typed_functions: the vector functions of all element types in generated C++. Older ones of f32 are in
// `codegen/cpp/vector_math.hpp`.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen {

namespace detail {
template <class>
class operation_writer;
template <class>
class cast_writer;
} // namespace detail

/// C type in which elements are stored and moved: `unsigned short` for f16 and bf16, `unsigned char` for bool.
[[nodiscard]] std::string_view c_type(dtype t) noexcept;
/// Vector type of an element type in a kernel's text: `vf` of f32, `v_i32`; and the one for any address: `uf`, `u_i32`.
[[nodiscard]] std::string_view vector_type(dtype t) noexcept;
[[nodiscard]] std::string_view unaligned_type(dtype t) noexcept;
/// C++ literal of a number: exact, and of the type's C type. f16 and bf16 are their bits.
GSUB_LAZY [[nodiscard]] std::string literal(double real, std::int64_t integer, dtype t);

/// Collects the functions that a kernel calls, each after those that it calls itself.
class typed_functions {
public:
    /// For vectors of `lanes` elements. The text relies on `vf`.
    explicit typed_functions(std::int32_t lanes) : lanes_(lanes) {}

    /// Name of the function that computes `op` on vectors of `of`; a select takes a vector of bools before them.
    /// *Requires* an operation that takes such operands and is no cast.
    GSUB_LAZY std::string call(loop::scalar_op op, dtype of);
    /// Name of the function that converts vectors. *Requires* two different types.
    GSUB_LAZY std::string cast(dtype from, dtype to);
    /// Name of the maximum that keeps any NaN.
    GSUB_LAZY std::string maximum_or_nan(dtype of);

    /// Name of the function that transposes an array of as many vectors as they have lanes. *Requires* a number of
    /// lanes that is a power of two.
    GSUB_LAZY std::string transpose(dtype of);
    /// Adds the functions of gathers: `entry_of` (the entry that an integer chooses) and `gathered` (its elements).
    GSUB_LAZY void choices();

    /// Text of types, of loads and stores of a part of a vector, and of all functions that were asked for.
    GSUB_LAZY [[nodiscard]] std::string text() const;

private:
    template <class>
    friend class detail::operation_writer;
    template <class>
    friend class detail::cast_writer;

    GSUB_LAZY bool begin(std::string const& name);
    GSUB_LAZY std::string lanewise(dtype result, std::string_view name, dtype of, std::string_view value,
                                   bool two = false) const;
    std::int32_t lanes_;
    std::string functions_, names_ = " ";
};

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/cast_writer.ipp>
#include <gsub/codegen/cpp/impl/double_math.ipp>
#include <gsub/codegen/cpp/impl/operation_writer.ipp>
#include <gsub/codegen/cpp/impl/typed_functions.ipp>
#endif
