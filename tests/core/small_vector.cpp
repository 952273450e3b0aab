#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/core/small_vector.hpp>

#include <list>
#include <string>
#include <vector>

namespace small_vector_test {

using namespace gsub;

static_assert(std::is_nothrow_move_constructible_v<ints>);
static_assert(std::is_nothrow_move_assignable_v<ints>);
static_assert(std::is_constructible_v<std::span<std::int64_t const>, ints const&>);
static_assert(!std::is_convertible_v<std::size_t, ints>);
static_assert(std::is_same_v<ints::value_type, std::int64_t>);

template <std::size_t N>
bool same(small_vector<int, N> const& v, std::vector<int> const& model) {
    return v.size() == model.size() && v.empty() == model.empty() && v.capacity() >= v.size() &&
           std::equal(v.begin(), v.end(), model.begin(), model.end());
}

// One random operation on both; they must stay equal.
template <std::size_t N>
void step(random_stream& r, small_vector<int, N>& v, std::vector<int>& model) {
    auto const x = static_cast<int>(r.below(1000));
    auto const somewhere = [&](std::size_t extra) { return static_cast<std::size_t>(r.below(model.size() + extra)); };
    auto const at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
    switch (r.below(13)) {
    case 0:
    case 1:
        return v.push_back(x), model.push_back(x);
    case 2:
        if (!model.empty()) v.pop_back(), model.pop_back();
        return;
    case 3: {
        auto const i = somewhere(1);
        v.insert(i, x);
        model.insert(model.begin() + at(i), x);
        return;
    }
    case 4:
        if (!model.empty()) {
            auto const i = somewhere(0);
            v.erase(i);
            model.erase(model.begin() + at(i));
        }
        return;
    case 5: {
        auto const n = static_cast<std::size_t>(r.below(3 * N));
        v.resize(n, x), model.resize(n, x);
        return;
    }
    case 6: {
        auto const n = static_cast<std::size_t>(r.below(2 * N));
        v.assign(n, x), model.assign(n, x);
        return;
    }
    case 7:
        return v.clear(), model.clear();
    case 8: {
        std::vector<int> more(static_cast<std::size_t>(r.below(N + 2)), x);
        v.append(more);
        model.insert(model.end(), more.begin(), more.end());
        return;
    }
    case 9:
        return v.reserve(static_cast<std::size_t>(r.below(4 * N)));
    case 10: { // there and back by copy and move, into a vector that holds something already
        small_vector<int, N> other(static_cast<std::size_t>(r.below(2 * N)), -1);
        other = v;
        v = std::move(other);
        return;
    }
    case 11: {
        auto copy = v;
        copy.push_back(-7); // a copy is independent
        small_vector<int, N> moved{std::move(v)};
        v.swap(moved);
        return;
    }
    default:
        if (!model.empty()) {
            auto const i = somewhere(0);
            v[i] = x, model[i] = x;
        }
    }
}

template <std::size_t N>
void compare_with_model(std::uint64_t seed) {
    CAPTURE(N, seed);
    random_stream r{seed};
    small_vector<int, N> v;
    std::vector<int> model;
    for (int i = 0; i < 3000; ++i) {
        step(r, v, model);
        if (!same(v, model)) {
            FAIL_CHECK("differs after operation " << i);
            return;
        }
    }
    SUCCEED();
}

TEST_CASE("any sequence of operations leaves the elements that std::vector has") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        compare_with_model<1>(seed);
        compare_with_model<4>(seed);
        compare_with_model<6>(seed);
    }
}

TEST_CASE("comparison is lexicographic, as for std::vector") {
    random_stream r{3};
    for (int i = 0; i < 2000; ++i) {
        std::vector<int> a, b;
        for (auto n = r.below(6); n-- > 0;) a.push_back(static_cast<int>(r.below(3)));
        for (auto n = r.below(6); n-- > 0;) b.push_back(static_cast<int>(r.below(3)));
        small_vector<int, 2> const x(a.begin(), a.end()), y(b.begin(), b.end());
        CHECK((x == y) == (a == b));
        CHECK(((x <=> y) < 0) == (a < b));
        CHECK(((x <=> y) > 0) == (a > b));
    }
}

TEST_CASE("a vector is made from a count, a list, a span or a range") {
    CHECK(ints(3) == ints{0, 0, 0});
    CHECK(ints(2, 9) == ints{9, 9});
    CHECK(ints{} == ints(0));
    std::vector<std::int64_t> const source{1, 2, 3, 4, 5, 6};
    CHECK(ints(std::span{source}) == ints{1, 2, 3, 4, 5, 6});
    std::list<std::int64_t> const linked(source.begin(), source.end());
    CHECK(ints(linked.begin(), linked.end()) == ints(std::span{source}));
    CHECK(ints{7}.front() == 7);
    CHECK(ints{7, 8}.back() == 8);
}

TEST_CASE("the first elements live inside of the vector") {
    ints v{1, 2, 3, 4};
    auto const* const begin = reinterpret_cast<std::byte const*>(&v);
    auto const inside = [&] {
        auto const* p = reinterpret_cast<std::byte const*>(v.data());
        return p >= begin && p < begin + sizeof v;
    };
    CHECK(inside());
    CHECK(v.capacity() == 4);
    v.push_back(5);
    CHECK_FALSE(inside());
    CHECK(v == ints{1, 2, 3, 4, 5});
}

TEST_CASE("a moved-from vector can be used again") {
    for (std::size_t n : {2u, 20u}) {
        ints v(n, 1);
        ints const taken{std::move(v)};
        CHECK(taken.size() == n);
        v.clear();
        v.push_back(3);
        CHECK(v == ints{3});
    }
}

TEST_CASE("an element of the vector itself may be the argument") {
    for (std::size_t n : {1u, 3u, 4u, 9u}) {
        CAPTURE(n);
        ints v(n, 5);
        v.push_back(v.front());
        v.insert(0, v.back());
        v.resize(v.size() + 40, v[0]);
        CHECK(v == ints(n + 42, 5));
        v[0] = 8;
        v.assign(n + 100, v[0]);
        CHECK(v == ints(n + 100, 8));
        v = *&v;
        CHECK(v == ints(n + 100, 8));
    }
}

} // namespace small_vector_test
