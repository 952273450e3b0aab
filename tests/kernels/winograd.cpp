#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/kernels/winograd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace winograd_test {

using namespace gsub;
using codegen::lower;
using gsub::isa;
using kernels::conv2d_shape;
using kernels::winograd_accuracy;
using kernels::winograd_config;

constexpr auto infinite = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

// Numbers that are about normally distributed.
float normal(random_stream& r) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(r.below(1u << 20)) / (1u << 20);
    return static_cast<float>(sum);
}

// A convolution and its operands in the order of frameworks.
struct problem {
    conv2d_shape s;
    std::vector<float> x, w, bias, residual; // NCHW, OIHW, C, NCHW
    std::vector<float> added;                // as the residual, behind the bounds

    problem(conv2d_shape const& shape, std::uint64_t seed) : s(shape) {
        random_stream r{seed};
        auto const scale = static_cast<float>(std::sqrt(2.0 / static_cast<double>(9 * s.in_channels)));
        auto const fill = [&](std::vector<float>& v, std::int64_t n, float by) {
            for (; n > 0; --n) v.push_back(normal(r) * by);
        };
        fill(x, s.batch * s.in_channels * s.in[0] * s.in[1], 1);
        fill(w, s.out_channels * s.in_channels * 9, scale);
        if (s.bias) fill(bias, s.out_channels, 1);
        if (s.residual) fill(residual, s.batch * s.out_channels * s.out(0) * s.out(1), 1);
        if (s.arrays) fill(added, s.batch * s.out_channels * s.out(0) * s.out(1), 1);
    }

    // The definition of the operator, [N, C, H, W].
    [[nodiscard]] std::vector<double> expected() const {
        std::vector<double> y;
        for (std::int64_t n = 0; n < s.batch; ++n)
            for (std::int64_t o = 0; o < s.out_channels; ++o)
                for (std::int64_t oy = 0; oy < s.out(0); ++oy)
                    for (std::int64_t ox = 0; ox < s.out(1); ++ox) {
                        double sum = s.bias ? static_cast<double>(bias[at(o)]) : 0;
                        for (std::int64_t i = 0; i < s.in_channels; ++i)
                            for (std::int64_t k = 0; k < 9; ++k) {
                                auto const iy = oy + k / 3 - s.pads[0], ix = ox + k % 3 - s.pads[1];
                                if (iy < 0 || iy >= s.in[0] || ix < 0 || ix >= s.in[1]) continue;
                                sum += static_cast<double>(
                                           x[at(((n * s.in_channels + i) * s.in[0] + iy) * s.in[1] + ix)]) *
                                       static_cast<double>(w[at((o * s.in_channels + i) * 9 + k)]);
                            }
                        if (s.residual) sum += static_cast<double>(residual[y.size()]);
                        sum = std::clamp(sum, s.low > -1e300 ? s.low : -infinite, s.high < 1e300 ? s.high : infinite);
                        if (s.arrays) sum = 0.5 * sum + static_cast<double>(added[y.size()]);
                        y.push_back(sum);
                    }
        return y;
    }

    // [N, C/l, H, W, l], channels filled up with zeros.
    static std::vector<double> blocked(std::vector<float> const& from, std::int64_t batch, std::int64_t channels,
                                       std::int64_t area, std::int64_t l) {
        auto const blocks = (channels + l - 1) / l;
        std::vector<double> out(at(batch * blocks * area * l));
        for (std::int64_t n = 0; n < batch; ++n)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t p = 0; p < area; ++p)
                    out[at(((n * blocks + c / l) * area + p) * l + c % l)] =
                        static_cast<double>(from[at((n * channels + c) * area + p)]);
        return out;
    }
    // Contents of a kernel's buffers; what is written starts as a mark, scratch memory as NaN.
    [[nodiscard]] interpret::arrays buffers(codegen::kernel const& k, std::vector<float> const& packed,
                                            isa const& isa) const {
        std::int64_t const l = isa.lanes(), out_area = s.out(0) * s.out(1);
        interpret::arrays out{blocked(x, s.batch, s.in_channels, s.in[0] * s.in[1], l), {packed.begin(), packed.end()}};
        if (s.bias) out.push_back(blocked(bias, 1, s.out_channels, 1, l));
        if (s.residual) out.push_back(blocked(residual, s.batch, s.out_channels, out_area, l));
        if (s.arrays) out.push_back(blocked(added, s.batch, s.out_channels, out_area, l));
        while (out.size() < k.buffers.size()) {
            auto const& b = k.buffers[out.size()];
            out.emplace_back(at(b.elements()),
                             b.workspace ? std::numeric_limits<double>::quiet_NaN() : interpret::untouched);
        }
        return out;
    }
    static std::size_t output_of(codegen::kernel const& k) {
        std::size_t i = 0;
        while (k.buffers[i].name != "y") ++i;
        return i;
    }

    // Greatest and mean difference from the definition, over the root of the mean square.
    struct distance {
        double most = 0, mean = 0;
    };
    [[nodiscard]] distance error_of(std::vector<double> const& y, isa const& isa) const {
        std::int64_t const l = isa.lanes(), blocks = (s.out_channels + l - 1) / l, area = s.out(0) * s.out(1);
        auto const want = expected();
        distance d;
        double square = 0;
        for (std::int64_t n = 0; n < s.batch; ++n)
            for (std::int64_t c = 0; c < s.out_channels; ++c)
                for (std::int64_t p = 0; p < area; ++p) {
                    auto const e = want[at((n * s.out_channels + c) * area + p)];
                    auto const off = std::abs(y[at(((n * blocks + c / l) * area + p) * l + c % l)] - e);
                    d.most = off <= d.most ? d.most : off; // NaN too
                    d.mean += off;
                    square += e * e;
                }
        auto const count = static_cast<double>(want.size());
        auto const root = std::sqrt(square / count) + 1e-9;
        return {d.most / root, d.mean / count / root};
    }
};

