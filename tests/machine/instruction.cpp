#include "catch.hpp"
#include <gsub/machine/instruction.hpp>

namespace instruction_test {

using namespace gsub;
using namespace gsub::machine;

TEST_CASE("an instruction folds a load where it has a memory operand and is none itself") {
    auto i = multiply_add(0, 1, 2);
    CHECK_FALSE(i.folds_load());
    i.memory = {3, 64, false};
    CHECK(i.folds_load());
    CHECK(i.folded_class() == instruction_class::load);
    i.memory = {3, 4, true};
    CHECK(i.folded_class() == instruction_class::broadcast);
    CHECK_FALSE(load_into(1, 40).folds_load());
    CHECK(load_into(1, 40, 64, true).what == instruction_class::broadcast);
    CHECK(load_into(1, 40, 64, true).memory.bytes == 4);
    instruction const store{instruction_class::store, 64, {}, {0, 40}, {1, 64, false}, 2};
    CHECK_FALSE(store.folds_load());
}

TEST_CASE("an fma reads its addend first and writes it") {
    auto const i = multiply_add(5, 1, 2, 32);
    CHECK(i.uses[0] == 5);
    CHECK(i.defs[0] == 5);
    CHECK(i.bytes == 32);
}

} // namespace instruction_test
