#include "catch.hpp"
#include <gsub/lower/scalar_lowering.hpp>

#include <string>

namespace scalar_lowering_test {

struct swish {};
struct undecided {};

} // namespace scalar_lowering_test

template <>
struct gsub::op_traits<scalar_lowering_test::swish> {
    static constexpr std::string_view name = "Swish", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct gsub::op_traits<scalar_lowering_test::undecided> {
    static constexpr std::string_view name = "Undecided", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct gsub::scalar_lowering<scalar_lowering_test::swish> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return x[0] * apply(loop::scalar_op::sigmoid, x[0]);
    }
};

namespace scalar_lowering_test {

using namespace gsub;
using loop::scalar_op;

TEST_CASE("an expression becomes operations in order, numbers among their operands") {
    std::vector<kernels::row_reduction_op> ops;
    scalar_builder b{ops, 7};
    auto const x = b.value(2, dtype::f32);
    auto const y = max(x * x - b.number(3, x), b.number(0.5, x));
    REQUIRE(ops.size() == 3);
    CHECK(b.number_of(y) == 9);
    CHECK(ops[0].what.op == scalar_op::multiply);
    CHECK((ops[0].what.left == 2 && ops[0].what.right == 2));
    CHECK((ops[1].what.left == 7 && ops[1].what.right == -1 && ops[1].what.value == 3));
    CHECK((ops[2].what.left == 8 && ops[2].what.value == 0.5));
}

TEST_CASE("values have types: casts, bools of comparisons, what is selected") {
    std::vector<kernels::row_reduction_op> ops;
    scalar_builder b{ops, 1};
    auto const x = b.value(0, dtype::i16);
    auto const negative = apply(scalar_op::less, x, b.number(0, x));
    CHECK(negative.type() == dtype::boolean);
    auto const y = select(negative, b.number(0, 5, dtype::i16), x);
    CHECK(y.type() == dtype::i16);
    CHECK((ops[1].what.right == -1 && ops[1].what.third == 0 && ops[1].what.integer == 5));
    CHECK(cast(y, dtype::i16).type() == dtype::i16);
    CHECK(ops.size() == 2);
    CHECK(cast(y, dtype::f64).type() == dtype::f64);
    CHECK(ops.back().what.type == dtype::f64);
    CHECK_FALSE(b.refused());
}

TEST_CASE("what no kernel computes is refused, and leaves the builder refusing") {
    auto const refused = [](auto&& expression) {
        std::vector<kernels::row_reduction_op> ops;
        scalar_builder b{ops, 2};
        auto const s = expression(b, b.value(0, dtype::f32), b.value(1, dtype::i32));
        return b.refused() && !b.number_of(s);
    };
    CHECK(refused([](auto&, scalar x, scalar i) { return x + i; }));
    CHECK(refused([](auto& b, scalar x, scalar) { return b.number(1, x) + b.number(2, x); }));
    CHECK(refused([](auto&, scalar, scalar i) { return apply(scalar_op::tanh, i); }));
    CHECK(refused([](auto&, scalar x, scalar) { return x + scalar{}; }));
    CHECK(refused([](auto&, scalar x, scalar) { return select(x, x, x); }));
    CHECK(refused([](auto&, scalar x, scalar) { return apply(scalar_op::add, x); }));
    CHECK(refused([](auto& b, scalar x, scalar) { return b.reduce(kernels::reduction_step::sum, b.number(1, x)); }));
}

TEST_CASE("an operator's row is its expression, and one without has none") {
    constexpr auto row = scalar_row::of<swish>();
    REQUIRE(row.lower);
    std::vector<kernels::row_reduction_op> ops;
    scalar_builder b{ops, 1};
    auto const x = b.value(0, dtype::f64);
    auto const y = row.lower(b, {}, std::span<scalar const>{&x, 1});
    CHECK(b.number_of(y) == 2);
    CHECK(y.type() == dtype::f64);
    CHECK(scalar_row::of<undecided>().lower == nullptr);
}

} // namespace scalar_lowering_test
