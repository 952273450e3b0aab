#include "catch.hpp"
#include <gsub/kernels/depth_direction.hpp>

namespace depth_direction_test {

using gsub::kernels::depth_direction;

TEST_CASE("images and windows of one plane have no depth") {
    CHECK(!depth_direction{}.exists());
    CHECK(!depth_direction{1, 1, 2, 3, {}}.exists());
    CHECK(depth_direction{2, 1, 1, 1, {}}.exists());
    CHECK(depth_direction{1, 3, 1, 1, {1, 1}}.exists());
    CHECK(depth_direction{1, 1, 1, 1, {0, 1}}.exists());
}

TEST_CASE("windows along planes lie where those along rows would") {
    CHECK(depth_direction{}.out() == 1);
    CHECK(depth_direction{5, 3, 1, 1, {1, 1}}.out() == 5);
    CHECK(depth_direction{5, 3, 2, 1, {0, 1}}.out() == 2);
    CHECK(depth_direction{5, 2, 1, 3, {0, 0}}.out() == 2);
}

} // namespace depth_direction_test
