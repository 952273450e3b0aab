#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/conv2d.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace conv2d_test {

using namespace gsub;
using codegen::lower;
using gsub::isa;
using kernels::conv2d_config;
using kernels::conv2d_shape;
using kernels::image_layout;

bool depthwise(conv2d_shape const& s) {
    return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}

// Inputs in the order of frameworks, small whole numbers.
struct problem {
    conv2d_shape s;
    std::vector<float> x, w, bias, residual; // NCDHW, OIDHW, C, NCDHW
    std::vector<std::vector<float>> arrays;  // of the chain, NCDHW

    problem(conv2d_shape const& shape, std::uint64_t seed) : s(shape) {
        random_stream r{seed};
        auto const fill = [&](std::vector<float>& v, std::int64_t n) {
            for (; n > 0; --n) v.push_back(static_cast<float>(r.below(9)) - 4);
        };
        fill(x, s.batch * s.in_channels * in_area());
        fill(w, s.out_channels * (s.in_channels / s.groups) * s.depth.kernel * s.kernel[0] * s.kernel[1]);
        if (s.bias) fill(bias, s.out_channels);
        if (s.residual) fill(residual, s.batch * s.out_channels * out_area());
        for (std::int32_t a = 0; a < s.arrays; ++a) fill(arrays.emplace_back(), s.batch * s.out_channels * out_area());
    }
    [[nodiscard]] std::int64_t in_area() const { return s.depth.in * s.in[0] * s.in[1]; }
    [[nodiscard]] std::int64_t out_area() const { return s.out_depth() * s.out(0) * s.out(1); }

    // One result before what follows it.
    [[nodiscard]] double sum_at(std::int64_t n, std::int64_t o, std::int64_t oz, std::int64_t oy,
                                std::int64_t ox) const {
        auto const per_group = s.in_channels / s.groups, out_per_group = s.out_channels / s.groups;
        auto const& d = s.depth;
        double sum = s.bias ? static_cast<double>(bias[static_cast<std::size_t>(o)]) : 0;
        for (std::int64_t i = 0; i < per_group; ++i)
            for (std::int64_t kz = 0; kz < d.kernel; ++kz)
                for (std::int64_t ky = 0; ky < s.kernel[0]; ++ky)
                    for (std::int64_t kx = 0; kx < s.kernel[1]; ++kx) {
                        auto const iz = oz * d.stride + kz * d.dilation - d.pads[0],
                                   iy = oy * s.stride[0] + ky * s.dilation[0] - s.pads[0],
                                   ix = ox * s.stride[1] + kx * s.dilation[1] - s.pads[1];
                        if (iz < 0 || iz >= d.in || iy < 0 || iy >= s.in[0] || ix < 0 || ix >= s.in[1]) continue;
                        auto const c = o / out_per_group * per_group + i;
                        auto const pixel = (((n * s.in_channels + c) * d.in + iz) * s.in[0] + iy) * s.in[1] + ix,
                                   tap = (((o * per_group + i) * d.kernel + kz) * s.kernel[0] + ky) * s.kernel[1] + kx;
                        sum += static_cast<double>(x[static_cast<std::size_t>(pixel)]) *
                               static_cast<double>(w[static_cast<std::size_t>(tap)]);
                    }
        return sum;
    }
    // The definition of the operator, [N, C, D, H, W].
    [[nodiscard]] std::vector<double> expected() const {
        std::vector<double> y;
        for (std::int64_t n = 0; n < s.batch; ++n)
            for (std::int64_t o = 0; o < s.out_channels; ++o)
                for (std::int64_t row = 0; row < s.out_depth() * s.out(0); ++row)
                    for (std::int64_t ox = 0; ox < s.out(1); ++ox) {
                        auto sum = sum_at(n, o, row / s.out(0), row % s.out(0), ox);
                        if (s.residual) sum += static_cast<double>(residual[y.size()]);
                        if (s.low > -1e300) sum = sum < s.low ? s.low : sum;
                        if (s.high < 1e300) sum = s.high < sum ? s.high : sum;
                        std::vector<double> values{sum};
                        for (auto const& a : arrays) values.push_back(static_cast<double>(a[y.size()]));
                        for (auto const& next : s.epilogue) {
                            auto const of = [&](std::int32_t v) {
                                return v < 0 ? next.value : values[static_cast<std::size_t>(v)];
                            };
                            values.push_back(interpret::apply(next.op, of(next.left), of(next.right)));
                        }
                        y.push_back(s.epilogue.empty() ? sum : values.back());
                    }
        return y;
    }

