// Tensor types: element type, shape with fixed or symbolic dimensions, layout. Interned, so that a type is one word.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/types/dtype.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gsub {

/// An interned string. Comparing two costs one instruction; the text lives as long as the program.
class symbol {
public:
    constexpr symbol() = default; ///< the empty string
    explicit symbol(std::string_view text);
    [[nodiscard]] std::string_view text() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return id_ == 0; }
    friend constexpr bool operator==(symbol, symbol) = default;

private:
    friend class dim;
    std::uint32_t id_ = 0;
};

/// One dimension: a fixed size, a named unknown such as `batch` (equal names are equal sizes), or an unknown that is
/// equal to nothing.
class dim {
public:
    constexpr dim() = default; ///< unknown
    constexpr dim(std::int64_t size) noexcept : code_(size) {}
    explicit constexpr dim(symbol name) noexcept : code_(name.id_ ? -2 - std::int64_t{name.id_} : -1) {}

    [[nodiscard]] constexpr bool fixed() const noexcept { return code_ >= 0; }
    [[nodiscard]] constexpr bool named() const noexcept { return code_ < -1; }
    [[nodiscard]] constexpr bool unknown() const noexcept { return code_ == -1; }
    /// *Requires* `fixed()`.
    [[nodiscard]] constexpr std::int64_t size() const noexcept { return code_; }
    [[nodiscard]] constexpr symbol name() const noexcept {
        symbol s;
        s.id_ = named() ? static_cast<std::uint32_t>(-2 - code_) : 0;
        return s;
    }
    /// Same representation. Two unknowns are the same here although their sizes may differ; see `provably_equal`.
    friend constexpr bool operator==(dim, dim) = default;

private:
    std::int64_t code_ = -1;
};

/// True only where the sizes are equal in every run.
[[nodiscard]] constexpr bool provably_equal(dim a, dim b) noexcept {
    return a == b && !a.unknown();
}
/// True only where the sizes differ in every run.
[[nodiscard]] constexpr bool provably_different(dim a, dim b) noexcept {
    return a.fixed() && b.fixed() && a.size() != b.size();
}
/// Unifies two facts about one size: the fixed one wins, then the named one.
[[nodiscard]] constexpr dim unify(dim a, dim b) noexcept {
    return a.fixed() || b.unknown() ? a : b.fixed() || a.unknown() ? b : a;
}

using shape = small_vector<dim, 6>;

/// Layout: how a tensor's elements are stored, e.g. `NCHW16c`; empty is the row-major order of its dimensions.
using layout = symbol;

/// Tensor type: the type of a value.
struct tensor_type {
    dtype element = dtype::undefined;
    bool ranked = false; ///< whether the number of dimensions is known
    gsub::layout layout;
    shape dims;

    tensor_type() = default; ///< nothing is known
    tensor_type(dtype e, shape s) : element(e), ranked(true), dims(std::move(s)) {}
    /// Fixed dimensions.
    tensor_type(dtype e, std::span<std::int64_t const> sizes)
        : element(e), ranked(true), dims(sizes.begin(), sizes.end()) {}

    /// The number of dimensions. *Requires* `ranked`.
    [[nodiscard]] std::size_t rank() const noexcept { return dims.size(); }
    /// Whether element type, rank and all sizes are known.
    [[nodiscard]] bool is_static() const noexcept;
    /// Number of elements, or nothing where a size is unknown or the product exceeds 2^62.
    [[nodiscard]] std::optional<std::int64_t> elements() const noexcept;
    /// Sizes of all dimensions. *Requires* `is_static()`.
    [[nodiscard]] ints sizes() const;

    friend bool operator==(tensor_type const&, tensor_type const&) = default;
};

/// An interned tensor type.
class type_id {
public:
    constexpr type_id() = default; ///< the type of which nothing is known
    type_id(tensor_type const& t);
    tensor_type const& operator*() const noexcept;
    tensor_type const* operator->() const noexcept { return &**this; }
    /// Structural hash, the same in every run.
    [[nodiscard]] hash128 hash() const noexcept;
    friend constexpr bool operator==(type_id, type_id) = default;

private:
    std::uint32_t id_ = 0;
};

/// Product of sizes, or nothing where a size is negative or the product exceeds 2^62.
[[nodiscard]] std::optional<std::int64_t> checked_product(std::span<std::int64_t const> sizes) noexcept;

/// Product of the sizes of an existing tensor. *Requires* that it fits, as it does there.
[[nodiscard]] inline std::int64_t product(std::span<std::int64_t const> sizes) noexcept {
    std::int64_t n = 1;
    for (auto s : sizes) n *= s;
    return n;
}

/// Text of a type: `f32[1,3,h,?]`, `f32[1,64]:NCHW16c`, `f32[*]` for an unknown rank.
[[nodiscard]] std::string to_string(tensor_type const& t);
[[nodiscard]] std::string to_string(dim d);

/// Whether a value of type `a` may stand where one of type `b` is expected: whatever both know agrees.
[[nodiscard]] bool compatible(tensor_type const& a, tensor_type const& b) noexcept;
/// Whether a value of this type may be a scalar, or a tensor of one element: no size is known to differ from 1.
[[nodiscard]] bool may_be_one_number(tensor_type const& t) noexcept;
/// Unifies two types of one value: keeps what either knows. *Requires* `compatible(a, b)`.
[[nodiscard]] tensor_type unify(tensor_type const& a, tensor_type const& b);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/types/impl/tensor_type.ipp>
#endif
