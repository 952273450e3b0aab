// expect: an operator in the rule has fewer operands than it takes
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto wrong = rule<"wrong">(mat_mul(x), x, provenance{"a product has two operands"});