    // [N, C/l, D, H, W, l]; what fills channels up is not a number.
    static std::vector<double> blocked(std::vector<float> const& from, std::int64_t batch, std::int64_t channels,
                                       std::int64_t area, std::int64_t l) {
        auto const blocks = (channels + l - 1) / l;
        std::vector<double> out(static_cast<std::size_t>(batch * blocks * area * l),
                                std::numeric_limits<double>::quiet_NaN());
        for (std::int64_t n = 0; n < batch; ++n)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t p = 0; p < area; ++p)
                    out[static_cast<std::size_t>(((n * blocks + c / l) * area + p) * l + c % l)] =
                        static_cast<double>(from[static_cast<std::size_t>((n * channels + c) * area + p)]);
        return out;
    }
    // An image [N, C, D, H, W] in a layout.
    static std::vector<double> placed(std::vector<float> const& from, image_layout how, std::int64_t batch,
                                      std::int64_t channels, std::int64_t area, std::int64_t l) {
        if (how == image_layout::blocked) return blocked(from, batch, channels, area, l);
        std::vector<double> out(from.begin(), from.end());
        if (how == image_layout::planar) return out;
        for (std::size_t i = 0; i < out.size(); ++i) {
            auto const at = static_cast<std::int64_t>(i), c = at % channels, p = at / channels % area,
                       n = at / channels / area;
            out[i] = static_cast<double>(from[static_cast<std::size_t>((n * channels + c) * area + p)]);
        }
        return out;
    }
    [[nodiscard]] std::size_t result_at() const { return 2u + s.bias + s.residual + arrays.size(); } // in the buffers
    // Those of a kernel, with its scratch memory.
    [[nodiscard]] interpret::arrays buffers(isa const& isa, codegen::kernel const& k) const {
        auto out = buffers(isa);
        for (auto i = out.size(); i < k.buffers.size(); ++i)
            out.emplace_back(static_cast<std::size_t>(k.buffers[i].elements()),
                             std::numeric_limits<double>::quiet_NaN());
        return out;
    }
    [[nodiscard]] interpret::arrays buffers(isa const& isa) const {
        std::int64_t const l = isa.lanes(), area = out_area();
        interpret::arrays out;
        out.push_back(placed(x, s.input, s.batch, s.in_channels, in_area(), l));
        auto const packed = kernels::pack_conv2d_weights(s, w, isa);
        out.emplace_back(packed.begin(), packed.end());
        if (s.bias) out.push_back(blocked(bias, 1, s.out_channels, 1, l));
        auto const as_result = [&](auto const& a) { return placed(a, s.result, s.batch, s.out_channels, area, l); };
        if (s.residual) out.push_back(as_result(residual));
        for (auto const& a : arrays) out.push_back(as_result(a));
        out.emplace_back(static_cast<std::size_t>(s.batch * ((s.out_channels + l - 1) / l) * area * l),
                         interpret::untouched);
        return out;
    }
    // What is wrong with the output of a kernel; empty where nothing is.
    [[nodiscard]] std::string fault(interpret::arrays const& data, isa const& isa) const {
        std::int64_t const l = isa.lanes(), blocks = (s.out_channels + l - 1) / l, area = out_area();
        auto const y = expected();
        for (std::int64_t n = 0; n < s.batch; ++n)
            for (std::int64_t c = 0; c < s.out_channels; ++c)
                for (std::int64_t p = 0; p < area; ++p) {
                    auto const at = s.result == image_layout::channels_last
                                        ? (n * area + p) * s.out_channels + c
                                        : ((n * blocks + c / l) * area + p) * l + c % l;
                    auto const got = data[result_at()][static_cast<std::size_t>(at)],
                               want = y[static_cast<std::size_t>((n * s.out_channels + c) * area + p)];
                    if (std::abs(got - want) > 1e-5 * (10 + std::abs(want)))
                        return "batch " + std::to_string(n) + " channel " + std::to_string(c) + " pixel " +
                               std::to_string(p) + " is " + std::to_string(got) + ", not " + std::to_string(want);
                }
        return {};
    }
};

std::string text_of(conv2d_shape const& s, conv2d_config const& c) {
    std::string out;
    for (auto v : {s.batch,
                   s.in_channels,
                   s.out_channels,
                   s.groups,
                   s.in[0],
                   s.in[1],
                   s.kernel[0],
                   s.kernel[1],
                   s.stride[0],
                   s.stride[1],
                   s.dilation[0],
                   s.dilation[1],
                   s.pads[0],
                   s.pads[1],
                   s.pads[2],
                   s.pads[3],
                   s.depth.in,
                   s.depth.kernel,
                   s.depth.stride,
                   s.depth.dilation,
                   s.depth.pads[0],
                   s.depth.pads[1],
                   static_cast<std::int64_t>(s.input),
                   static_cast<std::int64_t>(s.result),
                   std::int64_t{s.bias},
                   std::int64_t{s.residual},
                   std::int64_t{s.arrays},
                   static_cast<std::int64_t>(s.epilogue.size())})
        out += std::to_string(v) + " ";
    for (auto v : {c.tile_ow, c.tile_oh, c.tile_oc, c.unroll_ic, c.chunk, std::int32_t{c.unroll_kh},
                   std::int32_t{c.oc_inner}, c.tile_ic})
        out += ", " + std::to_string(v);
    return out;
}

