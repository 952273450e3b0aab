// Weights of a network in files that are written by hand: what other exporters make of the same network.
#pragma once

#include "io/model_checks.hpp"

#include <string>
#include <string_view>

namespace written_weights {

/// The initializer of a constant of f32, by its name.
inline std::string initializer(gsub::any_graph const& g, std::string_view name) {
    for (auto n : g.order()) {
        if (!g.is<gsub::ops::constant>(n) || g.name({n, 0}) != name) continue;
        auto const& t = g.constant_data(n);
        auto const values = t.data<float>();
        return onnx_writer::floats(name, {t.dims().begin(), t.dims().end()}, {values.begin(), values.end()});
    }
    FAIL("no constant " << name);
    return {};
}

} // namespace written_weights
