#include "catch.hpp"
#include <gsub/core/quoted.hpp>

namespace quoted_test {

using namespace gsub;

TEST_CASE("quoted text shows what would break a line or a string") {
    CHECK(in_quotes("plain") == "\"plain\"");
    CHECK(to_string(quoted{"a\"b"}) == in_quotes("a\"b"));
    CHECK(in_quotes("a\"b\\c") == R"("a\"b\\c")");
    CHECK(in_quotes("tab\tline\nbell\x07") == R"("tab\x09line\x0abell\x07")");
    CHECK(in_quotes(std::string_view{"\0\x7f", 2}) == R"("\x00\x7f")");
    CHECK(in_quotes("\xc3\xbc") == "\"\xc3\xbc\""); // UTF-8 passes
    for (int c = 0; c < 256; ++c) {
        auto const byte = static_cast<char>(c);
        for (auto shown : in_quotes({&byte, 1})) CHECK_FALSE((static_cast<unsigned char>(shown) < 32 || shown == 127));
    }
}

TEST_CASE("names from a model cannot steer a terminal") {
    CHECK(printable("a\033[2Jb\r\x7f") == "a\\x1b[2Jb\\x0d\\x7f");
    CHECK(printable("two\nlines, \"quoted\" \\ and \xc3\xa9") == "two\nlines, \"quoted\" \\ and \xc3\xa9");
}

} // namespace quoted_test
