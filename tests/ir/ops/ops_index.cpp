#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/ir/ops/ops_index.hpp>

namespace ops_index_test {

using namespace gsub;
using infer_once::infers;

TEST_CASE("elements are gathered in the shape of the indices") {
    CHECK(infers<ops::gather_elements>({.axis = 1}, {"f32[3,4]", "i64[2,9]"}) == "f32[2,9]");
    CHECK(infers<ops::gather_elements>({.axis = -1}, {"bool[n,4]", "i32[n,?]"}) == "bool[n,?]");
    CHECK(infers<ops::gather_elements>({}, {"f32[*]", "i64[2]"}) == "f32[2]");
    CHECK(infers<ops::gather_elements>({}, {"f32[3]", "f32[2]"}) == "error: indices f32[2]; it takes i32 or i64");
    CHECK(infers<ops::gather_elements>({.axis = 2}, {"f32[3,4]", "i64[2,9]"}) == "error: axis 2 for operand f32[3,4]");
    CHECK(infers<ops::gather_elements>({}, {"f32[3,4]", "i64[2]"}) ==
          "error: indices i64[2] for operand f32[3,4]; ranks must be equal");
    CHECK(infers<ops::gather_elements>({}, {"f32[3,4]", "i64[9,5]"}) ==
          "error: indices i64[9,5] for operand f32[3,4]; only along the axis they may be more");
}

TEST_CASE("a row of indices names a part") {
    CHECK(infers<ops::gather_nd>({}, {"f32[3,4,5]", "i64[7,2]"}) == "f32[7,5]");
    CHECK(infers<ops::gather_nd>({}, {"f32[3,4]", "i64[2]"}) == "f32[]");
    CHECK(infers<ops::gather_nd>({.batch_dims = 1}, {"f32[3,4,5]", "i64[3,7,1]"}) == "f32[3,7,5]");
    CHECK(infers<ops::gather_nd>({}, {"f32[3,4]", "i64[n,?]"}) == "f32[*]");
    CHECK(infers<ops::gather_nd>({}, {"f32[3,4]", "i32[1,1]"}) == "error: indices i32[1,1]; it takes i64");
    CHECK(infers<ops::gather_nd>({}, {"f32[3,4]", "i64[1,3]"}) ==
          "error: indices i64[1,3] for operand f32[3,4]; a row names 1 to 2 dimensions");
    CHECK(infers<ops::gather_nd>({.batch_dims = 1}, {"f32[3,4]", "i64[2,1]"}) ==
          "error: indices i64[2,1] for operand f32[3,4]; the first 1 dimensions must be equal");
    CHECK(infers<ops::gather_nd>({.batch_dims = 2}, {"f32[3,4]", "i64[3,4]"}) ==
          "error: indices i64[3,4] for operand f32[3,4]; each needs more than 2 dimensions");
    CHECK(infers<ops::gather_nd>({.batch_dims = -1}, {"f32[3,4]", "i64[3,4]"}) == "error: batch_dims -1");
}

TEST_CASE("a scatter has the type of what it writes into") {
    CHECK(infers<ops::scatter_elements>({.axis = 1}, {"f32[3,4]", "i64[2,9]", "f32[2,9]"}) == "f32[3,4]");
    CHECK(infers<ops::scatter_elements>({.reduction = "max"}, {"i8[n]", "i32[2]", "i8[2]"}) == "i8[n]");
    CHECK(infers<ops::scatter_nd>({.reduction = "add"}, {"f32[3,4,5]", "i64[7,2]", "f32[7,5]"}) == "f32[3,4,5]");
    CHECK(infers<ops::scatter_elements>({}, {"f32[3]", "i64[2]", "f32[3]"}) ==
          "error: updates f32[3]; as many are expected as in f32[2]");
    CHECK(infers<ops::scatter_nd>({}, {"f32[3,4]", "i64[7,1]", "f32[7]"}) ==
          "error: updates f32[7]; as many are expected as in f32[7,4]");
    CHECK(infers<ops::scatter_nd>({}, {"f32[3,4]", "i64[7,1]", "f64[7,4]"}) ==
          "error: updates f64[7,4] of operand f32[3,4]; element types must be equal");
    CHECK(infers<ops::scatter_nd>({.reduction = "mean"}, {"f32[3]", "i64[7,1]", "f32[7]"}) ==
          "error: reduction \"mean\"; none, add, mul, max and min are supported");
    CHECK(infers<ops::scatter_nd>({.reduction = "add"}, {"bool[3]", "i64[7,1]", "bool[7]"}) ==
          "error: reduction \"add\" of truth values");
}

TEST_CASE("modes of scatters have names") {
    CHECK(scatter_mode_named("none") == scatter_mode::none);
    CHECK(scatter_mode_named("min") == scatter_mode::min);
    CHECK_FALSE(scatter_mode_named("Max"));
}

TEST_CASE("the greatest elements are as many as asked for") {
    auto const of = [](attributes_of<ops::top_k> const& a, std::vector<std::string> const& operands) {
        return infers<ops::top_k>(a, operands, 2);
    };
    CHECK(of({.k = 3}, {"f32[2,4]"}) == "f32[2,3] i64[2,3]");
    CHECK(of({.k = 1, .axis = 0}, {"u8[n,4]"}) == "u8[1,4] i64[1,4]");
    CHECK(of({}, {"f32[2,4]", "i64[1]"}) == "f32[2,?] i64[2,?]");
    CHECK(of({}, {"f32[*]"}) == "f32[*] i64[*]");
    CHECK(of({.k = 5}, {"f32[2,4]"}) == "error: 5 elements of a dimension of size 4");
    CHECK(of({.k = -1}, {"f32[2,4]"}) == "error: k is [-1]");
    CHECK(of({.axis = 2}, {"f32[2,4]"}) == "error: axis 2 for operand f32[2,4]");
    CHECK(of({}, {"bool[4]"}) == "error: operand bool[4]; truth values have no order");
}

TEST_CASE("where data decide a size it is unknown, and all others are known") {
    CHECK(infers<ops::non_zero>({}, {"f32[2,n,4]"}) == "i64[3,?]");
    CHECK(infers<ops::non_zero>({}, {"bool[*]"}) == "i64[?,?]");
    auto const different = [](attributes_of<ops::unique> const& a, std::string const& x) {
        return infers<ops::unique>(a, {x}, 4);
    };
    CHECK(different({}, "u8[2,3]") == "u8[?] i64[?] i64[6] i64[?]");
    CHECK(different({}, "u8[2,n]") == "u8[?] i64[?] i64[?] i64[?]");
    CHECK(different({.flat = false, .axis = -1}, "f16[2,n]") == "f16[2,?] i64[?] i64[n] i64[?]");
    CHECK(different({.flat = false}, "f16[*]") == "f16[*] i64[?] i64[?] i64[?]");
    CHECK(different({.flat = false, .axis = 2}, "f16[2,n]") == "error: axis 2 for operand f16[2,n]");
    auto const boxes = [](std::vector<std::string> const& operands) {
        return infers<ops::non_max_suppression>({}, operands);
    };
    CHECK(boxes({"f32[n,6,4]", "f32[n,2,6]"}) == "i64[?,3]");
    CHECK(boxes({"f32[*]", "f16[1,2,6]", "i64[1]", "f32[]", "f32[1]"}) == "i64[?,3]");
    CHECK(boxes({"f32[1,6,5]", "f32[1,2,6]"}).starts_with("error: boxes f32[1,6,5]; boxes are [batch, boxes, 4]"));
    CHECK(boxes({"f32[1,6,4]", "f32[1,2,7]"}).starts_with("error: scores of boxes f32[1,6,4] are f32[1,2,7];"));
    CHECK(boxes({"i32[1,6,4]", "f32[1,2,6]"}).starts_with("error: boxes i32[1,6,4];"));
    CHECK(boxes({"f32[1,6,4]", "f32[1,2,6]", "i64[2]"}) == "error: operand 2 is i64[2]; it takes one whole number");
    CHECK(boxes({"f32[1,6,4]", "f32[1,2,6]", "i64[1]", "i64[1]"}) == "error: operand 3 is i64[1]; it takes one number");
}

} // namespace ops_index_test
