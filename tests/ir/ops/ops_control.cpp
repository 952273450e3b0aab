#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/ir/ops/ops_control.hpp>

namespace ops_control_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

static_assert(op_info::of<ops::if_else>().name == "If" && op_info::of<ops::if_else>().domain.empty());
static_assert(op_info::of<ops::if_else>().category == op_category::structural, "no engine computes it by itself");

TEST_CASE("a branch takes one truth value, and its results are what the functions say") {
    for (auto const* condition : {"bool[]", "bool[1]", "bool[*]", "?[*]", "bool[?]"})
        CHECK(infers<ops::if_else>({condition, "f32[2]"}, 2) == "?[*] ?[*]");
    for (auto const* condition : {"f32[]", "bool[2]", "i64[1]{1}"})
        CHECK(says(infers<ops::if_else>({condition}), "it takes one truth value"));
}

} // namespace ops_control_test
