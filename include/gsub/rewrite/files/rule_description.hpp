// Rule descriptions: a rule as a file states it, two lists of operators and the results that replace each other.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/ops/attributes.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Shape law of an operator in a described rule: how its operands' and results' shapes relate. Nothing broadcasts here.
enum class shape_law : std::uint8_t {
    alike,       ///< all have one shape
    product,     ///< [.., m, k] x [.., k, n] -> [.., m, n], with equal leading dimensions, rank 2 and more
    convolution, ///< [n, c, h, w] x [o, c/g, kh, kw] -> [n, o, h', w'], the number of groups g as the shapes say
    joining,     ///< concat along an axis
    parting,     ///< split along an axis into parts of any sizes
};

/// An operator that described rules may use.
struct rule_word {
    std::string_view name;
    op_id op{};
    shape_law law = shape_law::alike;
    std::uint8_t operands = 1; ///< 0: one or more
    bool commutative = false;
};

namespace detail {
template <class Op>
constexpr rule_word word(std::string_view name, shape_law law, std::uint8_t operands) noexcept {
    rule_word w{name, id_of<Op>, law, operands, false};
    if constexpr (requires { op_traits<Op>::commutative; }) w.commutative = op_traits<Op>::commutative;
    return w;
}
} // namespace detail

inline constexpr rule_word rule_words[] = {
    detail::word<ops::conv>("conv", shape_law::convolution, 2),
    detail::word<ops::mat_mul>("mat_mul", shape_law::product, 2),
    detail::word<ops::add>("add", shape_law::alike, 2),
    detail::word<ops::sub>("sub", shape_law::alike, 2),
    detail::word<ops::mul>("mul", shape_law::alike, 2),
    detail::word<ops::div>("div", shape_law::alike, 2),
    detail::word<ops::relu>("relu", shape_law::alike, 1),
    detail::word<ops::sigmoid>("sigmoid", shape_law::alike, 1),
    detail::word<ops::tanh>("tanh", shape_law::alike, 1),
    detail::word<ops::concat>("concat", shape_law::joining, 0),
    detail::word<ops::split>("split", shape_law::parting, 1),
};
/// Finds an operator by its name, or null.
[[nodiscard]] constexpr rule_word const* find_word(std::string_view name) noexcept {
    for (auto const& w : rule_words)
        if (w.name == name) return &w;
    return nullptr;
}

/// A value in a described rule: a result of an operator of the same list, or an input of the rule.
struct described_value {
    std::int32_t node = 0; ///< number of an operator; -1 - i for input i
    std::uint32_t port = 0;

    [[nodiscard]] static constexpr described_value input(std::size_t i) noexcept {
        return {-1 - static_cast<std::int32_t>(i), 0};
    }
    [[nodiscard]] constexpr bool is_input() const noexcept { return node < 0; }
    /// Number of the operator, or of the input.
    [[nodiscard]] constexpr std::size_t number() const noexcept {
        return static_cast<std::size_t>(is_input() ? -1 - node : node);
    }
    friend constexpr bool operator==(described_value, described_value) = default;
};

/// An operator of a described rule. Fields that its law does not use keep their defaults.
struct described_operator {
    rule_word const* word = nullptr;
    std::vector<described_value> operands{};
    std::array<std::int64_t, 2> kernel{};        ///< of convolutions; zeros: any
    std::array<std::int64_t, 2> strides{{1, 1}}; ///< of convolutions
    bool same_pads = true;                       ///< of convolutions: pads that keep ceil(size / stride); or none
    activation act = activation::none;           ///< of convolutions
    std::int64_t axis = 0;                       ///< of concat and split, from 0
    std::int64_t rank = 0;                       ///< of what concat and split work on; 0: any
    std::uint32_t results = 1;                   ///< of split
    friend bool operator==(described_operator const&, described_operator const&) = default;
};

/// A result of the source that the rule replaces, and the value that replaces it.
struct described_output {
    described_value source, target;
    friend constexpr bool operator==(described_output const&, described_output const&) = default;
};

/// A rule as data: wherever the source matches, the target computes the same. Operators are in topological order.
struct rule_description {
    std::string name;
    std::vector<std::string> inputs; ///< names, for messages
    std::vector<described_operator> source{}, target{};
    std::vector<described_output> outputs{};
    friend bool operator==(rule_description const&, rule_description const&) = default;
};

/// Limits of a described rule, since files are not trusted.
struct rule_limits {
    static constexpr std::size_t rules = 10000;    ///< in a file
    static constexpr std::size_t operators = 64;   ///< in source and target each
    static constexpr std::size_t operands = 16;    ///< of an operator
    static constexpr std::size_t results = 16;     ///< of a split
    static constexpr std::size_t commutative = 10; ///< in the source: the matcher tries both orders of each
    static constexpr std::size_t replaced = 4; ///< operators with replaced results: each may be matched in many places
    static constexpr std::size_t joined = 256; ///< values that nested concats join into one
    static constexpr std::int64_t rank = 8;
    static constexpr std::int64_t kernel = 11;
};

/// Validates a description: operators are in order and have the operands that they take; every operator of the source
/// is needed for a replaced result; the target reads nothing that the source does not bind. *Errors* `invalid_input`
/// naming rule and operator; `unsupported` for what lies beyond `rule_limits`, and for pads that keep the size of an
/// even kernel.
GSUB_LAZY [[nodiscard]] result<void> check(rule_description const& rule);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/files/impl/rule_description.ipp>
#endif
