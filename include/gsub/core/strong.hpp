// Strong types for ids and units, which do not mix: a node is not a value, seconds are not bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace gsub {

/// Strong id: a 32-bit index with a type of its own. The default value names nothing.
template <class Tag>
struct strong_id {
    static constexpr std::uint32_t none = 0xffffffffu;
    std::uint32_t index = none;

    [[nodiscard]] constexpr bool valid() const noexcept { return index != none; }
    friend constexpr bool operator==(strong_id, strong_id) = default;
    friend constexpr auto operator<=>(strong_id, strong_id) = default;
};

/// Id of a node in one graph. Stays valid until the node is erased or the graph is compacted.
using node_id = strong_id<struct node_tag>;

/// Id of a value: one result of a node.
struct value_id {
    node_id node;
    std::uint32_t port = 0;

    [[nodiscard]] constexpr bool valid() const noexcept { return node.valid(); }
    friend constexpr bool operator==(value_id, value_id) = default;
    friend constexpr auto operator<=>(value_id, value_id) = default;
};

/// A quantity with a unit. `Unit::symbol` is how the unit is printed.
template <class Unit>
struct quantity {
    double amount = 0;

    constexpr quantity& operator+=(quantity other) noexcept { return amount += other.amount, *this; }
    constexpr quantity& operator-=(quantity other) noexcept { return amount -= other.amount, *this; }
    friend constexpr quantity operator+(quantity a, quantity b) noexcept { return {a.amount + b.amount}; }
    friend constexpr quantity operator-(quantity a, quantity b) noexcept { return {a.amount - b.amount}; }
    friend constexpr quantity operator*(double factor, quantity q) noexcept { return {factor * q.amount}; }
    friend constexpr double operator/(quantity a, quantity b) noexcept { return a.amount / b.amount; }
    friend constexpr bool operator==(quantity, quantity) = default;
    friend constexpr auto operator<=>(quantity, quantity) = default;

    static constexpr std::string_view symbol = Unit::symbol;
};

namespace units {
struct second {
    static constexpr std::string_view symbol = "s";
};
struct flop {
    static constexpr std::string_view symbol = "FLOP";
};
struct byte {
    static constexpr std::string_view symbol = "B";
};
struct joule {
    static constexpr std::string_view symbol = "J";
};
} // namespace units

using seconds = quantity<units::second>;
using flops = quantity<units::flop>; ///< floating-point operations, a multiply-add counts two
using bytes = quantity<units::byte>;
using joules = quantity<units::joule>;

} // namespace gsub
