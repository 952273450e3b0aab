#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/ir/text.hpp>

#include <string>
#include <vector>

namespace module_test {

using namespace gsub;

static_assert(std::is_copy_constructible_v<gsub::module>);
static_assert(std::is_nothrow_move_constructible_v<gsub::module>);

inline dialect const& standard = dialect::of<standard_ops>();

// A graph of one input and one output.
template <class F>
any_graph unary(F&& f, std::string_view input = "x") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, input);
    b.outputs({f(g, b, x)}, {"y"});
    return g;
}

// One that calls functions of `m`, one after the other.
any_graph calls(gsub::module const& m, std::vector<std::string> const& callees) {
    return unary([&](graph& g, graph_builder&, value_id x) {
        for (auto const& callee : callees) x = {add_call(g, m, callee, {&x, 1}), 0};
        return x;
    });
}

// Calls written without looking the callee up: it may not exist yet, or call back.
any_graph unchecked_call(std::string const& callee) {
    return unary([&](graph& g, graph_builder& b, value_id x) {
        type_id const t = g.type_of(x);
        auto const y = b.add<ops::relu>(x);
        return value_id{g.append_node(4, intern<ops::call>({.callee = callee}), 0, {&y, 1}, {&t, 1}), 0};
    });
}

template <class Op>
any_graph once() {
    return unary([](graph&, graph_builder& b, value_id x) { return b.add<Op>(x); });
}

TEST_CASE("a module keeps its functions in order and finds them by name") {
    gsub::module m;
    m.add("main", once<ops::relu>());
    m.add("helper", once<ops::tanh>(), {.primitive = true});
    CHECK(m.functions().size() == 2);
    CHECK(m.functions()[1].name == "helper");
    REQUIRE(m.find("helper"));
    CHECK(m.find("helper")->attributes.primitive);
    CHECK(m.find("absent") == nullptr);
    m.add("main", once<ops::sigmoid>()); // replaces, in place
    CHECK(m.functions().size() == 2);
    CHECK(m.functions()[0].body == once<ops::sigmoid>());
    CHECK(m.entry_points() == std::vector<std::string>{"main"});
}

TEST_CASE("inlining a function without calls gives an equal graph with equal names") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 20);
        random_stream r{seed};
        for (auto n : g.order())
            for (std::uint32_t port = 0; port < g.result_count(n); ++port)
                if (r.below(2)) g.set_name({n, port}, message({"value ", n.index, ".", port}));
        gsub::module m;
        m.add("main", g);
        auto const flat = m.inlined().value();
        CHECK(flat == g);
        CHECK(to_text(flat) == to_text(g));
    }
}

TEST_CASE("calls are replaced by the nodes of the callee, as often as they stand there") {
    gsub::module m;
    m.add("relu", once<ops::relu>());
    m.add("relu_tanh", unary([&](graph& g, graph_builder& b, value_id x) {
              return b.add<ops::tanh>(value_id{add_call(g, m, "relu", {&x, 1}), 0});
          }));
    m.add("main", calls(m, {"relu_tanh", "relu", "relu_tanh"}));
    auto const expected = unary([](graph&, graph_builder& b, value_id x) {
        x = b.add<ops::tanh>(b.add<ops::relu>(x));
        x = b.add<ops::relu>(x);
        return b.add<ops::tanh>(b.add<ops::relu>(x));
    });
    auto const flat = m.inlined().value();
    CHECK(flat == expected);
    CHECK(flat.name({flat.inputs()[0], 0}) == "x");
    CHECK(flat.info().output_names == std::vector<std::string>{"y"});
    CHECK(m.inlined("relu").value() == once<ops::relu>());
}

