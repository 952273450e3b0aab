#include "catch.hpp"
#include <gsub/core/hash.hpp>
#include <gsub/core/random.hpp>

#include <unordered_set>
#include <vector>

using namespace gsub;

TEST_CASE("hashes are the same in every run and on every machine") {
    // Recorded once; a change breaks every stored verdict and profile.
    CHECK(to_string(hasher{}.add(1).add(2).finish()) == "f3d9f9d7678be0b88abb2e4cd125902b");
    CHECK(to_string(hasher{}.add("Conv").finish()) == "f1d1f89769bc5ec7df845e45e9eeb018");
    std::vector<std::byte> bytes;
    for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<std::byte>(i));
    CHECK(to_string(hash_bytes(bytes)) == "4f9072026bec092daa8654adf0c48f3d");
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