// Exact arithmetic on what is there, then at times a function.
void add_chain(random_stream& r, conv2d_shape& s) {
    using loop::scalar_op;
    constexpr scalar_op exact[] = {scalar_op::add, scalar_op::subtract, scalar_op::multiply, scalar_op::maximum,
                                   scalar_op::minimum};
    constexpr scalar_op functions[] = {scalar_op::sigmoid, scalar_op::tanh, scalar_op::erf, scalar_op::absolute};
    s.arrays = static_cast<std::int32_t>(r.below(3));
    for (auto n = 1 + r.below(3); n > 0; --n) {
        auto const last = s.arrays + static_cast<std::int32_t>(s.epilogue.size());
        auto const any = static_cast<std::int32_t>(r.below(static_cast<std::uint64_t>(last) + 2)) - 1;
        s.epilogue.push_back(
            {exact[r.below(5)], s.epilogue.empty() ? 0 : last, any, static_cast<double>(r.below(5)) - 2.5});
    }
    if (r.below(2))
        s.epilogue.push_back({functions[r.below(4)], s.arrays + static_cast<std::int32_t>(s.epilogue.size()), -1, 0});
}
conv2d_shape random_shape(random_stream& r, isa const& isa) {
    auto const one_of = [&](std::initializer_list<std::int64_t> values) {
        return values.begin()[r.below(values.size())];
    };
    std::int64_t const l = isa.lanes();
    conv2d_shape s;
    s.batch = one_of({1, 1, 2});
    for (std::size_t d = 0; d < 2; ++d) {
        s.kernel[d] = one_of({1, 1, 2, 3, 3, 5});
        s.stride[d] = one_of({1, 1, 2, 3});
        s.dilation[d] = one_of({1, 1, 2});
        s.in[d] = static_cast<std::int64_t>(1 + r.below(d ? 20 : 6));
        s.pads[d] = one_of({0, 1, 2, 3});
        s.pads[d + 2] = one_of({0, 1, 2, 3});
    }
    if (r.below(4) == 0) s.kernel = {1, 1}, s.stride = {1, 1}, s.dilation = {1, 1}, s.pads = {};
    for (std::size_t d = 0; d < 2; ++d) // at least one place
        s.in[d] = std::max(s.in[d], s.dilation[d] * (s.kernel[d] - 1) + 1 - s.pads[d] - s.pads[d + 2]);
    s.in_channels = one_of({1, 3, 17, 24, l});
    s.out_channels = one_of({1, 3, 17, 24, l, 2 * l + 1});
    switch (r.below(8)) {
    case 0:
        s.groups = s.in_channels = s.out_channels = one_of({2, 3, 17, 24, l});
        break;
    case 1:
        s.groups = 2;
        s.in_channels = 2 * l, s.out_channels = 2 * l * one_of({1, 2});
        break;
    case 2:
        s.input = image_layout::planar;
        break;
    case 3:
    case 4:
    case 5: { // groups of any width
        s.groups = one_of({2, 3, 4, 8, 11, 17});
        s.in_channels = s.groups * one_of({1, 2, 3, 4, 6, 8, 12, l + 1});
        auto const one = r.below(2) == 0; // as many results
        s.out_channels = one ? s.in_channels : s.groups * one_of({1, 2, 3, 4, 6, 8, 12, l});
        break;
    }
    default:
        break;
    }
    auto const one_a_time = s.groups == 1 && s.input == image_layout::blocked;
    if ((one_a_time || s.in_channels % l == 0) && r.below(3) == 0) s.input = image_layout::channels_last;
    if (s.out_channels % l == 0 && r.below(3) == 0) s.result = image_layout::channels_last;
    s.bias = r.below(2), s.residual = r.below(2);
    if (r.below(2)) s.low = 0;
    if (r.below(3) == 0) s.high = 6;
    if (r.below(3) == 0) add_chain(r, s);
    return s;
}
// The same of images that have depth.
conv2d_shape random_deep_shape(random_stream& r, isa const& isa) {
    auto const one_of = [&](std::initializer_list<std::int64_t> values) {
        return values.begin()[r.below(values.size())];
    };
    auto s = random_shape(r, isa);
    s.in[0] = std::max<std::int64_t>(std::min<std::int64_t>(s.in[0], 4),
                                     s.dilation[0] * (s.kernel[0] - 1) + 1 - s.pads[0] - s.pads[2]);
    auto& d = s.depth;
    d.kernel = one_of({1, 2, 3, 3, 4}), d.stride = one_of({1, 1, 2, 3}), d.dilation = one_of({1, 1, 2});
    d.pads = {one_of({0, 1, 2}), one_of({0, 1, 3})};
    if (r.below(4) == 0) d = {};
    d.in = std::max(one_of({1, 2, 3, 5}), d.dilation * (d.kernel - 1) + 1 - d.pads[0] - d.pads[1]);
    return s;
}
conv2d_config random_config(random_stream& r, isa const& isa) {
    conv2d_config c;
    c.tile_ow = static_cast<std::int32_t>(1 + r.below(28));
    c.tile_oc = static_cast<std::int32_t>(1 + r.below(4));
    c.unroll_ic = std::min(1 << r.below(5), isa.lanes());
    c.chunk = static_cast<std::int32_t>(1 + r.below(4));
    c.oc_inner = r.below(2);
    if (c.tile_ow * c.tile_oc * c.unroll_ic <= 40) { // text grows with each
        c.tile_oh = static_cast<std::int32_t>(1 + r.below(3));
        c.unroll_kh = r.below(2);
    }
    return c;
}
// The same with channels in tiles, where the kernel has them, every second time.
conv2d_config random_config(random_stream& r, conv2d_shape const& s, isa const& isa) {
    auto c = random_config(r, isa);
    auto const depthwise = s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
    auto const channels = s.in_channels / s.groups, vector = std::int64_t{reads_vectors(s, isa) ? isa.lanes() : 1};
    auto const whole = s.groups == 1 || (channels % vector == 0 && s.out_channels / s.groups % isa.lanes() == 0);
    auto const tiles = static_cast<std::uint64_t>((channels - 1) / vector);
    if (!depthwise && whole && !s.depth.exists() && tiles > 0 && r.below(2))
        c.tile_ic = static_cast<std::int32_t>(vector * static_cast<std::int64_t>(1 + r.below(tiles)));
    return c;
}