TEST_CASE("a function may pass an input through and give several results") {
    gsub::module m;
    {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2, 3}, "a"), y = b.input(dtype::f32, {2, 3}, "b");
        b.outputs({y, b.add<ops::add>(x, y), x});
        m.add("swap_and_add", std::move(g));
    }
    m.add("main", unary([&](graph& g, graph_builder& b, value_id x) {
              auto const t = b.add<ops::tanh>(x);
              auto const n = add_call(g, m, "swap_and_add", std::vector{x, t});
              CHECK(g.result_count(n) == 3);
              return b.add<ops::sum>(value_id{n, 0}, value_id{n, 1}, value_id{n, 2});
          }));
    auto const expected = unary([](graph&, graph_builder& b, value_id x) {
        auto const t = b.add<ops::tanh>(x);
        return b.add<ops::sum>(t, b.add<ops::add>(x, t), x);
    });
    CHECK(m.inlined().value() == expected);
}

TEST_CASE("sources of inlined nodes stay the user's names") {
    gsub::module m;
    m.add("f", unary([](graph& g, graph_builder& b, value_id x) {
              auto const y = b.add<ops::relu>(x);
              g.set_source(y.node, "layer 1/relu");
              return y;
          }));
    m.add("main", calls(m, {"f"}));
    auto const flat = m.inlined().value();
    CHECK(flat.display_name(flat.output(0).node) == "layer 1/relu");
}

TEST_CASE("the hash sees what is computed, not the names of functions or how they are cut") {
    gsub::module direct, one_call, renamed, other;
    direct.add("main", once<ops::relu>());
    one_call.add("f", once<ops::relu>());
    one_call.add("main", calls(one_call, {"f"}));
    renamed.add("another name", once<ops::relu>());
    renamed.add("unused", once<ops::tanh>());
    renamed.add("main", calls(renamed, {"another name"}));
    other.add("main", once<ops::tanh>());
    CHECK(direct.hash().value() == one_call.hash().value());
    CHECK(direct.hash().value() == renamed.hash().value());
    CHECK_FALSE(direct.hash().value() == other.hash().value());
    gsub::module marked;
    marked.add("main", once<ops::relu>(), {.symbol = "kernel_1"});
    CHECK_FALSE(marked.hash().value() == direct.hash().value());
}

TEST_CASE("the hash is one of the entry points, which need not be called main") {
    gsub::module m;
    m.add("a", once<ops::relu>());
    m.add("b", once<ops::tanh>());
    m.set_entry_points({"a"});
    auto const of_a = m.hash().value();
    m.set_entry_points({"b"});
    CHECK_FALSE(m.hash().value() == of_a);
    m.set_entry_points({"a", "b"});
    auto const of_both = m.hash().value();
    m.set_entry_points({"b", "a"});
    CHECK_FALSE(m.hash().value() == of_both); // their order is part of the interface
    m.set_entry_points({"main"});
    CHECK(m.hash().error().message() == "invalid input: call: function \"main\" does not exist");
}

TEST_CASE("a call that does not fit is refused when it is added") {
    gsub::module m;
    m.add("f", once<ops::relu>());
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x"), wrong = b.input(dtype::f32, {3, 3}, "wrong");
    CHECK_THROWS_WITH(add_call(g, m, "g", {&x, 1}), "invalid input: call: function \"g\" does not exist");
    CHECK_THROWS_WITH(add_call(g, m, "f", std::vector{x, x}), "invalid input: call: 2 operands for 1 inputs of \"f\"");
    CHECK_THROWS_WITH(add_call(g, m, "f", {&wrong, 1}),
                      "invalid input: call: operand 0 has type f32[3,3], \"f\" takes f32[2,3]");
    CHECK(g.order().size() == 3);
}

