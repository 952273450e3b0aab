#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_logic.hpp>

#include <string>
#include <type_traits>

namespace ops_logic_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

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

} // namespace ops_logic_test
