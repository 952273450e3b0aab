// expect: condition
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

auto limited(std::size_t limit) {
    return condition("the rank is small", [=](match const& m) { return m.type(x).rank() < limit; });
}
