// expect: pattern_term
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;

constexpr auto wrong = rule<"wrong">(relu(sum_of(x, y)), x, provenance{"a sum of terms is a whole pattern"});
