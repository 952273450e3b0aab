#include "catch.hpp"
#include "cost/sample_kernels.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/cost/impl/nest_counts.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/kernels/winograd.hpp>

#include <set>
#include <string>
#include <vector>

namespace nest_time_test {

using namespace gsub;

using sample_kernels::named, sample_kernels::product;

kernels::conv2d_shape convolution(std::int64_t channels, std::int64_t pixels, std::int64_t kernel, std::int64_t stride,
                                  std::int64_t groups = 1) {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = channels, s.groups = groups, s.bias = true;
    s.in = {pixels, pixels}, s.kernel = {kernel, kernel}, s.stride = {stride, stride};
    s.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    return s;
}
kernels::winograd_shape winograd(std::int64_t channels, std::int64_t pixels, std::int64_t m) {
    kernels::winograd_shape s;
    s.conv = convolution(channels, pixels, 3, 1);
    s.m = static_cast<std::int32_t>(m);
    return s;
}

// Points of a kernel's space with what both models say of them.
struct compared {
    std::vector<std::string> points;
    std::vector<cost::kernel_time> counted, closed;
};
compared compare(kernels::descriptor const& d, std::size_t count, microarchitecture const& core) {
    auto const space = kernels::space_of(d, *core.isa);
    random_stream random{3};
    compared out;
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = space.at(*space.draw(random));
        auto const nest = kernels::nest_of(d, at, *core.isa);
        out.points.push_back(loop::to_string(at));
        out.counted.push_back(cost::time_of(codegen::lower(nest, "k").value(), core));
        out.closed.push_back(cost::nest_time_of(nest, core));
    }
    return out;
}

TEST_CASE("distinct values of a sum are counted as brute force counts them, or more where gaps are left") {
    random_stream random{5};
    for (int round = 0; round < 300; ++round) {
        cost::detail::all_steps steps;
        std::set<std::int64_t> values{0};
        auto const terms = 1 + random.below(3);
        for (std::uint64_t t = 0; t < terms; ++t) {
            auto const factor = 1 + static_cast<std::int64_t>(random.below(12));
            auto const count = 1 + static_cast<std::int64_t>(random.below(5));
            steps.push_back({factor, count});
            std::set<std::int64_t> more;
            for (auto const v : values)
                for (std::int64_t i = 0; i < count; ++i) more.insert(v + factor * i);
            values = more;
        }
        CHECK(cost::detail::distinct_values(steps) >= static_cast<double>(values.size()));
    }
    // Pixels of a kernel of three that moves by one and by two, and of one whose channels lie far apart.
    CHECK(cost::detail::distinct_values({{1, 7}, {1, 3}}) == 9);
    CHECK(cost::detail::distinct_values({{2, 7}, {1, 3}}) == 15);
    CHECK(cost::detail::distinct_values({{16, 7}, {16, 3}, {1, 8}}) == 72);
    CHECK(cost::detail::distinct_values({{16, 7}, {3136, 4}}) == 28);
    CHECK(cost::detail::distinct_values({}) == 1);
}

TEST_CASE("the part of positions within bounds is that of brute force") {
    random_stream random{7};
    for (int round = 0; round < 300; ++round) {
        cost::detail::all_steps steps;
        std::vector<std::int64_t> values{0};
        auto const terms = 1 + random.below(3);
        for (std::uint64_t t = 0; t < terms; ++t) {
            auto const factor = 1 + static_cast<std::int64_t>(random.below(6));
            auto const count = 1 + static_cast<std::int64_t>(random.below(6));
            steps.push_back({factor, count});
            std::vector<std::int64_t> more;
            for (auto const v : values)
                for (std::int64_t i = 0; i < count; ++i) more.push_back(v + factor * i);
            values = more;
        }
        auto const low = static_cast<std::int64_t>(random.below(8)) - 2;
        auto const high = low + static_cast<std::int64_t>(random.below(30));
        double within = 0;
        for (auto const v : values) within += v >= low && v < high;
        CHECK(cost::detail::part_between(steps, low, high) == Approx(within / static_cast<double>(values.size())));
    }
}

TEST_CASE("multiply-adds and stores of a nest are those of the kernel that it becomes, whatever tiles leave over") {
    for (kernels::descriptor const& d :
         {kernels::descriptor{product(29, 100, 24)}, kernels::descriptor{product(128, 256, 64)},
          kernels::descriptor{convolution(64, 14, 1, 1)}, kernels::descriptor{convolution(64, 15, 1, 2)},
          kernels::descriptor{convolution(48, 14, 3, 1)}, kernels::descriptor{convolution(32, 13, 3, 2)},
          kernels::descriptor{convolution(32, 14, 3, 1, 32)}, kernels::descriptor{winograd(64, 14, 2)},
          kernels::descriptor{winograd(64, 14, 4)}})
        for (auto const* core : {&named("zen5"), &named("skylake-sp")}) {
            auto const all = compare(d, 12, *core);
            for (std::size_t i = 0; i < all.points.size(); ++i) {
                CAPTURE(kernels::to_string(d), all.points[i], core->name);
                CHECK(all.closed[i].multiply_adds == Approx(all.counted[i].multiply_adds).epsilon(0.03));
                CHECK(all.closed[i].stores == Approx(all.counted[i].stores).epsilon(0.1));
            }
        }
}

