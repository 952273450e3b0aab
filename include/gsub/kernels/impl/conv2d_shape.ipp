// Facts of the shapes of convolutions, and their epilogue.
#pragma once

#include <gsub/kernels/conv2d.hpp>

#include <array>
#include <vector>

namespace gsub::kernels {

namespace detail {

GSUB_LAZY bool is_depthwise(conv2d_shape const& s) {
    return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}
// Rows of pixels follow each other without a gap in what is read too: they are joined to one row.
GSUB_LAZY bool is_flat(conv2d_shape const& s) {
    return s.input != image_layout::planar && !s.depth.exists() && s.kernel[0] == 1 && s.kernel[1] == 1 &&
           s.stride[0] == 1 && s.stride[1] == 1 && s.pads == std::array<std::int64_t, 4>{};
}
// Whether a parallel position has a share of the register tiles of a row, and not all of them: where rows are joined,
// and on devices, which take many more positions than there are rows.
GSUB_LAZY bool is_chunked(conv2d_shape const& s, isa const& isa) {
    return isa.lanes_are_threads || (is_flat(s) && !is_depthwise(s));
}
// The same over the same arrays with two directions in place of three, where one of them has no window.
GSUB_LAZY conv2d_shape planar(conv2d_shape s) {
    auto const d = s.depth;
    auto const no_window = [&](std::size_t i) {
        return s.kernel[i] == 1 && s.stride[i] == 1 && s.pads[i] == 0 && s.pads[i + 2] == 0;
    };
    if (!d.exists() || !no_window(0)) return s;
    if (no_window(1)) { // planes become rows
        s.in = {d.in, s.in[0] * s.in[1]};
        s.kernel = {d.kernel, 1}, s.stride = {d.stride, 1}, s.dilation = {d.dilation, 1};
        s.pads = {d.pads[0], 0, d.pads[1], 0};
        s.depth = {};
    } else if (d.kernel == 1 && d.stride == 1 && d.pads == std::array<std::int64_t, 2>{}) { // rows of all planes
        s.in[0] *= d.in;
        s.depth = {};
    }
    return s;
}
GSUB_LAZY std::int64_t blocks(std::int64_t channels, isa const& isa) {
    return (channels + isa.lanes() - 1) / isa.lanes();
}
// What is fused behind all sums. `read` gives an element of an array of the chain.
template <class Read>
loop::value finished(loop::expression_builder& e, loop::value v, conv2d_shape const& s, Read&& read) {
    if (s.low > -1e300) v = max(v, e.constant(s.low));
    if (s.high < 1e300) v = min(v, e.constant(s.high));
    if (s.epilogue.empty()) return v;
    std::vector<loop::value> values{v};
    for (std::size_t a = 0; a < static_cast<std::size_t>(s.arrays); ++a) values.push_back(read(a));
    apply_epilogue(e, values, as_span(s.epilogue));
    return values.back();
}
// The arrays of its chain as buffers.
GSUB_LAZY std::vector<std::int32_t> arrays_of(loop::expression_builder& e, conv2d_shape const& s,
                                              image_operand const& like) {
    std::vector<std::int32_t> arrays;
    for (std::int32_t a = 0; a < s.arrays; ++a) arrays.push_back(like.input(e, "array"));
    return arrays;
}
} // namespace detail

GSUB_LAZY_BODY double conv2d_shape::operations() const noexcept {
    auto const places = out(0) * out(1) * out_depth(), taps = kernel[0] * kernel[1] * depth.kernel;
    return 2.0 * static_cast<double>(batch) * static_cast<double>(out_channels) * static_cast<double>(places) *
           static_cast<double>(in_channels / groups) * static_cast<double>(taps);
}

} // namespace gsub::kernels
