#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/kernel_task.hpp>

namespace kernel_task_test {

using namespace kernel_graphs;

TEST_CASE("kernels of one descriptor are one task") {
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 16, 9, 9}, "x");
    for (int i = 0; i < 3; ++i) x = net.conv("c" + std::to_string(i), x, {16, {1, 1}, {1, 1}, {0, 0}, 1, true});
    net.output(net.conv("d", x, {8, {1, 1}, {1, 1}, {0, 0}, 1, true}), "y");
    auto const k = stages(g, isa::avx512)[3];
    auto const tasks = tasks_of(k);
    std::size_t kernels = 0;
    for (auto const& t : tasks) {
        kernels += t.kernels;
        CHECK(t.bytes > 0);
        REQUIRE(t.space);
        REQUIRE(t.schedule);
        CHECK(t.space->allows(*t.schedule));
        for (auto const& other : tasks) CHECK((&t == &other || !kernels::equal(t.what, other.what)));
    }
    CHECK(kernels == k.ops.size());
    auto const first = std::find_if(tasks.begin(), tasks.end(), [](kernel_task const& t) { return t.kernels == 3; });
    REQUIRE(first != tasks.end());
    CHECK(first->operations == 2.0 * 16 * 16 * 81);
    CHECK(first->bytes == 4.0 * (2 * 16 * 81 + 16 * 16 + 16)); // image, weights, bias, result
}

} // namespace kernel_task_test