std::string text_of(conv2d_shape const& s, winograd_config const& c) {
    std::string out;
    for (auto v : {s.batch, s.in_channels, s.out_channels, s.in[0], s.in[1], s.pads[0], s.pads[1], s.pads[2], s.pads[3],
                   std::int64_t{s.bias}, std::int64_t{s.residual}})
        out += std::to_string(v) + " ";
    for (auto v : {c.m, c.rows, c.columns, c.tile, c.vectors, c.unroll_ic, c.parts}) out += ", " + std::to_string(v);
    if (c.points_outer) out += ", points outer";
    return out;
}

conv2d_shape random_shape(random_stream& r, isa const& isa) {
    auto const one_of = [&](std::initializer_list<std::int64_t> of) { return of.begin()[r.below(of.size())]; };
    std::int64_t const l = isa.lanes();
    conv2d_shape s;
    s.kernel = {3, 3};
    s.batch = one_of({1, 1, 2});
    for (std::size_t d = 0; d < 2; ++d) {
        s.in[d] = static_cast<std::int64_t>(1 + r.below(d ? 20 : 14));
        s.pads[d] = one_of({0, 1, 1, 2, 3});
        s.pads[d + 2] = one_of({0, 1, 1, 2, 3});
        s.in[d] = std::max(s.in[d], 3 - s.pads[d] - s.pads[d + 2]);
    }
    s.in_channels = one_of({1, 3, l, l + 1});
    s.out_channels = one_of({1, 3, l, 2 * l + 1, 3 * l});
    s.bias = r.below(2), s.residual = r.below(2);
    if (r.below(2)) s.low = 0;
    if (r.below(3) == 0) s.high = 1;
    using loop::scalar_op;
    if (r.below(4) == 0) s.arrays = 1, s.epilogue = {{scalar_op::multiply, 0, -1, 0.5}, {scalar_op::add, 2, 1, 0}};
    return s;
}
winograd_config random_config(random_stream& r, conv2d_shape const& s, isa const& isa) {
    auto const up_to = [&](std::int64_t n) {
        return static_cast<std::int32_t>(1 + r.below(static_cast<std::uint64_t>(n)));
    };
    winograd_config c;
    c.m = r.below(2) ? 4 : 2;
    auto const rows = (s.out(0) + c.m - 1) / c.m, columns = (s.out(1) + c.m - 1) / c.m;
    c.columns = static_cast<std::int32_t>(columns);
    if (r.below(3) == 0)
        c.columns = up_to(columns);
    else
        c.rows = up_to(rows);
    c.tile = up_to(6);
    c.vectors = up_to(3);
    c.unroll_ic = std::min(1 << r.below(3), isa.lanes());
    auto const blocks = (s.out_channels + isa.lanes() - 1) / isa.lanes();
    c.parts = up_to((blocks + c.vectors - 1) / c.vectors);
    c.points_outer = r.below(2) == 1;
    return c;
}