TEST_CASE("a kernel of any shape and any knobs computes the convolution") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = random_config(r, s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            problem const p{s, seed};
            auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
            CHECK(k.lanes == isa->lanes());
            auto data = p.buffers(*isa, k);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(p.fault(data, *isa) == "");
            auto const& written = m.written(p.result_at());
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("a kernel of images that have depth computes the convolution") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            random_stream r{seed + 4000};
            auto const s = random_deep_shape(r, *isa);
            auto const c = r.below(4) ? random_config(r, *isa) : kernels::default_config(s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            problem const p{s, seed};
            auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
            auto data = p.buffers(*isa);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(p.fault(data, *isa) == "");
            auto const& written = m.written(data.size() - 1);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

// Compiles a list of problems and checks each, with the parallel range whole and in pieces.
void check_compiled(isa const& isa, std::vector<std::pair<conv2d_shape, conv2d_config>> const& cases,
                    std::vector<std::string> const& flags) {
    compiled_kernel::batch kernels{isa};
    for (auto const& [s, c] : cases) kernels.add(lower(kernels::conv2d_nest(s, c, isa), "conv").value());
    kernels.compile(flags);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(isa.name, i, text_of(cases[i].first, cases[i].second));
        problem const p{cases[i].first, i};
        auto const last = kernels[i].parallel_extent;
        auto data = p.buffers(isa, kernels[i]);
        kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last});
        CHECK(p.fault(data, isa) == "");
        data = p.buffers(isa, kernels[i]);
        kernels.run(i, data, compiled_kernel::guarded::side::begin, {0, last / 2, last / 2, (last + 1) / 2, last});
        CHECK(p.fault(data, isa) == "");
    }
}

TEST_CASE("compiled convolutions of random shapes and knobs stay within their buffers and are right") {
    for (auto const* isa : compiled_kernel::sets()) {
        std::vector<std::pair<conv2d_shape, conv2d_config>> cases;
        for (std::uint64_t seed = 500; cases.size() < 24; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = random_config(r, s, *isa);
            // The compiler takes time in proportion to what is unrolled.
            auto const rows = c.tile_oh * (c.unroll_kh ? s.kernel[0] : 1);
            if (c.tile_ow * c.tile_oc * c.unroll_ic * s.kernel[1] * rows <= 192) cases.emplace_back(s, c);
        }
        check_compiled(*isa, cases, {"-O1"});
    }
}

// Layers of networks of videos and volumes.
std::vector<conv2d_shape> deep_layers(isa const& isa) {
    std::int64_t const l = isa.lanes();
    conv2d_shape stem; // 3x7x7 of NCDHW
    stem.in_channels = 3, stem.out_channels = 2 * l, stem.in = {9, 17}, stem.kernel = {7, 7}, stem.stride = {2, 2};
    stem.pads = {3, 3, 3, 3}, stem.input = image_layout::planar, stem.bias = true, stem.low = 0;
    stem.depth = {5, 3, 1, 1, {1, 1}};
    conv2d_shape small; // 3x3x3
    small.in_channels = small.out_channels = 2 * l, small.in = {5, 7}, small.kernel = {3, 3};
    small.pads = {1, 1, 1, 1}, small.depth = {4, 3, 1, 1, {1, 1}}, small.bias = small.residual = true, small.low = 0;
    auto half = small;
    half.stride = {2, 2}, half.depth.stride = 2, half.batch = 2, half.residual = false;
    auto wide = small; // dilated, with other pads at the end
    wide.in_channels = 17, wide.out_channels = 24, wide.dilation = {2, 2}, wide.pads = {2, 1, 0, 3};
    wide.depth = {7, 3, 1, 2, {0, 3}};
    auto frames = small; // 1x3x3, and 3x1x1 behind it
    frames.depth = {4, 1, 1, 1, {}};
    auto time = small;
    time.kernel = {1, 1}, time.pads = {};
    auto lines = small; // 1x1x3
    lines.kernel = {1, 3}, lines.pads = {0, 1, 0, 1}, lines.depth = frames.depth;
    auto point = time; // 1x1x1
    point.depth = frames.depth;
    auto down = point;
    down.stride = {2, 2}, down.depth.stride = 2, down.residual = false;
    auto channels = small; // depthwise
    channels.in_channels = channels.out_channels = channels.groups = 24, channels.high = 6;
    auto grouped = small; // groups of whole blocks, of four channels, of a block and a half
    grouped.groups = 2;
    auto narrow = half;
    narrow.groups = l / 2;
    auto odd = small;
    odd.in_channels = odd.out_channels = 6 * l, odd.groups = 4;
    return {stem, small, half, wide, frames, time, lines, point, down, channels, grouped, narrow, odd};
}

