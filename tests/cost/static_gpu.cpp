#include "catch.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/static_gpu.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/lower/lower_graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace static_gpu_test {

using namespace gsub;
using gsub::isa;

gpu const& h200() {
    return *find_gpu("h200");
}

kernels::descriptor square_conv(std::int64_t channels, std::int64_t pixels, std::int64_t taps) {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = channels, s.in = {pixels, pixels}, s.kernel = {taps, taps};
    s.pads = {taps / 2, taps / 2, taps / 2, taps / 2};
    return s;
}
codegen::kernel lowered(kernels::descriptor const& d, loop::configuration const& c) {
    return codegen::lower(kernels::nest_of(d, c, isa::warp), "k").value();
}
cost::gpu_time counted(kernels::descriptor const& d, gpu const& on) {
    auto const space = kernels::space_of(d, isa::warp);
    return cost::time_of(lowered(d, kernels::counted(d, isa::warp, space)), on);
}

TEST_CASE("a kernel takes as long on a GPU as what bounds it") {
    for (auto const& d : {square_conv(64, 56, 1), square_conv(256, 14, 3), square_conv(512, 7, 1)}) {
        auto const t = counted(d, h200());
        auto const cycles = std::max({t.issue_cycles, t.multiply_cycles, t.memory_cycles, t.latency_cycles});
        CHECK(t.seconds > cycles / (h200().gigahertz * 1e9));
        CHECK(t.seconds > t.moved_seconds);
        CHECK(t.resident_warps >= 1);
        CHECK(t.resident_warps <= h200().architecture->warps);
        // No faster than its multiply-adds on all multiprocessors.
        CHECK(t.seconds > kernels::operations_of(d) / h200().flops());
    }
}

TEST_CASE("more of the same takes longer, and a smaller device too") {
    CHECK(counted(square_conv(64, 112, 3), h200()).seconds > counted(square_conv(64, 56, 3), h200()).seconds);
    for (auto const& d : {square_conv(64, 112, 1), square_conv(256, 56, 3)})
        CHECK(counted(d, *find_gpu("t4")).seconds > counted(d, h200()).seconds);
}

TEST_CASE("of a table the rows that are looked up come from memory, not all") {
    graph g;
    graph_builder b{g};
    auto const table = b.constant(tensor::zeros(dtype::f32, ints{40'000, 256}));
    b.outputs({b.add<ops::gather>({.axis = 0}, {table, b.input(dtype::i64, {16}, "ids")})});
    auto const made = lower_graph(g, table_of<eval_row, standard_ops>(), isa::warp).value();
    auto const seconds = cost::lowered::of(g, target_of(h200())).of_kernel(made, made.ops.back()).seconds;
    CHECK(seconds < 3e-6); // 40 MB take 8 us
}

TEST_CASE("the chosen point is allowed, no slower than the counted one, and the same each time") {
    kernels::matmul_shape product;
    product.m = 128, product.n = 768, product.k = 768;
    for (auto const& d : {square_conv(64, 56, 1), square_conv(256, 14, 3), kernels::descriptor{product}}) {
        auto const space = kernels::space_of(d, isa::warp);
        cost::static_gpu const source{h200()};
        auto const point = source.choose(d, isa::warp, space);
        CHECK(space.allows(point));
        CHECK(source.seconds(d, point) <= source.seconds(d, kernels::counted(d, isa::warp, space)));
        CHECK(source.choose(d, isa::warp, space) == point);
        CHECK(cost::static_gpu{h200()}.choose(d, isa::warp, space) == point);
    }
}

TEST_CASE("few pixels of many channels are divided among the multiprocessors") {
    auto const d = square_conv(512, 7, 1);
    auto const space = kernels::space_of(d, isa::warp);
    cost::static_gpu const source{h200()};
    auto const chosen = lowered(d, source.choose(d, isa::warp, space)),
               by_count = lowered(d, kernels::counted(d, isa::warp, space));
    CHECK(chosen.parallel_extent >= 4 * by_count.parallel_extent);
    CHECK(cost::time_of(chosen, h200()).seconds < 0.5 * cost::time_of(by_count, h200()).seconds);
}

TEST_CASE("the faster algorithm is chosen for a GPU") {
    auto const direct = square_conv(64, 56, 3);
    std::vector<kernels::descriptor> all{direct};
    for (std::int32_t const m : {2, 4})
        all.push_back(kernels::winograd_shape{std::get<kernels::conv2d_shape>(direct), m});
    cost::static_gpu const source{h200()};
    auto const chosen = source.choose(all, isa::warp);
    std::vector<double> seconds;
    for (auto const& d : all) {
        auto const space = kernels::space_of(d, isa::warp);
        seconds.push_back(source.seconds(d, source.choose(d, isa::warp, space)));
    }
    CHECK(seconds[chosen] == *std::min_element(seconds.begin(), seconds.end()));
}

TEST_CASE("groups of a device have four positions, unless multiprocessors would be idle") {
    auto const positions = [](std::int64_t extent, std::int32_t lanes) {
        codegen::kernel k;
        k.parallel_extent = extent, k.lanes = lanes;
        return codegen::positions_of_group(k, 132);
    };
    CHECK(positions(8 * 132, 32) == 4);
    CHECK(positions(8 * 132 - 1, 32) == 2);
    CHECK(positions(4 * 132 - 1, 32) == 1);
    CHECK(positions(1, 32) == 1);
    CHECK(positions(8 * 132 * 4, 8) == 16); // four to a warp
    CHECK(positions(1, 1) == 32);
}

} // namespace static_gpu_test
