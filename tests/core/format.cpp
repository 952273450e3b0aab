#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>

namespace format_test {

using namespace gsub;

TEST_CASE("formatters write what to_string does, in the width that is asked for") {
    CHECK(format_text("{}", error_code::usage) == to_string(error_code::usage));
    CHECK(format_text("[{:>20}]", error_code::usage).size() == 22);
    CHECK(format_text("{}", quoted{"a\"\n"}) == in_quotes("a\"\n"));
}

TEST_CASE("format_text writes what fmt writes, for every kind of argument") {
    std::string const name = "conv";
    std::string_view const view = name;
    char const* const plain = "c";
    CHECK(format_text("none") == "none");
    CHECK(format_text("{{{}}}", 1) == "{1}");
    CHECK(format_text("{1} {0} {1}", name, view) == fmt::format("{1} {0} {1}", name, view));
    CHECK(format_text("{} {} {} {} {}", true, 'c', plain, -3, 7u) ==
          fmt::format("{} {} {} {} {}", true, 'c', plain, -3, 7u));
    CHECK(format_text("{:>8.3f}|{:<6}|{:#x}|{}", 1.5, "ab", 255, 0.1f) ==
          fmt::format("{:>8.3f}|{:<6}|{:#x}|{}", 1.5, "ab", 255, 0.1f));
    CHECK(format_text("{}{}", std::string(1000, 'x'), quoted{"y"}) == std::string(1000, 'x') + "\"y\"");
    CHECK(format_text("{:{}}", name, 6) == "conv  ");
    auto const least = std::numeric_limits<long long>::min();
    auto const most = std::numeric_limits<unsigned long long>::max();
    CHECK(format_text("{}{{{}}}{}", least, most, plain) == fmt::format("{}{{{}}}{}", least, most, plain));
    CHECK(format_text("{}, then {:>6}", name, 7) == "conv, then      7"); // not all fields are plain
    CHECK(format_text("{}{}", view.substr(0, 0), std::string(1, '\0')) == std::string(1, '\0'));
}

// A function with a format of its own hands it on, checked.
template <class... Args>
std::string shout(std::type_identity_t<text_format<Args...>> format, Args const&... arguments) {
    return format_text<Args...>(format, arguments...) + "!";
}

TEST_CASE("a checked format can be handed on") {
    CHECK(shout("{} and {}", 1, "two") == "1 and two!");
}

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

TEST_CASE("the shortest form of every number is written so that it reads back exactly") {
    random_stream r{2};
    for (int i = 0; i < 2000; ++i) {
        auto const bits = r();
        CAPTURE(bits);
        CHECK(read<std::int64_t>(format_text("{}", static_cast<std::int64_t>(bits))) ==
              static_cast<std::int64_t>(bits));
        CHECK(read<std::uint64_t>(format_text("{}", bits)) == bits);
        auto const d = std::bit_cast<double>(bits);
        if (std::isfinite(d)) CHECK(read<double>(format_text("{}", shortest{d})) == d);
        auto const f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (std::isfinite(f)) CHECK(read<float>(format_text("{}", shortest{f})) == f);
    }
    CHECK(format_text("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(format_text("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(format_text("{}", shortest{-std::numeric_limits<double>::denorm_min()}) == "-5e-324");
    CHECK(format_text("{}", shortest{std::numeric_limits<double>::max()}) == "1.7976931348623157e+308");
    CHECK(format_text("{}", shortest{0.1}) == "0.1");
    CHECK(format_text("{}", shortest{0.1f}) == "0.10000000149011612"); // a float is shown as the double that it is
}

TEST_CASE("numbers look the same in every locale") {
    comma_locale const host;
    CHECK(format_text("{} {} {} {}", 1234567, 0.5, shortest{1e-45}, shortest{1234567.25}) ==
          "1234567 0.5 1e-45 1234567.25");
}

} // namespace format_test
