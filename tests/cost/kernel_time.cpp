#include "catch.hpp"
#include "cost/sample_kernels.hpp"
#include <gsub/cost/kernel_time.hpp>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace kernel_time_test {

using namespace gsub;
using namespace sample_kernels;

double seconds(kernels::descriptor const& d, cost::kernel_setting const& setting = {}) {
    return cost::time_of(counted(d), named("zen5"), setting).seconds;
}

TEST_CASE("multiplications of a product are those of its vectors of columns, whatever its tiles leave over") {
    for (auto const& s : {product(64, 64, 32), product(7, 48, 96), product(1, 40, 16), product(29, 100, 24)}) {
        kernels::descriptor const d = s;
        auto const space = kernels::space_of(d, isa::avx512);
        auto const vectors = static_cast<double>((s.n + 15) / 16 * s.m * s.k);
        random_stream random{1};
        for (int i = 0; i < 10; ++i) {
            auto const point = space.at(*space.draw(random));
            CAPTURE(s.m, s.n, s.k, loop::to_string(point));
            CHECK(cost::time_of(kernel_of(d, point), named("zen5")).multiply_adds == Approx(vectors));
            // Two passes a vector where units are half as wide.
            CHECK(cost::time_of(kernel_of(d, point), named("zen4")).multiply_adds == Approx(2 * vectors));
        }
    }
}

TEST_CASE("taps on the border of an image do not count") {
    for (auto const& [pixels, kernel] : {std::pair{7, 3}, std::pair{14, 3}, std::pair{28, 5}}) {
        auto const s = convolution(32, pixels, kernel);
        double taps = 0; // of one channel
        for (int y = 0; y < pixels; ++y)
            for (int k = -kernel / 2; k <= kernel / 2; ++k) taps += y + k >= 0 && y + k < pixels;
        auto const rows = taps / pixels; // a pixel of a column
        CAPTURE(pixels, kernel);
        auto const done = cost::time_of(counted(s), named("zen5")).multiply_adds;
        CHECK(done == Approx(32.0 / 16 * 32 * rows * rows * pixels * pixels).epsilon(0.02));
    }
}

TEST_CASE("a kernel takes at least what its multiplications take, and not much more where they are many") {
    for (kernels::descriptor const& d :
         {kernels::descriptor{product(128, 768, 768)}, kernels::descriptor{convolution(128, 28, 3)},
          kernels::descriptor{convolution(256, 14, 1)}}) {
        auto const& core = named("zen5");
        auto const t = cost::time_of(counted(d), core);
        auto const least = t.multiply_adds / core.fma_units;
        CHECK(t.compute >= least * 0.999);
        CHECK(t.compute <= least * 1.15);
        CHECK(t.seconds >= least / (core.gigahertz * 1e9));
    }
}

TEST_CASE("one chain of accumulators waits for itself, many do not") {
    kernels::descriptor const d = product(64, 64, 256);
    auto const space = kernels::space_of(d, isa::avx512);
    auto const taken = [&](int rows, int columns) {
        auto point = space.at(0);
        kernels::set_knobs(point, kernels::matmul_config{rows, columns, 1});
        return cost::time_of(kernel_of(d, point), named("zen5")).compute;
    };
    CHECK(taken(1, 1) > 2 * taken(8, 2));
    CHECK(taken(4, 2) > taken(8, 2));
}

TEST_CASE("bytes come from the cache that holds them") {
    auto const& core = named("zen5");
    auto const small = cost::time_of(counted(product(64, 64, 64)), core); // 48 KiB in all
    CHECK(small.l3_bytes < 64 * 64 * 4 * 2);
    CHECK(small.memory_bytes == 0);
    // A matrix of 16 MiB, of which every element is read once.
    auto const wide = counted(product(1, 2048, 2048));
    std::array<cost::memory_level, 2> homes{cost::memory_level::cache, cost::memory_level::last};
    auto const near = cost::time_of(wide, core, {.buffers = homes});
    CHECK(near.l3_bytes == Approx(2048.0 * 2048 * 4).epsilon(0.1));
    CHECK(near.memory_bytes == 0);
    auto const half = cost::time_of(wide, core, {.buffers = homes, .lost = 0.5});
    CHECK(half.memory_bytes == Approx(2048.0 * 2048 * 2).epsilon(0.1));
    CHECK(half.seconds > near.seconds);
    homes[1] = cost::memory_level::memory;
    auto const far = cost::time_of(wide, core, {.buffers = homes});
    CHECK(far.memory_bytes == Approx(2048.0 * 2048 * 4).epsilon(0.1));
    CHECK(far.seconds > near.seconds);
    CHECK(far.seconds >= 2048.0 * 2048 * 4 / core.memory_bytes_per_second);
}