TEST_CASE("layers of images that have depth are right with the configuration that is chosen for them") {
    for (auto const* isa : compiled_kernel::sets()) {
        std::vector<std::pair<conv2d_shape, conv2d_config>> cases;
        for (auto const& s : deep_layers(*isa)) cases.emplace_back(s, kernels::default_config(s, *isa));
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            random_stream r{seed + 6000};
            auto const s = random_deep_shape(r, *isa);
            cases.emplace_back(s, kernels::default_config(s, *isa));
        }
        check_compiled(*isa, cases, {"-O1"});
    }
}

TEST_CASE("depth has the register tiles of two dimensions, and is none where it has no window") {
    for (auto const* isa : {&isa::avx2, &isa::avx512}) {
        conv2d_shape flat, deep;
        flat.in_channels = flat.out_channels = 64, flat.in = {28, 28}, flat.kernel = {3, 3}, flat.pads = {1, 1, 1, 1};
        deep = flat;
        deep.depth = {16, 3, 1, 1, {1, 1}};
        auto const a = kernels::default_config(flat, *isa), b = kernels::default_config(deep, *isa);
        CHECK(a.tile_ow == b.tile_ow);
        CHECK(a.tile_oc == b.tile_oc);
        CHECK(deep.operations() == 48 * flat.operations());
        deep.kernel = {1, 1}, deep.pads = {}, deep.depth.kernel = 1, deep.depth.pads = {};
        flat = deep;
        flat.depth = {}, flat.in = {16 * 28, 28}; // the same pixels in one plane
        auto const c = kernels::default_config(deep, *isa);
        CHECK(to_string(kernels::conv2d_nest(deep, c, *isa)) ==
              to_string(kernels::conv2d_nest(flat, kernels::default_config(flat, *isa), *isa)));
    }
}

// Layers as networks have them, small, but with all that is special of them.
std::vector<conv2d_shape> layers(isa const& isa) {
    std::int64_t const l = isa.lanes();
    conv2d_shape stem; // 7x7, stride 2, three channels in NCHW
    stem.in_channels = 3, stem.out_channels = 2 * l, stem.in = {17, 31}, stem.kernel = {7, 7}, stem.stride = {2, 2};
    stem.pads = {3, 3, 3, 3}, stem.input = image_layout::planar, stem.bias = true, stem.low = 0;
    conv2d_shape small; // 3x3
    small.in_channels = small.out_channels = 2 * l, small.in = {7, 7}, small.kernel = {3, 3}, small.pads = {1, 1, 1, 1};
    small.bias = true, small.low = 0;
    conv2d_shape point; // 1x1 with a residual
    point.in_channels = l, point.out_channels = 4 * l, point.in = {7, 7}, point.bias = point.residual = true;
    point.low = 0, point.batch = 2;
    conv2d_shape down = point; // 1x1 with a stride
    down.stride = {2, 2}, down.residual = false;
    conv2d_shape depth; // 3x3 depthwise
    depth.in_channels = depth.out_channels = depth.groups = 24, depth.in = {9, 19}, depth.kernel = {3, 3};
    depth.pads = {1, 1, 1, 1}, depth.low = 0, depth.high = 6;
    conv2d_shape half = depth; // an odd number of rows, two at a time
    half.stride = {2, 2}, half.in = {13, 27};
    conv2d_shape wide; // 5x5, dilated, asymmetric pads, kernel larger than the padded image would be undilated
    wide.in_channels = 17, wide.out_channels = 24, wide.in = {6, 11}, wide.kernel = {5, 5}, wide.dilation = {2, 2};
    wide.pads = {3, 4, 2, 1};
    conv2d_shape larger; // the kernel is larger than the image
    larger.in_channels = larger.out_channels = l, larger.in = {2, 3}, larger.kernel = {5, 7},
    larger.pads = {2, 3, 2, 3};
    conv2d_shape grouped = small; // groups of whole blocks
    grouped.groups = 2;
    conv2d_shape narrow = small; // of four channels
    narrow.groups = l / 2, narrow.in = {9, 19}, narrow.residual = true;
    conv2d_shape strided = narrow;
    strided.stride = {2, 2};
    conv2d_shape odd = narrow; // of a block and a half
    odd.in_channels = odd.out_channels = 6 * l, odd.groups = 4;
    conv2d_shape cut = narrow; // of a block and a half, the last one alone in its turn; a whole turn of it is too much
    cut.groups = 5, cut.in_channels = cut.out_channels = cut.groups * l * 3 / 2;
    conv2d_shape more = narrow; // two filters a channel
    more.in_channels = more.groups = 24, more.out_channels = 48;
    conv2d_shape spectrum; // of windows of sound: taps in parts
    spectrum.out_channels = 2 * l + 3, spectrum.in = {1, 301}, spectrum.kernel = {1, 64}, spectrum.stride = {1, 4};
    spectrum.pads = {0, 20, 0, 9}, spectrum.input = image_layout::planar, spectrum.bias = true;
    conv2d_shape prime = spectrum; // of which nothing divides the taps
    prime.in_channels = l, prime.input = image_layout::blocked, prime.kernel = {2, 37}, prime.pads = {1, 20, 0, 9};
    conv2d_shape far = depth; // depthwise
    far.kernel = {1, 48}, far.in = {3, 70}, far.pads = {0, 24, 0, 23};
    return {stem,   small,   point, down, depth, half,     wide,  larger, grouped,
            narrow, strided, odd,   cut,  more,  spectrum, prime, far};
}

