#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_quantized.hpp>

namespace ops_quantized_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

static_assert(op_info::of<ops::quantize>().layouts == layout_policy::row_major,
              "a vector over an axis does not broadcast");

TEST_CASE("a zero point has the type of what is quantized, and a scale that of what is not") {
    for (auto const* x : {"f32[2,3,n]", "f16[2,3,n]", "bf16[2,3,n]", "i32[2,3,n]"}) {
        CHECK(infers<ops::quantize>({x, "f32[]"}) == "u8[2,3,n]");
        for (auto const* zero : {"u8", "i8", "i16"})
            CHECK(infers<ops::quantize>({x, "f32[3]", fmt::format("{}[3]", zero)}) == fmt::format("{}[2,3,n]", zero));
    }
    for (auto const* q : {"u8", "i8", "i16", "i32"})
        for (auto const* scale : {"f32", "f16", "bf16"})
            CHECK(infers<ops::dequantize>({fmt::format("{}[2,3,n]", q), fmt::format("{}[1]", scale),
                                           fmt::format("{}[]", q)}) == fmt::format("{}[2,3,n]", scale));
    CHECK(infers<ops::dequantize>({"u8[*]", "f32[*]"}) == "f32[*]");
    CHECK(says(infers<ops::quantize>({"f64[2]", "f32[]"}), "it takes f32, f16, bf16, i32"));
    CHECK(says(infers<ops::quantize>({"f32[2]", "f32[]", "i32[]"}), "it takes u8, i8, u16, i16"));
    CHECK(says(infers<ops::dequantize>({"u8[2]", "f32[]", "i8[]"}), "they must be equal"));
    CHECK(says(infers<ops::dequantize>({"i64[2]", "f32[]"}), "it takes u8, i8, u16, i16, i32"));
}

TEST_CASE("scales are one, one a slice of the axis, or one a block of it") {
    CHECK(infers<ops::quantize>({.axis = -1}, {"f32[2,3,n]", "f32[n]", "u8[n]"}) == "u8[2,3,n]");
    CHECK(infers<ops::quantize>({.axis = 1, .block_size = 2}, {"f32[2,5,4]", "f32[2,3,4]"}) == "u8[2,5,4]");
    CHECK(infers<ops::quantize>({.axis = 7}, {"f32[2,5,4]", "f32[]"}) == "u8[2,5,4]");
    CHECK(says(infers<ops::quantize>({.axis = 1}, {"f32[2,3]", "f32[2]"}), "with axis 1"));
    CHECK(says(infers<ops::quantize>({.axis = 2}, {"f32[2,3]", "f32[2]"}), "with axis 2"));
    CHECK(says(infers<ops::quantize>({}, {"f32[2,3]", "f32[3]", "u8[]"}), "of different shapes"));
    CHECK(says(infers<ops::quantize>({.block_size = 2}, {"f32[2,5,4]", "f32[2,2,4]"}), "block size 2"));
    CHECK(says(infers<ops::quantize>({.block_size = -2}, {"f32[2,5]", "f32[]"}), "block size -2"));
}

TEST_CASE("what is saturated has the type of its operand") {
    CHECK(infers<ops::saturate>({.low = -128, .high = 127}, {"f32[2,n]"}) == "f32[2,n]");
}

TEST_CASE("integer convolutions and products have the sizes of real ones") {
    ints const ones{1, 1}, none{0, 0, 0, 0};
    integer_window w;
    w.strides = w.dilations = ones, w.pads = none;
    std::string const x = "u8[2,3,8,n]", k = "i8[5,3,3,3]";
    CHECK(infers<ops::conv_integer>(w, {x, k, "u8[]", "i8[5]"}) == "i32[2,5,6,?]");
    CHECK(infers<ops::qlinear_conv>(w, {x, "f32[]", "u8[]", k, "f32[5]", "i8[5]", "f32[]", "i8[1]", "i32[5]"}) ==
          "i8[2,5,6,?]");
    CHECK(infers<ops::mat_mul_integer>({"u8[4,m,3]", "i8[3,7]", "u8[]", "i8[7]"}) == "i32[4,m,7]");
    CHECK(infers<ops::mat_mul_integer>({"u8[m,3]", "i8[3]", "u8[m]"}) == "i32[m]");
    CHECK(infers<ops::qlinear_mat_mul>(
              {"u8[4,m,3]", "f32[]", "u8[]", "i8[3,7]", "f32[7]", "i8[7]", "f32[1]", "u8[]"}) == "u8[4,m,7]");
    CHECK(says(infers<ops::conv_integer>(w, {x, k, "u8[3]"}), "it takes one element or 1"));
    CHECK(says(infers<ops::conv_integer>(w, {x, k, "u8[]", "i8[4]"}), "it takes one element or 5"));
    CHECK(says(infers<ops::conv_integer>(w, {"f32[2,3,8,8]", k}), "it takes u8, i8"));
    CHECK(says(infers<ops::conv_integer>(w, {x, "i8[5,2,3,3]"}), "input channels"));
    CHECK(says(infers<ops::mat_mul_integer>({"u8[2,3]", "i8[3,7]", "u8[3]"}), "one element or one a row"));
    CHECK(says(infers<ops::mat_mul_integer>({"u8[2,3]", "i8[4,7]"}), "inner dimensions 3 and 4"));
    CHECK(says(infers<ops::qlinear_mat_mul>({"u8[2,3]", "f32[]", "i8[]", "i8[3,7]", "f32[]", "i8[]", "f32[]", "u8[]"}),
               "they must be equal"));
}

} // namespace ops_quantized_test
