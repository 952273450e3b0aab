#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/kernel_builder.hpp>

#include <string>

namespace kernel_builder_test {

using namespace kernel_graphs;

fuse_context context() {
    fuse_context cx;
    cx.evaluators = evaluators, cx.isa = &isa::avx512;
    return cx;
}

} // namespace kernel_builder_test

TEST_CASE("a builder numbers inputs, constants and results, and knows what is there") {
    using namespace kernel_builder_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {2, 3}, "x");
    auto const c = net.constant(tensor::from<float>({3}, {1, 2, 3}), "c");
    auto const sum = net.add<ops::add>(x, c), product = net.add<ops::mul>(c, c);
    auto const y = net.add<ops::add>(sum, product);
    auto const turned = net.add<ops::transpose>({.perm = {1, 0}}, {x});
    net.outputs({y, net.add<ops::relu>(turned)});
    any_graph const any{g};
    auto const cx = context();
    kernel_builder b{any, cx};
    CHECK(&b.isa() == &isa::avx512);
    CHECK(b.exists(x));
    CHECK(b.exists(c));
    CHECK_FALSE(b.exists(sum));
    CHECK(b.constant_of(c)->data<float>()[2] == 3);
    CHECK_FALSE(b.constant_of(x));
    CHECK(b.constant_of(product)->data<float>()[2] == 9); // weight arithmetic, evaluated
    CHECK(b.operand(x) == 0);
    CHECK(b.operand(c) == b.operand(c));
    CHECK_FALSE(b.only_reader(sum)); // no group is lowered
    kernel_group const group{sum.node, y.node};
    b.begin(group);
    CHECK(b.only_reader(sum) == y.node);
    CHECK_FALSE(b.only_reader(x));      // there are two
    CHECK_FALSE(b.only_reader(y));      // an output
    CHECK_FALSE(b.only_reader(turned)); // of another group
    CHECK(b.viewed(x).access == small_vector<std::int8_t, 6>{0, 1});
    b.add_reference(sum.node);
    CHECK(b.exists(sum));
    CHECK(b.done(sum.node));
    CHECK_FALSE(b.is_free(sum.node));
    CHECK(b.is_free(y.node));
}

TEST_CASE("a builder adds kernels with what they cover, why no more, and the signature") {
    using namespace kernel_builder_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {2, 3}, "x");
    auto const a = net.add<ops::exp>(x), e = net.add<ops::tanh>(a);
    net.output(e, "y");
    any_graph const any{g};
    auto const cx = context();
    kernel_builder b{any, cx};
    kernel_op op{.computes = custom_kernel{.name = "mine"}, .operands = {b.whole(x)}};
    auto const number = b.constant(tensor::scalar(2.0f), "two");
    op.operands.push_back({number, {}, {}});
    op.results = {b.result(a), b.unnamed(tensor_type{dtype::i32, ints{4}})};
    auto const first = a.node;
    b.add({&first, 1}, std::move(op));
    CHECK(b.done(a.node));
    CHECK_FALSE(b.done(e.node));
    b.add_reference(e.node);
    auto const k = b.take();
    CHECK(check(k).empty());
    REQUIRE(k.ops.size() == 2);
    CHECK(k.ops[0].covers.at(0).op == "Exp");
    CHECK(k.ops[0].boundary.ends_with(": it has no expression of elements")); // this builder has no rows
    CHECK(k.ops[1].boundary == "an output of the graph");
    CHECK(kind_of(k.ops[1]) == "reference Tanh");
    CHECK(k.values[static_cast<std::size_t>(number)].name == "two");
    CHECK(k.output_names == std::vector<std::string>{"y"});
    CHECK(k.input_names == std::vector<std::string>{"x"});
    CHECK(k.outputs.size() == 1);
}
