// Functions over vectors of every element type in generated C++: their names and their text. Functions of f32 that
// kernels had before other types came are in `codegen/cpp/vector_math.hpp`.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen {

/// The C type that elements are stored as and moved in: of f16 and bf16 `unsigned short`, of bool `unsigned char`.
[[nodiscard]] std::string_view c_type(dtype t) noexcept;
/// The type of a vector of such elements in a kernel's text: `vf` of f32, `v_i32`; and one that may lie at any address:
/// `uf`, `u_i32`.
[[nodiscard]] std::string_view vector_type(dtype t) noexcept;
[[nodiscard]] std::string_view unaligned_type(dtype t) noexcept;
/// A number of a type as C++: exact, and of that C type. f16 and bf16 are their bits.
GSUB_LAZY [[nodiscard]] std::string literal(double real, std::int64_t integer, dtype t);

/// Collects the functions that a kernel calls, each after those that it calls itself.
class typed_functions {
public:
    /// Of vectors of `lanes` elements. The text relies on `vf`.
    explicit typed_functions(std::int32_t lanes) : lanes_(lanes) {}

    /// The name of a function that computes `op` on vectors of elements of `of`; a select has a vector of bools before
    /// them. *Requires* an operation other than a cast, which takes such operands.
    GSUB_LAZY std::string call(loop::scalar_op op, dtype of);
    /// The name of a function that converts vectors. *Requires* two types.
    GSUB_LAZY std::string cast(dtype from, dtype to);
    /// A maximum that keeps any NaN.
    GSUB_LAZY std::string maximum_or_nan(dtype of);

    /// The name of a function that exchanges the rows and columns of an array of as many vectors as they have lanes.
    /// *Requires* a number of lanes that is a power of two.
    GSUB_LAZY std::string transpose(dtype of);
    /// Adds `entry_of`, the numbers of entries that integers choose, and `gathered`, elements of them.
    GSUB_LAZY void choices();

    /// Types, loads and stores of a part of a vector, and all functions that were asked for.
    GSUB_LAZY [[nodiscard]] std::string text() const;

private:
    GSUB_LAZY bool begin(std::string const& name);
    GSUB_LAZY std::string lanewise(dtype result, std::string_view name, dtype of, std::string_view value,
                                   bool two = false) const;
    std::int32_t lanes_;
    std::string functions_, names_ = " ";
};

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/double_math.ipp>
#include <gsub/codegen/cpp/impl/typed_functions.ipp>
#endif
