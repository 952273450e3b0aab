// expect: no_attributes
#include <gsub/rewrite/pattern/rule.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto dims = rule<"wrong">(relu[c](x), build([](rewrite& r) {
                                        ints perm = r.attributes<ops::relu>(c).perm;
                                        r.replace_root(0, r.add<ops::transpose>({.perm = perm}, {r[x]}));
                                    }),
                                    provenance{"relu has no attributes"});
