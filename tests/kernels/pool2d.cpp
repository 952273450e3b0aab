#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/pool2d.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace pool2d_test {

using namespace gsub;
using gsub::isa;
using kernels::pool2d_shape;

constexpr auto infinity = std::numeric_limits<double>::infinity();

// The input as blocks, small whole numbers in all lanes.
interpret::arrays pool_buffers(pool2d_shape const& s, isa const& isa, std::uint64_t seed) {
    std::int64_t const l = isa.lanes(), blocks = (s.channels + l - 1) / l;
    random_stream r{seed};
    auto const pixels = s.depth.in * s.in[0] * s.in[1];
    interpret::arrays out{std::vector<double>(static_cast<std::size_t>(s.batch * blocks * pixels * l))};
    for (auto& v : out[0]) v = interpret::small_number(r, s.element);
    if (s.average) {
        auto const factors = kernels::pool2d_factors(s);
        out.emplace_back(factors.begin(), factors.end());
    }
    auto const results = s.out_depth * s.out[0] * s.out[1];
    out.emplace_back(static_cast<std::size_t>(s.batch * blocks * results * l), interpret::untouched_of(s.element));
    return out;
}

// The definition of the operator on a block: what is wrong with the output; empty where nothing is.
std::string fault(pool2d_shape const& s, isa const& isa, interpret::arrays const& data) {
    std::int64_t const l = isa.lanes(), blocks = (s.channels + l - 1) / l;
    std::size_t at = 0;
    auto const& d = s.depth;
    auto const bits = 8 * static_cast<int>(byte_size(s.element));
    auto const least = is_floating(s.element) ? -infinity : info(s.element).is_signed ? -std::ldexp(1.0, bits - 1) : 0;
    auto const precise = s.element == dtype::f64    ? 1e-12
                         : s.element == dtype::f16  ? 2e-3
                         : s.element == dtype::bf16 ? 2e-2
                                                    : 1e-5;
    for (std::int64_t plane = 0; plane < s.batch * blocks * s.out_depth; ++plane)
        for (std::int64_t oy = 0; oy < s.out[0]; ++oy)
            for (std::int64_t ox = 0; ox < s.out[1]; ++ox)
                for (std::int64_t lane = 0; lane < l; ++lane, ++at) {
                    double sum = 0, most = least, taps = 0;
                    auto const image = plane / s.out_depth, oz = plane % s.out_depth;
                    for (std::int64_t tap = 0; tap < d.kernel * s.kernel[0] * s.kernel[1]; ++tap) {
                        auto const kz = tap / (s.kernel[0] * s.kernel[1]), ky = tap / s.kernel[1] % s.kernel[0],
                                   kx = tap % s.kernel[1];
                        auto const z = oz * d.stride + kz * d.dilation - d.pads[0],
                                   y = oy * s.stride[0] + ky * s.dilation[0] - s.pads[0],
                                   x = ox * s.stride[1] + kx * s.dilation[1] - s.pads[1];
                        auto const inside = z >= 0 && z < d.in && y >= 0 && y < s.in[0] && x >= 0 && x < s.in[1];
                        taps += inside || (s.count_pads && z < d.in + d.pads[1] && y < s.in[0] + s.pads_end[0] &&
                                           x < s.in[1] + s.pads_end[1]);
                        if (!inside) continue;
                        auto const pixel = ((image * d.in + z) * s.in[0] + y) * s.in[1] + x;
                        auto const v = data[0][static_cast<std::size_t>(pixel * l + lane)];
                        sum += v;
                        most = interpret::combine(loop::scalar_op::maximum, most, v);
                    }
                    auto const want = s.average ? sum / taps : most, got = data.back()[at];
                    if (!(std::abs(got - want) <= precise || got == want || (got != got && want != want)))
                        return "element " + std::to_string(at) + " is " + std::to_string(got) + ", not " +
                               std::to_string(want);
                }
    return {};
}

std::string text_of(pool2d_shape const& s) {
    std::string out = s.average ? "average " : "max ";
    for (auto v : {s.batch,
                   s.channels,
                   s.in[0],
                   s.in[1],
                   s.kernel[0],
                   s.kernel[1],
                   s.stride[0],
                   s.stride[1],
                   s.dilation[0],
                   s.dilation[1],
                   s.out[0],
                   s.out[1],
                   s.pads[0],
                   s.pads[1],
                   s.pads_end[0],
                   s.pads_end[1],
                   s.depth.in,
                   s.depth.kernel,
                   s.depth.stride,
                   s.depth.dilation,
                   s.depth.pads[0],
                   s.depth.pads[1],
                   s.out_depth,
                   std::int64_t{s.count_pads},
                   static_cast<std::int64_t>(s.element)})
        out += std::to_string(v) + " ";
    return out;
}

