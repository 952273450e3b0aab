#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace result_test {

using namespace gsub;

static_assert(std::is_convertible_v<int, result<int>>);
static_assert(std::is_convertible_v<error, result<int>>);
static_assert(std::is_convertible_v<error, result<void>>);
static_assert(!std::is_convertible_v<result<int>, bool>, "a result is tested, not counted with");
static_assert(std::is_constructible_v<bool, result<int>>);
static_assert(std::is_nothrow_copy_constructible_v<error>, "an error must be cheap to copy: it is thrown");
static_assert(std::is_base_of_v<std::exception, error>);
static_assert(std::is_same_v<result<int>::value_type, int>);

result<int> half(int x) {
    if (x % 2 != 0) return error{error_code::invalid_input, fmt::format("{} is odd; it takes even numbers", x)};
    return x / 2;
}

TEST_CASE("a result holds a value or an error, never both") {
    for (int x = 0; x < 50; ++x) {
        auto const r = half(x);
        CHECK(r.has_value() == (x % 2 == 0));
        CHECK(static_cast<bool>(r) == r.has_value());
        if (r) {
            CHECK(r.value() == x / 2);
            CHECK(*r == x / 2);
            CHECK(r.value_or(-1) == x / 2);
        } else {
            CHECK(r.error().code() == error_code::invalid_input);
            CHECK(r.value_or(-1) == -1);
            CHECK_THROWS_AS(r.value(), error);
        }
    }
}

TEST_CASE("asking an error for its value throws that error") {
    CHECK_THROWS_WITH(half(3).value(), "invalid input: 3 is odd; it takes even numbers");
    result<void> const bad = error{error_code::environment, "no disk"};
    CHECK_FALSE(bad.has_value());
    CHECK_THROWS_WITH(bad.value(), "environment: no disk");
    CHECK(bad.error().message() == "environment: no disk");
    result<void> const good;
    CHECK(good.has_value());
    CHECK_NOTHROW(good.value());
}

TEST_CASE("a value that cannot be copied moves through a result") {
    result<std::unique_ptr<int>> r = std::make_unique<int>(4);
    CHECK(*r.value() == 4);
    CHECK(**r == 4);
    auto taken = std::move(r).value();
    CHECK(*taken == 4);
    result<std::string> text = std::string{"abc"};
    CHECK(text->size() == 3);
    *text += "d";
    CHECK(text.value() == "abcd");
}

TEST_CASE("a problem names code, operator, node, reason and hint, and leaves out what it has not") {
    CHECK(to_string(problem{error_code::unsupported, "up", "Resize-19", "cubic mode", "linear mode"}) ==
          "not supported: Resize-19 (node \"up\"): cubic mode; try: linear mode");
    CHECK(to_string(problem{error_code::invalid_input, "x", {}, "no such value", {}}) ==
          "invalid input: (node \"x\"): no such value");
    CHECK(to_string(problem{error_code::internal, {}, "Conv", "lost", {}}) == "internal error: Conv: lost");
    CHECK(to_string(problem{error_code::usage, {}, {}, "alpha is 0.5; it must be at least 1", {}}) ==
          "usage: alpha is 0.5; it must be at least 1");
}

TEST_CASE("an error in lines has the number, what it is about, the reason and what to do") {
    CHECK(
        to_lines(error{problem{errors::unknown_operator, "up", "Wobble-1", "gsub does not know it", "gsub ops"}}.within(
            "m")) ==
        "error[G0102]: not supported: Wobble-1 (node \"up\")\n  in:      m\n  because: gsub does not know it\n"
        "  try:     gsub ops\n");
    CHECK(to_lines(error{errors::unknown_pass, "there is no pass \"c\""}.within("b").within("a")) ==
          "error[G0301]: usage: there is no pass \"c\"\n  in:      a: b\n");
    CHECK(to_lines(error{problem{error_code::internal, "x", {}, "lost", {}}}) ==
          "error[G0006]: internal error: \"x\"\n  because: lost\n");
    error const two{
        {problem{error_code::usage, {}, {}, "first", {}}, problem{errors::ill_typed, {}, "Add", "second", {}}}};
    CHECK(to_lines(two.within("m")) == "error: 2 problems\n  in:      m\nerror[G0002]: usage: first\n"
                                       "error[G0201]: invalid input: Add\n  because: second\n");
    CHECK(two.id() == errors::ill_typed);
    error const many{std::vector<problem>(error::max_shown_problems + 7, problem{error_code::usage, {}, {}, "r", {}})};
    auto const text = to_lines(many);
    CHECK(text.ends_with("and 7 more\n"));
    CHECK(std::count(text.begin(), text.end(), '\n') == static_cast<std::ptrdiff_t>(error::max_shown_problems + 2));
}