TEST_CASE("a Winograd kernel of any shape and any knobs computes the convolution") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 120; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = random_config(r, s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            problem const p{s, seed};
            auto const k = lower(kernels::winograd_nest(s, c, *isa), "winograd").value();
            auto data = p.buffers(k, kernels::pack_winograd_weights(s, c, p.w, *isa), *isa);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            auto const y = problem::output_of(k);
            CHECK(p.error_of(data[y], *isa).most < 1e-5); // of rounded weights
            auto const& written = m.written(y);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("compiled Winograd kernels stay within their buffers, cut anywhere") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<problem> problems;
        std::vector<winograd_config> configs;
        for (std::uint64_t seed = 700; kernels.size() < 10; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = kernels.size() % 2 ? kernels::default_winograd(s, *isa, kernels.size() % 4 == 1 ? 2 : 4)
                                              : random_config(r, s, *isa);
            kernels.add(lower(kernels::winograd_nest(s, c, *isa), "winograd").value());
            problems.emplace_back(s, seed);
            configs.push_back(c);
        }
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i)
            for (auto flush : {compiled_kernel::guarded::side::begin, compiled_kernel::guarded::side::end}) {
                auto const& p = problems[i];
                CAPTURE(isa->name, text_of(p.s, configs[i]));
                auto data = p.buffers(kernels[i], kernels::pack_winograd_weights(p.s, configs[i], p.w, *isa), *isa);
                auto const last = kernels[i].parallel_extent;
                kernels.run(i, data, flush, {0, last / 3, last / 3, last / 2, last});
                CHECK(p.error_of(data[problem::output_of(kernels[i])], *isa).most < 1e-4);
            }
    }
}

// A problem with NaN, infinities and large numbers in its input, corners among them, and zeros among its weights.
problem special_problem(std::uint64_t seed, conv2d_shape const& s) {
    problem p{s, seed};
    random_stream r{seed + 1};
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    constexpr float specials[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 1e30f, -1e36f, 3e38f};
    for (auto n = 1 + r.below(3); n > 0; --n) {
        auto const kind = r.below(4);
        auto const image = r.below(p.x.size() / at(s.in[0] * s.in[1])) * at(s.in[0] * s.in[1]);
        auto const place = kind == 0 ? 0 : kind == 1 ? at(s.in[0] * s.in[1] - 1) : r.below(at(s.in[0] * s.in[1]));
        p.x[image + place] = specials[r.below(6)];
    }
    for (auto& w : p.w)
        if (auto const k = r.below(6); k < 2) w = k == 0 ? 0.0f : w * 1e-9f;
    return p;
}
// What is not as the definition has it: NaN, infinities, numbers beyond an error relative to the largest one. Where
// sums of what is finite come near the largest float, their order decides.
std::string fault_of(problem const& p, std::vector<double> const& y, isa const& isa) {
    auto absolute = p;
    for (auto* of : {&absolute.x, &absolute.w, &absolute.bias, &absolute.residual, &absolute.added})
        for (auto& v : *of) v = std::isfinite(v) ? std::abs(v) : 0;
    absolute.s.low = -1e300, absolute.s.high = 1e300;
    auto const want = p.expected(), size = absolute.expected();
    constexpr double near = 1e38, beyond = 1e39;
    auto const largest = *std::max_element(size.begin(), size.end());
    std::int64_t const l = isa.lanes(), blocks = (p.s.out_channels + l - 1) / l, area = p.s.out(0) * p.s.out(1);
    for (std::size_t i = 0; i < want.size(); ++i) {
        auto const n = static_cast<std::int64_t>(i) / area / p.s.out_channels,
                   c = static_cast<std::int64_t>(i) / area % p.s.out_channels, e = static_cast<std::int64_t>(i) % area;
        auto const got = y[at(((n * blocks + c / l) * area + e) * l + c % l)];
        auto const right = want[i] != want[i]             ? got != got
                           : size[i] >= near              ? std::abs(want[i]) < beyond || !std::isfinite(got)
                           : std::abs(want[i]) < infinite ? std::abs(got - want[i]) <= 1e-4 * largest
                                                          : got == want[i];
        if (!right) return std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(want[i]);
    }
    return {};
}

TEST_CASE("NaN and infinities come out where sums of products have them, and nothing else of a tile changes") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 300; seed < 340; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r, *isa);
            auto const c = random_config(r, s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            auto const p = special_problem(seed, s);
            auto const k = lower(kernels::winograd_nest(s, c, *isa), "winograd").value();
            auto data = p.buffers(k, kernels::pack_winograd_weights(s, c, p.w, *isa), *isa);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            auto const y = problem::output_of(k);
            CHECK(fault_of(p, data[y], *isa) == "");
        }
}