TEST_CASE("a call that stopped fitting is found when the module is inlined") {
    gsub::module m;
    m.add("f", once<ops::relu>());
    m.add("main", calls(m, {"f"}));
    {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2, 3}, "x");
        b.input(dtype::f32, {2, 3}, "one more");
        b.outputs({x});
        m.add("f", std::move(g));
    }
    CHECK(m.inlined().error().message() ==
          "invalid input: call (node \"call_2\"): 1 operands and 1 results; the function has 2 and 1");
    // The same number of operands and results, of other types.
    auto const replaced_by = [&](tensor_type const& input, std::int64_t axis) {
        graph g;
        graph_builder b{g};
        b.outputs({b.add<ops::flatten>({.axis = axis}, {g.add_input(input, "x")})});
        m.add("f", std::move(g));
        auto const r = m.inlined();
        return r ? std::string{"accepted"} : r.error().message();
    };
    CHECK(replaced_by({dtype::f64, shape{dim{2}, dim{3}}}, 1) ==
          "invalid input: call (node \"call_2\"): operand 0 has type f32[2,3]; the function has f64[2,3]");
    CHECK(replaced_by({dtype::f32, shape{dim{2}, dim{3}}}, 0) ==
          "invalid input: call (node \"call_2\"): result 0 has type f32[2,3]; the function has f32[1,6]");
    CHECK(replaced_by({dtype::f32, shape{dim{}, dim{3}}}, 1) == "accepted");
}

TEST_CASE("an unknown callee is named with its caller") {
    gsub::module m;
    m.add("main", unchecked_call("nowhere"));
    CHECK(m.inlined().error().message() == "invalid input: call (node \"main\"): function \"nowhere\" does not exist");
    CHECK(m.inlined("absent").error().message() == "invalid input: call: function \"absent\" does not exist");
}

TEST_CASE("recursion is refused, direct or through others") {
    gsub::module direct;
    direct.add("main", unchecked_call("main"));
    CHECK(direct.inlined().error().message() == "invalid input: call (node \"main\"): function \"main\" calls itself");
    gsub::module mutual;
    mutual.add("main", unchecked_call("a"));
    mutual.add("a", unchecked_call("b"));
    mutual.add("b", unchecked_call("a"));
    CHECK(mutual.hash().error().message() == "invalid input: call (node \"b\"): function \"a\" calls itself");
    mutual.add("b", once<ops::relu>());
    CHECK(mutual.hash()); // calling a function twice, or deeply, is no recursion
}

TEST_CASE("a chain of twenty thousand functions is walked without deep recursion") {
    constexpr int depth = 20'000;
    auto const name = [](int i) { return message({"f", i}); };
    gsub::module m;
    for (int i = 0; i < depth; ++i) m.add(name(i), unchecked_call(name(i + 1)));
    m.add(name(depth), unchecked_call(name(0)));
    auto const recursive = m.inlined(name(0));
    REQUIRE_FALSE(recursive);
    CHECK(recursive.error().message() == "invalid input: call (node \"f20000\"): function \"f0\" calls itself");
}

TEST_CASE("functions that double at each level are refused before they fill the memory") {
    auto const twice = [](std::string const& callee) {
        return unary([&](graph& g, graph_builder&, value_id x) {
            type_id const t = g.type_of(x);
            auto const call = intern<ops::call>({.callee = callee});
            auto const once_called = g.append_node(4, call, 0, {&x, 1}, {&t, 1});
            value_id const y{once_called, 0};
            return value_id{g.append_node(4, call, 0, {&y, 1}, {&t, 1}), 0};
        });
    };
    gsub::module m;
    m.add("f0", once<ops::relu>());
    for (int i = 1; i < 60; ++i) m.add(message({"f", i}), twice(message({"f", i - 1})));
    CHECK(m.inlined("f10").value().size() == 1024 + 2);
    auto const r = m.inlined("f59");
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "not supported: more than 4194304 nodes after inlining");
}

TEST_CASE("a deep chain of calls is inlined into a chain of nodes") {
    constexpr int depth = 1500;
    auto const name = [](int i) { return message({"f", i}); };
    gsub::module m;
    for (int i = 0; i < depth; ++i) m.add(name(i), unchecked_call(name(i + 1)));
    m.add(name(depth), once<ops::relu>());
    auto const flat = m.inlined(name(0)).value();
    CHECK(flat.size() == depth + 3); // a relu each, the input and the results node
}

} // namespace module_test
