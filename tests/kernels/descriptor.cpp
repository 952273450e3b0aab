#include "catch.hpp"
#include <gsub/kernels/descriptor.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace descriptor_test {

using namespace gsub::kernels;

static_assert(std::copyable<descriptor> && std::default_initializable<descriptor>);
static_assert(std::constructible_from<descriptor, matmul_shape> && !std::constructible_from<descriptor, int>);

row_reduction_shape rows(std::vector<row_reduction_op> ops) {
    row_reduction_shape p;
    p.dims = {4, 8};
    p.arrays = {array_view::contiguous(p.dims)};
    p.ops = std::move(ops);
    return p;
}

} // namespace descriptor_test

TEST_CASE("the kind of a kernel follows from what it computes") {
    using namespace descriptor_test;
    conv2d_shape conv, grouped, depthwise;
    conv.in_channels = conv.out_channels = 32;
    grouped = depthwise = conv;
    grouped.groups = 4;
    depthwise.groups = 32;
    CHECK(kind_of(conv) == "conv2d");
    CHECK(kind_of(grouped) == "conv2d");
    CHECK(kind_of(depthwise) == "depthwise conv2d");
    auto deep = conv;
    deep.depth.in = 8;
    CHECK(kind_of(deep) == "conv3d");
    for (int const m : {2, 4}) CHECK(kind_of(winograd_shape{conv, m}) == "winograd F" + std::to_string(m));
    CHECK(kind_of(separable_shape{depthwise, conv}) == "separable conv2d");
    CHECK(kind_of(matmul_shape{}) == "matmul");
    CHECK(kind_of(attention_shape{}) == "attention");
    pool2d_shape pool;
    CHECK(kind_of(pool) == "max pool");
    pool.average = true;
    CHECK(kind_of(pool) == "average pool");
    CHECK(kind_of(elementwise_shape{}) == "elementwise");
}

TEST_CASE("rows with a reduction are row reductions, without one arithmetic, without any operation a copy") {
    using namespace descriptor_test;
    CHECK(kind_of(rows({})) == "copy");
    row_reduction_op const plain{reduction_step::elementwise, {}}, sum{reduction_step::sum, {}},
        maximum{reduction_step::maximum, {}};
    CHECK(kind_of(rows({plain})) == "elementwise");
    CHECK(kind_of(rows({plain, plain})) == "elementwise");
    CHECK(kind_of(rows({sum})) == "row reduction");
    CHECK(kind_of(rows({plain, maximum, plain})) == "row reduction");
}
