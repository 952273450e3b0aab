#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/separable.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace separable_test {

using namespace gsub;
using codegen::lower;
using gsub::isa;
using kernels::separable_config;
using kernels::separable_shape;

separable_shape random_shape(random_stream& r) {
    auto const one_of = [&](std::initializer_list<std::int64_t> values) {
        return values.begin()[r.below(values.size())];
    };
    separable_shape s;
    auto& d = s.depthwise;
    d.batch = one_of({1, 1, 2});
    d.in_channels = d.out_channels = d.groups = one_of({2, 17, 24, 40});
    for (std::size_t i = 0; i < 2; ++i) {
        d.kernel[i] = one_of({1, 3, 3, 5});
        d.stride[i] = one_of({1, 1, 2});
        d.dilation[i] = one_of({1, 1, 2});
        d.pads[i] = one_of({0, 1, 2}), d.pads[i + 2] = one_of({0, 1, 2});
        d.in[i] = std::max(static_cast<std::int64_t>(1 + r.below(20)),
                           d.dilation[i] * (d.kernel[i] - 1) + 1 - d.pads[i] - d.pads[i + 2]);
    }
    d.bias = r.below(2) == 0, d.low = 0, d.high = r.below(2) ? 6 : 1e300;
    auto& p = s.pointwise;
    p.batch = d.batch, p.in = {d.out(0), d.out(1)};
    p.in_channels = d.out_channels, p.out_channels = one_of({1, 17, 24, 48});
    p.bias = r.below(2) == 0, p.residual = r.below(2) == 0;
    if (r.below(3) == 0) p.low = -5;
    using loop::scalar_op;
    if (r.below(3) == 0) d.epilogue = {{scalar_op::subtract, 0, -1, 2}, {scalar_op::maximum, 0, 1, 0}};
    if (r.below(3) == 0) p.arrays = 1, p.epilogue = {{scalar_op::negate, 0, -1, 0}, {scalar_op::add, 1, 2, 0}};
    return s;
}
separable_config random_config(random_stream& r, separable_shape const& s, isa const& isa) {
    separable_config c;
    c.rows = static_cast<std::int64_t>(1 + r.below(static_cast<std::uint64_t>(s.pointwise.in[0])));
    c.depthwise.tile_ow = static_cast<std::int32_t>(1 + r.below(8));
    c.depthwise.tile_oh = static_cast<std::int32_t>(1 + r.below(2));
    c.depthwise.unroll_kh = r.below(2) == 0;
    c.pointwise.tile_ow = static_cast<std::int32_t>(1 + r.below(14));
    c.pointwise.tile_oc = static_cast<std::int32_t>(1 + r.below(3));
    c.pointwise.unroll_ic = std::min(1 << r.below(3), isa.lanes());
    c.pointwise.oc_inner = r.below(2) == 0;
    return c;
}

// The two convolutions one after the other, on random numbers.
struct problem {
    interpret::arrays data; // of the fused kernel; its result is not there yet
    std::vector<double> expected;

    problem(separable_shape const& s, isa const& isa, std::uint64_t seed) {
        random_stream r{seed};
        auto const kernel_of = [&](kernels::conv2d_shape const& c) {
            return lower(kernels::conv2d_nest(c, kernels::default_config(c, isa), isa), "conv").value();
        };
        auto const run = [&](codegen::kernel const& k, std::vector<double> const* image) {
            interpret::arrays own;
            for (auto const& b : k.buffers) {
                auto& v = own.emplace_back(static_cast<std::size_t>(b.elements()), interpret::untouched);
                if (!b.written)
                    for (auto& x : v) x = static_cast<double>(r.below(9)) - 4;
            }
            if (image) own[0] = *image;
            interpreted_kernel::machine m{k, own};
            m.run(0, k.parallel_extent);
            data.insert(data.end(), own.begin() + (image ? 1 : 0), own.end() - 1);
            return own.back();
        };
        auto const hidden = run(kernel_of(s.depthwise), nullptr);
        expected = run(kernel_of(s.pointwise), &hidden);
        data.emplace_back(expected.size(), interpret::untouched);
    }
    // With room for what the kernel keeps to itself.
    [[nodiscard]] interpret::arrays buffers(codegen::kernel const& k) const {
        auto out = data;
        for (auto i = out.size(); i < k.buffers.size(); ++i)
            out.emplace_back(static_cast<std::size_t>(k.buffers[i].elements()), interpret::untouched);
        return out;
    }
};

