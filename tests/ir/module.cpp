#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/legality.hpp>
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
        return value_id{g.append_node(structural::call, intern<ops::call>({.callee = callee}), 0, {&y, 1}, {&t, 1}), 0};
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
                if (r.below(2)) g.set_name({n, port}, fmt::format("value {}.{}", n.index, port));
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
    CHECK(capture([&] { return add_call(g, m, "g", {&x, 1}); }).error().id() == errors::function_call);
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
    CHECK(m.inlined().error().id() == errors::function_call);
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
    CHECK(mutual.hash().error().id() == errors::function_call);
    mutual.add("b", once<ops::relu>());
    CHECK(mutual.hash()); // calling a function twice, or deeply, is no recursion
}

TEST_CASE("a chain of twenty thousand functions is walked without deep recursion") {
    constexpr int depth = 20'000;
    auto const name = [](int i) { return fmt::format("f{}", i); };
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
            auto const once_called = g.append_node(structural::call, call, 0, {&x, 1}, {&t, 1});
            value_id const y{once_called, 0};
            return value_id{g.append_node(structural::call, call, 0, {&y, 1}, {&t, 1}), 0};
        });
    };
    gsub::module m;
    m.add("f0", once<ops::relu>());
    for (int i = 1; i < 60; ++i) m.add(fmt::format("f{}", i), twice(fmt::format("f{}", i - 1)));
    CHECK(m.inlined("f10").value().size() == 1024 + 2);
    auto const r = m.inlined("f59");
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::inlined_nodes);
    CHECK(r.error().message() == "not supported: more than 4194304 nodes after inlining");
}

TEST_CASE("a deep chain of calls is inlined into a chain of nodes") {
    constexpr int depth = 1500;
    auto const name = [](int i) { return fmt::format("f{}", i); };
    gsub::module m;
    for (int i = 0; i < depth; ++i) m.add(name(i), unchecked_call(name(i + 1)));
    m.add(name(depth), once<ops::relu>());
    auto const flat = m.inlined(name(0)).value();
    CHECK(flat.size() == depth + 3); // a relu each, the input and the results node
}

// Both of `x`; the second is longer by a row.
gsub::module of_two_branches() {
    gsub::module m;
    m.add("yes", once<ops::relu>());
    m.add("no", unary([](graph&, graph_builder& b, value_id x) { return b.add<ops::concat>({}, {x, x}); }));
    return m;
}
// main(flag, x) = if flag then m.yes(x) else m.no(x), with the condition known where `flag` is.
any_graph branching(gsub::module const& m, std::optional<bool> flag, std::string const& yes = "yes",
                    std::string const& no = "no") {
    graph g;
    graph_builder b{g};
    auto const c = flag ? b.constant(tensor::scalar(*flag)) : b.input(dtype::boolean, {}, "flag");
    auto const x = b.input(dtype::f32, {2, 3}, "x");
    b.outputs({b.add<ops::tanh>(value_id{add_if(g, m, c, yes, no, {&x, 1}), 0})}, {"y"});
    return g;
}

TEST_CASE("a result of an If has the type that both branches are an instance of") {
    auto m = of_two_branches();
    auto const result = [&] {
        graph g;
        graph_builder b{g};
        auto const c = b.input(dtype::boolean, {}, "c"), x = b.input(dtype::f32, {2, 3}, "x");
        return to_string(g.type({add_if(g, m, c, "yes", "no", {&x, 1}), 0}));
    };
    CHECK(result() == "f32[?,3]");
    m.add("no", once<ops::tanh>());
    CHECK(result() == "f32[2,3]");
    m.add("no", unary([](graph&, graph_builder& b, value_id x) { return b.add<ops::flatten>({.axis = 2}, {x}); }));
    CHECK(result() == "f32[?,?]");
    m.add("no", unary([](graph&, graph_builder& b, value_id x) { return b.add<ops::squeeze>({.axes = {}}, {x}); }));
    CHECK(result() == "f32[2,3]");
    m.add("no", unary([](graph&, graph_builder& b, value_id x) { return b.add<ops::unsqueeze>({.axes = {0}}, {x}); }));
    CHECK(result() == "f32[*]");
}

