#include "catch.hpp"
#include "random_record.hpp"
#include <gsub/core/small_vector.hpp>
#include <gsub/kernels/record_text.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace record_text_test {

enum class colour : std::uint8_t { red, green, unknown };

struct point {
    std::int64_t x = 0, y = 0;
};

struct drawing {
    bool open = true;
    colour paint = colour::red;
    double width = 1;
    std::uint64_t mask = 0;
    std::int8_t tiny = 0;
    std::array<std::int32_t, 2> size{1, 1};
    std::vector<point> points{};
    gsub::small_vector<std::int64_t, 2> dashes{};
    std::optional<point> centre{};
    point origin{.x = 3};
};

using shape = std::variant<point, drawing>;

struct forgetful {
    int kept = 0, forgotten = 0;
};
struct doubled {
    int once = 0;
};

} // namespace record_text_test

namespace gsub::kernels {

template <>
struct word_traits<record_text_test::colour> {
    static constexpr std::string_view words[] = {"red", "green", "?"};
};
template <>
struct record_traits<record_text_test::point> {
    using s = record_text_test::point;
    static constexpr std::string_view word = "point";
    static constexpr void each_field(auto&& field) { field("x", &s::x), field("y", &s::y); }
};
template <>
struct record_traits<record_text_test::drawing> {
    using s = record_text_test::drawing;
    static constexpr std::string_view word = "drawing";
    static constexpr void each_field(auto&& field) {
        field("open", &s::open), field("paint", &s::paint), field("width", &s::width), field("mask", &s::mask);
        field("tiny", &s::tiny), field("size", &s::size), field("points", &s::points), field("dashes", &s::dashes);
        field("centre", &s::centre), field("origin", &s::origin);
    }
};
template <>
struct record_traits<record_text_test::forgetful> {
    static constexpr void each_field(auto&& field) { field("kept", &record_text_test::forgetful::kept); }
};
template <>
struct record_traits<record_text_test::doubled> {
    static constexpr void each_field(auto&& field) {
        field("once", &record_text_test::doubled::once), field("twice", &record_text_test::doubled::once);
    }
};

} // namespace gsub::kernels

namespace record_text_test {

using namespace gsub::kernels;

static_assert(lists_all_members<point> && lists_all_members<drawing>);
static_assert(!lists_all_members<forgetful> && !lists_all_members<doubled>);
static_assert(field_count<point> == 2 && field_names<point>[1] == "y");
static_assert(record<point> && !record<int> && has_words<colour> && !has_words<gsub::error_code>);

template <class T>
std::string text_of(T const& value) {
    std::string out;
    print_value(out, value);
    return out;
}

/// The value that a text has, or the message of the error.
template <class T>
std::variant<T, std::string> value_of(std::string_view text) {
    T value{};
    try {
        record_reader in{text};
        read_value(in, value);
        if (!in.at_end()) in.fail_expected(in.offset(), "the end");
    } catch (gsub::error const& e) {
        CHECK(e.code() == gsub::error_code::invalid_input);
        return e.message();
    }
    return value;
}

template <class T>
std::string message_of(std::string_view text) {
    auto const read = value_of<T>(text);
    auto const message = std::get_if<1>(&read);
    return message ? *message : "read: " + text_of(std::get<0>(read));
}

} // namespace record_text_test

TEST_CASE("a record is printed without the fields that have their default value") {
    using namespace record_text_test;
    drawing d;
    CHECK(text_of(d) == "{}");
    d.open = false, d.paint = colour::unknown, d.width = 0.1, d.mask = ~std::uint64_t{0}, d.tiny = -128;
    d.size = {1, 2}, d.points = {{}, {1, -2}}, d.dashes = {7}, d.centre.emplace(), d.origin = {};
    CHECK(text_of(d) == "{open=false paint=? width=0.1 mask=18446744073709551615 tiny=-128 size=[1,2] "
                        "points=[{},{x=1 y=-2}] dashes=[7] centre={} origin={}}");
    // What an origin has when nothing is said of its x is the default of a point, not of a drawing's origin.
    CHECK(std::get<0>(value_of<drawing>("{origin={y=1}}")).origin.x == 0);
    CHECK(text_of(shape{}) == "point{}");
    CHECK(text_of(shape{drawing{.mask = 1}}) == "drawing{mask=1}");
}