TEST_CASE("one kernel of both convolutions computes what two compute, bit by bit, whatever its knobs") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 120; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = random_config(r, s, *isa);
            CAPTURE(isa->name, seed, c.rows);
            problem const p{s, *isa, seed};
            auto const k = lower(kernels::separable_nest(s, c, *isa), "separable").value();
            auto data = p.buffers(k);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            auto const y = p.data.size() - 1;
            CHECK(data[y] == p.expected);
            auto const& written = m.written(y);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("compiled separable convolutions stay within their buffers and are right") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<separable_shape> cases;
        for (std::uint64_t seed = 500; seed < 512; ++seed) {
            random_stream r{seed};
            auto const& s = cases.emplace_back(random_shape(r));
            kernels.add(lower(kernels::separable_nest(s, random_config(r, s, *isa), *isa), "separable").value());
        }
        kernels.compile({"-O1"});
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(isa->name, i);
            problem const p{cases[i], *isa, i};
            auto const last = kernels[i].parallel_extent;
            auto const y = p.data.size() - 1;
            for (auto const side : {compiled_kernel::guarded::side::end, compiled_kernel::guarded::side::begin}) {
                auto data = p.buffers(kernels[i]);
                kernels.run(i, data, side, {0, last / 2, last});
                CHECK(data[y] == p.expected);
            }
        }
    }
}

TEST_CASE("a configuration is chosen for images of many rows only, and is right") {
    separable_shape s;
    s.depthwise.in_channels = s.depthwise.out_channels = s.depthwise.groups = 32;
    s.depthwise.in = {56, 9}, s.depthwise.kernel = {3, 3}, s.depthwise.pads = {1, 1, 1, 1};
    s.pointwise.in = s.depthwise.in, s.pointwise.in_channels = 32, s.pointwise.out_channels = 16;
    auto const c = kernels::choose_separable(s, isa::avx512);
    REQUIRE(c);
    problem const p{s, isa::avx512, 1};
    auto const k = lower(kernels::separable_nest(s, *c, isa::avx512), "separable").value();
    auto data = p.buffers(k);
    interpreted_kernel::machine{k, data}.run(0, k.parallel_extent);
    CHECK(data[p.data.size() - 1] == p.expected);
    s.depthwise.in = s.pointwise.in = {3, 9};
    CHECK_FALSE(kernels::choose_separable(s, isa::avx512));
}

TEST_CASE("what is no separable convolution, or a knob that does not apply, is refused") {
    separable_shape s;
    s.depthwise.in_channels = s.depthwise.out_channels = s.depthwise.groups = 4;
    s.depthwise.in = s.pointwise.in = {5, 5};
    s.pointwise.in_channels = s.pointwise.out_channels = 4;
    separable_config c;
    CHECK_NOTHROW(kernels::separable_nest(s, c, isa::avx2));
    auto const refused = [&](auto&& change) {
        auto shape = s;
        auto config = c;
        change(shape, config);
        CHECK_THROWS_AS(kernels::separable_nest(shape, config, isa::avx2), error);
    };
    refused([](auto& shape, auto&) { shape.pointwise.stride = {2, 2}; });
    refused([](auto& shape, auto&) { shape.pointwise.in_channels = 5; });
    refused([](auto& shape, auto&) { shape.pointwise.in = {4, 5}; });
    refused([](auto& shape, auto&) { shape.depthwise.groups = 2; });
    refused([](auto& shape, auto&) { shape.depthwise.residual = true; });
    refused([](auto& shape, auto&) { shape.depthwise.depth.in = shape.pointwise.depth.in = 2; });
    refused([](auto& shape, auto&) { shape.pointwise.depth.in = 2; });
    refused([](auto&, auto& config) { config.rows = 0; });
    refused([](auto&, auto& config) { config.pointwise.unroll_ic = 3; });
}

} // namespace separable_test
