// expect: a replacement adds
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;

constexpr auto wrong = rule<"wrong">(sub(x, y), sum_of(x, y), provenance{"sums of terms are looked for, not made"});
