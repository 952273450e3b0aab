#include "catch.hpp"
#include <gsub/target/format.hpp>
#include <gsub/target/target.hpp>

#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

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
    CHECK((!t.has(isa::avx512) || t.has(isa::avx2)));
    CHECK((!t.has(isa::avx2) || t.has(isa::sse42)));
    CHECK(t.has(isa::baseline));
#if defined(__AVX2__) && defined(__FMA__)
    CHECK(t.has(isa::avx2)); // this program itself uses it
#endif
#if defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
    CHECK(t.has(isa::avx512));
#endif
}

TEST_CASE("the key tells machines of different speed apart, and only those") {
    target const base{"x86_64 family 25 model 17 stepping 1", 2, 32768, 1048576, 33554432, &isa::avx2};
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
    CHECK(differs([](target& t) { t.isa = &isa::baseline; }));
    CHECK(differs([](target& t) { t.isa = &isa::sse42; }));
    CHECK(differs([](target& t) { t.isa = &isa::avx512; }));
}

TEST_CASE("a target that says nothing is the least machine") {
    target const t;
    CHECK(t.threads == 1);
    CHECK(t.l1_bytes == 0);
    CHECK_FALSE(t.has(isa::avx2));
    CHECK(t.key() == " l1=0 l2=0 l3=0");
}

TEST_CASE("a target is read back from its text") {
    std::vector<target> all{host(), {}};
    for (auto const* isa : instruction_sets()) {
        target t{"a processor", 3, 49152, 1 << 20, 1000001, isa, 1};
        all.push_back(t);
        t.l1_bytes = t.l2_bytes = t.l3_bytes = 0, t.name.clear(), t.fma_per_cycle = 0;
        all.push_back(t);
    }
    for (auto const& t : all) {
        CAPTURE(to_string(t));
        CHECK(parse_target(to_string(t)).value() == t);
        CHECK(fmt::format("{}", t) == to_string(t));
    }
    CHECK(parse_target("host").value() == host());
    CHECK(to_string(parse_target("x86-64-avx512,l2=2M,threads=8").value()) == "x86-64-avx512,threads=8,l2=2M");
}

TEST_CASE("a GPU is a target by its name, or by its architecture's") {
    for (auto const& row : gpus()) {
        auto const t = parse_target(row.name).value();
        CHECK(t == target_of(row));
        CHECK(t.gpu == &row);
        CHECK(&isa_of(t) == &isa::warp);
        CHECK_FALSE(host().has(isa_of(t)));
        CHECK(to_string(t) == row.name);
        CHECK(t.key() == row.name);
    }
    for (auto const& a : gpu_architectures()) CHECK(parse_target(a.name).value().gpu->architecture == &a);
    CHECK(parse_target("sm_90a").value() == parse_target("h100").value());
    CHECK(parse_target("x86-64-avx2").value().gpu == nullptr);
    CHECK_FALSE(host().gpu);
}

TEST_CASE("what a micro-architecture is known to do comes with its name, unless it is told") {
    auto const zen4 = std::string{"x86-64-avx512,cpu=x86_64 family 25 model 17 stepping 1"};
    CHECK(parse_target(zen4).value().fma_per_cycle == 1);
    CHECK(parse_target(zen4 + ",fma=2").value().fma_per_cycle == 2);
    CHECK(parse_target("x86-64-avx512,cpu=zen4").value().fma_per_cycle == 1); // the row's own name
    CHECK(parse_target("x86-64-avx512,cpu=zen4,fma=0").value().fma_per_cycle == 0);
    CHECK(parse_target("x86-64-avx512,cpu=zen5").value().fma_per_cycle == 0);
    CHECK(parse_target("x86-64-avx2,cpu=zen4").value().fma_per_cycle == 0); // two of these vectors
    CHECK(parse_target("x86-64-avx512,cpu=x86_64 family 26 model 2 stepping 1").value().fma_per_cycle == 0);
}

TEST_CASE("a target text that is wrong is refused, and the part that is wrong named") {
    struct {
        char const *text, *part, *reason;
    } const cases[] = {
        {"", "\"\"", "x86-64-avx512"},
        {"avx512", "\"avx512\"",
         "a target is one of host, x86-64-avx512, x86-64-avx2, x86-64-sse42, aarch64-neon, baseline"},
        {"host,threads=2", "\"host\"", "as it is found"},
        {"h200,threads=2", "\"h200\"", "as its row of the table says"},
        {"sm_91", "\"sm_91\"", "baseline, v100, "},
        {"baseline,", "\"\"", "key=value"},
        {"baseline,threads", "\"threads\"", "key=value"},
        {"baseline,threads=0", "\"threads=0\"", "from 1 to 65536"},
        {"baseline,threads=2K", "\"threads=2K\"", "from 1 to 65536"},
        {"baseline,l1=1,l1=2", "\"l1=2\"", "twice"},
        {"baseline,l1=32k", "\"l1=32k\"", "32768, 32K or 1M"},
        {"baseline,l2=99999999999G", "\"l2=99999999999G\"", "number of bytes"},
        {"baseline,fma=-1", "\"fma=-1\"", "vectors a cycle"},
        {"baseline,l4=1", "\"l4=1\"", "a target has threads"},
        {"baseline\n", "\"baseline\\x0a\"", "a target is one of"},
    };
    for (auto const& c : cases) {
        auto const read = parse_target(c.text);
        CAPTURE(c.text);
        REQUIRE(!read);
        CHECK(read.error().id() == errors::unknown_target);
        CAPTURE(read.error().message());
        CHECK(read.error().message().find(c.part) != std::string::npos);
        CHECK(read.error().message().find(c.reason) != std::string::npos);
    }
}

} // namespace target_test
