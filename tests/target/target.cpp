#include "catch.hpp"
#include <gsub/target/target.hpp>

#include <string>
#include <thread>

namespace target_test {

using namespace gsub;

TEST_CASE("asking for the host twice gives the same machine") {
    CHECK(host().key() == host().key());
    CHECK(host().threads == host().threads);
}

TEST_CASE("the host is plausible") {
    auto const t = host();
    INFO(t.key() << " threads=" << t.threads);
    CHECK_FALSE(t.name.empty());
    CHECK(t.threads >= 1);
    CHECK(t.threads <= 4096);
    if (auto const all = std::thread::hardware_concurrency()) CHECK(t.threads <= all);
    // A cache of unknown size is 0; a known one lies in what has ever been built.
    for (auto size : {t.l1_bytes, t.l2_bytes, t.l3_bytes}) CHECK((size == 0 || (size >= 4096 && size < (1ull << 36))));
    if (t.l1_bytes && t.l2_bytes) CHECK(t.l1_bytes <= t.l2_bytes);
    CHECK((!t.avx512 || t.avx2));
#if defined(__AVX2__) && defined(__FMA__)
    CHECK(t.avx2); // this program itself uses it
#endif
#if defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
    CHECK(t.avx512);
#endif
}

TEST_CASE("the key tells machines of different speed apart, and only those") {
    target const base{"x86_64 family 25 model 17 stepping 1", 2, 32768, 1048576, 33554432, true, false};
    CHECK(base.key() == "x86_64 family 25 model 17 stepping 1 l1=32768 l2=1048576 l3=33554432 avx2");
    auto other = base;
    other.threads = 64; // one core of it is as fast
    CHECK(other.key() == base.key());
    auto const differs = [&](auto change) {
        auto changed = base;
        change(changed);
        return changed.key() != base.key();
    };
    CHECK(differs([](target& t) { t.name += "0"; }));
    CHECK(differs([](target& t) { t.l1_bytes *= 2; }));
    CHECK(differs([](target& t) { t.l2_bytes *= 2; }));
    CHECK(differs([](target& t) { t.l3_bytes = 0; }));
    CHECK(differs([](target& t) { t.avx2 = false; }));
    CHECK(differs([](target& t) { t.avx512 = true; }));
}

TEST_CASE("a target that says nothing is the least machine") {
    target const t;
    CHECK(t.threads == 1);
    CHECK(t.l1_bytes == 0);
    CHECK_FALSE(t.avx2);
    CHECK(t.key() == " l1=0 l2=0 l3=0");
}

} // namespace target_test
