#include "catch.hpp"
#include <gsub/core/message.hpp>
#include <gsub/core/random.hpp>

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>

namespace message_test {

using namespace gsub;

static_assert(std::is_constructible_v<message_piece, char const*>);
static_assert(std::is_constructible_v<message_piece, std::string const&>);
static_assert(std::is_constructible_v<message_piece, std::string_view>);
static_assert(std::is_constructible_v<message_piece, unsigned long long>);
static_assert(std::is_constructible_v<message_piece, float>);
static_assert(!std::is_constructible_v<message_piece, void const*>);
static_assert(!std::is_copy_constructible_v<message_piece>, "a number's digits live in the piece");

template <class T>
T read(std::string const& text) {
    T value{};
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    REQUIRE(code == std::errc{});
    REQUIRE(end == text.data() + text.size());
    return value;
}

struct comma_point : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

// Sets the C and the C++ locale of a host that writes decimal commas, for as long as it lives.
struct comma_locale {
    std::locale before = std::locale::global(std::locale{std::locale::classic(), new comma_point});
    comma_locale() {
        for (auto const* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE"})
            if (std::setlocale(LC_ALL, name)) return;
    }
    ~comma_locale() {
        std::locale::global(before);
        std::setlocale(LC_ALL, "C");
    }
};

TEST_CASE("every number is written so that it reads back exactly") {
    random_stream r{2};
    for (int i = 0; i < 2000; ++i) {
        auto const bits = r();
        CAPTURE(bits);
        CHECK(read<std::int64_t>(message({static_cast<std::int64_t>(bits)})) == static_cast<std::int64_t>(bits));
        CHECK(read<std::uint64_t>(message({bits})) == bits);
        auto const d = std::bit_cast<double>(bits);
        if (std::isfinite(d)) CHECK(read<double>(message({d})) == d);
        auto const f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (std::isfinite(f)) CHECK(read<float>(message({f})) == f);
    }
    CHECK(message({std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
    CHECK(message({std::numeric_limits<std::uint64_t>::max()}) == "18446744073709551615");
    CHECK(message({-std::numeric_limits<double>::denorm_min()}) == "-5e-324");
    CHECK(message({std::numeric_limits<double>::max()}) == "1.7976931348623157e+308");
    CHECK(message({0.1}) == "0.1");
    CHECK(message({0.1f}) == "0.10000000149011612"); // a float is shown as the double that it is
}

TEST_CASE("a message is the concatenation of its pieces") {
    CHECK(message({}) == "");
    std::string const long_name(70'000, 'x'), with_null{"a\0b", 3};
    CHECK(message({"axis ", -1, " of ", long_name, std::string_view{"!"}}) == "axis -1 of " + long_name + "!");
    CHECK(message({with_null, with_null}).size() == 6);
    CHECK(message({"", "", 7u, ""}) == "7");
}

TEST_CASE("numbers look the same in every locale") {
    comma_locale const host;
    CHECK(message({1234567, " ", 0.5, " ", 1e-45, " ", 1234567.25}) == "1234567 0.5 1e-45 1234567.25");
}

TEST_CASE("quoted text shows what would break a line or a string") {
    CHECK(in_quotes("plain") == "\"plain\"");
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

} // namespace message_test