TEST_CASE("the taps of wide windows are written out in parts, so that code does not grow with them") {
    auto const& isa = isa::avx512;
    auto const instructions = [&](std::int64_t taps) {
        conv2d_shape s;
        s.out_channels = 32, s.in = {1, 2000}, s.kernel = {1, taps}, s.input = image_layout::planar;
        auto const nest = kernels::conv2d_nest(s, kernels::default_config(s, isa), isa);
        return to_string(codegen::lower(nest, "conv").value()).size();
    };
    CHECK(instructions(512) < 2 * instructions(16));
}

TEST_CASE("layers of networks are right with the configuration that is chosen for them") {
    for (auto const* isa : compiled_kernel::sets()) {
        std::vector<std::pair<conv2d_shape, conv2d_config>> cases;
        for (auto const& s : layers(*isa)) cases.emplace_back(s, kernels::default_config(s, *isa));
        check_compiled(*isa, cases, {"-O2"});
    }
}

TEST_CASE("rows of every width are right with the configuration that is chosen for them") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::int64_t width = 1; width <= 20; ++width)
            for (std::int64_t const kernel : {1, 3}) {
                CAPTURE(isa->name, width, kernel);
                conv2d_shape s;
                s.in_channels = 3, s.out_channels = 17, s.in = {3, width}, s.kernel = {kernel, kernel};
                s.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
                problem const p{s, 1};
                auto const k = lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "conv").value();
                auto data = p.buffers(*isa);
                interpreted_kernel::machine m{k, data};
                REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
                CHECK(p.fault(data, *isa) == "");
            }
}

TEST_CASE("weights are read for many pixels, also where the tiles of an image are a prime number") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::int64_t width = 200; width <= 320; ++width) {
            CAPTURE(isa->name, width);
            conv2d_shape s;
            s.in_channels = 2 * isa->lanes(), s.out_channels = 17, s.in = {1, width};
            auto const c = kernels::default_config(s, *isa);
            if ((width + c.tile_ow - 1) / c.tile_ow > 16) CHECK(c.chunk >= 4);
            if (width % 40 != 1) continue;
            problem const p{s, 1};
            auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
            auto data = p.buffers(*isa);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(p.fault(data, *isa) == "");
        }
}

// A depthwise kernel with a bias.
conv2d_shape depthwise_layer(std::int64_t channels, std::int64_t in, std::int64_t kernel, std::int64_t stride) {
    conv2d_shape s;
    s.in_channels = s.out_channels = s.groups = channels, s.in = {in, in}, s.kernel = {kernel, kernel};
    s.stride = {stride, stride}, s.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}, s.bias = true;
    return s;
}

TEST_CASE("depthwise images of every size are right with the configuration that is chosen for them") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::int64_t size = 1; size <= 15; ++size)
            for (std::int64_t const kernel : {2, 3, 5})
                for (std::int64_t const stride : {1, 2}) {
                    CAPTURE(isa->name, size, kernel, stride);
                    auto s = depthwise_layer(isa->lanes(), size, kernel, stride);
                    s.dilation = {1 + size % 2, 1};
                    if (s.out(0) < 1) continue;
                    problem const p{s, 1};
                    auto const c = kernels::default_config(s, *isa);
                    auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
                    auto data = p.buffers(*isa);
                    interpreted_kernel::machine m{k, data};
                    REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
                    CHECK(p.fault(data, *isa) == "");
                }
}

// Calls `body` with each block of a kernel.
template <class F>
void each_block(std::vector<codegen::statement> const& statements, F&& body) {
    for (auto const& n : statements) {
        if (n.kind == codegen::statement_kind::block) body(n.code);
        each_block(n.body, body);
        each_block(n.otherwise, body);
    }
}

