// Rule words: variables and labels that most rules are written with.
#pragma once

#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

namespace gsub::rules::words {

using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto w = var<"w">;   // a weight
inline constexpr auto v = var<"v">;   // another one
inline constexpr auto k = var<"k">;   // a factor or addend
inline constexpr auto a = maybe<"a">; // a bias
inline constexpr auto b = maybe<"b">; // another one
// Operands of a normalisation.
inline constexpr auto scale = var<"scale">;
inline constexpr auto shift = var<"shift">;
inline constexpr auto mean = var<"mean">;
inline constexpr auto variance = var<"variance">;
inline constexpr auto c = label<"c">; // a convolution or a product
inline constexpr auto d = label<"d">; // another one: of what `c` reads, or a sibling
inline constexpr auto n = label<"n">; // an operator of another kind: a normalisation, a pooling
inline constexpr auto j = label<"j">; // a concat
inline constexpr auto u = label<"u">; // an elementwise operator
inline constexpr auto s = label<"s">; // a split
inline constexpr auto l = label<"l">; // another operator of the kind of `n` or `s`

/// Whether `c` and `d` have equal attributes.
[[nodiscard]] inline bool equal_attributes(match const& m) {
    return m.graph().attributes(m.node(c)) == m.graph().attributes(m.node(d));
}

/// Builds the replacement of a rule, named by `built_by`.
using replacement_function = void(rewrite& r);

} // namespace gsub::rules::words
