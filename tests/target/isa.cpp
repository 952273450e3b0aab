#include "catch.hpp"
#include <gsub/target/isa.hpp>

#include <algorithm>
#include <string_view>

namespace isa_test {

using namespace gsub;
using gsub::isa;

TEST_CASE("a vector holds whole floats, of a number that is a power of two") {
    for (auto const* set : {&isa::avx512, &isa::avx2, &isa::neon, &isa::baseline}) {
        CAPTURE(set->name);
        CHECK(set->lanes() * 4 == set->vector_bytes);
        CHECK((set->lanes() & (set->lanes() - 1)) == 0);
        CHECK(set->registers >= 16);
        CHECK(set->fma_per_cycle >= 1);
        CHECK(set->fma_latency >= 1);
    }
}

TEST_CASE("flags name instruction sets, so that kernels do not depend on where they are compiled") {
    for (auto const* set : {&isa::avx512, &isa::avx2, &isa::neon, &isa::baseline}) {
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
    t.avx2 = true;
    CHECK(&isa_of(t) == &isa::avx2);
    t.avx512 = true;
    CHECK(&isa_of(t) == &isa::avx512);
}

} // namespace isa_test