TEST_CASE("an accumulator of a depthwise kernel adds its taps in the order of the kernel, whatever the tile") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        random_stream r{seed};
        auto const s = depthwise_layer(16, static_cast<std::int64_t>(6 + r.below(12)), r.below(2) ? 3 : 5,
                                       static_cast<std::int64_t>(1 + r.below(2)));
        auto const c = random_config(r, isa::avx2);
        CAPTURE(seed, text_of(s, c));
        auto const k = lower(kernels::conv2d_nest(s, c, isa::avx2), "conv").value();
        std::vector<std::int64_t> tap(static_cast<std::size_t>(k.registers), -1), last = tap;
        auto in_order = true;
        each_block(k.body, [&](auto const& code) {
            for (auto const& i : code) {
                auto const result = static_cast<std::size_t>(i.result);
                if (i.op == codegen::opcode::load && i.buffer == 1) tap[result] = i.offset.constant();
                if (i.op != codegen::opcode::multiply_add) continue;
                auto const at = tap[static_cast<std::size_t>(i.operands[1])];
                in_order = in_order && at > last[result];
                last[result] = at;
            }
        });
        CHECK(in_order);
    }
}

TEST_CASE("a pixel that a depthwise tile reads is used at once by every product that needs it") {
    for (auto const* isa : {&isa::avx2, &isa::avx512})
        for (std::int64_t const stride : {1, 2}) {
            auto const s = depthwise_layer(isa->lanes(), 56, 3, stride);
            auto const c = kernels::default_config(s, *isa);
            CAPTURE(isa->name, stride, text_of(s, c));
            CHECK(c.tile_oh == 2);
            auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
            each_block(k.body, [&](auto const& code) {
                std::vector<codegen::reg> pixels; // one for each run of products
                for (auto const& i : code)
                    if (i.op == codegen::opcode::multiply_add && (pixels.empty() || pixels.back() != i.operands[0]))
                        pixels.push_back(i.operands[0]);
                auto const runs = pixels.size();
                std::sort(pixels.begin(), pixels.end());
                pixels.erase(std::unique(pixels.begin(), pixels.end()), pixels.end());
                auto const tile_columns = static_cast<std::size_t>(stride * (c.tile_ow - 1) + 3);
                CHECK(runs == pixels.size());
                CHECK(runs <= static_cast<std::size_t>(stride + 3) * tile_columns);
            });
        }
}

TEST_CASE("the chosen configuration fits the registers") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512, &isa::neon})
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = kernels::default_config(s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
            // Accumulators, a vector of weights each column, and one of the image, or each pixel that taps share.
            auto const shared = s.input == image_layout::planar && s.stride[1] == 1 && s.kernel[1] > 1;
            CHECK(k.live + (depthwise(s) ? 2 : c.tile_oc + (shared ? c.tile_ow : 1)) <= isa->registers);
        }
}

TEST_CASE("NaN stays NaN where it is read, and reaches nothing else") {
    conv2d_shape s;
    s.in_channels = s.out_channels = 3, s.in = {3, 9}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    s.low = 0, s.high = 6;
    for (auto const* isa : compiled_kernel::sets()) {
        CAPTURE(isa->name);
        problem p{s, 3};
        p.x[9 + 4] = std::numeric_limits<float>::quiet_NaN(); // channel 0, row 1, column 4
        std::fill(p.w.begin(), p.w.end(), 1.0f);
        compiled_kernel::batch kernels{*isa};
        kernels.add(lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "conv").value());
        kernels.compile({});
        auto data = p.buffers(*isa);
        kernels.run(0, data, compiled_kernel::guarded::side::end, {0, kernels[0].parallel_extent});
        for (std::int64_t pixel = 0; pixel < 27; ++pixel) {
            auto const v = data.back()[static_cast<std::size_t>(pixel * isa->lanes())];
            auto const touched = pixel % 9 >= 3 && pixel % 9 <= 5;
            CHECK((v != v) == touched);
        }
    }
}

TEST_CASE("NaN and infinities pass through what stands behind a convolution") {
    using loop::scalar_op;
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    for (auto const* isa : compiled_kernel::sets())
        for (std::int64_t const groups : {1, 4, 24}) {
            CAPTURE(isa->name, groups);
            conv2d_shape s;
            s.in_channels = s.out_channels = 24, s.groups = groups, s.in = {1, 8};
            s.epilogue = {{scalar_op::sigmoid, 0, -1, 0}, {scalar_op::maximum, 1, -1, 0.25}};
            problem p{s, 3};
            std::fill(p.x.begin(), p.x.end(), 0.0f);
            std::fill(p.w.begin(), p.w.end(), 1.0f);
            for (std::size_t c = 0; c < 24; ++c) {
                p.x[8 * c] = std::numeric_limits<float>::quiet_NaN();
                p.x[8 * c + 1] = infinity, p.x[8 * c + 2] = -infinity;
            }
            compiled_kernel::batch kernels{*isa};
            kernels.add(lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "conv").value());
            kernels.compile({});
            auto data = p.buffers(*isa);
            kernels.run(0, data, compiled_kernel::guarded::side::end, {0, kernels[0].parallel_extent});
            for (std::size_t lane = 0; lane < 4; ++lane) {
                auto const at = [&](std::size_t pixel) {
                    return data.back()[pixel * static_cast<std::size_t>(isa->lanes()) + lane];
                };
                CHECK(at(0) != at(0));
                CHECK(at(1) == 1);
                CHECK(at(2) == 0.25);
                CHECK(at(3) == 0.5);
            }
        }
}

