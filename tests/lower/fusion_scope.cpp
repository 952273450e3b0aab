#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/lower/fusion_scope.hpp>

namespace fusion_scope_test {

using namespace gsub;

// All but one operator are free.
struct all_but_one final : fusion_scope {
    all_but_one(any_graph const& g, fusion_rules const& rules, node_id one) : fusion_scope(g, rules), taken(one) {}
    bool is_free(node_id n) const override { return n != taken; }
    bool is_there(value_id) const override { return true; }
    bool in_blocks(value_id) const override { return false; }
    node_id taken;
};

TEST_CASE("the only reader of a value is an operator of one result that is free") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    auto const once = b.add<ops::tanh>(x), twice = b.add<ops::exp>(once), end = b.add<ops::add>(twice, twice);
    auto const split = b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {end}, 2);
    b.outputs({split, value_id{split.node, 1}});
    fusion_rules rules;
    rules.isa = &isa::avx2;
    all_but_one const s{g, rules, node_id{}};
    CHECK(s.only_reader(x) == once.node);
    CHECK(s.only_reader(once) == twice.node);
    CHECK_FALSE(s.only_reader(twice)); // two operands read it
    CHECK_FALSE(s.only_reader(end));   // its reader has two results
    CHECK_FALSE(s.only_reader(split)); // an output
    CHECK_FALSE(all_but_one{g, rules, twice.node}.only_reader(once));
    CHECK(&s.isa() == &isa::avx2);
    CHECK(s.type(x).element == dtype::f32);
}

} // namespace fusion_scope_test
