// expect: the replacement has another number of results than the match has roots
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto wrong = rule<"wrong">(roots(relu(x), sigmoid(x)), relu(x), provenance{"two roots need two results"});
