// expect: an elementwise operator in the rule has another number of operands
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto wrong = rule<"wrong">(unary[c](x, y), x, provenance{"unary has one operand"});
