#include "catch.hpp"
#include <gsub/target/target.hpp>

#include <algorithm>
#include <string_view>

namespace isa_test {

using namespace gsub;
using gsub::isa;

TEST_CASE("a vector holds whole floats, of a number that is a power of two") {
    for (auto const* isa : instruction_sets()) {
        CAPTURE(isa->name);
        CHECK(isa->lanes() * 4 == isa->vector_bytes);
        for (auto const bytes : {1, 2, 8}) CHECK(isa->lanes(bytes) * bytes == isa->vector_bytes);
        CHECK((isa->lanes() & (isa->lanes() - 1)) == 0);
        CHECK(isa->registers >= 16);
        CHECK(isa->fma_per_cycle >= 1);
        CHECK(isa->fma_latency >= 1);
    }
}

TEST_CASE("flags name instruction sets, so that kernels do not depend on where they are compiled") {
    for (auto const* isa : instruction_sets()) {
        CHECK(isa->flags.find("native") == std::string_view::npos);
        for (std::size_t at = 0; at < isa->flags.size();) {
            CHECK(isa->flags.substr(at, 2) == "-m");
            at = std::min(isa->flags.find(' ', at), isa->flags.size() - 1) + 1;
        }
    }
}

TEST_CASE("a target gets the widest set that it has") {
    target t;
    CHECK(&isa_of(t) == &isa::baseline);
    t.isa = &isa::avx2;
    CHECK(&isa_of(t) == &isa::avx2);
    CHECK(t.has(isa::baseline));
    CHECK_FALSE(t.has(isa::avx512));
    CHECK_FALSE(t.has(isa::neon));
}

TEST_CASE("a set that extends another has vectors at least as wide, and options that name its features") {
    for (auto const* isa : instruction_sets()) {
        CAPTURE(isa->name);
        CHECK(isa->runs(*isa));
        if (isa->extends) CHECK(isa->vector_bytes >= isa->extends->vector_bytes);
        if (isa != &isa::baseline) CHECK(isa->runs(isa::baseline));
    }
}

} // namespace isa_test
