#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/io/json.hpp>

TEST_CASE("JSON keeps the order of its keys through a file") {
    scratch_folder const scratch;
    gsub::io::json const value{{"z", 1}, {"a", {1.5, nullptr, true, "text"}}, {"m", {{"b", -1}, {"a", 0}}}};
    gsub::io::save_json(scratch / "a.json", value).value();
    auto const text = gsub::io::read_file(scratch / "a.json").value();
    auto const again = gsub::io::parse_json(text).value();
    CHECK(again == value);
    CHECK(again.dump() == value.dump());
    CHECK(text.find("\"z\"") < text.find("\"a\""));
}

TEST_CASE("malformed JSON is an error that says where, cut off at any byte") {
    std::string const text = R"({"a": [1, 2.5e3, "x\u00e9"], "b": {"c": null}})";
    REQUIRE(gsub::io::parse_json(text));
    for (std::size_t size = 0; size < text.size(); ++size) {
        auto const parsed = gsub::io::parse_json(text.substr(0, size));
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().code() == gsub::error_code::invalid_input);
        CHECK(parsed.error().message().find("column") != std::string::npos);
    }
    CHECK_FALSE(gsub::io::parse_json("1e999"));
    CHECK_FALSE(gsub::io::parse_json(std::string(100'000, '[')));
}

TEST_CASE("text that is no UTF-8 is saved with replacement characters") {
    scratch_folder const scratch;
    gsub::io::save_json(scratch / "a.json", "caf\xe9").value();
    CHECK(gsub::io::parse_json(gsub::io::read_file(scratch / "a.json").value()).value() == "caf\xef\xbf\xbd");
}