TEST_CASE("compiled Winograd kernels have NaN and infinities where sums of products have them") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<conv2d_shape> shapes;
        std::vector<winograd_config> configs;
        for (std::uint64_t seed = 800; kernels.size() < 10; ++seed) {
            random_stream r{seed};
            shapes.push_back(random_shape(r, *isa));
            configs.push_back(kernels.size() % 2
                                  ? kernels::default_winograd(shapes.back(), *isa, kernels.size() % 4 == 1 ? 2 : 4)
                                  : random_config(r, shapes.back(), *isa));
            kernels.add(lower(kernels::winograd_nest(shapes.back(), configs.back(), *isa), "winograd").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i)
            for (std::uint64_t seed = 0; seed < 30; ++seed) {
                CAPTURE(isa->name, seed, text_of(shapes[i], configs[i]));
                auto const p = special_problem(seed, shapes[i]);
                auto data = p.buffers(kernels[i], kernels::pack_winograd_weights(p.s, configs[i], p.w, *isa), *isa);
                auto const last = kernels[i].parallel_extent;
                kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last / 2, last});
                CHECK(fault_of(p, data[problem::output_of(kernels[i])], *isa) == "");
            }
    }
}

TEST_CASE("weights are transformed if they are finite and not huge") {
    for (auto const w : {0.0f, -1.0f, 1e30f, -1e-40f}) CHECK(kernels::winograd_holds(std::vector{1.0f, w}));
    for (auto const w : {std::numeric_limits<float>::quiet_NaN(), static_cast<float>(infinite), -2e30f})
        CHECK_FALSE(kernels::winograd_holds(std::vector{1.0f, w}));
}

TEST_CASE("errors are a small multiple of the direct kernel's") {
    auto const& isa = *compiled_kernel::sets().back();
    conv2d_shape s;
    s.in_channels = 64, s.out_channels = 32, s.in = {28, 28}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    compiled_kernel::batch kernels{isa};
    auto const f2 = kernels::default_winograd(s, isa, 2), f4 = kernels::default_winograd(s, isa, 4);
    kernels.add(lower(kernels::conv2d_nest(s, kernels::default_config(s, isa), isa), "direct").value());
    kernels.add(lower(kernels::winograd_nest(s, f2, isa), "f2").value());
    kernels.add(lower(kernels::winograd_nest(s, f4, isa), "f4").value());
    kernels.compile();
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        problem const p{s, seed};
        std::vector<float> const weights[] = {kernels::pack_conv2d_weights(s, p.w, isa),
                                              kernels::pack_winograd_weights(s, f2, p.w, isa),
                                              kernels::pack_winograd_weights(s, f4, p.w, isa)};
        problem::distance error[3];
        for (std::size_t i = 0; i < 3; ++i) {
            auto data = p.buffers(kernels[i], weights[i], isa);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, kernels[i].parallel_extent});
            error[i] = p.error_of(data[problem::output_of(kernels[i])], isa);
        }
        CAPTURE(error[0].mean, error[1].mean, error[2].mean, error[0].most, error[1].most, error[2].most);
        CHECK(error[1].mean <= 1.2 * error[0].mean);
        CHECK(error[1].most <= 2 * error[0].most);
        CHECK(error[2].mean <= 3 * error[0].mean);
        CHECK(error[2].most <= 6 * error[0].most);
    }
}

TEST_CASE("what is chosen applies, keeps to the accuracy asked for, and fits the registers") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512, &isa::neon})
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            random_stream r{seed};
            auto s = random_shape(r, *isa);
            s.in_channels = static_cast<std::int64_t>(1 + r.below(200));
            s.out_channels = static_cast<std::int64_t>(1 + r.below(200));
            if (r.below(8) == 0) s.stride = {2, 2};
            if (r.below(8) == 0) s.input = kernels::image_layout::planar;
            auto const threads = static_cast<std::uint32_t>(1 + r.below(4));
            for (auto const accuracy : {winograd_accuracy::off, winograd_accuracy::f2, winograd_accuracy::f4}) {
                kernels::winograd_options o;
                o.accuracy = accuracy, o.threads = threads;
                auto const c = kernels::choose_winograd(s, *isa, o);
                if (!c) continue;
                CAPTURE(isa->name, seed, text_of(s, *c));
                CHECK(kernels::winograd_applies(s));
                CHECK(accuracy != winograd_accuracy::off);
                CHECK((c->m == 2 || accuracy == winograd_accuracy::f4));
                CHECK(kernels::winograd_cycles(s, *c, *isa, o) < kernels::direct_cycles(s, *isa, o));
                CHECK(c->tile * c->vectors + c->vectors + 1 <= isa->registers);
            }
        }
}

