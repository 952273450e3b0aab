#include "models/network_checks.hpp"
#include <gsub/models/nasnet.hpp>

namespace nasnet_test {

using namespace gsub;
using namespace network_checks;

models::nasnet_options small(std::uint64_t seed = 1) {
    return {.seed = seed, .image = 64, .classes = 10, .cells = 1, .filters = 16, .stem = 8};
}

} // namespace nasnet_test

TEST_CASE("NASNet-A 4 @ 1056 has the published cells and parameters") {
    using namespace nasnet_test;
    auto const g = models::nasnet_a();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 5'289'978);
    // Five separable convolutions in a cell of either kind, each of two halves.
    std::size_t depthwise = 0;
    for (auto n : g.order()) depthwise += g.is<ops::conv>(n) && g.attributes<ops::conv>(n).group > 1;
    CHECK(depthwise == 16 * 5 * 2);
    CHECK(count<ops::pad>(g) == 4); // after each reduction but the first
    CHECK(type_of(g, "stem.cell1.concat") == "f32[1,44,56,56]");
    CHECK(type_of(g, "stem.cell2.concat") == "f32[1,88,28,28]");
    CHECK(type_of(g, "stage1.cell4.concat") == "f32[1,264,28,28]");
    CHECK(type_of(g, "reduction1.concat") == "f32[1,352,14,14]");
    CHECK(type_of(g, "stage3.cell4.concat") == "f32[1,1056,7,7]");
}

TEST_CASE("NASNet-A 6 @ 4032 has the published parameters") {
    using namespace nasnet_test;
    auto const g = models::nasnet_a({.image = 331, .cells = 6, .filters = 168, .stem = 96});
    CHECK(parameters(g) == 88'753'150);
    CHECK(type_of(g, "stage3.cell6.concat") == "f32[1,4032,11,11]");
}

TEST_CASE("NASNet-A keeps its activations alive") {
    using namespace nasnet_test;
    keeps_activations_alive(models::nasnet_a());
}

TEST_CASE("NASNet-A depends on its seed and survives ONNX") {
    using namespace nasnet_test;
    auto const g = models::nasnet_a(small(5));
    CHECK(g.hash() == models::nasnet_a(small(5)).hash());
    CHECK_FALSE(g.hash() == models::nasnet_a(small(6)).hash());
    survives_onnx(g);
}

TEST_CASE("NASNet-A takes images of odd and even sizes, and each image of a batch is on its own") {
    using namespace nasnet_test;
    for (std::int64_t const size : {33, 48}) {
        auto o = small();
        o.image = size;
        auto const one = models::nasnet_a(o);
        o.batch = 2;
        auto const g = models::nasnet_a(o);
        auto const batch = random_inputs(g, 3)[0];
        auto const pixels = batch.data<float>();
        auto const alone = tensor::from<float>(ints{1, 3, size, size}, pixels.last(pixels.size() / 2));
        auto const both = evaluate_graph(g, std::vector{batch}).value()[0];
        auto const single = evaluate_graph(one, std::vector{alone}).value()[0];
        CHECK(compare(tensor::from<float>(ints{1, 10}, both.data<float>().last(10)), single)->max_relative < 1e-5);
    }
}