TEST_CASE("what blocks of one loop read of different weights counts for each of them") {
    // The columns of a padded window are blocks of their own, as some reach beyond the image.
    for (std::int64_t const stride : {1, 2}) {
        auto s = convolution(256, 14, 3);
        s.stride = {stride, stride};
        CAPTURE(stride);
        std::array<cost::memory_level, 2> const homes{cost::memory_level::cache, cost::memory_level::last};
        auto const made = cost::time_of(counted(s), named("zen5"), {.buffers = homes});
        CHECK(made.l3_bytes == Approx(256.0 * 256 * 9 * 4).epsilon(0.1));
    }
}

TEST_CASE("two parts of a kernel read the weights that one does, tails or none") {
    // The last of the eight groups of channels has a vector less, so that each part is a side of a branch.
    for (std::int64_t const channels : {512, 496}) {
        auto s = convolution(256, 19, 3);
        s.out_channels = channels;
        auto const bytes_in = [&](std::int32_t parts) {
            kernels::winograd_config const knobs{
                .m = 4, .rows = 5, .columns = 5, .tile = 5, .vectors = 4, .unroll_ic = 4, .parts = parts};
            auto const k = codegen::lower(kernels::winograd_nest(s, knobs, isa::avx512), "k").value();
            std::array<cost::memory_level, 2> const homes{cost::memory_level::cache, cost::memory_level::memory};
            return cost::time_of(k, named("zen5"), {.buffers = homes}).memory_bytes;
        };
        CAPTURE(channels);
        CHECK(bytes_in(1) == Approx(36.0 * 256 * 512 * 4).epsilon(0.02));
        CHECK(bytes_in(2) == Approx(bytes_in(1)).epsilon(0.02));
    }
}

TEST_CASE("products point by point read the transformed input once") {
    auto s = convolution(1024, 20, 3);
    s.out_channels = 512;
    auto const moved = [&](bool outer) {
        kernels::winograd_config const knobs{
            .m = 4, .rows = 5, .columns = 5, .tile = 5, .vectors = 4, .unroll_ic = 4, .points_outer = outer};
        auto const k = codegen::lower(kernels::winograd_nest(s, knobs, isa::avx512), "k").value();
        return cost::time_of(k, named("zen5")).l3_bytes;
    };
    auto const transformed = 36.0 * 25 * 1024 * 4, products = 36.0 * 25 * 512 * 4;
    CHECK(moved(false) - moved(true) > 6 * transformed - 3 * products); // eight groups of channels
}

TEST_CASE("memory of a thread that its second cache does not hold moves in each run") {
    auto const moved = [](std::int64_t channels) {
        auto s = convolution(channels, 20, 3);
        s.out_channels = 16;
        kernels::winograd_config const knobs{.m = 4, .rows = 5, .columns = 5, .tile = 5, .unroll_ic = 4};
        auto const k = codegen::lower(kernels::winograd_nest(s, knobs, isa::avx512), "k").value();
        return cost::time_of(k, named("zen5")).l3_bytes;
    };
    auto const transformed = [](double channels) { return 36 * 25 * channels * 4; };
    CHECK(moved(128) < 0.5 * transformed(128));   // 0.5 MB
    CHECK(moved(1024) > 2.0 * transformed(1024)); // 3.7 MB: written, and read
}

TEST_CASE("a core that does not compute while it reads takes longer") {
    auto core = named("zen5");
    std::array<cost::memory_level, 3> const homes{cost::memory_level::cache, cost::memory_level::memory,
                                                  cost::memory_level::cache};
    auto const k = counted(product(16, 1024, 1024));
    core.not_hidden = 0.25;
    auto const before = cost::time_of(k, core, {.buffers = homes}).seconds;
    core.not_hidden = 1;
    CHECK(cost::time_of(k, core, {.buffers = homes}).seconds > 1.1 * before);
}

// Microseconds that a product of a matrix in memory takes longer than one of a matrix in the last cache.
double lost_to_memory(kernels::matmul_shape const& s, kernels::matmul_config const& tile,
                      microarchitecture const& core) {
    auto const space = kernels::space_of(s, isa::avx512);
    auto point = space.at(0);
    kernels::set_knobs(point, tile);
    auto const k = kernel_of(s, point);
    auto const in = [&](cost::memory_level level) {
        std::array<cost::memory_level, 2> const homes{cost::memory_level::cache, level};
        return cost::time_of(k, core, {.buffers = homes}).seconds * 1e6;
    };
    return in(cost::memory_level::memory)-in(cost::memory_level::last);
}

