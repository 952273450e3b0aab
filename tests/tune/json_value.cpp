#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/tune/json_value.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace json_value_test {

using namespace gsub;
using namespace gsub::tune;

std::string again(std::string_view text) {
    return to_string(parse_json_value(text).value());
}
std::string complaint(std::string_view text, json_limits const& limits = {}) {
    auto const read = parse_json_value(text, limits);
    if (!read) CHECK(read.error().id() == errors::malformed_record);
    return read ? "read as " + to_string(*read) : read.error().message();
}

json_value random_value(random_stream& r, int depth) {
    switch (r.below(depth > 0 ? 6 : 4)) {
    case 0:
        return {};
    case 1:
        return r.below(2) == 0;
    case 2:
        return r.below(2)
                   ? json_number{std::ldexp(static_cast<double>(r.below(1u << 30)), 20 - static_cast<int>(r.below(60)))}
                   : json_number::integer(static_cast<std::int64_t>(r.below(1u << 30)) - (1 << 29));
    case 3: {
        static constexpr std::string_view pieces[] = {"a", "\"", "\\", "\n", "\x01", "\x7f", "é", "漢", "😀", "/"};
        std::string text;
        for (auto n = r.below(6); n > 0; --n) text += pieces[r.below(std::size(pieces))];
        return text;
    }
    case 4: {
        std::vector<json_value> items;
        for (auto n = r.below(4); n > 0; --n) items.push_back(random_value(r, depth - 1));
        return items;
    }
    default: {
        auto made = json_value::object();
        for (auto n = r.below(4); n > 0; --n) made.add("k" + std::to_string(n), random_value(r, depth - 1));
        return made;
    }
    }
}

TEST_CASE("values that are printed are read back, and printed alike") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const value = random_value(r, 4);
        auto const text = to_string(value);
        CAPTURE(text);
        auto const read = parse_json_value(text).value();
        CHECK(read == value);
        CHECK(to_string(read) == text);
        for (std::size_t cut = 0; cut < text.size(); cut += 1 + text.size() / 16) {
            auto const part = parse_json_value(text.substr(0, cut)); // whole only where it is a number
            if (part) CHECK(value.kind() == json_kind::number);
        }
    }
}

TEST_CASE("numbers and texts are printed as Python prints them") {
    auto const printed = [](double x) { return json_number{x}.text(); };
    CHECK(printed(0) == "0.0");
    CHECK(printed(-0.0) == "-0.0");
    CHECK(printed(0.1) == "0.1");
    CHECK(printed(1e9) == "1000000000.0");
    CHECK(printed(1e16) == "1e+16");
    CHECK(printed(123456789012345680.0) == "1.2345678901234568e+17");
    CHECK(printed(9007199254740993.0) == "9007199254740992.0");
    CHECK(printed(0.0001) == "0.0001");
    CHECK(printed(0.00001) == "1e-05");
    CHECK(printed(5e-324) == "5e-324");
    CHECK(printed(1.7976931348623157e308) == "1.7976931348623157e+308");
    CHECK(printed(std::nan("")) == "NaN");
    CHECK(printed(-HUGE_VAL) == "-Infinity");
    CHECK(to_string(json_value{"é\x7f\n\"😀"}) == R"("\u00e9\u007f\n\"\ud83d\ude00")");
    CHECK(to_string(json_value{"\xff"}) == R"("\ufffd")");
    random_stream r{1};
    for (int i = 0; i < 2000; ++i) {
        auto const x = std::bit_cast<double>(r());
        if (!std::isfinite(x)) continue;
        CHECK(std::bit_cast<std::uint64_t>(parse_json_value(printed(x)).value().number().value()) ==
              std::bit_cast<std::uint64_t>(x));
    }
}

