// Rule words: variables and labels that most rules are written with.
#pragma once

#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

namespace gsub::rules::words {

using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto w = var<"w">; // a weight
inline constexpr auto v = var<"v">; // another one
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

} // namespace gsub::rules::words
