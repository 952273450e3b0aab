#include "catch.hpp"
#include <gsub/loop/expression.hpp>

#include <set>
#include <string_view>

namespace scalar_op_test {

using namespace gsub;
using loop::scalar_op;

TEST_CASE("each scalar operation has a row: a name of its own, and operands of some type where it has any") {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < loop::scalar_op_count; ++i) {
        auto const op = static_cast<scalar_op>(i);
        CAPTURE(to_string(op));
        CHECK(names.insert(to_string(op)).second);
        auto const takes =
            std::any_of(std::begin(stored_dtypes), std::end(stored_dtypes), [&](dtype t) { return computes(op, t); });
        CHECK(takes == (info(op).operands > 0));
        CHECK_FALSE(computes(op, dtype::undefined));
        CHECK_FALSE(computes(op, dtype::field61));
    }
}

TEST_CASE("halves are moved, selected and cast, and computed with as f32") {
    for (auto const t : {dtype::f16, dtype::bf16}) {
        CHECK(loop::computed_in(t) == dtype::f32);
        for (std::size_t i = 0; i < loop::scalar_op_count; ++i) {
            auto const op = static_cast<scalar_op>(i);
            CHECK(computes(op, t) == (op == scalar_op::cast || op == scalar_op::select));
        }
    }
    for (auto const t : {dtype::f64, dtype::i8, dtype::u64, dtype::boolean}) CHECK(loop::computed_in(t) == t);
}

TEST_CASE("terms have types: those of buffers, of operands, bools of comparisons") {
    loop::expression_builder e{"typed"};
    auto const i = e.spatial("i", 4);
    auto const x = e.input("x", {4}, dtype::i16), y = e.output("y", {4}, dtype::f64);
    auto const v = e.at(x, {i});
    CHECK(v.type() == dtype::i16);
    CHECK((v + e.integer(3, dtype::i16)).type() == dtype::i16);
    auto const less = apply(scalar_op::less, v, e.integer(0, dtype::i16));
    CHECK(less.type() == dtype::boolean);
    CHECK(select(less, v, -v).type() == dtype::i16);
    CHECK(cast(v, dtype::i16).id() == v.id());
    auto const made = e.store(y, {i}, cast(select(less, v, -v), dtype::f64));
    CHECK(made.exprs[static_cast<std::size_t>(made.result)].type == dtype::f64);
}

} // namespace scalar_op_test
