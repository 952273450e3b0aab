#include "catch.hpp"
#include "driver/built_graph.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/models/network_builder.hpp>

#include <algorithm>

namespace separable_planning_test {

using namespace gsub;
using built_graph::built;
using built_graph::count;
using built_graph::error_of;

// A depthwise convolution with a normalisation and bounds, and the projection of its result.
struct network {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    value_id x, wide, narrow;

    network(std::int64_t rows, std::int64_t channels) : x(net.input(dtype::f32, {2, channels, rows, 15}, "x")) {
        wide =
            net.relu6("bounded",
                      net.batch_norm(
                          "norm", net.conv("depthwise", x,
                                           {.outputs = channels, .kernel = {3, 3}, .pad = {1, 1}, .group = channels})));
        narrow = net.batch_norm("second norm", net.conv("pointwise", wide, {.outputs = channels, .bias = true}));
    }
};

TEST_CASE("a depthwise convolution and the 1x1 convolution that alone reads it are one kernel") {
    for (std::int64_t const channels : {16, 24, 40}) {
        network n{29, channels};
        n.net.output(n.net.relu("sum bounded", n.net.sum("sum", n.narrow, n.x)), "y");
        auto const e = built(n.g);
        CHECK(count(e, "separable conv2d") == 1);
        CHECK(count(e, "conv2d") + count(e, "depthwise conv2d") + count(e, "elementwise") == 0);
        CHECK(error_of(n.g, e) <= 1e-5);
    }
}

TEST_CASE("two kernels stay two where others read the first result, or pieces of the image would be few") {
    {
        network n{29, 24};
        n.net.output(n.net.sum("sum", n.narrow, n.wide), "y");
        auto const e = built(n.g);
        CHECK(count(e, "separable conv2d") == 0);
        CHECK(error_of(n.g, e) <= 1e-5);
    }
    {
        network n{7, 24};
        n.net.output(n.narrow, "y");
        auto const e = built(n.g);
        CHECK(count(e, "separable conv2d") == 0);
        CHECK(error_of(n.g, e) <= 1e-5);
    }
}

TEST_CASE("MobileNetV2 has a kernel of both convolutions for each block whose images are large") {
    auto const g = models::find_model("mobilenet_v2")->build(1);
    for (auto const* isa : {&isa::avx2, &isa::avx512}) {
        auto const planned = plan(g, table_of<eval_row, standard_ops>(), *isa).value();
        CHECK(std::count_if(planned.steps.begin(), planned.steps.end(),
                            [](runtime::program_step const& s) { return kind_of(s) == "separable conv2d"; }) == 6);
    }
}

} // namespace separable_planning_test
