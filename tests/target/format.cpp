#include "catch.hpp"
#include <gsub/target/format.hpp>

#include <fmt/format.h>

TEST_CASE("a target is written as its text") {
    CHECK(fmt::format("for {}", gsub::target{}) == "for baseline,threads=1");
}