TEST_CASE("memory is hidden by the pass over a matrix that reads it, not by those that find it in a cache") {
    auto core = named("zen5");
    core.not_hidden = 0, core.reorder_buffer = 1e6; // all that is not hidden is what memory takes longer than the pass
    auto last = std::numeric_limits<double>::infinity();
    for (auto const rows : {2, 4, 9, 18}) {
        auto const lost = lost_to_memory(product(72, 192, 768), {rows, 1, 1}, core);
        CAPTURE(rows);
        CHECK(lost < last);
        last = lost;
    }
    CHECK(last == 0); // eighteen rows compute longer than a line takes to come
}

TEST_CASE("a core waits for memory where few lines are asked for at once") {
    auto core = named("zen5");
    core.not_hidden = 0;
    // Of one vector of columns a line comes with every step of the rows; of three vectors three do.
    auto const few = lost_to_memory(product(108, 192, 768), {27, 1, 1}, core),
               many = lost_to_memory(product(108, 192, 768), {9, 3, 1}, core);
    CHECK(few > 1.1 * many);
    core.reorder_buffer *= 4; // sees further ahead
    CHECK(lost_to_memory(product(108, 192, 768), {27, 1, 1}, core) < 0.5 * few);
}

TEST_CASE("prefetching asks for lines where instructions ask for few") {
    auto const& core = named("zen5");
    constexpr std::int64_t channels = 384;
    cost::memory_level const homes[] = {cost::memory_level::cache, cost::memory_level::memory};
    kernels::descriptor const d = convolution(channels, 19, 3, channels);
    auto const space = kernels::space_of(d, isa::avx512);
    random_stream random{1};
    for (int i = 0; i < 20; ++i) {
        auto const k = kernel_of(d, space.at(*space.draw(random)));
        auto const waits = cost::time_of(k, core, {.buffers = homes}).seconds - cost::time_of(k, core).seconds;
        CHECK(waits > 0);
        CHECK(waits < channels * 9 * 4 / 64 * 75e-9 / 8);
    }
}

TEST_CASE("a sum in parts reads the weights that one in one piece reads") {
    std::array<cost::memory_level, 2> const homes{cost::memory_level::cache, cost::memory_level::memory};
    auto const bytes_of = [&](kernels::descriptor const& d, std::string_view knobs) {
        auto const k = kernel_of(d, kernels::space_of(d, isa::avx512).parse(knobs));
        return cost::time_of(k, named("zen5"), {.buffers = homes}).memory_bytes;
    };
    for (auto const* knobs : {"tile_m=4 tile_n=4 unroll_k=8 tile_k=0", "tile_m=4 tile_n=4 unroll_k=8 tile_k=64",
                              "tile_m=4 tile_n=3 unroll_k=2 tile_k=128", "tile_m=1 tile_n=2 unroll_k=1 tile_k=256"}) {
        CAPTURE(knobs);
        CHECK(bytes_of(product(16, 768, 768), knobs) == Approx(768.0 * 768 * 4).epsilon(0.02));
    }
    auto s = convolution(128, 5, 3);
    s.out_channels = 256, s.pads = {0, 0, 0, 0};
    for (auto const* sums : {"tile_ic=0", "tile_ic=32", "tile_ic=64"})
        for (auto const* rows : {"unroll_kh=true", "unroll_kh=false"}) {
            auto const knobs =
                std::string{"tile_ow=3 tile_oh=3 tile_oc=2 unroll_ic=1 chunk=1 "} + rows + " oc_inner=false " + sums;
            CAPTURE(knobs);
            CHECK(bytes_of(s, knobs) == Approx(9.0 * 128 * 256 * 4).epsilon(0.02));
        }
}

TEST_CASE("no level gives more than a kernel asks for, nor less than each line once") {
    random_stream random{1};
    auto depthwise = convolution(64, 28, 3);
    depthwise.groups = 64, depthwise.stride = {2, 2};
    struct known {
        kernels::descriptor what;
        double least; // bytes of operands and results
    };
    for (auto const& [d, least] : {known{depthwise, 64.0 * (28 * 28 + 14 * 14) * 4},
                                   known{product(40, 48, 96), (40.0 * 96 + 96 * 48 + 40 * 48) * 4},
                                   known{convolution(32, 14, 3), (32.0 * 14 * 14 * 2 + 9 * 32 * 32) * 4}}) {
        auto const space = kernels::space_of(d, isa::avx512);
        for (int i = 0; i < 12; ++i) {
            auto const point = space.at(*space.draw(random));
            auto const t = cost::time_of(kernel_of(d, point), named("zen5"));
            CAPTURE(kernels::kind_of(d), loop::to_string(point));
            CHECK(t.l2_bytes >= 0.9 * least);
            CHECK(t.l2_bytes <= 64 * (t.loads + 1.5 * t.stores) + 4096);
        }
    }
}

