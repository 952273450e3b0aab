#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>

namespace ops_reduce_test {

using namespace gsub;
using infer_once::infers;

static_assert(op_info::of<ops::reduce_sum>().commutative_reduction &&
              op_info::of<ops::reduce_max>().commutative_reduction);
static_assert(op_info::of<ops::reduce_sum>().needs == scalar_needs::ring);
static_assert(op_info::of<ops::reduce_mean>().needs == scalar_needs::field);
static_assert(op_info::of<ops::reduce_max>().needs == scalar_needs::ordered);

TEST_CASE("a reduction takes its dimensions away or leaves them with size one") {
    CHECK(infers<ops::reduce_sum>({.axes = {1}}, {"f32[2,3,n]"}) == "f32[2,1,n]");
    CHECK(infers<ops::reduce_sum>({.axes = {-1, 0}, .keepdims = false}, {"f32[2,3,n]"}) == "f32[3]");
    CHECK(infers<ops::reduce_mean>({}, {"i64[2,?]"}) == "i64[1,1]");
    CHECK(infers<ops::reduce_max>({.keepdims = false}, {"u8[2,3]"}) == "u8[]");
    CHECK(infers<ops::reduce_max>({.axes = {0}}, {"f16[0,2]"}) == "f16[1,2]");
    CHECK(infers<ops::reduce_mean>({.axes = {5}}, {"f32[*]"}) == "f32[*]");
}

TEST_CASE("axes in an operand mean the same as in the attribute, and unknown ones leave the rank at most") {
    CHECK(infers<ops::reduce_sum>({}, {"f32[2,3]", "i64[1]{-1}"}) == "f32[2,1]");
    CHECK(infers<ops::reduce_sum>({.keepdims = false}, {"f32[2,3]", "i64[1]{0}"}) == "f32[3]");
    CHECK(infers<ops::reduce_sum>({}, {"f32[2,3]", "i64[0]{}"}) == "f32[1,1]");
    CHECK(infers<ops::reduce_sum>({.noop_with_empty_axes = true}, {"f32[2,3]", "i64[0]{}"}) == "f32[2,3]");
    CHECK(infers<ops::reduce_sum>({}, {"f32[2,3]", "i64[1]"}) == "f32[?,?]");
    CHECK(infers<ops::reduce_sum>({.keepdims = false}, {"f32[2,3]", "i64[1]"}) == "f32[*]");
}

TEST_CASE("axes out of range, repeated or no integers are refused") {
    CHECK(infers<ops::reduce_sum>({.axes = {2}}, {"f32[2,3]"}) == "error: axis 2 is out of range or repeated, rank 2");
    CHECK(infers<ops::reduce_max>({.axes = {1, -1}}, {"f32[2,3]"}) ==
          "error: axis -1 is out of range or repeated, rank 2");
    CHECK(infers<ops::reduce_mean>({}, {"f32[2,3]", "f32[1]"}) ==
          "error: operand 1 f32[1]; it takes integers in a vector");
}

TEST_CASE("the dimensions that a reduction takes are those that its axes name, counted from either end") {
    random_stream r{3};
    for (int n = 0; n < 200; ++n) {
        auto const rank = r.below(6);
        ints axes;
        for (std::size_t i = 0; i < rank; ++i)
            if (r.below(2)) axes.push_back(static_cast<std::int64_t>(i) - (r.below(2) ? std::int64_t(rank) : 0));
        auto const reduced = reduced_dims(axes, true, rank);
        REQUIRE(reduced.size() == rank);
        for (std::size_t i = 0; i < rank; ++i) {
            auto const at = static_cast<std::int64_t>(i);
            auto const named = std::find(axes.begin(), axes.end(), at) != axes.end() ||
                               std::find(axes.begin(), axes.end(), at - std::int64_t(rank)) != axes.end();
            CHECK(reduced[i] == named);
        }
        if (axes.empty())
            for (auto all : reduced_dims(axes, false, rank)) CHECK(all);
    }
}

} // namespace ops_reduce_test