TEST_CASE("without borders both models say the same, and rank alike with them") {
    auto const& core = named("zen5");
    for (auto const& s : {product(128, 256, 64), product(64, 768, 96), product(1, 512, 256)}) {
        auto const all = compare(s, 25, core);
        for (std::size_t i = 0; i < all.points.size(); ++i) {
            CAPTURE(s.m, all.points[i]);
            CHECK(all.closed[i].seconds == Approx(all.counted[i].seconds).epsilon(0.12));
            CHECK(all.closed[i].compute == Approx(all.counted[i].compute).epsilon(0.12));
        }
    }
    for (kernels::descriptor const& d :
         {kernels::descriptor{convolution(64, 28, 1, 1)}, kernels::descriptor{convolution(64, 14, 3, 1)},
          kernels::descriptor{winograd(64, 14, 4)}}) {
        auto const all = compare(d, 40, core);
        std::vector<double> counted, closed;
        for (auto const& t : all.counted) counted.push_back(t.seconds);
        for (auto const& t : all.closed) closed.push_back(t.seconds);
        CAPTURE(kernels::to_string(d));
        CHECK(cost::rank_pairs(closed, counted, 0.03).tau() >= 0.65);
    }
}

TEST_CASE("a border of an image takes the part of the steps that it has") {
    auto const& core = named("zen5");
    for (auto const& [pixels, kernel] : {std::pair{7, 3}, std::pair{14, 3}, std::pair{28, 5}}) {
        kernels::descriptor const d = convolution(32, pixels, kernel, 1);
        double taps = 0; // of one channel
        for (int y = 0; y < pixels; ++y)
            for (int k = -kernel / 2; k <= kernel / 2; ++k) taps += y + k >= 0 && y + k < pixels;
        auto const rows = taps / pixels;
        auto const space = kernels::space_of(d, isa::avx512);
        auto const nest = kernels::nest_of(d, kernels::counted(d, isa::avx512, space), isa::avx512);
        CAPTURE(pixels, kernel);
        CHECK(cost::nest_time_of(nest, core).multiply_adds ==
              Approx(32.0 / 16 * 32 * rows * rows * pixels * pixels).epsilon(1e-9));
    }
}

TEST_CASE("more threads share a kernel, and weights in memory take longer") {
    auto const& core = named("zen5");
    kernels::descriptor const d = convolution(128, 28, 3, 1);
    auto const space = kernels::space_of(d, isa::avx512);
    auto const nest = kernels::nest_of(d, kernels::counted(d, isa::avx512, space), isa::avx512);
    cost::memory_level const homes[] = {cost::memory_level::cache, cost::memory_level::memory};
    auto const alone = cost::nest_time_of(nest, core);
    auto const shared = cost::nest_time_of(nest, core, {.threads = 2, .shared = true});
    auto const far = cost::nest_time_of(nest, core, {.buffers = homes});
    CHECK(shared.seconds < 0.7 * alone.seconds);
    CHECK(shared.compute == alone.compute);
    CHECK(far.seconds > alone.seconds);
    CHECK(far.memory_bytes > alone.memory_bytes);
}

TEST_CASE("weights of a Winograd kernel come from memory once, and again where threads leave each other no room") {
    auto core = named("zen1");
    auto const s = winograd(256, 14, 4);
    cost::memory_level const homes[] = {cost::memory_level::cache, cost::memory_level::memory};
    auto const weights = 4.0 * 37 * 256 * 256; // of all parts
    auto const bytes = [&](std::int32_t rows, std::int32_t parts, unsigned threads) {
        kernels::winograd_config c;
        c.rows = rows, c.columns = 4, c.tile = 6, c.vectors = 2, c.unroll_ic = 4, c.parts = parts;
        auto const nest = kernels::winograd_nest(s.conv, c, isa::avx2);
        cost::kernel_setting const setting{.threads = threads, .shared = true, .buffers = homes};
        auto const counted = cost::time_of(codegen::lower(nest, "k").value(), core, setting).memory_bytes;
        auto const closed = cost::nest_time_of(nest, core, setting).memory_bytes;
        CAPTURE(rows, parts, threads);
        CHECK(closed == Approx(counted).epsilon(0.05));
        return counted;
    };
    for (auto const parts : {1, 2, 4})
        for (auto const threads : {1u, 2u}) CHECK(bytes(4, parts, threads) == Approx(weights).epsilon(0.05));
    // Two blocks read each part: half of the weights for one thread, which the last cache keeps; two threads have other
    // halves.
    CHECK(bytes(3, 2, 1) == Approx(weights).epsilon(0.05));
    CHECK(bytes(3, 2, 2) > 1.9 * weights);
    core.l3_bytes *= 4;
    CHECK(bytes(3, 2, 2) == Approx(weights).epsilon(0.05));
}

TEST_CASE("a model of predicted time takes the closed form") {
    target machine;
    machine.isa = &isa::avx512;
    cost::lowered_options options{.threads = 1};
    auto const counted = cost::lowered::on(machine, options);
    options.model = cost::closed_form_cycles();
    auto const closed = cost::lowered::on(machine, options);
    kernels::descriptor const both[] = {convolution(64, 28, 3, 1), winograd(64, 28, 4)};
    CHECK(closed.choose(both, isa::avx512) == counted.choose(both, isa::avx512));
    CHECK(!(closed.parameters() == counted.parameters()));
}

} // namespace nest_time_test