pool2d_shape random_shape(random_stream& r) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    pool2d_shape s;
    s.batch = upto(2), s.channels = upto(40);
    s.average = r.below(2), s.count_pads = r.below(2);
    auto const global = r.below(4) == 0;
    for (std::size_t d = 0; d < 2; ++d) {
        s.in[d] = upto(d ? 16 : 6);
        s.kernel[d] = global ? s.in[d] : upto(4);
        s.stride[d] = upto(3);
        s.dilation[d] = upto(2);
        if (!global || r.below(2)) s.pads[d] = upto(3) - 1;
        if (!global || r.below(2)) s.pads_end[d] = upto(3) - 1;
        auto const room = s.in[d] + s.pads[d] + s.pads_end[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
        if (room < 0) s.pads_end[d] -= room;
        s.out[d] = std::max<std::int64_t>(room, 0) / s.stride[d] + 1;
    }
    return s;
}

// The same of images that have depth.
pool2d_shape random_deep_shape(random_stream& r) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    auto s = random_shape(r);
    auto const global = s.kernel == s.in && r.below(2) == 0;
    auto& d = s.depth;
    d.in = upto(5), d.kernel = global ? d.in : upto(4), d.stride = upto(3), d.dilation = upto(2);
    if (!global || r.below(2)) d.pads = {upto(3) - 1, upto(3) - 1};
    auto const room = d.in + d.pads[0] + d.pads[1] - d.dilation * (d.kernel - 1) - 1;
    if (room < 0) d.pads[1] -= room;
    s.out_depth = std::max<std::int64_t>(room, 0) / d.stride + 1;
    return s;
}

TEST_CASE("a pooling of any shape is right") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 250; ++seed) {
            random_stream r{seed};
            auto const s = seed % 2 ? random_deep_shape(r) : random_shape(r);
            CAPTURE(isa->name, seed, text_of(s));
            auto const k = codegen::lower(kernels::pool2d_nest(s, *isa), "pool").value();
            auto data = pool_buffers(s, *isa, seed);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(fault(s, *isa, data) == "");
            CHECK(k.live + 1 <= isa->registers);
        }
}

TEST_CASE("windows of pixels of every direction divide by their taps") {
    pool2d_shape s; // planes, rows and pixels of three, windows of three with padding, whatever lies there
    s.channels = 3, s.in = s.out = s.kernel = {3, 3}, s.pads = s.pads_end = {1, 1}, s.average = true;
    s.depth = {3, 3, 1, 1, {1, 1}}, s.out_depth = 3;
    auto const inside = kernels::pool2d_factors(s);
    REQUIRE(inside.size() == 27);
    CHECK(inside[0] == 1.0f / 8);
    CHECK(inside[4] == 1.0f / 18);
    CHECK(inside[13] == 1.0f / 27);
    s.count_pads = true;
    for (auto f : kernels::pool2d_factors(s)) CHECK(f == 1.0f / 27);
}

TEST_CASE("compiled poolings stay within their buffers and are right") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<pool2d_shape> cases;
        for (std::uint64_t seed = 700; seed < 732; ++seed) {
            random_stream r{seed};
            cases.push_back(seed % 2 ? random_deep_shape(r) : random_shape(r));
            kernels.add(codegen::lower(kernels::pool2d_nest(cases.back(), *isa), "pool").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(isa->name, i, text_of(cases[i]));
            auto const last = kernels[i].parallel_extent;
            auto data = pool_buffers(cases[i], *isa, i);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last});
            CHECK(fault(cases[i], *isa, data) == "");
            data = pool_buffers(cases[i], *isa, i);
            kernels.run(i, data, compiled_kernel::guarded::side::begin, {0, last / 2, last});
            CHECK(fault(cases[i], *isa, data) == "");
        }
    }
}

