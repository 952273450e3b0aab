// Configurations of kernels by the names of their knobs.
#pragma once

#include <gsub/kernels/knobs.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

namespace gsub::kernels::detail {

template <class T, class Config>
concept maybe_const = std::same_as<std::remove_const_t<T>, Config>;

template <maybe_const<conv2d_config> Config, class F>
void each_knob(Config& c, F&& f) {
    f("tile_ow", c.tile_ow), f("tile_oh", c.tile_oh), f("tile_oc", c.tile_oc), f("unroll_ic", c.unroll_ic);
    f("chunk", c.chunk), f("unroll_kh", c.unroll_kh), f("oc_inner", c.oc_inner), f("tile_ic", c.tile_ic);
}
template <maybe_const<winograd_config> Config, class F>
void each_knob(Config& c, F&& f) {
    f("rows", c.rows), f("columns", c.columns), f("tile", c.tile), f("vectors", c.vectors);
    f("unroll_ic", c.unroll_ic), f("parts", c.parts), f("points_outer", c.points_outer);
}
template <maybe_const<separable_config> Config, class F>
void each_knob(Config& c, F&& f) {
    f("rows", c.rows), f("depthwise_tile_ow", c.depthwise.tile_ow), f("depthwise_tile_oh", c.depthwise.tile_oh);
    f("depthwise_unroll_kh", c.depthwise.unroll_kh), f("pointwise_tile_ow", c.pointwise.tile_ow);
    f("pointwise_tile_oc", c.pointwise.tile_oc), f("pointwise_unroll_ic", c.pointwise.unroll_ic);
    f("pointwise_oc_inner", c.pointwise.oc_inner);
}
template <maybe_const<matmul_config> Config, class F>
void each_knob(Config& c, F&& f) {
    f("tile_m", c.tile_m), f("tile_n", c.tile_n), f("unroll_k", c.unroll_k);
    f("tile_k", c.tile_k);
}
template <maybe_const<attention_config> Config, class F>
void each_knob(Config& c, F&& f) {
    f("rows", c.rows), f("scores_pixels", c.scores.pixels), f("scores_vectors", c.scores.vectors);
    f("values_pixels", c.values.pixels), f("values_vectors", c.values.vectors);
}

template <class Config>
Config read_knobs(loop::configuration const& knobs) {
    Config c;
    each_knob(c, [&](std::string_view name, auto& field) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(knobs.choice(name).number());
    });
    return c;
}
template <class Config>
void write_knobs(loop::configuration& knobs, Config const& c) {
    each_knob(c, [&](std::string_view name, auto const& field) { knobs.set(name, loop::choice_value{field}); });
}

} // namespace gsub::kernels::detail
