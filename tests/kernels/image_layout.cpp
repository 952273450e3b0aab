#include "catch.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/image_layout.hpp>
#include <gsub/kernels/knobs.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace image_layout_test {

using namespace gsub;
using gsub::isa;
using kernels::descriptor;
using kernels::image_layout;

codegen::kernel kernel_of(descriptor const& d, isa const& isa) {
    auto const space = kernels::space_of(d, isa);
    return codegen::lower(kernels::nest_of(d, kernels::counted(d, isa, space), isa), "k").value();
}

// From [N, C/l, H, W, l] to [N, H, W, C], whole vectors of channels.
std::vector<double> channels_last(std::vector<double> const& from, std::int64_t batch, std::int64_t channels,
                                  std::int64_t l) {
    auto out = from;
    auto const area = static_cast<std::int64_t>(from.size()) / batch / channels;
    for (std::int64_t n = 0; n < batch; ++n)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t p = 0; p < area; ++p)
                out[static_cast<std::size_t>((n * area + p) * channels + c)] =
                    from[static_cast<std::size_t>(((n * channels / l + c / l) * area + p) * l + c % l)];
    return out;
}

struct layer {
    descriptor what;
    std::int64_t batch, in, out; // channels
};
std::vector<layer> layers(std::int64_t l) {
    kernels::conv2d_shape c;
    c.batch = 2, c.in_channels = 2 * l, c.out_channels = 3 * l, c.in = {7, 9}, c.kernel = {3, 3};
    c.pads = {1, 1, 1, 1}, c.bias = c.residual = true, c.low = 0, c.arrays = 1;
    c.epilogue = {{loop::scalar_op::add, 0, 1, 0}};
    auto wide = c, flat = c, groups = c, each = c, deep = c;
    wide.stride = {2, 1}, wide.dilation = {1, 2};
    flat.kernel = {1, 1}, flat.pads = {};
    groups.groups = l / 2, groups.in_channels = groups.out_channels = 2 * l;
    each.groups = each.in_channels = each.out_channels = 2 * l;
    deep.depth = {3, 2, 1, 1, {1, 0}};
    kernels::pool2d_shape p;
    p.batch = 2, p.channels = 2 * l, p.in = {6, 8}, p.kernel = {3, 2}, p.stride = {2, 1}, p.out = {3, 8},
    p.pads = {1, 1};
    p.pads_end = {1, 0};
    auto mean = p;
    mean.average = true;
    auto first = each, second = flat;
    first.residual = false, first.arrays = 0, first.epilogue.clear();
    second.in_channels = 2 * l;
    std::vector<layer> all;
    for (auto const& s : {c, wide, flat, groups, each, deep})
        all.push_back({s, s.batch, s.in_channels, s.out_channels});
    all.push_back({kernels::winograd_shape{c, 4}, c.batch, c.in_channels, c.out_channels});
    all.push_back({kernels::winograd_shape{c, 2}, c.batch, c.in_channels, c.out_channels});
    all.push_back({kernels::separable_shape{first, second}, c.batch, 2 * l, 3 * l});
    for (auto const& s : {p, mean}) all.push_back({s, s.batch, s.channels, s.channels});
    return all;
}

} // namespace image_layout_test

TEST_CASE("kernels of images compute the same whether channels stand in blocks or last") {
    using namespace image_layout_test;
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (auto const& given : layers(isa->lanes())) {
            auto const in_blocks = kernel_of(given.what, *isa);
            random_stream r{7};
            interpret::arrays data;
            for (auto const& b : in_blocks.buffers) {
                auto& values = data.emplace_back(static_cast<std::size_t>(b.elements()));
                for (auto& v : values) v = static_cast<double>(r.below(17)) - 8;
            }
            auto const start = data;
            interpreted_kernel::machine{in_blocks, data}.run(0, in_blocks.parallel_extent);
            for (auto const from : {image_layout::blocked, image_layout::channels_last})
                for (auto const to : {image_layout::blocked, image_layout::channels_last}) {
                    auto other = given.what;
                    *kernels::images_of(other)->input = from, *kernels::images_of(other)->result = to;
                    auto const k = kernel_of(other, *isa);
                    CAPTURE(isa->name, kernels::to_string(other));
                    auto moved = start;
                    auto const turn = [&](std::size_t i, image_layout how, std::int64_t channels) {
                        if (how == image_layout::channels_last)
                            moved[i] = channels_last(moved[i], given.batch, channels, isa->lanes());
                    };
                    turn(0, from, given.in);
                    for (std::size_t i = 0; i < k.buffers.size(); ++i) {
                        auto const& name = k.buffers[i].name;
                        CHECK(k.buffers[i].elements() == in_blocks.buffers[i].elements());
                        if (name == "residual" || name == "array") turn(i, to, given.out);
                    }
                    interpreted_kernel::machine{k, moved}.run(0, k.parallel_extent);
                    std::size_t y = 0;
                    while (k.buffers[y].name != "y") ++y;
                    auto const want = to == image_layout::blocked
                                          ? data[y]
                                          : channels_last(data[y], given.batch, given.out, isa->lanes());
                    CHECK(moved[y] == want);
                }
        }
}

TEST_CASE("images with channels last that are no whole vectors are read a channel at a time or refused") {
    using namespace image_layout_test;
    kernels::conv2d_shape s;
    s.in_channels = 3, s.out_channels = 16, s.in = {5, 5}, s.kernel = {3, 3}, s.input = image_layout::channels_last;
    CHECK_FALSE(kernels::reads_vectors(s, isa::avx512));
    CHECK(kernels::conv2d_applies(s, isa::avx512));
    s.result = image_layout::channels_last;
    CHECK(kernels::conv2d_applies(s, isa::avx512));
    s.out_channels = 24;
    CHECK_FALSE(kernels::conv2d_applies(s, isa::avx512));
    CHECK(kernels::conv2d_applies(s, isa::avx2));
    s.groups = 3, s.out_channels = 48;
    CHECK_FALSE(kernels::conv2d_applies(s, isa::avx512));
    s.groups = 1, s.result = image_layout::planar;
    CHECK_FALSE(kernels::conv2d_applies(s, isa::avx512));
}
