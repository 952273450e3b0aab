#include "catch.hpp"
#include "cost/sample_kernels.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/scheduled_time.hpp>

#include <string_view>
#include <vector>

namespace scheduled_time_test {

using namespace gsub;
using namespace sample_kernels;

std::vector<kernels::descriptor> const samples{product(28, 64, 64), product(1, 48, 96), product(29, 100, 24),
                                               convolution(32, 7, 3), convolution(32, 14, 3, 32)};

TEST_CASE("a kernel takes at least the cycles of its multiply-adds, and has the same counts as without a schedule") {
    for (auto const& d : samples)
        for (auto const* core : {&named("zen5"), &named("skylake-sp"), &named("zen3"), &named("generic-sse42")}) {
            auto const space = kernels::space_of(d, *core->isa);
            random_stream random{1};
            for (int i = 0; i < 4; ++i) {
                auto const at = space.at(*space.draw(random));
                auto const k = kernel_of(d, at, *core->isa);
                auto const scheduled = cost::scheduled_time_of(k, *core->isa, *core).value();
                auto const counted = cost::time_of(k, *core);
                CAPTURE(core->name, loop::to_string(at));
                CHECK(scheduled.multiply_adds == Approx(counted.multiply_adds));
                CHECK(scheduled.compute >= 0.97 * scheduled.multiply_adds / core->fma_units);
                CHECK(scheduled.seconds >= scheduled.compute / (core->gigahertz * 1e9));
            }
        }
}

TEST_CASE("tiles of a product reach the part of the units' rate that was measured") {
    struct known {
        std::string_view knobs;
        std::int64_t rows;
        double least, most;
    };
    // Micro-kernels on Zen 5, both panels in the first cache (docs/cost.md).
    for (auto const& [knobs, rows, least, most] : {known{"tile_m=14 tile_n=2 unroll_k=4 tile_k=0", 28, 0.95, 1.0},
                                                   known{"tile_m=6 tile_n=4 unroll_k=4 tile_k=0", 24, 0.95, 1.0},
                                                   known{"tile_m=8 tile_n=1 unroll_k=4 tile_k=0", 24, 0.80, 0.97},
                                                   known{"tile_m=3 tile_n=1 unroll_k=4 tile_k=0", 24, 0.30, 0.50}}) {
        kernels::descriptor const d = product(rows, 64, 1024);
        auto const k = kernel_of(d, knobs);
        auto const t = cost::scheduled_time_of(k, isa::avx512, named("zen5")).value();
        auto const reached = t.multiply_adds / 2 / t.compute;
        CAPTURE(knobs);
        CHECK(reached >= least);
        CHECK(reached <= most);
    }
}

TEST_CASE("a schedule of the same kernel is the same") {
    auto const k = [] {
        kernels::descriptor const d = convolution(32, 14, 3);
        return counted(d);
    }();
    auto const first = cost::scheduled_time_of(k, isa::avx512, named("zen5")).value();
    for (int i = 0; i < 3; ++i) CHECK(cost::scheduled_time_of(k, isa::avx512, named("zen5"))->seconds == first.seconds);
}

TEST_CASE("more threads that share a kernel make it faster") {
    kernels::descriptor const d = product(128, 512, 512);
    auto const k = counted(d);
    auto const seconds = [&](unsigned threads) {
        return cost::scheduled_time_of(k, isa::avx512, named("zen5"), {.threads = threads, .shared = true})->seconds;
    };
    CHECK(seconds(2) < 0.7 * seconds(1));
}

TEST_CASE("kernels that no machine code is made for are refused") {
    kernels::descriptor const d = product(4, 16, 16);
    auto const k = counted(d);
    auto const made = cost::scheduled_time_of(k, isa::baseline, named("generic-avx2"));
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::unsupported);
}

} // namespace scheduled_time_test
