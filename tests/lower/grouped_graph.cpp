#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/lower/grouped_graph.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <map>
#include <set>

namespace grouped_graph_test {

using namespace gsub;

TEST_CASE("a module without primitive functions is one graph without groups") {
    module m;
    auto const g = random_graph::make(3, 20);
    m.add("main", g);
    auto const made = inline_groups(m).value();
    CHECK(made.graph == g);
    CHECK(made.within.empty());
}

TEST_CASE("operators of one call of a primitive function are one group, and the graph is that of the module") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        auto const groups = passes::fuse_groups(g);
        module m;
        m.add("main", g);
        static_cast<void>(run_pass(passes::fuse_ops{}, m).value());
        auto const made = inline_groups(m).value();
        CHECK(made.graph == g);
        std::map<std::uint32_t, std::size_t> sizes;
        for (auto n : made.graph.order())
            if (!made.graph.constant(n) && made.graph.op(n).category != op_category::structural)
                ++sizes[made.within[n.index]];
        std::multiset<std::size_t> found, expected;
        for (auto const& [number, size] : sizes)
            if (number != 0) found.insert(size);
        for (auto const& group : groups) expected.insert(group.size());
        CHECK(found == expected);
    }
}

TEST_CASE("a function that is called twice is two groups, and one that a primitive function calls is in its group") {
    graph twice, body, inner;
    graph_builder i{inner}, b{body}, t{twice};
    i.outputs({i.add<ops::tanh>(i.input(dtype::f32, {4}, "x"))});
    module m;
    m.add("inner", inner);
    auto const in = b.input(dtype::f32, {4}, "x");
    auto const called = add_call(body, m, "inner", {&in, 1});
    b.outputs({b.add<ops::exp>(value_id{called, 0})});
    m.add("body", body, {.primitive = true});
    auto const x = t.input(dtype::f32, {4}, "x");
    value_id const first{add_call(twice, m, "body", {&x, 1}), 0};
    auto const relu = t.add<ops::relu>(first);
    value_id const second{add_call(twice, m, "body", {&relu, 1}), 0};
    t.outputs({second});
    m.add("main", twice);
    auto const made = inline_groups(m).value();
    std::vector<std::uint32_t> numbers;
    for (auto n : made.graph.order())
        if (made.graph.op(n).category == op_category::elementwise) numbers.push_back(made.within[n.index]);
    CHECK(numbers == std::vector<std::uint32_t>{1, 1, 0, 2, 2});
}

TEST_CASE("a module that cannot be inlined is refused") {
    graph g;
    graph_builder b{g};
    module m;
    auto const x = b.input(dtype::f32, {4}, "x");
    m.add("f", g);
    b.outputs({x});
    CHECK(inline_groups(m, "nobody").error().message().find("nobody") != std::string::npos);
}

} // namespace grouped_graph_test
