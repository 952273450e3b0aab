#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/tune/point_bytes.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace point_bytes_test {

using namespace gsub;
using namespace gsub::tune;

struct plain {
    int a;
    double b;
};
struct opaque {
    std::vector<std::vector<int>> v;
};
// A type of a user's own: bytes are those of one member.
struct named {
    std::string name;
    int length = 0;
    friend bool operator==(named const&, named const&) = default;
};

} // namespace point_bytes_test

template <>
struct gsub::tune::point_bytes<point_bytes_test::named> {
    using inner = point_bytes<std::string>;
    static void append(point_bytes_test::named const& p, std::vector<std::byte>& out) { inner::append(p.name, out); }
    static point_bytes_test::named read(std::span<std::byte const> b) {
        auto name = inner::read(b);
        auto const length = static_cast<int>(name.size());
        return {std::move(name), length};
    }
};

namespace point_bytes_test {

static_assert(byte_point<std::uint64_t> && byte_point<double> && byte_point<plain> && byte_point<std::array<float, 3>>);
static_assert(byte_point<std::vector<double>> && byte_point<std::vector<std::uint32_t>> && byte_point<std::string>);
static_assert(byte_point<small_vector<std::uint32_t, 14>> && byte_point<named>);
static_assert(!byte_point<int*> && !byte_point<opaque> && !byte_point<std::vector<std::string>>);
static_assert(!byte_point<std::vector<int*>> && !byte_point<std::vector<bool>>);

template <class Point>
std::vector<std::byte> bytes_of(Point const& p) {
    std::vector<std::byte> out;
    point_bytes<Point>::append(p, out);
    return out;
}
template <class Point>
void check_bijection(Point const& p) {
    auto const bytes = bytes_of(p);
    CHECK(point_bytes<Point>::read(bytes) == p);
    CHECK(bytes_of(point_bytes<Point>::read(bytes)) == bytes);
}

TEST_CASE("points come back from their bytes, and different points have different bytes") {
    std::set<std::vector<std::byte>> seen;
    std::set<std::vector<std::uint32_t>> points;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_stream random{seed};
        std::vector<double> reals(random.below(20));
        for (auto& r : reals) r = random.uniform() * 1e300 - 5e299;
        check_bijection(reals);
        check_bijection(random());
        std::vector<std::uint32_t> digits(random.below(4));
        for (auto& d : digits) d = static_cast<std::uint32_t>(random.below(3));
        check_bijection(digits);
        seen.insert(bytes_of(digits));
        points.insert(digits);
    }
    CHECK(seen.size() == points.size());
    check_bijection(std::string{"tile_oc=[-1,16]"});
    check_bijection(std::vector<double>{});
    check_bijection(named{"four", 4});
}

TEST_CASE("bytes that are no point are refused with both lengths") {
    std::vector<std::byte> const five(5);
    CHECK_THROWS_WITH(point_bytes<double>::read(five),
                      "invalid input: a point of 5 bytes, expected 8; try: workers of the same build");
    CHECK_THROWS_WITH(point_bytes<std::vector<float>>::read(five),
                      "invalid input: a point of 5 bytes, expected a multiple of 4; try: workers of the same build");
}

} // namespace point_bytes_test
