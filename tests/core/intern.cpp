#include "catch.hpp"
#include <gsub/core/intern.hpp>
#include <gsub/core/random.hpp>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace intern_test {

using namespace gsub;

struct text_hash {
    hash128 operator()(std::string const& s) const noexcept { return hasher{}.add(std::string_view{s}).finish(); }
};
struct colliding_hash {
    hash128 operator()(std::string const& s) const noexcept { return {0, s.size() % 2}; }
};

static_assert(!std::is_copy_constructible_v<interner<std::string, text_hash>>);
static_assert(!std::is_move_constructible_v<interner<std::string, text_hash>>);

TEST_CASE("equal values get equal ids, different values different ones, counted from zero") {
    random_stream r{1};
    interner<std::string, text_hash> store;
    std::map<std::string, std::uint32_t> model;
    for (int i = 0; i < 20'000; ++i) {
        auto const value = "value " + std::to_string(r.below(3000));
        auto const id = store.intern(value);
        auto const [known, fresh] = model.emplace(value, static_cast<std::uint32_t>(model.size()));
        if (id != known->second || store[id] != value) FAIL_CHECK("value " << value << " has id " << id);
    }
    CHECK(model.size() > 2900);
}

TEST_CASE("values with equal hashes are told apart") {
    interner<std::string, colliding_hash> store;
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 500; ++i) ids.push_back(store.intern(std::to_string(i)));
    for (int i = 0; i < 500; ++i) {
        CHECK(store.intern(std::to_string(i)) == ids[static_cast<std::size_t>(i)]);
        CHECK(store[ids[static_cast<std::size_t>(i)]] == std::to_string(i));
    }
}

TEST_CASE("entries never move, however many come after them") {
    interner<std::string, text_hash> store;
    std::vector<std::string const*> places;
    for (int i = 0; i < 5000; ++i) places.push_back(&store[store.intern("entry " + std::to_string(i))]);
    std::size_t moved = 0;
    for (std::uint32_t i = 0; i < places.size(); ++i)
        moved += &store[i] != places[i] || *places[i] != "entry " + std::to_string(i);
    CHECK(moved == 0);
}

TEST_CASE("the stored entry is built once, for a value that is new") {
    interner<std::string, text_hash> store;
    int built = 0;
    auto const add = [&](std::string const& s) { return store.intern(text_hash{}(s), s, [&] { return ++built, s; }); };
    auto const a = add("a");
    CHECK(add("a") == a);
    CHECK(add("b") != a);
    CHECK(add("a") == a);
    CHECK(built == 2);
}

TEST_CASE("an interner may begin with an entry, which has id 0") {
    interner<std::string, text_hash> store{std::string{"nothing"}};
    CHECK(store[0] == "nothing");
    CHECK(store.intern("something") == 1);
    CHECK(store.intern("nothing") == 0);
}

TEST_CASE("threads that intern the same values at the same time agree on their ids") {
    constexpr std::size_t threads = 6, values = 4000;
    interner<std::string, text_hash> store;
    std::vector<std::vector<std::uint32_t>> ids(threads, std::vector<std::uint32_t>(values));
    std::vector<std::size_t> misread(threads, 0);
    {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::size_t i = 0; i < values; ++i) {
                    auto const n = (i * 7919 + t * 613) % values; // every thread in an order of its own
                    auto const text = "shared " + std::to_string(n);
                    ids[t][n] = store.intern(text);
                    misread[t] += store[ids[t][n]] != text; // reads without a lock while others insert
                }
            });
    }
    for (std::size_t t = 0; t < threads; ++t) {
        CHECK(misread[t] == 0);
        CHECK(ids[t] == ids[0]);
    }
    std::vector<bool> taken(values, false);
    for (auto id : ids[0]) {
        REQUIRE(id < values);
        CHECK_FALSE(taken[id]);
        taken[id] = true;
    }
}

} // namespace intern_test
