#include "catch.hpp"
#include <gsub/core/error_id.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace error_id_test {

using namespace gsub;

static_assert(error_id{} == error_id{error_code::invalid_input});
static_assert(error_id{error_code::usage}.number == 2, "a kind is its own number");
static_assert(errors::unknown_operator.code == error_code::unsupported);

TEST_CASE("an error has a number that nothing else has, and an entry under it") {
    auto const all = error_entries();
    std::set<std::string> numbers, titles;
    for (auto const& e : all) {
        auto const text = to_string(e.id);
        CAPTURE(text);
        CHECK(text.size() == 5);
        CHECK(numbers.insert(text).second);
        CHECK(titles.insert(std::string{e.title}).second);
        CHECK(find_error(text) == &e);
        for (auto const words : {e.cause, e.remedy}) {
            CHECK(words.size() > 10);
            CHECK(words.ends_with('.'));
        }
        CHECK(e.title.size() < 60);
    }
    CHECK(
        std::is_sorted(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.id.number < b.id.number; }));
    CHECK_FALSE(find_error("G9999"));
    CHECK_FALSE(find_error("G102"));
    CHECK_FALSE(find_error(""));
}

TEST_CASE("kinds are the first numbers, and a number is written with four digits") {
    for (int kind = 1; kind <= 6; ++kind) {
        auto const& e = error_entries()[static_cast<std::size_t>(kind - 1)];
        CHECK(e.id == error_id{static_cast<error_code>(kind)});
        CHECK(to_string(e.id) == "G000" + std::to_string(kind));
    }
    CHECK(to_string(errors::unknown_operator) == "G0102");
    CHECK(to_string(error_id{error_code::usage, 9876}) == "G9876");
}

// What has been released stays: a number is never given to another error. New rows go here when they come.
TEST_CASE("numbers stay what they are") {
    CHECK(find_error("G0102")->title == "the operator is not known");
    CHECK(find_error("G0201")->title == "the node is ill-typed");
    CHECK(find_error("G0301")->title == "there is no such pass");
    CHECK(find_error("G0401")->title == "there is no such rule");
    CHECK(find_error("G0501")->title == "a size is open");
    CHECK(find_error("G0601")->title == "outputs overlap in memory");
    CHECK(find_error("G0701")->title == "the tuning record is malformed");
    CHECK(find_error("G0901")->title == "a file cannot be read or written");
}

} // namespace error_id_test