TEST_CASE("every error code has a name of its own and its number is the exit code") {
    std::vector<std::string_view> names;
    for (auto c : {error_code::negative, error_code::usage, error_code::unsupported, error_code::invalid_input,
                   error_code::environment, error_code::internal}) {
        CHECK(to_string(c) != "unknown");
        CHECK(std::find(names.begin(), names.end(), to_string(c)) == names.end());
        names.push_back(to_string(c));
        CHECK(static_cast<int>(c) == static_cast<int>(names.size()));
    }
    CHECK(to_string(static_cast<error_code>(77)) == "unknown");
}

TEST_CASE("contexts form a chain, outermost first, and leave the error as it was") {
    error const inner{error_code::invalid_input, "axis 7"};
    auto const middle = inner.within("node \"a\""), outer = middle.within("model.onnx");
    CHECK(outer.message() == "model.onnx: node \"a\": invalid input: axis 7");
    CHECK(middle.message() == "node \"a\": invalid input: axis 7");
    CHECK(inner.message() == "invalid input: axis 7");
    CHECK(outer.context() == std::vector<std::string>{"model.onnx", "node \"a\""});
    CHECK(outer.code() == inner.code());
    CHECK(outer.problems().size() == 1);
    CHECK(std::string{outer.what()} == outer.message());
}

TEST_CASE("several problems are told together, each on a line of its own") {
    error const e{std::vector<problem>{{error_code::unsupported, "a", "X", "first", {}},
                                       {error_code::unsupported, "b", "Y", "second", {}}}};
    CHECK(e.message() == "2 problems\n  not supported: X (node \"a\"): first\n  not supported: Y (node \"b\"): second");
    CHECK(e.within("m").message().rfind("m: 2 problems\n", 0) == 0);
    CHECK(e.problems().size() == 2);
}

TEST_CASE("a message has lines for a hundred problems and counts the others, which are all there") {
    std::vector<problem> problems;
    for (int i = 0; i < 103; ++i) problems.push_back({error_code::unsupported, std::to_string(i), "X", "reason", {}});
    error const e{problems};
    CHECK(e.message().starts_with("103 problems\n"));
    CHECK(e.message().ends_with("X (node \"99\"): reason\n  and 3 more"));
    CHECK(e.problems().size() == 103);
    problems.resize(100);
    CHECK(error{problems}.message().ends_with("X (node \"99\"): reason"));
}

TEST_CASE("the code of several problems is the gravest, whatever their order") {
    random_stream r{1};
    for (int round = 0; round < 300; ++round) {
        std::vector<problem> problems;
        for (auto n = 1 + r.below(5); n-- > 0;)
            problems.push_back({static_cast<error_code>(1 + r.below(6)), {}, {}, "reason", {}});
        auto const code = error{problems}.code();
        CHECK(std::any_of(problems.begin(), problems.end(), [&](problem const& p) { return p.id.code == code; }));
        std::reverse(problems.begin(), problems.end());
        INFO(error{problems}.message());
        CHECK(error{problems}.code() == code);
        std::rotate(problems.begin(), problems.begin() + 1, problems.end());
        CHECK(error{problems}.code() == code);
    }
    auto const both = [](error_code a, error_code b) {
        return error{std::vector<problem>{{a, {}, {}, "a", {}}, {b, {}, {}, "b", {}}}}.code();
    };
    CHECK(both(error_code::unsupported, error_code::invalid_input) == error_code::invalid_input);
    CHECK(both(error_code::invalid_input, error_code::internal) == error_code::internal);
    CHECK(both(error_code::internal, error_code::invalid_input) == error_code::internal);
}

TEST_CASE("a captured function gives its value or the error that it threw") {
    CHECK(capture([] { return 5; }).value() == 5);
    auto const failed = capture([]() -> int { throw error{error_code::unsupported, "no"}; });
    CHECK(failed.error().code() == error_code::unsupported);
    bool ran = false;
    CHECK(capture([&] { ran = true; }).has_value());
    CHECK(ran);
    CHECK(capture([] { throw error{error_code::usage, "bad"}; }).error().message() == "usage: bad");
    // Round trip: what `value` throws, `capture` catches.
    for (int x : {4, 5}) CHECK(capture([&] { return half(x).value(); }).has_value() == half(x).has_value());
}

TEST_CASE("exceptions other than gsub's pass through a capture") {
    CHECK_THROWS_AS(capture([] { throw std::bad_alloc{}; }), std::bad_alloc);
    CHECK_THROWS_WITH(capture([]() -> int { throw std::runtime_error("the user's"); }), "the user's");
}

} // namespace result_test
