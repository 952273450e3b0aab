// expect: no matching function for call to
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto wrong = rule<"wrong">(relu(relu(x)), relu(x));