TEST_CASE("an If that does not fit its branches is refused") {
    auto m = of_two_branches();
    graph g;
    graph_builder b{g};
    auto const c = b.input(dtype::boolean, {}, "c"), x = b.input(dtype::f32, {2, 3}, "x");
    auto const reason = [&](value_id condition, std::string_view no, std::span<value_id const> operands) {
        auto const r = capture([&] { return add_if(g, m, condition, "yes", no, operands); });
        return r ? std::string{} : r.error().message();
    };
    m.add("integer",
          unary([](graph&, graph_builder& k, value_id v) { return k.add<ops::cast>({.to = dtype::i64}, {v}); }));
    m.add("two", [] {
        graph two;
        graph_builder k{two};
        auto const v = k.input(dtype::f32, {2, 3}, "x");
        k.outputs({v, v});
        return two;
    }());
    CHECK(reason(x, "no", {&x, 1}).find("it takes one truth value") != std::string::npos);
    CHECK(reason(c, "absent", {&x, 1}).find("does not exist") != std::string::npos);
    CHECK(reason(c, "no", {}).find("0 operands for 1 inputs") != std::string::npos);
    CHECK(reason(c, "no", {&c, 1}).find("has type bool[]") != std::string::npos);
    CHECK(reason(c, "integer", {&x, 1}).find("element types must be equal") != std::string::npos);
    CHECK(reason(c, "two", {&x, 1}).find("must give as many") != std::string::npos);
    CHECK(reason(c, "no", {&x, 1}).empty());
}

TEST_CASE("an If of known condition is the branch taken, by inlining the module or in place") {
    for (bool const flag : {false, true}) {
        CAPTURE(flag);
        auto m = of_two_branches();
        m.add("main", branching(m, flag));
        auto expected = m;
        expected.add("main", unary([&](graph& g, graph_builder& b, value_id x) {
                         return b.add<ops::tanh>(value_id{add_call(g, m, flag ? "yes" : "no", {&x, 1}), 0});
                     }));
        auto const wanted = expected.inlined().value();
        auto in_place = m;
        CHECK(inline_known_branches(in_place) == 1);
        CHECK(inline_known_branches(in_place) == 0);
        for (auto const& g : {m.inlined().value(), in_place.inlined().value()})
            for (auto n : g.order()) CHECK_FALSE(g.is<ops::if_else>(n));
        auto const operators = [](any_graph const& g) {
            std::vector<std::string_view> names;
            for (auto n : g.order()) names.push_back(g.op(n).name);
            return names;
        };
        auto flat = m.inlined().value();
        flat.erase_dead(); // the condition
        CHECK(operators(flat) == operators(wanted));
        CHECK(operators(in_place.inlined().value()) == operators(wanted));
        CHECK(check(in_place.find("main")->body, stage::canonical).empty());
    }
}

TEST_CASE("an If of unknown condition stays, and its branches are at hand") {
    auto m = of_two_branches();
    m.add("main", branching(m, {}));
    auto const flat = m.inlined().value();
    CHECK(flat == m.find("main")->body);
    auto const branches = m.branches(flat).value();
    REQUIRE(branches.size() == 2);
    CHECK(branches.at("yes") == m.find("yes")->body);
    auto copy = m.find("main")->body;
    for (auto n : std::vector<node_id>(copy.order().begin(), copy.order().end())) CHECK_FALSE(inline_call(copy, m, n));
}

TEST_CASE("a module's hash depends on what its branches compute and not on their names") {
    auto m = of_two_branches();
    m.add("main", branching(m, {}));
    auto renamed = of_two_branches();
    renamed.add("a", m.find("yes")->body);
    renamed.add("b", m.find("no")->body);
    renamed.add("main", branching(renamed, {}, "a", "b"));
    CHECK(m.hash().value() == renamed.hash().value());
    renamed.add("b", once<ops::sigmoid>());
    renamed.add("main", branching(renamed, {}, "a", "b"));
    CHECK_FALSE(m.hash().value() == renamed.hash().value());
    renamed.add("b", m.find("no")->body);
    renamed.add("main", branching(renamed, {}, "b", "a")); // the other way round
    CHECK_FALSE(m.hash().value() == renamed.hash().value());
}

TEST_CASE("a module with branches survives its text") {
    auto m = of_two_branches();
    m.add("main", branching(m, {}));
    auto const text = to_text(m);
    auto const back = parse_module(text, standard);
    REQUIRE(back);
    CHECK(to_text(*back) == text);
    CHECK(back->hash().value() == m.hash().value());
}

TEST_CASE("recursion through a branch is refused") {
    auto m = of_two_branches();
    m.add("main", branching(m, {}));
    m.add("yes", [&] {
        auto g = branching(m, true);
        return g;
    }());
    m.add("main", unary([&](graph& g, graph_builder&, value_id x) {
              return value_id{add_call(g, m, "no", {&x, 1}), 0};
          }));
    m.add("no", branching(m, false)); // calls "no" under the name of its own branch
    CHECK(m.inlined("no").error().message().find("calls itself") != std::string::npos);
    auto const refused = capture([&] { return inline_known_branches(m); });
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("calls itself") != std::string::npos);
}

} // namespace module_test
