#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_math.hpp>

namespace ops_math_test {

using namespace gsub;
using infer_once::infers;

static_assert(op_info::of<ops::add>().commutative && op_info::of<ops::mul>().commutative);
static_assert(!op_info::of<ops::sub>().commutative && !op_info::of<ops::div>().commutative);
static_assert(op_info::of<ops::sum>().composite && !op_info::of<ops::relu>().composite);
static_assert(op_info::of<ops::conv>().needs == scalar_needs::ring, "convolutions can be proved in the field");
static_assert(op_info::of<ops::div>().needs == scalar_needs::field);
static_assert(op_info::of<ops::cast>().needs == scalar_needs::ordered, "rounding is no polynomial");

template <class Op>
void check_same_as_operand() {
    CAPTURE(op_traits<Op>::name);
    for (auto const* t : {"f32[2,3]", "f64[]", "f16[n,?]", "f32[*]", "?[*]", "bf16[0]"}) CHECK(infers<Op>({t}) == t);
}

TEST_CASE("elementwise operators of one operand have its type") {
    check_same_as_operand<ops::relu>();
    check_same_as_operand<ops::clip>();
    check_same_as_operand<ops::sigmoid>();
    check_same_as_operand<ops::tanh>();
    check_same_as_operand<ops::sqrt>();
    check_same_as_operand<ops::sum>();
    check_same_as_operand<ops::hard_sigmoid>();
    check_same_as_operand<ops::hard_swish>();
    check_same_as_operand<ops::leaky_relu>();
    check_same_as_operand<ops::elu>();
    check_same_as_operand<ops::gelu>();
    check_same_as_operand<ops::exp>();
    check_same_as_operand<ops::log>();
    check_same_as_operand<ops::erf>();
    check_same_as_operand<ops::neg>();
    check_same_as_operand<ops::abs>();
    check_same_as_operand<ops::reciprocal>();
    check_same_as_operand<ops::floor>();
    check_same_as_operand<ops::ceil>();
    check_same_as_operand<ops::round>();
    check_same_as_operand<ops::softplus>();
    check_same_as_operand<ops::softsign>();
    CHECK(infers<ops::relu>({"i32[4]"}) == "i32[4]");
}

TEST_CASE("operators on bits take integers, remainders real numbers, and bits keep their width") {
    CHECK(infers<ops::bitwise_and>({"u8[2,1]", "u8[3]"}) == "u8[2,3]");
    CHECK(infers<ops::bitwise_or>({"i64[n]", "i64[1]"}) == "i64[n]");
    CHECK(infers<ops::bitwise_xor>({"f32[2]", "f32[2]"}) == "error: element type f32; it takes integers");
    CHECK(infers<ops::bitwise_and>({"bool[2]", "bool[2]"}) == "error: element type bool; it takes integers");
    CHECK(infers<ops::bitwise_and>({"i32[2]", "i64[2]"}) ==
          "error: operands of element types i32 and i64; they must be equal");
    CHECK(infers<ops::remainder>({"f16[2]", "f16[]"}) == "f16[2]");
    CHECK(infers<ops::remainder>({"i32[2]", "i32[]"}) == "error: element type i32; it takes floating types");
    CHECK(infers<ops::bit_cast>({.to = dtype::u32}, {"f32[2,n]"}) == "u32[2,n]");
    CHECK(infers<ops::bit_cast>({.to = dtype::u16}, {"f32[2]"}) ==
          "error: from f32 to u16; the types have equal widths");
}

template <class Op>
void check_binary() {
    CAPTURE(op_traits<Op>::name);
    CHECK(infers<Op>({"f32[2,1,4]", "f32[3,1]"}) == "f32[2,3,4]");
    CHECK(infers<Op>({"f32[n]", "f32[1]"}) == "f32[n]");
    CHECK(infers<Op>({"?[2]", "f32[2]"}) == "f32[2]");
    CHECK(infers<Op>({"f32[2]", "f32[*]"}) == "f32[*]");
    CHECK(infers<Op>({"f32[2]", "f64[2]"}) == "error: operands of element types f32 and f64; they must be equal");
    CHECK(infers<Op>({"i64[2]", "i64[3]"}) == "error: i64[2] and i64[3] do not broadcast");
}

TEST_CASE("elementwise operators of two operands broadcast them") {
    check_binary<ops::add>();
    check_binary<ops::sub>();
    check_binary<ops::mul>();
    check_binary<ops::div>();
    check_binary<ops::pow>();
    check_binary<ops::sum>();
    CHECK(infers<ops::sum>({"f32[2,1]", "f32[3]", "f32[4,1,1]"}) == "f32[4,2,3]");
}

TEST_CASE("a clip's bounds are scalars of the operand's element type") {
    CHECK(infers<ops::clip>({.min = 0, .max = 6}, {"f32[2]"}) == "f32[2]");
    CHECK(infers<ops::clip>({}, {"f32[2]", "f32[]", "f32[]"}) == "f32[2]");
    CHECK(infers<ops::clip>({}, {"f32[2]", "_", "f32[]"}) == "f32[2]");
    CHECK(infers<ops::clip>({}, {"f32[2]", "i64[]"}) ==
          "error: bound i64[] of operand f32[2]; element types must be equal");
    CHECK(infers<ops::clip>({}, {"f32[2]", "f32[]", "f64[]"}) ==
          "error: bound f64[] of operand f32[2]; element types must be equal");
    // Files hold bounds of shape [1] too; further numbers would be ignored.
    CHECK(infers<ops::clip>({}, {"f32[2]", "f32[1]", "f32[n]"}) == "f32[2]");
    CHECK(infers<ops::clip>({}, {"f32[2]", "f32[2]"}) == "error: bound f32[2]; it takes one number");
    CHECK(infers<ops::clip>({}, {"f32[2]", "_", "f32[n,0]"}) == "error: bound f32[n,0]; it takes one number");
}

TEST_CASE("operators that are defined on real numbers only refuse integers") {
    CHECK(infers<ops::hard_sigmoid>({"i32[2]"}) == "error: element type i32; it takes floating types");
    CHECK(infers<ops::hard_swish>({"bool[2]"}) == "error: element type bool; it takes floating types");
    CHECK(infers<ops::leaky_relu>({"i8[2]"}) == "error: element type i8; it takes floating types");
    CHECK(infers<ops::reciprocal>({"i32[2]"}) == "error: element type i32; it takes floating types");
    CHECK(infers<ops::floor>({"u8[2]"}) == "error: element type u8; it takes floating types");
    CHECK(infers<ops::round>({"i32[2]"}) == "error: element type i32; it takes floating types");
    CHECK(infers<ops::gelu>({"i64[2]"}) == "error: element type i64; it takes floating types");
    CHECK(infers<ops::gelu>({.approximate = "sigmoid"}, {"f32[2]"}) ==
          "error: approximate \"sigmoid\"; none and tanh are supported");
}

TEST_CASE("small integer tensors are followed through arithmetic") {
    CHECK(infers<ops::add>({"i64[2]{3,n}", "i64[2]{4,1}"}) == "i64[2]{7,?}");
    CHECK(infers<ops::sub>({"i64[]{3}", "i64[]{5}"}) == "i64[]{-2}");
    CHECK(infers<ops::mul>({"i64[3]{1,2,3}", "i64[1]{-2}"}) == "i64[3]{-2,-4,-6}");
    CHECK(infers<ops::div>({"i64[4]{7,-7,1,0}", "i64[]{2}"}) == "i64[4]{3,-3,0,0}");
    CHECK(infers<ops::add>({"i64[2]{3,4}", "i64[2]"}) == "i64[2]");
    // Over a division by zero and a sum that does not fit nothing is claimed.
    CHECK(infers<ops::div>({"i64[1]{7}", "i64[1]{0}"}) == "i64[1]{?}");
    CHECK(infers<ops::add>({"i64[1]{9223372036854775807}", "i64[1]{1}"}) == "i64[1]{?}");
    CHECK(infers<ops::mul>({"i64[1]{4611686018427387904}", "i64[1]{2}"}) == "i64[1]{?}");
    CHECK(infers<ops::sub>({"i64[1]{-9223372036854775808}", "i64[1]{1}"}) == "i64[1]{?}");
    CHECK(infers<ops::div>({"i64[1]{-9223372036854775808}", "i64[1]{-1}"}) == "i64[1]{?}");
    CHECK(infers<ops::add>({"i32[1]{2147483647}", "i32[1]{1}"}) == "i32[1]{?}");
    CHECK(infers<ops::mul>({"i8[1]{100}", "i8[1]{2}"}) == "i8[1]{?}");
    CHECK(infers<ops::sub>({"u8[1]{1}", "u8[1]{2}"}) == "u8[1]{?}");
    CHECK(infers<ops::add>({"i32[1]{2147483646}", "i32[1]{1}"}) == "i32[1]{2147483647}");
}

TEST_CASE("what is known of an integer is a number of its type, in every type") {
    for (auto t : stored_dtypes) {
        if (!is_integer(t)) continue;
        auto const name = std::string{to_string(t)};
        auto const least = info(t).is_signed ? std::numeric_limits<std::int64_t>::min() >> (63 - integer_digits(t)) : 0;
        auto const most = integer_digits(t) >= 63 ? std::numeric_limits<std::int64_t>::max()
                                                  : (std::int64_t{1} << integer_digits(t)) - 1;
        CAPTURE(name, least, most);
        auto const both = fmt::format("[2]{{{},{}}}", least, most);
        CHECK(infers<ops::cast>({.to = t}, {"i64" + both}) == name + both);
        CHECK(infers<ops::add>({name + both, name + "[2]{-1,1}"}) == name + fmt::format("[2]{{?,?}}"));
        if (byte_size(t) < 8)
            CHECK(infers<ops::cast>({.to = t}, {fmt::format("i64[2]{{{},{}}}", least - 1, most + 1)}) ==
                  name + "[2]{?,?}");
        else if (!info(t).is_signed)
            CHECK(infers<ops::cast>({.to = t}, {"i64[2]{-1,5}"}) == name + "[2]{?,5}");
    }
}

TEST_CASE("a cast changes the element type and keeps what is known where it fits") {
    for (auto const* to : {"f64", "f16", "i8", "bool", "bf16"})
        CHECK(infers<ops::cast>({.to = dtype_named(to).value()}, {"f32[2,n]"}) == fmt::format("{}[2,n]", to));
    CHECK(infers<ops::cast>({.to = dtype::i32}, {"i64[3]{3,n,?}"}) == "i32[3]{3,n,?}");
    CHECK(infers<ops::cast>({.to = dtype::i8}, {"i64[2]{300,-128}"}) == "i8[2]{?,-128}");
    CHECK(infers<ops::cast>({.to = dtype::f32}, {"i64[3]{3,n,16777217}"}) == "f32[3]{3,?,?}"); // no f32 is the last
    CHECK(infers<ops::cast>({.to = dtype::bf16}, {"i64[2]{-256,257}"}) == "bf16[2]{-256,?}");
    CHECK(infers<ops::cast>({.to = dtype::i64}, {"f32[2]{3,?}"}) == "i64[2]{3,?}");
    CHECK(infers<ops::less>({"f32[]{3}", "f32[]{80}"}) == "bool[]{1}"); // the condition of a loop of TensorFlow's
    CHECK(infers<ops::cast>({.to = dtype::i64}, {"f32[*]"}) == "i64[*]");
}

} // namespace ops_math_test