TEST_CASE("numbers keep the text in which they were written") {
    CHECK(again(" [1.50, 1e5,-0 , 0.1E+2, 123456789012345678901234567890] ") ==
          "[1.50, 1e5, -0, 0.1E+2, 123456789012345678901234567890]");
    auto const items = parse_json_value("[7, 7.0, -9223372036854775808, 9223372036854775808, NaN, -Infinity]").value();
    CHECK(items.items()[0].number().integer() == 7);
    CHECK_FALSE(items.items()[1].number().integer().has_value());
    CHECK(items.items()[2].number().integer() == std::numeric_limits<std::int64_t>::min());
    CHECK_FALSE(items.items()[3].number().integer().has_value());
    CHECK(std::isnan(items.items()[4].number().value()));
    CHECK(items.items()[5].number().value() == -HUGE_VAL);
    CHECK(to_string(items).find("NaN, -Infinity]") != std::string::npos);
}

TEST_CASE("objects keep the order of their members") {
    auto const o = parse_json_value(R"({"b": 1, "a": {"c": [true, null]}})").value();
    CHECK(o.find("a")->find("c")->items()[0].boolean());
    CHECK(o.find("c") == nullptr);
    CHECK(to_string(o) == R"({"b": 1, "a": {"c": [true, null]}})");
    CHECK(again(R"("\u00e9\/\ud83d\ude00")") == R"("\u00e9/\ud83d\ude00")");
}

TEST_CASE("what is no JSON is refused with its column") {
    using Catch::Matchers::Contains;
    CHECK_THAT(complaint(""), Contains("column 1: the text ends; a value is expected"));
    CHECK_THAT(complaint("[1, "), Contains("column 5: the text ends"));
    CHECK_THAT(complaint("[1 2]"), Contains("column 4: \",\" or \"]\" is expected, not \"2\""));
    CHECK_THAT(complaint("[1,]"), Contains("a value is expected"));
    CHECK_THAT(complaint("{1: 2}"), Contains("a name in quotes"));
    CHECK_THAT(complaint(R"({"a" 2})"), Contains("\":\" is expected"));
    CHECK_THAT(complaint(R"({"a": 1, "a": 2})"), Contains("column 10: member \"a\" stands there twice"));
    CHECK_THAT(complaint("1 2"), Contains("behind the value"));
    CHECK_THAT(complaint("01"), Contains("behind the value"));
    CHECK_THAT(complaint("-"), Contains("column 2: the text ends"));
    CHECK_THAT(complaint("1."), Contains("a digit is expected"));
    CHECK_THAT(complaint("1e999"), Contains("column 1: the number is out of range"));
    CHECK_THAT(complaint("nul"), Contains("the text ends"));
    CHECK_THAT(complaint("None"), Contains("a value is expected"));
    CHECK_THAT(complaint("\"a"), Contains("the end of a text"));
    CHECK_THAT(complaint("\"\\x\""), Contains("is expected, not \"x\""));
    CHECK_THAT(complaint("\"\\u12g4\""), Contains("hexadecimal"));
    CHECK_THAT(complaint("\"\\ud83d\""), Contains("first half"));
    CHECK_THAT(complaint("\"\\ude00\""), Contains("second half"));
    CHECK_THAT(complaint("\"\x01\""), Contains("control character"));
    for (std::string_view const bad :
         {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xe9\""})
        CHECK_THAT(complaint(bad), Contains("no UTF-8"));
}

TEST_CASE("sizes are bounded, and depth costs no stack") {
    using Catch::Matchers::Contains;
    auto const nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(again(nested(64)) == nested(64));
    CHECK_THAT(complaint(nested(65)), Contains("nest more than 64 deep"));
    CHECK_THAT(complaint(std::string(1 << 19, '[')), Contains("nest more than 64 deep"));
    json_limits limits;
    limits.values = 3;
    CHECK_THAT(complaint("[1, 2, 3]", limits), Contains("more than 3 values"));
    limits = {};
    limits.bytes = 4;
    CHECK_THAT(complaint("[1, 2]", limits), Contains("more than 4 bytes"));
    limits = {};
    limits.members = 1;
    CHECK_THAT(complaint(R"({"a": 1, "b": 2})", limits), Contains("more than 1 members"));
}

} // namespace json_value_test
