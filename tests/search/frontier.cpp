#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/frontier.hpp>

#include <algorithm>
#include <vector>

namespace frontier_test {

using namespace gsub;
using search::options;

struct one_byte {
    std::uint64_t operator()(int) const { return 1; }
};
using frontier = search::frontier<int, one_byte>;

// States are numbers, which cost what they are; moves count up.
void push_all(frontier& f, std::vector<int> const& states) {
    std::uint32_t move = 0;
    for (auto s : states) f.push({static_cast<double>(s), move++, s});
}

TEST_CASE("states come out by cost, those of equal cost as they went in, and bytes are those that are inside") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        options const o;
        frontier f{o, {}};
        std::vector<int> in;
        for (auto i = r.below(30); i-- > 0;) in.push_back(static_cast<int>(r.below(6)));
        push_all(f, in);
        CHECK(f.bytes() == in.size());
        double cost = 0;
        std::uint32_t move = 0;
        for (auto left = in.size(); left-- > 0;) {
            auto const e = f.pop(1e9).value();
            CHECK((e.cost > cost || (e.cost == cost && (move == 0 || e.move > move)) || left + 1 == in.size()));
            CHECK(f.bytes() == left);
            cost = e.cost, move = e.move;
        }
        CHECK(f.empty());
    }
}

TEST_CASE(
    "what costs more than alpha times the best by its turn is dropped, and kept where a larger alpha may take it") {
    options o{.alpha = 1.5, .schedule = {2, 3}};
    frontier f{o, {}};
    push_all(f, {10, 14, 19, 25, 31});
    CHECK(f.pop(10)->what == 10);
    CHECK(f.pop(10)->what == 14);
    for (int i = 0; i < 3; ++i) CHECK_FALSE(f.pop(10)); // 19 and 25 are deferred, 31 is beyond every alpha
    CHECK(f.empty());
    CHECK(f.bytes() == 2);
    std::uint64_t refused = 0;
    auto const same = [](frontier::entry e) { return e; };
    REQUIRE(f.climb(10, same, refused)); // alpha 2
    CHECK(f.alpha() == 2);
    CHECK(f.pop(10)->what == 19);
    REQUIRE(f.climb(10, same, refused)); // alpha 3
    CHECK(f.pop(10)->what == 25);
    CHECK_FALSE(f.climb(10, same, refused));
    CHECK(refused == 0); // all had been admitted before
    CHECK(f.bytes() == 0);
}

TEST_CASE("a refused successor waits for the alpha that admits it, and gets its move then") {
    options o{.alpha = 1, .schedule = {1.2, 2}};
    frontier f{o, {}};
    CHECK_FALSE(f.admits(15, 10));
    CHECK(f.may_admit(15, 10));
    CHECK_FALSE(f.may_admit(20, 10));
    f.defer({15, 7, 15}, 10);
    f.defer({11, 8, 11}, 10);
    std::uint64_t refused = 0;
    std::vector<std::uint32_t> parents;
    auto const admit = [&](frontier::entry e) {
        parents.push_back(e.move);
        e.move = 100 + static_cast<std::uint32_t>(parents.size());
        return e;
    };
    REQUIRE(f.climb(10, admit, refused));
    CHECK(f.pop(10)->move == 101);
    REQUIRE(f.climb(7, admit, refused) == false); // 15 is no less than twice the best by now
    CHECK(refused == 1);
    CHECK(parents == std::vector<std::uint32_t>{8});
}

TEST_CASE("a full queue keeps the cheaper half of what it holds at most") {
    options o;
    o.queue = 4;
    frontier f{o, {}};
    push_all(f, {5, 1, 4, 2});
    CHECK(f.shrink() == 0);
    f.push({3, 9, 3});
    CHECK(f.shrink() == 3);
    CHECK(f.bytes() == 2);
    CHECK(f.pop(1e9)->what == 1);
    CHECK(f.pop(1e9)->what == 2);
    CHECK(f.empty());
}

TEST_CASE("plateau moves admit a cost equal to the bound, and the first cheaper state needs no alpha") {
    options o{.alpha = 1};
    CHECK_FALSE(frontier(o, {}).admits(10, 10));
    o.plateau = true;
    CHECK(frontier(o, {}).admits(10, 10));
    options first{.alpha = 3, .admit = search::admission::first};
    CHECK(frontier(first, {}).alpha() == 1);
}

} // namespace frontier_test
