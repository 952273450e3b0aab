#include "catch.hpp"
#include <gsub/core/edit_distance.hpp>
#include <gsub/core/random.hpp>

#include <string>

namespace edit_distance_test {

using gsub::edit_distance;

TEST_CASE("one more, one less or one other character is one step") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("conv", "conv") == 0);
    CHECK(edit_distance("conv", "con") == 1);
    CHECK(edit_distance("conv", "conve") == 1);
    CHECK(edit_distance("conv", "cony") == 1);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("", "abc") == 3);
}

TEST_CASE("the distance is symmetric and keeps the triangle inequality") {
    gsub::random_stream r{7};
    auto const word = [&] {
        std::string w;
        for (auto n = r.below(8); n > 0; --n) w += static_cast<char>('a' + r.below(3));
        return w;
    };
    for (int i = 0; i < 300; ++i) {
        auto const a = word(), b = word(), c = word();
        CHECK(edit_distance(a, b) == edit_distance(b, a));
        CHECK(edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c));
        CHECK((edit_distance(a, b) == 0) == (a == b));
    }
}

TEST_CASE("long texts take bounded time") {
    CHECK(edit_distance(std::string(1'000'000, 'a'), std::string(1'000'000, 'b')) == 100);
}

} // namespace edit_distance_test
