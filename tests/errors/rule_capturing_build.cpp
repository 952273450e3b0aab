// expect: is_empty_v
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

auto made(std::size_t port) {
    return build([=](rewrite& r) { r.replace_root(port, r[x]); });
}
