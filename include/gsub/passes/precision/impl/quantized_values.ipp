#pragma once

#include <gsub/passes/precision/impl/quantized_values.hpp>

#include <cmath>

namespace gsub::passes::detail {

GSUB_LAZY_BODY std::optional<std::vector<double>> numbers_of(any_graph const& g, value_id v) {
    if (!v.valid() || !g.is<ops::constant>(v.node)) return std::nullopt;
    auto const wide = g.constant_data(v.node).converted_to(dtype::f64);
    return std::vector<double>(wide.data<double>().begin(), wide.data<double>().end());
}

GSUB_LAZY_BODY bool is_byte(dtype t) {
    return is_integer(t) && byte_size(t) == 1;
}

GSUB_LAZY_BODY std::optional<unit> unit_of(any_graph const& g, node_id n, dtype element) {
    scales_of const s{g, n};
    if (!s.known || s.scales.size() != 1 || s.zeros.size() > 1 || !is_byte(element)) return std::nullopt;
    return unit{static_cast<float>(s.scales[0]), static_cast<std::int64_t>(s.zero(0)), element};
}

GSUB_LAZY_BODY double lowest_of(dtype t) {
    return info(t).is_signed ? -128 : 0;
}
GSUB_LAZY_BODY std::int64_t quantized(double v, unit const& u) {
    auto const low = lowest_of(u.element);
    auto const q = static_cast<double>(std::nearbyint(static_cast<float>(v) / u.scale)) + static_cast<double>(u.zero);
    return static_cast<std::int64_t>(!(q > low) ? low : q > low + 255 ? low + 255 : q);
}

} // namespace gsub::passes::detail
