#include "catch.hpp"
#include "oracles/interpret.hpp"
#include <gsub/loop/expression.hpp>

#include <cmath>
#include <vector>

namespace expression_test {

using namespace gsub;
using loop::affine;

loop::tensor_expression product(std::int64_t m, std::int64_t n, std::int64_t inner) {
    loop::expression_builder e{"matmul"};
    auto const i = e.spatial("i", m), j = e.spatial("j", n), k = e.reduction("k", inner);
    auto const a = e.input("a", {m, inner}), b = e.input("b", {inner, n}), c = e.output("c", {m, n});
    auto const sum = e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j}));
    return e.store(c, {i, j}, sum);
}

TEST_CASE("an integer chooses an index, from the end where it is negative") {
    loop::expression_builder e{"scatter"};
    auto const i = e.spatial("i", 4);
    auto const at = e.input("at", {4}, dtype::i32), a = e.input("a", {4});
    auto const y = e.output("y", {5}), status = e.output("status", {1}, dtype::i32);
    auto const place = e.choose(at, {i}, 5, status);
    auto const what = e.store(y, {place}, e.at(a, {i}));
    CHECK(place == affine::of(1));
    CHECK(what.offset_of(what.chosen.at(0).source) == affine::of(0));
    interpret::arrays data{{-1, 2, 2, 0}, {10, 20, 30, 40}, std::vector<double>(5, 7), {0}};
    interpret::run(what, data);
    CHECK(data[2] == std::vector<double>{40, 7, 30, 7, 10});
    CHECK(data[3] == std::vector<double>{0});
    data[0][0] = 5;
    interpret::run(what, data);
    CHECK(data[3] == std::vector<double>{1});
}

TEST_CASE("a built expression says what it computes") {
    auto const e = product(2, 3, 4);
    CHECK(e.name == "matmul");
    REQUIRE(e.axes.size() == 3);
    CHECK(e.axes[2].name == "k");
    CHECK(e.axes[2].extent == 4);
    CHECK(e.axes[1].kind == loop::axis_kind::spatial);
    CHECK(e.axes[2].kind == loop::axis_kind::reduction);
    REQUIRE(e.buffers.size() == 3);
    CHECK(e.buffers[1].elements() == 12);
    CHECK(e.buffers[2].written);
    CHECK_FALSE(e.buffers[1].written);
    CHECK(e.target.of == 2);
    CHECK(e.combine == loop::scalar_op::add);

    interpret::arrays data{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, std::vector<double>(6)};
    interpret::run(e, data);
    CHECK(data[2] == std::vector<double>{5, 6, 7, 13, 14, 15});
}

TEST_CASE("a buffer with strides is a view of what is stored") {
    loop::expression_builder e{"transposed"};
    auto const i = e.spatial("i", 2), j = e.spatial("j", 3);
    auto const x = e.set_strides(e.input("x", {2, 3}), {1, 2}), y = e.set_strides(e.output("y", {2, 3}), {4, 1});
    auto const made = e.store(y, {i, j}, e.at(x, {i, j}));
    CHECK(made.buffers[0].elements() == 6);
    CHECK(made.buffers[1].elements() == 7); // one gap
    interpret::arrays data{{1, 2, 3, 4, 5, 6}, std::vector<double>(7)};
    interpret::run(made, data);
    CHECK(data[1] == std::vector<double>{1, 3, 5, 0, 2, 4, 6});
    loop::expression_builder none{"nothing"};
    CHECK(none.set_strides(none.input("x", {0, 3}), {3, 1}) == 0);
    CHECK(none.buffers()[0].elements() == 0);
}

TEST_CASE("operands of a term come before it") {
    loop::expression_builder e{"chain"};
    auto const i = e.spatial("i", 4);
    auto const x = e.input("x", {4}), y = e.output("y", {4});
    auto const v = e.at(x, {i});
    auto const made = e.store(y, {i}, min(max((v + v) * v - e.constant(1), e.constant(0)), v / e.constant(2)));
    for (std::size_t t = 0; t < made.exprs.size(); ++t)
        for (auto o : made.exprs[t].operands) CHECK(o < static_cast<std::int32_t>(t));
    CHECK(made.update == -1);
    interpret::arrays data{{-3, 0.5, 1, 8}, std::vector<double>(4)};
    interpret::run(made, data);
    CHECK(data[1] == std::vector<double>{-1.5, 0, 0.5, 4});
}

TEST_CASE("functions have one operand") {
    loop::expression_builder e{"functions"};
    auto const i = e.spatial("i", 3);
    auto const x = e.input("x", {3}), y = e.output("y", {3});
    auto const v = e.at(x, {i});
    auto const made = e.store(y, {i}, floor(sqrt(abs(-v)) + exp(log(e.constant(0.5)))) + erf(tanh(v)) * sigmoid(v));
    auto functions = 0;
    for (auto const& t : made.exprs)
        if (loop::is_unary(t.op)) {
            ++functions;
            CHECK(t.operands[0] >= 0);
            CHECK(t.operands[1] == -1);
        }
    CHECK(functions == 9);
    CHECK(made.operations() == 3 * (9 + 3));
    interpret::arrays data{{0, 16, -9}, std::vector<double>(3)};
    interpret::run(made, data);
    CHECK(data[1][0] == 0);
    for (std::size_t k = 1; k < 3; ++k)
        CHECK(data[1][k] == std::floor(std::sqrt(std::abs(data[0][k])) + 0.5) +
                                std::erf(std::tanh(data[0][k])) / (1 + std::exp(-data[0][k])));
}

TEST_CASE("work is counted a position and a step") {
    CHECK(product(2, 3, 4).operations() == 2 * 2 * 3 * 4);
    loop::expression_builder e{"pool"};
    auto const i = e.spatial("i", 5), k = e.reduction("k", 3);
    auto const x = e.input("x", {5}), y = e.output("y", {5});
    auto const most = e.maximum(e.constant(0), e.at(x, {i + k}), {{i + k, 5}});
    auto const made = e.store(y, {i}, max(most * e.constant(2), e.constant(1)));
    CHECK(made.operations() == 5 * 3 + 5 * 2);
    CHECK(made.combine == loop::scalar_op::maximum);
    CHECK(made.bounds.size() == 1);
}

TEST_CASE("steps out of bounds add nothing, positions out of the domain are not stored") {
    loop::expression_builder e{"sums"};
    auto const i = e.spatial("i", 4), k = e.reduction("k", 3);
    auto const x = e.input("x", {4}), y = e.output("y", {3});
    e.restrict_domain({i, 3});
    auto const made = e.store(y, {i}, e.sum(e.constant(10), e.at(x, {i + k - affine{1}}), {{i + k - affine{1}, 4}}));
    CHECK(made.domain.size() == 1);
    interpret::arrays data{{1, 2, 4, 8}, std::vector<double>(3)};
    interpret::run(made, data);
    CHECK(data[1] == std::vector<double>{13, 17, 24});
}

} // namespace expression_test
