#include "catch.hpp"
#include "cost/sample_kernels.hpp"
#include <gsub/cost/kernel_features.hpp>
#include <gsub/cost/scheduled_time.hpp>

#include <array>
#include <string_view>

namespace kernel_features_test {

using namespace gsub;
using namespace sample_kernels;
using cost::kernel_feature;
using enum kernel_feature;

TEST_CASE("features have names of their own, by which they are found") {
    for (std::size_t i = 0; i < cost::kernel_feature_count; ++i) {
        auto const f = static_cast<kernel_feature>(i);
        CHECK(cost::find_kernel_feature(cost::row_of(f).name) == f);
    }
    CHECK(cost::row_of(wake).name == "wake");
    CHECK_FALSE(cost::find_kernel_feature("fms"));
}

TEST_CASE("features of a product are those counted by hand") {
    // 4 x 8 times 8 x 32, in one tile of 4 rows and 2 vectors; a step of k a turn.
    auto const k = kernel_of(product(4, 32, 8), "tile_m=4 tile_n=2 unroll_k=1 tile_k=0");
    INFO(codegen::to_string(k));
    auto const& core = named("zen5");
    auto const f = cost::features_of(k, core);
    CHECK(f[fma].count == 4 * 2 * 8);
    CHECK(f[fma].cycles == 4 * 2 * 8 / 2);
    CHECK(f[load].count == 2 * 8); // each for four rows
    CHECK(f[load].cycles == 2 * 8 / 2);
    CHECK(f[scalar_load].count == 4 * 8);
    CHECK(f[scalar_load].cycles == 4 * 8 / 2);
    CHECK(f[store].count == 4 * 2);
    CHECK(f[store].cycles == 4 * 2);
    // Lines of both operands; those of the result come in before they are written back.
    CHECK(f[l2].count == Approx(4 * 8 * 4 / 64.0 + 8 * 32 * 4 / 64.0 + 1.5 * 4 * 32 * 4 / 64.0));
    CHECK(f[l2].cycles == Approx(f[l2].count * 64 / core.l2_bytes_per_cycle));
    CHECK(f[memory].count == 0);
    CHECK(f[call].count == 1);
    CHECK(f[wake].count == 0);
    CHECK(f.threads == 1);
    CHECK(f.part == 1);
}

TEST_CASE("features of a convolution are those counted by hand") {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = 16;
    s.in = {4, 4}, s.kernel = {1, 1};
    kernels::descriptor const d = s;
    auto const k = counted(d);
    INFO(codegen::to_string(k));
    auto const f = cost::features_of(k, named("zen5"));
    CHECK(f[fma].count == 4 * 4 * 16);         // a vector of channels for each pixel and channel of the input
    CHECK(f[scalar_load].count == 4 * 4 * 16); // each for one vector
    CHECK(f[store].count == 4 * 4);
    CHECK(f[l2].count == Approx(16 * 16 * 4 / 64.0 + 16 * 16 * 4 / 64.0 + 1.5 * 16 * 16 * 4 / 64.0));
    CHECK(f[memory].count == 0);
}

TEST_CASE("cycles of blocks and loops are all that a time counts, and no unit takes longer than its blocks") {
    for (auto const* core : {&named("zen5"), &named("skylake-sp"), &named("zen4")}) {
        kernels::descriptor const d = product(29, 100, 24);
        auto const space = kernels::space_of(d, isa::avx512);
        random_stream random{1};
        for (int i = 0; i < 10; ++i) {
            auto const at = space.at(*space.draw(random));
            auto const k = kernel_of(d, at);
            auto const t = cost::time_of(k, *core);
            auto const f = cost::features_of(k, *core);
            CAPTURE(core->name, loop::to_string(at));
            CHECK(f[ilp].cycles + f[control].cycles == Approx(t.compute));
            CHECK(f[ilp].cycles >= f[fma].cycles * 0.999);
            CHECK(f[ilp].cycles >= f[store].cycles * 0.999);
            CHECK(f[ilp].cycles >= (f[load].cycles + f[scalar_load].cycles) * 0.999);
            CHECK(f[load].count + f[scalar_load].count == Approx(t.loads));
            CHECK(f[control].count > 0);
        }
    }
}

TEST_CASE("lines come from where buffers lie") {
    auto const k = kernel_of(product(1, 2048, 2048), "tile_m=1 tile_n=4 unroll_k=1 tile_k=0");
    std::array<cost::memory_level, 2> const far{cost::memory_level::cache, cost::memory_level::memory};
    auto const f = cost::features_of(k, named("zen5"), {.buffers = far});
    CHECK(f[memory].count == Approx(2048.0 * 2048 * 4 / 64).epsilon(0.1));
    CHECK(f[memory].cycles == Approx(f[memory].count * 64 / named("zen5").memory_bytes_per_second * 4.1e9));
}

TEST_CASE("threads share instructions and lines of their caches, and are woken once") {
    auto const k = kernel_of(product(128, 256, 256), "tile_m=8 tile_n=2 unroll_k=1 tile_k=0");
    auto const one = cost::features_of(k, named("zen5"));
    auto const two = cost::features_of(k, named("zen5"), {.threads = 2, .shared = true});
    CHECK(two.threads == 2);
    CHECK(two.part >= 0.5);
    CHECK(two.part < 0.6);
    CHECK(two[fma].count == one[fma].count);
    CHECK(two[fma].cycles == Approx(two.part * one[fma].cycles));
    CHECK(two[l2].cycles == Approx(one[l2].cycles / 2));
    CHECK(two[wake].count == 1);
    CHECK(two[wake].cycles > two[call].cycles);
}

TEST_CASE("a schedule of machine instructions counts the same instructions, and loops with the blocks") {
    auto const k = kernel_of(product(28, 64, 64), "tile_m=14 tile_n=2 unroll_k=4 tile_k=0");
    auto const& core = named("zen5");
    auto const counted = cost::features_of(k, core);
    auto const t = cost::scheduled_time_of(k, isa::avx512, core).value();
    auto const scheduled = cost::features_of(t, core);
    CHECK(scheduled[fma].count == Approx(counted[fma].count));
    CHECK(scheduled[ilp].cycles == Approx(t.compute));
    CHECK(scheduled[control].cycles == 0);
}

} // namespace kernel_features_test