TEST_CASE("threads share what there is, and take time to be woken") {
    auto const large = convolution(128, 28, 3), small = convolution(32, 4, 3);
    CHECK(seconds(large, {.threads = 2, .shared = true}) < 0.6 * seconds(large));
    CHECK(seconds(large, {.threads = 8, .shared = true}) < seconds(large, {.threads = 2, .shared = true}));
    CHECK(seconds(small, {.threads = 8, .shared = true}) > seconds(small));
    CHECK(seconds(small, {.threads = 8, .shared = false}) == seconds(small));
}

TEST_CASE("every kind of kernel has a time on every core of its instruction set") {
    std::vector<kernels::descriptor> all{product(5, 20, 7), convolution(24, 9, 3)};
    all.push_back(kernels::winograd_shape{convolution(32, 14, 3), 4});
    kernels::pool2d_shape pool;
    pool.channels = 32, pool.in = {8, 8}, pool.kernel = {2, 2}, pool.stride = {2, 2}, pool.out = {4, 4};
    all.push_back(pool);
    kernels::attention_shape attention;
    attention.m = attention.s = 12, attention.k = attention.n = 16, attention.batch = {2};
    all.push_back(attention);
    std::int64_t const dims[] = {2, 40, 5, 3};
    all.push_back(kernels::to_blocked_layout(dtype::f32, dims, 16));
    all.push_back(kernels::from_blocked_layout(dtype::i16, dims, 16));
    all.push_back(kernels::scattered_entries(dtype::f32, dims, 7, dtype::i64));
    all.push_back(kernels::scattered_elements(dtype::f32, dims, dims, 1, dtype::i32, loop::scalar_op::add));
    for (auto const& d : all) {
        CAPTURE(kernels::kind_of(d));
        auto const k = counted(d);
        for (auto const& core : microarchitectures()) {
            if (core.isa != &isa::avx512) continue;
            CAPTURE(core.name);
            auto const t = cost::time_of(k, core);
            CHECK(t.compute > 0);
            CHECK(t.stores > 0);
            CHECK(t.seconds > 0);
            CHECK(t.seconds < 1e-3);
            CHECK(t.seconds == cost::time_of(k, core).seconds);
        }
    }
}

TEST_CASE("copies take longer the further away their bytes are") {
    auto const& core = named("zen5");
    double last = 0;
    for (auto const bytes : {1e3, 1e5, 1e6, 1e8}) {
        auto const each = cost::copy_seconds(bytes, core) / bytes;
        CHECK(each >= last);
        last = each;
    }
    CHECK(last == Approx(1.5 / core.memory_bytes_per_second)); // a line is read before it is written
}

TEST_CASE("no thread is woken for a kernel of one position") {
    auto const shared = [](std::int64_t pixels) {
        auto const s = convolution(64, pixels, 1);
        return seconds(s, {.threads = 2, .shared = true}) - seconds(s);
    };
    CHECK(shared(7) == 0);
    CHECK(shared(112) < 0); // two of them are faster
}

TEST_CASE("stages of a kernel do not hide each other: what one moves, the next does not compute beside") {
    auto const time = cost::time_of(counted(kernels::winograd_shape{convolution(64, 224, 3), 4}), named("zen5"));
    auto const& core = named("zen5");
    auto const hertz = core.gigahertz * 1e9;
    auto const compute = time.compute / hertz, moved = time.l3_bytes / core.l3_bytes_per_cycle / hertz;
    // As one stage it would take the longer of the two and a quarter of the other one.
    CHECK(time.seconds > std::max(compute, moved) + 0.3 * std::min(compute, moved));
    CHECK(time.seconds < compute + moved + 1e-6);
}

TEST_CASE("the last cache loses the more of the weights the more there are") {
    for (auto const* const name : {"zen5", "zen4"}) {
        auto core = named(name);
        core.l3_bytes = 32 << 20;
        auto const lost = [&](double part) { return cost::evicted_share(part * (32 << 20), core); };
        CHECK(lost(0) == 0);
        CHECK(lost(core.kept_share) == 0);
        CHECK(lost((core.kept_share + core.lost_share) / 2) == Approx(0.5));
        CHECK(lost(core.lost_share) == 1);
        CHECK(lost(10) == 1);
    }
}

} // namespace kernel_time_test
