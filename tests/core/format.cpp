#include "catch.hpp"
#include <gsub/core/format.hpp>

#include <fmt/format.h>

namespace format_test {

using namespace gsub;

TEST_CASE("formatters write what to_string does, in the width that is asked for") {
    CHECK(fmt::format("{}", error_code::usage) == to_string(error_code::usage));
    CHECK(fmt::format("[{:>20}]", error_code::usage).size() == 22);
    CHECK(fmt::format("{}", quoted{"a\"\n"}) == in_quotes("a\"\n"));
}

} // namespace format_test
