#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/select.hpp>

#include <limits>
#include <string>

namespace select_test {

using namespace kernel_graphs;

// A convolution that Winograd's algorithm fits, by weights of one number.
kernel_graph conv(std::string const& changed = "kernel=[3,3] pads=[1,1,1,1]", float weight = 0.5f, float scale = 1) {
    auto k = parsed("kernel graph fused\ninput f32[1,64,14,14]\n%0: f32[1,64,14,14] input 0\n"
                    "%1: f32[64,64,3,3] constant\n%2: f32[1,64,14,14] temporary\n"
                    "%2 = conv2d{in_channels=64 out_channels=64 in=[14,14] " +
                    changed +
                    "} %0, %1 packed{}\n"
                    "  covers \"Conv\" \"c\"\nresult f32[1,64,14,14] %2\n");
    auto& weights = k.values[1].data;
    weights = tensor::zeros(k.values[1].type);
    for (auto& w : weights.mutable_data<float>()) w = weight;
    if (scale != 1) k.ops[0].operands[1].packing->scale.assign(64, scale);
    return k;
}
bool in_tiles(kernel_graph const& k) {
    return std::holds_alternative<kernels::winograd_shape>(std::get<kernels::descriptor>(k.ops[0].computes));
}

} // namespace select_test

TEST_CASE("convolutions that fewer cycles compute in tiles become Winograd kernels") {
    using namespace select_test;
    auto const before = conv();
    auto const after = select(before, isa::avx512);
    CHECK(with(whole_text(before), "graph fused", "graph selected") ==
          with(with(whole_text(after), "winograd{conv={", "conv2d{"), "]}} %0", "]} %0"));
    CHECK(after.stage == lowering_stage::selected);
    CHECK(check(after).empty());
    CHECK_FALSE(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1] stride=[2,2]"), isa::avx512)));
    CHECK_FALSE(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1] input=planar"), isa::avx512)));
    CHECK_FALSE(in_tiles(select(conv(), isa::avx512, {.accuracy = kernels::winograd_accuracy::off})));
}

TEST_CASE("weights that tiles would spoil, or that are not known, stay direct") {
    using namespace select_test;
    using limits = std::numeric_limits<float>;
    for (auto const bad : {limits::infinity(), limits::quiet_NaN(), limits::max()})
        CHECK_FALSE(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1]", bad), isa::avx512)));
    CHECK_FALSE(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1]", 1, limits::infinity()), isa::avx512)));
    CHECK_FALSE(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1]", 1e20f, 1e18f), isa::avx512)));
    CHECK(in_tiles(select(conv("kernel=[3,3] pads=[1,1,1,1]", 1, 2), isa::avx512)));
    auto unknown = conv();
    unknown.values[1].data = {};
    CHECK_FALSE(in_tiles(select(std::move(unknown), isa::avx512)));
}

TEST_CASE("a choice of the caller's is asked once a kernel, with all algorithms, the direct one first") {
    using namespace select_test;
    struct always {
        std::size_t number;
        std::size_t* asked;
        std::size_t choose(std::span<kernels::descriptor const> all, isa const&) const {
            ++*asked;
            CHECK(std::holds_alternative<kernels::conv2d_shape>(all[0]));
            CHECK(all.size() == 3);
            return number;
        }
    };
    static_assert(algorithm_choice<always>);
    std::size_t asked = 0;
    auto const tiles = [&](std::size_t number) {
        auto const k = select(conv(), isa::avx512, always{number, &asked}).value();
        auto const* const w = std::get_if<kernels::winograd_shape>(&std::get<kernels::descriptor>(k.ops[0].computes));
        return w ? w->m : 0;
    };
    CHECK(tiles(0) == 0);
    CHECK(tiles(1) == 2);
    CHECK(tiles(2) == 4);
    CHECK(asked == 3);
    auto const none = select(conv(), isa::avx512, always{3, &asked});
    REQUIRE_FALSE(none);
    CHECK(none.error().id() == errors::kernel_schedule);
    CHECK_THAT(none.error().message(), Catch::Matchers::Contains("the algorithm of c is number 3 of 3"));
    // What there is no choice about nobody is asked.
    CHECK(algorithms_of(kernels::matmul_shape{}).size() == 1);
    CHECK(select(conv("kernel=[3,3] pads=[1,1,1,1] stride=[2,2]"), isa::avx512, always{1, &asked}).has_value());
    CHECK(asked == 4);
}
