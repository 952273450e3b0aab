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
    CHECK(fmt::format("{}", error_code::usage) == to_string(error_code::usage));
    CHECK(fmt::format("[{:>20}]", error_code::usage).size() == 22);
    CHECK(fmt::format("{}", quoted{"a\"\n"}) == in_quotes("a\"\n"));
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
        CHECK(read<std::int64_t>(fmt::format("{}", static_cast<std::int64_t>(bits))) ==
              static_cast<std::int64_t>(bits));
        CHECK(read<std::uint64_t>(fmt::format("{}", bits)) == bits);
        auto const d = std::bit_cast<double>(bits);
        if (std::isfinite(d)) CHECK(read<double>(fmt::format("{}", shortest{d})) == d);
        auto const f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (std::isfinite(f)) CHECK(read<float>(fmt::format("{}", shortest{f})) == f);
    }
    CHECK(fmt::format("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(fmt::format("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(fmt::format("{}", shortest{-std::numeric_limits<double>::denorm_min()}) == "-5e-324");
    CHECK(fmt::format("{}", shortest{std::numeric_limits<double>::max()}) == "1.7976931348623157e+308");
    CHECK(fmt::format("{}", shortest{0.1}) == "0.1");
    CHECK(fmt::format("{}", shortest{0.1f}) == "0.10000000149011612"); // a float is shown as the double that it is
}

TEST_CASE("numbers look the same in every locale") {
    comma_locale const host;
    CHECK(fmt::format("{} {} {} {}", 1234567, 0.5, shortest{1e-45}, shortest{1234567.25}) ==
          "1234567 0.5 1e-45 1234567.25");
}

} // namespace format_test
