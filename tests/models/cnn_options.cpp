#include "catch.hpp"
#include <gsub/models/cnn_options.hpp>

namespace cnn_options_test {
using gsub::models::cnn_options;

// An options struct is a value with designated initialisers, usable at compile time.
static_assert(cnn_options{}.image_or(224) == 224);
static_assert(cnn_options{.image = 64}.image_or(224) == 64);
} // namespace cnn_options_test

TEST_CASE("a classifier's defaults are one image of the published size and a thousand classes") {
    cnn_options_test::cnn_options const options;
    CHECK(options.seed == 1);
    CHECK(options.batch == 1);
    CHECK(options.image_or(299) == 299);
    CHECK(options.classes == 1000);
}
