#pragma once

#include <gsub/core/config.hpp>
#include <gsub/kernels/image_layout.hpp>

namespace gsub::kernels {

namespace detail {
GSUB_LAZY std::int32_t lay_out(loop::expression_builder& e, std::int32_t buffer, image_operand const& o) {
    GSUB_ASSERT(o.layout == image_layout::blocked || o.channels % o.lanes == 0, "whole vectors of channels");
    GSUB_ASSERT(o.layout != image_layout::planar || o.lanes == 1, "one channel of planes at a time");
    if (o.layout != image_layout::channels_last) return buffer;
    auto const row = o.columns * o.channels;
    return e.set_strides(buffer, {o.rows * row, o.lanes, row, o.channels, 1});
}
} // namespace detail

GSUB_LAZY_BODY std::int32_t image_operand::input(loop::expression_builder& e, std::string_view name) const {
    auto const vectors = (channels + lanes - 1) / lanes;
    return detail::lay_out(e, e.input(name, {batch, vectors, rows, columns, lanes}, element), *this);
}
GSUB_LAZY_BODY std::int32_t image_operand::output(loop::expression_builder& e, std::string_view name) const {
    auto const vectors = (channels + lanes - 1) / lanes;
    return detail::lay_out(e, e.output(name, {batch, vectors, rows, columns, lanes}, element), *this);
}

} // namespace gsub::kernels
