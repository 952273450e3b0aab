// quantized_values: scales, zero points and units of `quantize` and `dequantize`, read from constants.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/graph.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace gsub::passes::detail {

/// What a quantized value stands for: (q - zero) * scale.
struct unit {
    float scale = 1;
    std::int64_t zero = 0;
    dtype element = dtype::undefined;
    friend bool operator==(unit const&, unit const&) = default;
};

/// The elements of a constant; nothing for another value.
GSUB_LAZY [[nodiscard]] std::optional<std::vector<double>> numbers_of(any_graph const& g, value_id v);

/// Scales and zero points of a `quantize` or `dequantize`, where they are constants.
struct scales_of {
    std::vector<double> scales, zeros; ///< zeros: as many, or none
    bool known = false;
    scales_of(any_graph const& g, node_id n) {
        if (g.type(g.operand(n, 1)).element != dtype::f32) return;
        auto const s = numbers_of(g, g.operand(n, 1));
        if (!s) return;
        scales = *s;
        if (auto const z = g.operand(n, 2); z.valid()) {
            auto const found = numbers_of(g, z);
            if (!found) return;
            zeros = *found;
        }
        known = true;
        for (auto v : scales) known = known && v > 0 && v < std::numeric_limits<float>::infinity();
    }
    [[nodiscard]] double zero(std::size_t i) const { return zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : i]; }
};

GSUB_LAZY [[nodiscard]] bool is_byte(dtype t);
/// The unit of a `quantize` or `dequantize` of bytes, where one scale and one zero point are constants.
GSUB_LAZY [[nodiscard]] std::optional<unit> unit_of(any_graph const& g, node_id n, dtype element);
/// The least number of a type of bytes.
GSUB_LAZY [[nodiscard]] double lowest_of(dtype t);
/// A number in a unit of bytes, saturated.
GSUB_LAZY [[nodiscard]] std::int64_t quantized(double v, unit const& u);

} // namespace gsub::passes::detail
