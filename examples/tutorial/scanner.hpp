// Tutorial, step 3: what the product adds in front of the model, and the rule that takes it away again.
#pragma once

#include <gsub/gsub.hpp>

namespace app {

/// Puts the division by 16 in front of a model: the scanner gives pixels from 0 to 16, the model wants 0 to 1.
template <class Graph>
Graph behind_scanner(Graph g) {
    gsub::value_id const image{g.inputs()[0], 0};
    auto const sixteenth = g.add_constant(gsub::tensor::from<float>({1}, {1 / 16.f}));
    gsub::graph_patch patch{g, "behind_scanner", image.node};
    patch.replace(image, patch.template add<gsub::ops::mul>(image, sixteenth)); // but in the patch's own nodes
    patch.apply_to(g).value();
    return g;
}

namespace scanner_rules {

using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto k = var<"k">;
inline constexpr auto w = var<"w">;
inline constexpr auto b = maybe<"b">;
inline constexpr auto c = label<"c">;

inline constexpr auto one_number = condition("the factor is one number", [](gsub::match const& m) {
    return m.type(k).is_static() && m.type(k).elements() == 1 && m.type(k).rank() <= 1;
});

/// conv(x k, w) = conv(x, w k): the convolution is linear in both.
inline constexpr auto scale_into_weight =
    gsub::rule<"scale_into_weight">(conv[c](mul(x, k), w, b), conv[c](x, mul(w, k), b), where(one_number),
                                    prefer(constant(w, k)), gsub::provenance{"a convolution is linear in x and in w"});

/// Wrong: the bias is not scaled on the left.
inline constexpr auto scale_through =
    gsub::rule<"scale_through">(conv[c](mul(x, k), w, b), mul(conv[c](x, w, b), k), where(one_number),
                                gsub::provenance{"a convolution is linear in x"});

} // namespace scanner_rules
} // namespace app