TEST_CASE("NaN in a group of channels reaches no other group") {
    for (auto const* isa : compiled_kernel::sets())
        for (std::int64_t const width : {3, 4, 6}) {
            CAPTURE(isa->name, width);
            conv2d_shape s;
            s.groups = 5, s.in_channels = s.out_channels = s.groups * width, s.in = {3, 9}, s.kernel = {3, 3};
            s.pads = {1, 1, 1, 1}, s.low = 0;
            problem p{s, 3};
            p.x[static_cast<std::size_t>(27 * (2 * width + 1) + 9 + 4)] = std::numeric_limits<float>::quiet_NaN();
            compiled_kernel::batch kernels{*isa};
            kernels.add(lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "conv").value());
            kernels.compile({});
            auto data = p.buffers(*isa);
            kernels.run(0, data, compiled_kernel::guarded::side::end, {0, kernels[0].parallel_extent});
            auto const l = std::int64_t{isa->lanes()};
            for (std::int64_t c = 0; c < s.out_channels; ++c)
                for (std::int64_t pixel = 0; pixel < 27; ++pixel) {
                    auto const v = data.back()[static_cast<std::size_t>((c / l * 27 + pixel) * l + c % l)];
                    auto const touched = c / width == 2 && pixel % 9 >= 3 && pixel % 9 <= 5;
                    CHECK((v != v) == touched);
                }
        }
}

TEST_CASE("a kernel of narrow groups loads each vector of the image once for all products of a row of taps") {
    for (auto const* isa : {&isa::avx2, &isa::avx512}) {
        conv2d_shape s;
        s.in_channels = s.out_channels = 64, s.groups = 16, s.in = {14, 56}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
        auto const c = kernels::default_config(s, *isa);
        CAPTURE(isa->name, text_of(s, c));
        auto const k = lower(kernels::conv2d_nest(s, c, *isa), "conv").value();
        each_block(k.body, [&](auto const& code) {
            auto const count = [&](auto&& what) { return std::count_if(code.begin(), code.end(), what); };
            auto const loads = count([](auto& i) { return i.op == codegen::opcode::load && i.buffer == 0; });
            CHECK(count([](auto& i) { return i.op == codegen::opcode::broadcast; }) == 0);
            CHECK(loads <= c.tile_ow + 2);
        });
    }
}

TEST_CASE("work is counted with the taps on padding") {
    conv2d_shape s;
    s.batch = 2, s.in_channels = 8, s.out_channels = 6, s.groups = 2, s.in = {5, 7}, s.kernel = {3, 3};
    s.pads = {1, 1, 1, 1}, s.stride = {2, 1};
    CHECK(s.out(0) == 3);
    CHECK(s.out(1) == 7);
    CHECK(s.operations() == 2.0 * 2 * 6 * 21 * 4 * 9);
}

TEST_CASE("work is counted with the planes of images that have depth") {
    conv2d_shape s;
    s.in = {5, 7}, s.depth = {9, 3, 2, 2, {1, 0}};
    CHECK(s.out_depth() == 3);
    CHECK(s.operations() == 2.0 * 3 * 35 * 3);
}

// The code of the error, or nothing.
std::string refusal(conv2d_shape const& s, conv2d_config const& c) {
    try {
        static_cast<void>(kernels::conv2d_nest(s, c, isa::avx2));
    } catch (error const& e) { return std::string{to_string(e.code())}; }
    return {};
}

TEST_CASE("knobs that do not apply and groups of too many parts are refused") {
    conv2d_shape s;
    s.in_channels = s.out_channels = 16, s.in = {4, 4};
    CHECK(refusal(s, {}) == "");
    for (conv2d_config c : {conv2d_config{.tile_ow = 0}, conv2d_config{.tile_oh = 0}, conv2d_config{.tile_oc = 0},
                            conv2d_config{.unroll_ic = 3}, conv2d_config{.unroll_ic = 16},
                            conv2d_config{.unroll_ic = -1}, conv2d_config{.chunk = 0}, conv2d_config{.tile_ic = -8},
                            conv2d_config{.tile_ic = 4}, conv2d_config{.tile_ic = 16}})
        CHECK(refusal(s, c) == "usage");
    CHECK(refusal(s, {.tile_ic = 8}) == "");
    s.groups = 4; // of four channels each
    CHECK(refusal(s, {}) == "");
    CHECK(refusal(s, {.tile_ic = 8}) == "usage");
    s.groups = 2; // of eight: whole blocks
    CHECK(refusal(s, {}) == "");
    s.input = image_layout::planar;
    CHECK(refusal(s, {}) == "not supported");
    s.groups = 16; // depthwise
    CHECK(refusal(s, {}) == "not supported");
    s.input = image_layout::blocked;
    CHECK(refusal(s, {}) == "");
    s.out_channels = 32; // two filters a channel
    CHECK(refusal(s, {}) == "");
    s.groups = 8, s.in_channels = s.out_channels = 8 * 101; // each of 101 vectors has lanes of its own
    CHECK(!kernels::conv2d_applies(s, isa::avx2));
    CHECK(refusal(s, {}) == "not supported");
}

} // namespace conv2d_test