TEST_CASE("candidates are the default and others, each once, that the space allows") {
    for (auto const* isa : {&isa::avx2, &isa::avx512, &isa::neon})
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            random_stream r{seed};
            auto s = random_shape(r, *isa);
            s.in_channels = static_cast<std::int64_t>(1 + r.below(200));
            s.out_channels = static_cast<std::int64_t>(1 + r.below(200));
            auto const m = r.below(2) == 0 ? 2 : 4;
            auto const most = static_cast<std::size_t>(1 + r.below(12));
            kernels::winograd_options o;
            o.threads = static_cast<std::uint32_t>(1 + r.below(4));
            if (!kernels::winograd_applies(s)) continue;
            auto const all = kernels::winograd_candidates(s, *isa, m, o, most);
            REQUIRE(!all.empty());
            CHECK(all.size() <= most);
            CHECK(all.front() == kernels::default_winograd(s, *isa, m, o));
            auto const space = kernels::space_of(kernels::winograd_shape{s, m}, *isa);
            for (auto const& c : all) {
                CAPTURE(isa->name, seed, text_of(s, c));
                CHECK(std::ranges::count(all, c) == 1);
                CHECK(c.m == m);
                auto point = space.at(0);
                kernels::set_knobs(point, c);
                CHECK(space.allows(point));
            }
        }
}

TEST_CASE("layers with many channels and pixels are done in tiles of 4 x 4, few pixels and many weights are not") {
    conv2d_shape s;
    s.in_channels = s.out_channels = 64, s.in = {56, 56}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    auto const chosen = [&] {
        auto const c = kernels::choose_winograd(s, isa::avx512, {.threads = 2});
        return c ? c->m : 0;
    };
    CHECK(chosen() == 4);
    s.in_channels = s.out_channels = 512, s.in = {7, 7};
    CHECK(chosen() != 4);
}

std::string refusal(conv2d_shape const& s, winograd_config const& c) {
    try {
        static_cast<void>(kernels::winograd_nest(s, c, isa::avx2));
    } catch (error const& e) { return std::string{to_string(e.code())}; }
    return {};
}

TEST_CASE("what the second level does not hold is read once for all output channels, where these are many") {
    auto const by_points = [](std::int64_t in, std::int64_t out, std::int64_t pixels, std::uint64_t l2,
                              double l3_rate = 10) {
        conv2d_shape s;
        s.in_channels = in, s.out_channels = out, s.in = {pixels, pixels}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
        return kernels::default_winograd(s, isa::avx512, 4,
                                         {.threads = 2, .l2_bytes = l2, .l3_bytes_per_cycle = l3_rate})
            .points_outer;
    };
    CHECK(by_points(1024, 324, 38, 2 << 20));
    CHECK_FALSE(by_points(1024, 324, 38, 64 << 20)); // all of it is held
    CHECK_FALSE(by_points(1024, 16, 38, 2 << 20));   // read once in any case
    CHECK_FALSE(by_points(64, 64, 56, 2 << 20));
    CHECK_FALSE(by_points(1024, 324, 38, 2 << 20, 25)); // a fast last cache brings it beside the products
}

TEST_CASE("convolutions and knobs to which it does not apply are refused") {
    conv2d_shape s;
    s.in_channels = s.out_channels = 16, s.in = {9, 9}, s.kernel = {3, 3};
    auto const c = kernels::default_winograd(s, isa::avx2, 4);
    CHECK(refusal(s, c) == "");
    for (auto change : {0, 1, 2, 3, 4, 5}) {
        auto other = s;
        if (change == 0) other.stride = {1, 2};
        if (change == 1) other.dilation = {2, 1};
        if (change == 2) other.kernel = {3, 1};
        if (change == 3) other.groups = 2;
        if (change == 4) other.input = kernels::image_layout::planar;
        if (change == 5) other.depth.in = 4;
        CHECK(refusal(other, c) == "not supported");
    }
    for (auto change : {0, 1, 2, 3, 4, 5}) {
        auto other = c;
        if (change == 0) other.m = 3;
        if (change == 1) other.rows = 3;
        if (change == 2) other.columns = 3;
        if (change == 3) other.parts = 100;
        if (change == 4) other.unroll_ic = 3;
        if (change == 5) other.rows = 2, other.columns = 1;
        CHECK(refusal(s, other) == "usage");
    }
}

} // namespace winograd_test
