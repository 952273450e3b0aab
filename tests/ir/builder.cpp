#include "catch.hpp"
#include <gsub/ir/builder.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace builder_test {

using namespace gsub;

TEST_CASE("a builder appends to the graph that it was given, with names, types and order") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{symbol{"batch"}}, 3}, "x");
    auto const w = b.constant(tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}), "w");
    auto const y = b.add<ops::mat_mul>(x, w);
    b.outputs({y, x}, {"product", "same"});
    CHECK(&b.graph() == &g);
    CHECK(g.name(x) == "x");
    CHECK(g.name(w) == "w");
    CHECK(to_string(g.type(y)) == "f32[batch,2]");
    CHECK(b.type_of(y) == g.type_of(y));
    CHECK(g.output_count() == 2);
    CHECK(g.output(0) == y);
    CHECK(g.output(1) == x);
    CHECK(g.info().output_names == std::vector<std::string>{"product", "same"});
    REQUIRE(g.inputs().size() == 1);
    CHECK(g.input_position(x.node) == 0);
    CHECK(g.order().back() == g.return_node());
    CHECK(g.constant(w));
    CHECK_FALSE(g.constant(y));
}

TEST_CASE("an operator with several results gives the first, the others follow by port") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    auto const first = b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {x}, 2);
    CHECK(first.port == 0);
    CHECK(g.result_count(first.node) == 2);
    CHECK(to_string(g.type({first.node, 1})) == "f32[3]");
}

TEST_CASE("elements of small integer constants are known, of others not") {
    graph g;
    graph_builder b{g};
    auto const known = [&](tensor t) { return b.known(b.constant(std::move(t))); };
    auto const vector = known(tensor::from<std::int32_t>({2}, {-4, 5}));
    REQUIRE(vector);
    CHECK(*vector == tensor_knowledge{{true, -4, {}}, {true, 5, {}}});
    CHECK(known(tensor::scalar(std::int64_t{7}))->size() == 1);
    CHECK(known(tensor::zeros(dtype::i64, ints{0}))->empty());
    CHECK(known(tensor::zeros(dtype::u8, ints{64}))->size() == max_known_elements);
    for (auto element : stored_dtypes)
        if (is_integer(element))
            CHECK(*known(tensor::from<double>({2}, {0, 100}).converted_to(element)) ==
                  tensor_knowledge{{true, 0, {}}, {true, 100, {}}});
    auto const huge = std::uint64_t{1} << 63;
    CHECK(*known(tensor::from<std::uint64_t>({2}, {huge - 1, huge})) ==
          tensor_knowledge{{true, std::numeric_limits<std::int64_t>::max(), {}}, {}});
    CHECK(known(tensor::zeros(dtype::i64, ints{65})) == nullptr);
    CHECK(known(tensor::zeros(dtype::i64, ints{1, 1})) == nullptr); // no list
    CHECK(b.known_elements(b.constant(tensor::zeros(dtype::i64, ints{1, 2})))->size() == 2);
    auto const reals = known(tensor::from<float>({6}, {2, -3, 0.5f, -0.0f, HUGE_VALF, 0x1p60f}));
    std::vector<bool> const whole{true, true, false, false, false, false};
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK((*reals)[i].fixed == whole[i]);
    CHECK((*reals)[1].value == -3);
    CHECK(*known(tensor::scalar(true)) == tensor_knowledge{{true, 1, {}}});
    CHECK(b.known(b.input(dtype::i64, {2}, "x")) == nullptr);
    CHECK(knowledge_of(tensor::scalar(1.0)) == tensor_knowledge{{true, 1, {}}});
    CHECK_FALSE(knowledge_of(tensor::scalar(1.5)));
    CHECK(knowledge_of(tensor::scalar(std::int8_t{3}))->size() == 1);
}

TEST_CASE("what the caller knows of a value helps inference") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {6}, "x"), sizes = b.input(dtype::i64, {2}, "sizes");
    CHECK(to_string(g.type(b.add<ops::reshape>({}, {x, sizes}))) == "f32[?,?]");
    b.set_known(sizes, {{true, 2, {}}, {true, -1, {}}});
    CHECK(to_string(g.type(b.add<ops::reshape>({}, {x, sizes}))) == "f32[2,3]");
    b.set_known(sizes, {{true, 3, {}}, {true, 2, {}}});
    CHECK(to_string(g.type(b.add<ops::reshape>({}, {x, sizes}))) == "f32[3,2]");
}

TEST_CASE("knowledge belongs to the builder: another one over the same graph starts without it") {
    graph g;
    graph_builder first{g};
    auto const x = first.input(dtype::f32, {2, 3}, "x");
    auto const sizes = first.add<ops::shape>({}, {x});
    CHECK(first.known(sizes) != nullptr);
    graph_builder second{g};
    CHECK(second.known(sizes) == nullptr);
    CHECK(to_string(g.type(second.add<ops::fill>({}, {sizes}))) == "f32[?,?]");
}

TEST_CASE("an ill-typed application throws and leaves the graph as it was") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x");
    auto const size = g.size();
    CHECK_THROWS_WITH(b.add<ops::mat_mul>(x, x),
                      "invalid input: MatMul: inner dimensions 3 and 2 of f32[2,3] and f32[2,3] differ");
    CHECK_THROWS_WITH(b.add<ops::add>(x), "invalid input: Add: takes 2 to 2 operands, 1 given");
    CHECK(g.size() == size);
    try {
        b.add<ops::transpose>({.perm = {7, 7}}, {x});
        FAIL("accepted");
    } catch (error const& e) {
        CHECK(e.id() == errors::ill_typed);
        REQUIRE(e.problems().size() == 1);
        CHECK(e.problems()[0].op == "Transpose");
    }
}

TEST_CASE("two graphs built alike are equal, and one with another constant is not") {
    auto const build = [](float last) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2}, "x");
        b.outputs({b.add<ops::mul>(x, b.constant(tensor::from<float>({2}, {1, last})))});
        return g;
    };
    CHECK(build(2) == build(2));
    CHECK_FALSE(build(2) == build(3));
    CHECK_FALSE(build(0.0f) == build(-0.0f));
}

} // namespace builder_test
