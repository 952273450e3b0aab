// Lowering of pooling, and the directions of windows that it shares with convolutions.
#pragma once

#include <gsub/kernels/pool2d.hpp>
#include <gsub/lower/kernel_builder.hpp>

#include <span>
#include <utility>

namespace gsub::detail {

// Rows of pixels are images one pixel high: [N, C, W] is stored as [N, C, 1, W] is. [N, C, D, H, W] has depth.
GSUB_LAZY bool has_pixels(tensor_type const& t) {
    return t.rank() >= 3 && t.rank() <= 5;
}
// Calls `body` with rows and pixels, their numbers among the dimensions of a window, and how many these are.
template <class F>
void each_direction(tensor_type const& t, F&& body) {
    auto const count = t.rank() - 2;
    for (auto d = count == 3 ? std::size_t{1} : 0; d < count; ++d) body(d + 2 - count, d, count);
}
// Whether an image, of which a window takes one pixel of each row, is a column. It lies in memory as a row does, of
// whose pixels kernels compute several at once.
template <class Shape>
bool is_column(Shape const& s) {
    return s.in[0] > 1 && s.in[1] == 1 && s.kernel[1] == 1 && !s.depth.exists();
}
// Makes rows of columns, and columns of rows.
template <class... Array>
void swap_directions(Array&... by_direction) {
    (std::swap(by_direction[0], by_direction[1]), ...);
}

template <class Window>
kernels::depth_direction depth_of(tensor_type const& t, std::int64_t kernel, Window const& a) {
    if (t.rank() != 5) return {};
    return {t.dims[2].size(), kernel, a.strides[0], a.dilations[0], {a.pads[0], a.pads[3]}};
}

GSUB_LAZY [[nodiscard]] bool fuse_pool(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = data_of(g, n, b.isa());
    auto const &in = g.type(x), &out = g.type({n, 0});
    auto const largest = g.is<ops::max_pool>(n);
    if (!has_pixels(in) || *in.elements() == 0 || *out.elements() == 0) return false;
    if (!largest && !is_floating(in.element)) return false;
    for (std::size_t i = 1; i < g.result_count(n); ++i)
        if (g.used(value_id{n, static_cast<std::uint32_t>(i)})) return false;
    kernels::pool2d_shape s;
    s.element = in.element;
    s.batch = in.dims[0].size();
    s.channels = in.dims[1].size();
    s.in = s.out = s.kernel = {1, 1};
    each_direction(in, [&](std::size_t i, std::size_t d, std::size_t) {
        s.in[i] = s.kernel[i] = in.dims[d + 2].size();
        s.out[i] = out.dims[d + 2].size();
    });
    if (in.rank() == 5) s.depth.in = s.depth.kernel = in.dims[2].size(), s.out_depth = out.dims[2].size();
    auto const window = [&](auto const& a) {
        each_direction(in, [&](std::size_t i, std::size_t d, std::size_t count) {
            s.kernel[i] = a.kernel_shape[d];
            s.stride[i] = a.strides[d];
            s.dilation[i] = a.dilations[d];
            s.pads[i] = a.pads[d], s.pads_end[i] = a.pads[d + count];
        });
        s.depth = depth_of(in, a.kernel_shape[0], a);
    };
    s.average = !largest;
    if (largest) window(g.attributes<ops::max_pool>(n));
    if (g.is<ops::average_pool>(n)) {
        window(g.attributes<ops::average_pool>(n));
        s.count_pads = g.attributes<ops::average_pool>(n).count_include_pad;
    }
    if (is_column(s) && s.pads[1] == 0 && s.pads_end[1] == 0)
        swap_directions(s.in, s.kernel, s.stride, s.dilation, s.out, s.pads, s.pads_end);
    kernel_op op{.computes = s, .operands = {b.whole(x)}};
    if (s.average) {
        auto const factors = kernels::pool2d_factors(s);
        std::int64_t const dims[] = {static_cast<std::int64_t>(factors.size())};
        op.operands.push_back(
            {b.constant(tensor::from(std::span<std::int64_t const>{dims}, as_span(factors)), {}), {}, {}});
    }
    op.results.push_back(b.result({n, 0}));
    b.add({&n, 1}, std::move(op));
    return true;
}

} // namespace gsub::detail