TEST_CASE("poolings of every type are right") {
    constexpr dtype types[] = {dtype::f64, dtype::f16, dtype::bf16, dtype::i8,  dtype::u8, dtype::i16,
                               dtype::u16, dtype::i32, dtype::u32,  dtype::i64, dtype::u64};
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<pool2d_shape> cases;
        for (std::uint64_t seed = 0; seed < 44; ++seed) {
            random_stream r{seed};
            auto& s = cases.emplace_back(seed % 4 ? random_shape(r) : random_deep_shape(r));
            s.element = types[seed % std::size(types)];
            s.average = s.average && is_floating(s.element);
            kernels.add(codegen::lower(kernels::pool2d_nest(s, *isa), "pool").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            auto const& s = cases[i];
            CAPTURE(isa->name, i, text_of(s));
            auto data = pool_buffers(s, *isa, i);
            interpreted_kernel::machine{kernels[i], data}.run(0, kernels[i].parallel_extent);
            CHECK(fault(s, *isa, data) == "");
            CHECK(kernels[i].live + 1 <= isa->registers);
            CHECK(kernels[i].lanes * (byte_size(s.element) > 4 ? 2 : 1) == isa->lanes());
            data = pool_buffers(s, *isa, i);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, kernels[i].parallel_extent});
            CHECK(fault(s, *isa, data) == "");
        }
    }
}

pool2d_shape square(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t out) {
    pool2d_shape s;
    s.channels = 5, s.in = {in, in}, s.kernel = {kernel, kernel}, s.stride = {stride, stride};
    s.pads = s.pads_end = {pad, pad}, s.out = {out, out};
    return s;
}

TEST_CASE("windows wholly on padding have no maximum and no average") {
    auto s = square(2, 2, 2, 2, 3);
    for (auto const average : {false, true}) {
        s.average = average;
        auto const k = codegen::lower(kernels::pool2d_nest(s, isa::avx2), "pool").value();
        auto data = pool_buffers(s, isa::avx2, 1);
        interpreted_kernel::machine{k, data}.run(0, k.parallel_extent);
        CHECK(fault(s, isa::avx2, data) == "");
        auto const corner = data.back()[0];
        CHECK((average ? corner != corner : corner == -infinity));
    }
}

TEST_CASE("a window of the whole image with dilation is no row of pixels") {
    auto s = square(3, 3, 1, 0, 1);
    s.dilation = {2, 2}, s.pads_end = {2, 2};
    auto const k = codegen::lower(kernels::pool2d_nest(s, isa::avx2), "pool").value();
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto data = pool_buffers(s, isa::avx2, seed);
        interpreted_kernel::machine{k, data}.run(0, k.parallel_extent);
        CHECK(fault(s, isa::avx2, data) == "");
    }
}

TEST_CASE("averages divide by the taps inside, or by those on stated padding too") {
    auto s = square(3, 3, 1, 1, 3);
    s.average = true;
    auto const inside = kernels::pool2d_factors(s);
    REQUIRE(inside.size() == 9);
    CHECK(inside[0] == 1.0f / 4);
    CHECK(inside[1] == 1.0f / 6);
    CHECK(inside[4] == 1.0f / 9);
    s.count_pads = true;
    for (auto f : kernels::pool2d_factors(s)) CHECK(f == 1.0f / 9);
    s.pads_end = {0, 1}; // the last row of windows reaches beyond what is stated
    auto const stated = kernels::pool2d_factors(s);
    CHECK(stated[4] == 1.0f / 9);
    CHECK(stated[7] == 1.0f / 6);
}

TEST_CASE("a maximum and an average over a NaN are NaN") {
    auto s = square(4, 2, 2, 0, 2);
    for (auto const* isa : compiled_kernel::sets())
        for (auto const average : {false, true}) {
            s.average = average;
            compiled_kernel::batch kernels{*isa};
            kernels.add(codegen::lower(kernels::pool2d_nest(s, *isa), "pool").value());
            kernels.compile({});
            auto data = pool_buffers(s, *isa, 4);
            auto const l = static_cast<std::size_t>(isa->lanes());
            for (auto pixel : {0, 2, 3, 6, 7}) // one of the first window, all of the second
                data[0][static_cast<std::size_t>(pixel) * l] = std::numeric_limits<double>::quiet_NaN();
            data[0][10 * l] = infinity;
            kernels.run(0, data, compiled_kernel::guarded::side::end, {0, kernels[0].parallel_extent});
            CHECK(fault(s, *isa, data) == "");
            CHECK(data.back()[3 * l] == infinity);
            for (auto touched : {std::size_t{0}, l}) CHECK(data.back()[touched] != data.back()[touched]);
            CHECK(data.back()[2 * l] == data.back()[2 * l]);
        }
}

} // namespace pool2d_test
