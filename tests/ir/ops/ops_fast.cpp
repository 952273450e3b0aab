#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops_fast.hpp>

namespace ops_fast_test {

using namespace gsub;

TEST_CASE("an approximation has operands, attributes and results of the operator that it stands for") {
    auto const same = [](op_info const& fast, op_info const& exact) {
        CHECK(fast.domain == "gsub");
        CHECK(fast.min_inputs == exact.min_inputs);
        CHECK(fast.max_inputs == exact.max_inputs);
        CHECK(fast.category == exact.category);
        CHECK(fast.attributes().size() == exact.attributes().size());
    };
    same(op_info::of<ops::fast_exp>(), op_info::of<ops::exp>());
    same(op_info::of<ops::fast_tanh>(), op_info::of<ops::tanh>());
    same(op_info::of<ops::fast_erf>(), op_info::of<ops::erf>());
    same(op_info::of<ops::fast_softmax>(), op_info::of<ops::softmax>());
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{symbol{"rows"}}, 4}, "x");
    for (auto v : {b.add<ops::fast_exp>(x), b.add<ops::fast_tanh>(x), b.add<ops::fast_erf>(x),
                   b.add<ops::fast_softmax>({.axis = 1}, {x})})
        CHECK(g.type(v) == g.type(x));
    CHECK_THROWS_AS(b.add<ops::fast_softmax>({.axis = 2}, {x}), error);
}

} // namespace ops_fast_test
