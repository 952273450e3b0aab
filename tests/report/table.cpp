#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/report/table.hpp>

#include <sstream>

namespace table_test {

using namespace gsub;
using report::table;

std::vector<std::string> lines(std::string const& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

// A random table of words, numbers and empty entries.
struct sample {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    table made{{}};
    explicit sample(std::uint64_t seed, std::string_view alphabet) {
        random_stream r{seed};
        auto const columns = 1 + r.below(4);
        auto const word = [&] {
            std::string w;
            for (auto n = r.below(6); n-- > 0;) w += alphabet[r.below(alphabet.size())];
            return w;
        };
        for (std::uint64_t c = 0; c < columns; ++c) header.push_back(fmt::format("h{}", word()));
        made = table{header};
        for (auto n = r.below(5); n-- > 0;) {
            std::vector<std::string> row;
            for (std::uint64_t c = 0; c < columns; ++c)
                row.push_back(c % 2 ? fmt::format("{}", r.below(1000)) : fmt::format("w{}", word()));
            made.add(row);
            rows.push_back(row);
        }
    }
};

TEST_CASE("columns of a text table stand below each other, words to the left and numbers to the right") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        sample const s{seed, "abc-"};
        auto const text = lines(s.made.text());
        REQUIRE(text.size() == s.rows.size() + 1);
        std::size_t left = 0;
        for (std::size_t c = 0; c < s.header.size(); ++c) {
            auto width = s.header[c].size();
            for (auto const& row : s.rows) width = std::max(width, row[c].size());
            for (std::size_t i = 0; i <= s.rows.size(); ++i) {
                auto const& entry = i ? s.rows[i - 1][c] : s.header[c];
                auto line = text[i];
                line.resize(std::max(line.size(), left + width), ' ');
                auto const numbers = c % 2 == 1 && !s.rows.empty();
                std::string const gap(width - entry.size(), ' ');
                CHECK(line.substr(left, width) == (numbers ? gap + entry : entry + gap));
            }
            left += width + 2;
        }
        for (auto const& line : text) CHECK((line.empty() || line.back() != ' '));
    }
}

TEST_CASE("a Markdown table gives its entries back when it is read") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        sample const s{seed, "ab|\\ *"};
        auto const text = lines(s.made.markdown());
        REQUIRE(text.size() == s.rows.size() + 2);
        for (std::size_t i = 0; i < text.size(); ++i) {
            // As GitHub reads it: a bar ends a cell unless a backslash stands before it.
            std::vector<std::string> cells;
            std::string cell;
            for (std::size_t at = 1; at < text[i].size(); ++at) {
                if (text[i][at] == '\\' && at + 1 < text[i].size() &&
                    (text[i][at + 1] == '|' || text[i][at + 1] == '\\'))
                    cell += text[i][++at];
                else if (text[i][at] == '|')
                    cells.push_back(cell.substr(1, cell.size() - 2)), cell.clear();
                else
                    cell += text[i][at];
            }
            CHECK(cell.empty());
            if (i != 1) CHECK(cells == (i ? s.rows[i - 2] : s.header));
        }
        CHECK(text[1].find("| --- |") == 0);
    }
}

TEST_CASE("missing entries are empty, superfluous ones left out, lines are kept whole") {
    table t{{"a", "b"}};
    t.add({"1"});
    t.add({"2", "x\ny", "z"});
    CHECK(t.size() == 2);
    CHECK(t.markdown() == "| a | b |\n| --- | --- |\n| 1 |  |\n| 2 | x y |\n");
    table one{{"n", "name"}};
    one.add({"10", "x"});
    one.add({"", "y"});
    CHECK(one.text() == " n  name\n10  x\n    y\n");
    CHECK(table{{"only", "header"}}.text() == "only  header\n");
}

TEST_CASE("letters count once, however many bytes they take") {
    table t{{"name", "k"}};
    t.add({"\xc3\xa4\xc3\xb6", "x"}); // two letters of two bytes
    t.add({"abc", "y"});
    CHECK(t.text() == "name  k\n\xc3\xa4\xc3\xb6    x\nabc   y\n");
}

} // namespace table_test
