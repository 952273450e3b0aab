#include "catch.hpp"
#include <gsub/target/microarchitecture.hpp>
#include <gsub/target/target.hpp>

#include <set>
#include <string>

namespace microarchitecture_test {

using namespace gsub;

target with(std::string_view name, isa const& isa) {
    target t;
    t.name = name, t.isa = &isa;
    return t;
}

TEST_CASE("rows of micro-architectures have names of their own, an instruction set, and rates above zero") {
    std::set<std::string_view> names;
    for (auto const& row : microarchitectures()) {
        CAPTURE(row.name);
        CHECK(names.insert(row.name).second);
        REQUIRE(row.isa);
        for (auto const rate : {row.gigahertz, row.fma_units, row.vector_units, row.fma_latency, row.loads, row.stores,
                                row.scalar_loads, row.issue, row.reorder_buffer, row.l2_bytes_per_cycle,
                                row.l3_bytes_per_cycle, row.memory_bytes_per_second})
            CHECK(rate > 0);
        CHECK(row.fma_units <= row.vector_units);
        CHECK(row.l1_bytes <= row.l2_bytes);
        CHECK(row.l2_bytes <= row.l3_bytes);
        CHECK(row.l3_bytes_per_cycle <= row.l2_bytes_per_cycle);
        CHECK(row.memory_bytes_per_second <= row.memory_bytes_in_all);
        CHECK_FALSE((row.generic && row.measured));
        CHECK(row.kept_share < row.lost_share);
        CHECK(row.passes(row.unit_bytes) == 1);
        CHECK(row.passes(2 * row.unit_bytes) == 2);
    }
}

TEST_CASE("a target's row is found by the name that its processor tells or by its own, for its instruction set") {
    CHECK(microarchitecture_of(with("x86_64 family 26 model 2 stepping 1", isa::avx512)).name == "zen5");
    CHECK(microarchitecture_of(with("x86_64 family 25 model 17 stepping 1", isa::avx512)).name == "zen4");
    CHECK(microarchitecture_of(with("x86_64 family 25 model 1 stepping 1", isa::avx2)).name == "zen3");
    for (auto const* name : {"x86_64 family 23 model 1 stepping 2", "x86_64 family 23 model 17 stepping 0"})
        CHECK(microarchitecture_of(with(name, isa::avx2)).name == "zen1");
    CHECK(microarchitecture_of(with("x86_64 family 23 model 49 stepping 0", isa::avx2)).name == "zen2");
    CHECK(microarchitecture_of(with("x86_64 family 6 model 85 stepping 7", isa::avx512)).name == "skylake-sp");
    CHECK(microarchitecture_of(with("x86_64 family 6 model 207 stepping 2", isa::avx512)).name == "sapphire-rapids");
    CHECK(microarchitecture_of(with("x86_64 family 6 model 143 stepping 8 amx", isa::avx512)).name ==
          "sapphire-rapids");
    CHECK(microarchitecture_of(with("x86_64 family 6 model 173 stepping 1", isa::avx512)).name == "granite-rapids");
    // A number that no row has: what the processor can do says which it is like.
    auto const& hidden = microarchitecture_of(with("x86_64 family 6 model 167 stepping 1 amx", isa::avx512));
    CHECK(hidden.name == "granite-rapids");
    CHECK_FALSE(hidden.measured); // a guess is told as an estimate
    CHECK(microarchitecture_of(with("x86_64 family 6 model 167 stepping 1", isa::avx512)).generic);
    CHECK(microarchitecture_of(with("neoverse-v1", isa::neon)).name == "neoverse-v1");
    CHECK(microarchitecture_of(parse_target("x86-64-avx512,cpu=icelake-sp").value()).name == "icelake-sp");
}

TEST_CASE("a processor that no row knows has one of no processor in particular") {
    for (auto const* isa : instruction_sets()) {
        CAPTURE(isa->name);
        auto const& row = microarchitecture_of(with("abacus", *isa));
        CHECK(row.generic);
        CHECK(row.isa == isa);
        CHECK(microarchitecture_of(with("", *isa)).generic);
    }
    CHECK(microarchitecture_of(with("zen4", isa::neon)).generic); // a row is for its instruction set
}

} // namespace microarchitecture_test
