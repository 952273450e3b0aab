#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/report/units.hpp>

#include <cmath>
#include <limits>
#include <map>

namespace units_test {

using namespace gsub;
using report::human;

// The number that a text as `4.09 GFLOP` states.
double stated(std::string const& text) {
    static std::map<char, double> const prefixes{{'p', 1e-12}, {'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3},
                                                 {'M', 1e6},   {'G', 1e9},  {'T', 1e12}, {'P', 1e15}};
    auto const gap = text.find(' ');
    auto const prefix = prefixes.find(text[gap + 1]);
    return std::stod(text.substr(0, gap)) * (prefix == prefixes.end() ? 1 : prefix->second);
}

TEST_CASE("a quantity keeps three significant digits, whatever its size") {
    random_stream r{1};
    for (int i = 0; i < 2000; ++i) {
        auto const amount = std::pow(10.0, r.uniform(-12, 17.9)) * (r.below(2) ? 1 : -1);
        auto const text = human(amount, "X");
        CAPTURE(amount, text);
        CHECK(std::abs(stated(text) - amount) <= 0.00501 * std::abs(amount));
        std::size_t digits = 0;
        for (char c : text.substr(0, text.find(' '))) digits += c >= '0' && c <= '9';
        CHECK(digits == 3);
        CHECK(text.back() == 'X');
    }
}

TEST_CASE("quantities read as people write them") {
    CHECK(human(1.5e-3, "s") == "1.50 ms");
    CHECK(human(4.09e9, "FLOP") == "4.09 GFLOP");
    CHECK(human(102e6, "B") == "102 MB");
    CHECK(human(0, "s") == "0 s");
    CHECK(human(1, "s") == "1.00 s");
    CHECK(human(33.12e-6, "s") == "33.1 us");
    // Not 1000 of a prefix.
    CHECK(human(999.4, "B") == "999 B");
    CHECK(human(999.6, "B") == "1.00 kB");
    CHECK(human(999.96e-6, "s") == "1.00 ms");
}

TEST_CASE("quantities beyond the prefixes and such that are none have a text too") {
    CHECK(human(1e-15, "s") == "0.00 ps");
    CHECK(human(5e18, "B") == "5000 PB");
    CHECK(human(std::numeric_limits<double>::infinity(), "s") == "inf s");
    CHECK(human(std::numeric_limits<double>::quiet_NaN(), "s").ends_with(" s"));
    CHECK_FALSE(human(std::numeric_limits<double>::max(), "s").empty());
    CHECK_FALSE(human(std::numeric_limits<double>::denorm_min(), "s").empty());
}

TEST_CASE("errors are told in two digits") {
    CHECK(report::brief(4.732e-7) == "4.7e-07");
    CHECK(report::brief(0) == "0.0e+00");
    CHECK(report::brief(-std::numeric_limits<double>::max()) == "-1.8e+308");
    CHECK(report::brief(std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("fixed numbers have as many decimals as asked for, shares are percentages") {
    CHECK(report::fixed(1.005, 1) == "1.0");
    CHECK(report::fixed(-2.5, 2) == "-2.50");
    CHECK(report::fixed(1234567, 0) == "1234567");
    CHECK(report::percent(0.1234) == "12.3 %");
    CHECK(report::percent(-1) == "-100.0 %");
    // Numbers that are longer than any sensible one.
    CHECK(report::fixed(1e300, 2).size() == 304);
    CHECK(std::stod(report::fixed(-std::numeric_limits<double>::max(), 3)) == -std::numeric_limits<double>::max());
}

} // namespace units_test
