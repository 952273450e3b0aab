// expect: the replacement uses a variable or label which the match does not bind
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto wrong = rule<"wrong">(relu(x), add(x, y), provenance{"y is nowhere in the pattern"});
