#include "catch.hpp"
#include <gsub/target/target.hpp>

#include <algorithm>
#include <string_view>

namespace isa_test {

using namespace gsub;
using gsub::isa;

TEST_CASE("a vector holds whole floats, of a number that is a power of two") {
    for (auto const* set : instruction_sets()) {
        CAPTURE(set->name);
        CHECK(set->lanes() * 4 == set->vector_bytes);
        for (auto const bytes : {1, 2, 8}) CHECK(set->lanes(bytes) * bytes == set->vector_bytes);
        CHECK((set->lanes() & (set->lanes() - 1)) == 0);
        CHECK(set->registers >= 16);
        CHECK(set->fma_per_cycle >= 1);
        CHECK(set->fma_latency >= 1);
    }
}

TEST_CASE("flags name instruction sets, so that kernels do not depend on where they are compiled") {
    for (auto const* set : instruction_sets()) {
        CHECK(set->flags.find("native") == std::string_view::npos);
        for (std::size_t at = 0; at < set->flags.size();) {
            CHECK(set->flags.substr(at, 2) == "-m");
            at = std::min(set->flags.find(' ', at), set->flags.size() - 1) + 1;
        }
    }
}

TEST_CASE("a target gets the widest set that it has") {
    target t;
    CHECK(&isa_of(t) == &isa::baseline);
    t.set = &isa::avx2;
    CHECK(&isa_of(t) == &isa::avx2);
    CHECK(t.has(isa::baseline));
    CHECK_FALSE(t.has(isa::avx512));
    CHECK_FALSE(t.has(isa::neon));
}

TEST_CASE("a set that extends another has vectors at least as wide, and options that name its features") {
    for (auto const* set : instruction_sets()) {
        CAPTURE(set->name);
        CHECK(set->runs(*set));
        if (set->extends) CHECK(set->vector_bytes >= set->extends->vector_bytes);
        if (set != &isa::baseline) CHECK(set->runs(isa::baseline));
    }
}

} // namespace isa_test
