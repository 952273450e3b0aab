#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_math.hpp>

namespace ops_math_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

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
    CHECK(infers<ops::cast>({.to = dtype::f32}, {"i64[1]{3}"}) == "f32[1]");
    CHECK(infers<ops::cast>({.to = dtype::i64}, {"f32[*]"}) == "i64[*]");
}

// The truth values known of a relation of two operands of one element.
template <class Op>
std::string relates(std::string const& a, std::string const& b) {
    return infers<Op>({a, b});
}

TEST_CASE("a comparison of known numbers is known, and its type is that of truth values") {
    for (std::int64_t a = -2; a <= 2; ++a)
        for (std::int64_t b = -2; b <= 2; ++b) {
            CAPTURE(a, b);
            auto const x = fmt::format("i32[1]{{{}}}", a), y = fmt::format("i32[1]{{{}}}", b);
            auto const known = [](bool holds) { return fmt::format("bool[1]{{{}}}", holds ? 1 : 0); };
            CHECK(relates<ops::equal>(x, y) == known(a == b));
            CHECK(relates<ops::less>(x, y) == known(a < b));
            CHECK(relates<ops::less_or_equal>(x, y) == known(a <= b));
            CHECK(relates<ops::greater>(x, y) == known(a > b));
            CHECK(relates<ops::greater_or_equal>(x, y) == known(a >= b));
        }
    CHECK(infers<ops::equal>({"i64[3]{n,2,?}", "i64[]{n}"}) == "bool[3]{1,?,?}"); // equal names are equal sizes
    CHECK(infers<ops::less>({"i64[2]{n,3}", "i64[2]{n,4}"}) == "bool[2]{0,1}");
    CHECK(infers<ops::greater>({"f32[2,1]", "f32[n]"}) == "bool[2,n]");
    CHECK(infers<ops::equal>({"bool[1]{1}", "bool[2]{0,1}"}) == "bool[2]{0,1}");
    CHECK(says(infers<ops::less>({"bool[2]", "bool[2]"}), "truth values have no order"));
    CHECK(says(infers<ops::equal>({"f32[2]", "i64[2]"}), "they must be equal"));
    CHECK(says(infers<ops::equal>({"f32[2]", "f32[3]"}), "do not broadcast"));
}

TEST_CASE("a truth value is known exactly where every completion of its operands gives the same") {
    auto const check = [](auto op, std::string const& result, auto&& truth) {
        using Op = typename decltype(op)::type;
        for (int a = 0; a < 3; ++a) // 2: not known
            for (int b = 0; b < 3; ++b) {
                CAPTURE(result, a, b);
                bool any = false, all = true;
                for (int x = 0; x < 2; ++x)
                    for (int y = 0; y < 2; ++y)
                        if ((a == 2 || a == x) && (b == 2 || b == y)) {
                            bool const holds = truth(x != 0, y != 0);
                            any = any || holds, all = all && holds;
                        }
                auto const operand = [](int v) {
                    return v == 2 ? std::string{"bool[1]{?}"} : fmt::format("bool[1]{{{}}}", v);
                };
                CHECK(infers<Op>({operand(a), operand(b)}) ==
                      (any == all ? fmt::format("bool[1]{{{}}}", any ? 1 : 0) : "bool[1]{?}"));
            }
    };
    check(std::type_identity<ops::logical_and>{}, "And", [](bool x, bool y) { return x && y; });
    check(std::type_identity<ops::logical_or>{}, "Or", [](bool x, bool y) { return x || y; });
    check(std::type_identity<ops::logical_xor>{}, "Xor", [](bool x, bool y) { return x != y; });
    CHECK(infers<ops::logical_not>({"bool[3]{0,1,?}"}) == "bool[3]{1,0,?}");
    CHECK(says(infers<ops::logical_and>({"bool[1]", "i64[1]"}), "it takes truth values"));
    CHECK(says(infers<ops::logical_not>({"f32[1]"}), "it takes truth values"));
}

TEST_CASE("tests of floating values give truth values and take nothing else") {
    CHECK(infers<ops::is_nan>({"f16[2,n]"}) == "bool[2,n]");
    CHECK(infers<ops::is_inf>({"f32[*]"}) == "bool[*]");
    CHECK(says(infers<ops::is_nan>({"i64[2]"}), "it takes floating types"));
}

TEST_CASE("a choice broadcasts three operands and follows those elements whose condition is known") {
    CHECK(infers<ops::where>({"bool[2,1]", "f32[3]", "f32[4,1,1]"}) == "f32[4,2,3]");
    CHECK(infers<ops::where>({"bool[*]", "f32[3]", "f32[3]"}) == "f32[*]");
    CHECK(infers<ops::where>({"bool[3]{1,0,?}", "i64[3]{1,2,3}", "i64[]{9}"}) == "i64[3]{1,9,?}");
    CHECK(infers<ops::where>({"bool[2]{?,?}", "i64[2]{n,5}", "i64[2]{n,6}"}) == "i64[2]{n,?}");
    CHECK(says(infers<ops::where>({"f32[2]", "f32[2]", "f32[2]"}), "it takes truth values"));
    CHECK(says(infers<ops::where>({"bool[2]", "f32[2]", "i64[2]"}), "must be equal"));
    CHECK(says(infers<ops::where>({"bool[2]", "f32[3]", "f32[1]"}), "do not broadcast"));
}

} // namespace ops_math_test
