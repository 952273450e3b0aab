#include "catch.hpp"
#include "report/well_formed.hpp"
#include <gsub/core/quoted.hpp>
#include <gsub/report/escape.hpp>

namespace escape_test {

using namespace gsub::report;

TEST_CASE("UTF-8 characters are told from what is none") {
    CHECK(utf8_length("") == 0);
    CHECK(utf8_length("a") == 1);
    CHECK(utf8_length("\xc3\xa4") == 2);
    CHECK(utf8_length("\xe2\x82\xac") == 3);
    CHECK(utf8_length("\xf0\x9f\x98\x80") == 4);
    for (auto const* bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"})
        CHECK(utf8_length(bad) == 0);
}

TEST_CASE("text in XML holds no markup, whatever it was") {
    CHECK(xml_text("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK(xml_text("\xc3\xa4") == "\xc3\xa4");
    CHECK(xml_text("\x01\xff") == "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(xml_text("\xe2\x80\xae") == "\xef\xbf\xbd"); // turns the direction of writing
    CHECK(xml_text("abcd", 4) == "abcd");
    CHECK(xml_text("abcde", 4) == "abcd\xe2\x80\xa6");
    CHECK(xml_text("\xc3\xa4\xc3\xa4", 1) == "\xc3\xa4\xe2\x80\xa6");
    for (auto const& name : well_formed::hostile_names()) {
        CAPTURE(name);
        CHECK(well_formed::problem_of("<a b=\"" + xml_text(name) + "\">" + xml_text(name, 7) + "</a>").empty());
    }
}

TEST_CASE("text in JSON is one string") {
    CHECK(json_text("") == "\"\"");
    CHECK(json_text("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
    CHECK(json_text("\xc3\xa4") == "\"\xc3\xa4\"");
    CHECK(json_text("\xff") == "\"\xef\xbf\xbd\"");
}

} // namespace escape_test