TEST_CASE("what is printed reads back as the same value, whatever it is") {
    using namespace record_text_test;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        CAPTURE(seed);
        gsub::random_stream r{seed};
        shape s;
        random_record::fill(r, s);
        auto const text = text_of(s);
        auto const read = value_of<shape>(text);
        if (read.index() != 0) FAIL(text << ": " << std::get<1>(read));
        CHECK(same_value(std::get<0>(read), s));
        CHECK(text_of(std::get<0>(read)) == text);
    }
}

TEST_CASE("a value differs from itself with any one thing changed, as do their texts") {
    using namespace record_text_test;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        gsub::random_stream r{seed};
        shape s;
        random_record::fill(r, s);
        auto const before = s;
        std::size_t changes = 0, seen = 0;
        random_record::each_change(s, [&] {
            ++changes;
            seen += !same_value(s, before) && text_of(s) != text_of(before);
        });
        CHECK(seen == changes);
        CHECK(same_value(s, before));
    }
}

TEST_CASE("real numbers read back to the bit, zeros have signs, and every NaN is one") {
    using namespace record_text_test;
    using limits = std::numeric_limits<double>;
    for (double const x : {0.1, 1e300, -1e-300, 1.0 / 3, limits::denorm_min(), limits::max(), limits::infinity(),
                           -limits::infinity(), -0.0, 0.0, limits::quiet_NaN(), -limits::quiet_NaN()}) {
        CAPTURE(x);
        CHECK(same_value(std::get<0>(value_of<double>(text_of(x))), x));
    }
    CHECK(text_of(limits::infinity()) == "inf");
    CHECK(text_of(-limits::infinity()) == "-inf");
    CHECK(text_of(-limits::quiet_NaN()) == "nan");
    CHECK(text_of(-0.0) == "-0");
    CHECK(!same_value(0.0, -0.0));
    CHECK(same_value(limits::quiet_NaN(), -limits::quiet_NaN()));
    CHECK(!same_value(limits::quiet_NaN(), 0.0));
    for (auto const text : {"", "x", "+1", "1.5.2", "0x1", "INF", "infinity", "NaN", "-nan", "nan(1)", "--1", "1e"}) {
        CAPTURE(text);
        CHECK(message_of<double>(text).starts_with("invalid input: column "));
    }
    CHECK(message_of<double>("1e999") == "invalid input: column 1: the number is out of range");
    CHECK(message_of<double>("-1e-999") == "invalid input: column 1: the number is out of range");
}

TEST_CASE("integers are read as far as their type goes") {
    using namespace record_text_test;
    CHECK(message_of<std::int8_t>("-128") == "read: -128");
    CHECK(message_of<std::int8_t>("128") ==
          "invalid input: column 1: expected an integer from -128 to 127, found \"128\"");
    CHECK(message_of<std::int64_t>("9223372036854775807") == "read: 9223372036854775807");
    CHECK(message_of<std::int64_t>("9223372036854775808").find("column 1: expected an integer") != std::string::npos);
    CHECK(message_of<std::uint64_t>("18446744073709551615") == "read: 18446744073709551615");
    for (auto const text : {"18446744073709551616", "-1", "1.0", "1e3", "12a", "", "+1"}) {
        CAPTURE(text);
        CHECK(message_of<std::uint64_t>(text).find("column 1: expected an integer from 0 to 18446744073709551615") !=
              std::string::npos);
    }
}

TEST_CASE("spaces may stand between tokens, and fields in any order") {
    using namespace record_text_test;
    CHECK(message_of<shape>("  drawing  { points = [ { y = 2  x = 1 } , { } ]   mask=5 } ") ==
          "read: drawing{mask=5 points=[{x=1 y=2},{}]}");
    CHECK(message_of<drawing>("{open=true}") == "read: {}");
    CHECK(message_of<drawing>("{dashes=[]}") == "read: {}");
    CHECK(message_of<drawing>("{dashes=[]centre={}}") ==
          "invalid input: column 11: expected a space or \"}\", found \"centre\"");
    CHECK(message_of<drawing>("{open=true\n}") ==
          "invalid input: column 11: expected a space or \"}\", found \"\\x0a\"");
}

TEST_CASE("what is wrong with the text of a record is told with its column") {
    using namespace record_text_test;
    std::pair<std::string_view, std::string_view> const cases[] = {
        {"", "column 1: expected a kind (point, drawing), found the end"},
        {"circle{}", "column 1: expected a kind (point, drawing), found \"circle\""},
        {"point", "column 6: expected \"{\", found the end"},
        {"point{", "column 7: expected a field (x, y), found the end"},
        {"point{z=1}", "column 7: expected a field (x, y), found \"z\""},
        {"point{x}", "column 8: expected \"=\", found \"}\""},
        {"point{x=}", "column 9: expected an integer from -9223372036854775808 to 9223372036854775807, found \"}\""},
        {"point{x=1", "column 10: expected a space or \"}\", found the end"},
        {"point{x=1 x=1}", "column 11: field \"x\" stands there twice"},
        {"point{x=1}}", "column 11: expected the end, found \"}\""},
        {"drawing{open=yes}", "column 14: expected a truth value (false, true), found \"yes\""},
        {"drawing{paint=blue}", "column 15: expected a word (red, green, ?), found \"blue\""},
        {"drawing{size=[1]}", "column 16: the list ends after 1 of 2 elements"},
        {"drawing{size=[1,2,3]}", "column 19: the list has more than 2 elements"},
        {"drawing{size=1}", "column 14: expected \"[\", found \"1\""},
        {"drawing{dashes=[1,]}", "column 19: expected an integer from -9223372036854775808 to 9223372036854775807, "
                                 "found \"]\""},
        {"drawing{dashes=[1 2]}", "column 19: expected \",\", found \"2\""},
        {"drawing{dashes=[1", "column 18: expected \",\", found the end"},
        {"drawing{points=[1]}", "column 17: expected \"{\", found \"1\""},
        {"drawing{points=[{x=1},{y=a}]}", "column 26: expected an integer from -9223372036854775808 to "
                                          "9223372036854775807, found \"a\""},
    };
    for (auto const& [text, message] : cases)
        CHECK(message_of<shape>(text) == "invalid input: " + std::string{message});
    // What a message repeats of the text is short, and fit for a terminal.
    CHECK(message_of<shape>(std::string(100000, 'x')).size() < 200);
    CHECK(message_of<shape>("\x1b[2J") == "invalid input: column 1: expected a kind (point, drawing), found \"\\x1b\"");
}

TEST_CASE("a list has so many elements and no more") {
    using namespace record_text_test;
    std::string text = "[0";
    for (std::size_t i = 1; i < max_list_elements; ++i) text += ",0";
    CHECK(std::get<0>(value_of<std::vector<std::int64_t>>(text + "]")).size() == max_list_elements);
    CHECK(message_of<std::vector<std::int64_t>>(text + ",0]") ==
          "invalid input: column 131074: the list has more than 65536 elements");
}

TEST_CASE("single numbers and quoted texts read back as they are printed") {
    using namespace record_text_test;
    using limits = std::numeric_limits<float>;
    for (float const x : {0.0f, -0.0f, 0.1f, limits::denorm_min(), limits::max(), limits::lowest(), limits::infinity(),
                          limits::quiet_NaN()}) {
        std::string text;
        print_value(text, x);
        INFO(text);
        record_reader in{text};
        float back = 1;
        read_value(in, back);
        CHECK(same_value(back, x));
        CHECK(in.at_end());
    }
    CHECK_FALSE(same_value(0.0f, -0.0f));
    CHECK(message_of<std::vector<float>>("[1, 1e39]") == "invalid input: column 5: the number is out of range");

    std::string odd{"a \"b\" \\ \xc3\xa9 x"};
    for (int c = 0; c < 32; ++c) odd += static_cast<char>(c);
    for (auto const& text : {std::string{}, odd}) {
        auto const line = " " + gsub::in_quotes(text) + " 7";
        record_reader in{line};
        CHECK(in.quoted() == text);
        CHECK(in.integer(0, 9) == 7);
    }
    for (auto const* text : {"a", "\"a", "\"\\", "\"\\\"", "\"\\x", "\"\\x1", "\"\\x1g\"", "\"\\x1\"", ""}) {
        record_reader in{text};
        CHECK_THROWS_AS(in.quoted(), gsub::error);
    }
}
