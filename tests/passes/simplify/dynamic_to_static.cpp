#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>

namespace dynamic_to_static_test {

using namespace gsub;
using namespace pass_trial;
using passes::dynamic_to_static;

// A graph whose types say no more than inference without known elements does, as one that is read or was rewritten.
struct raw_net : net {
    template <class Op>
    value_id raw(attributes_of<Op> const& a, std::initializer_list<value_id> operands, std::size_t results = 1) {
        return g.add<Op>(a, operands, results);
    }
    value_id list(ints const& values) {
        return g.add_constant(tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(values.size())}, values));
    }
    value_id dims_of(value_id v) { return raw<ops::shape>({}, {v}); }
    value_id reshaped(value_id v, value_id to) { return raw<ops::reshape>({}, {v, to}); }
};

template <class Op>
node_id only(any_graph const& g) {
    REQUIRE(count<Op>(g) == 1);
    for (auto n : g.order())
        if (g.is<Op>(n)) return n;
    return {};
}

TEST_CASE("DynamicToStatic P1: a reshape to the dimensions of something is one to numbers, and its type says so") {
    raw_net n;
    auto const x = n.input({2, 12}), y = n.input({4, 6}, "y");
    auto const g = n.after(dynamic_to_static{}, {n.raw<ops::relu>({}, {n.reshaped(x, n.dims_of(y))})});
    CHECK(n.outcome.matches == 1);
    CHECK(count<ops::shape>(g) == 0);
    CHECK(g.attributes<ops::reshape>(only<ops::reshape>(g)).shape == ints{4, 6});
    CHECK(to_string(g.type(g.output(0))) == "f32[4,6]");
}

TEST_CASE("DynamicToStatic P2: chains of reshapes that depend on each other resolve in one sweep") {
    for (int length : {2, 4, 50}) {
        raw_net n;
        auto const three = n.list({3}), zero = n.list({0}), rest = n.list({-1});
        auto v = n.input({6, 4});
        for (int i = 0; i < length; ++i) {
            auto const first = n.raw<ops::gather>({}, {n.dims_of(v), zero});
            v = n.reshaped(v, n.raw<ops::concat>({}, {i % 2 ? first : three, rest}));
        }
        auto const g = n.after(dynamic_to_static{}, {v});
        CHECK(n.outcome.matches == static_cast<std::uint64_t>(length));
        CHECK(count<ops::gather, ops::shape, ops::concat>(g) == 0);
        CHECK(to_string(g.type(g.output(0))) == "f32[3,8]");
    }
}

// main: If(condition, reshape to [2, 6], reshape to [3, 4])(x), behind it a relu.
gsub::module branching(bool constant_condition) {
    gsub::module m;
    for (auto const& [name, to] : {std::pair{"two", ints{2, 6}}, {"three", ints{3, 4}}}) {
        raw_net n;
        n.g.set_outputs(std::vector{n.reshaped(n.input({12}), n.list(to))});
        m.add(name, std::move(n.g));
    }
    raw_net n;
    auto const x = n.input({12});
    auto const rank = n.raw<ops::shape>({}, {n.dims_of(x)});
    auto const same = n.raw<ops::equal>(
        {}, {n.raw<ops::squeeze>({.axes = {0}}, {rank}), n.g.add_constant(tensor::scalar(std::int64_t{1}))});
    auto const condition = constant_condition ? same : n.input({}, "condition", dtype::boolean);
    auto const taken = value_id{add_if(n.g, m, condition, "two", "three", {&x, 1}), 0};
    n.g.set_outputs(std::vector{n.raw<ops::relu>({}, {taken})});
    m.add("main", std::move(n.g));
    return m;
}

TEST_CASE("DynamicToStatic P3: an If whose condition dimensions tell is the branch taken") {
    auto m = branching(true);
    auto const before = m;
    CHECK(run(dynamic_to_static{}, m, false).matches == 3); // one a branch, and the If
    auto const& g = m.find("main")->body;
    CHECK(count<ops::if_else>(g) == 0);
    CHECK(g.attributes<ops::reshape>(only<ops::reshape>(g)).shape == ints{2, 6});
    CHECK(to_string(g.type(g.output(0))) == "f32[2,6]");
    auto const x = random_inputs(g, 1);
    auto const table = table_of<eval_row, standard_ops>();
    CHECK(evaluate_module(m, table, x).value()[0].hash() == evaluate_module(before, table, x).value()[0].hash());
    auto open = branching(false);
    CHECK(run(dynamic_to_static{}, open, false).matches == 2);
    CHECK(count<ops::if_else>(open.find("main")->body) == 1);
}

TEST_CASE("DynamicToStatic P4: what is filled or expanded to a part of known dimensions has a known rank") {
    raw_net n;
    auto const y = n.input({2, 3, 4});
    auto const length = n.raw<ops::shape>({.start = 1, .end = 3}, {y}); // its number of elements, found as a value
    auto const part = n.raw<ops::slice>({}, {n.dims_of(y), n.list({0}), n.raw<ops::shape>({}, {length})});
    auto const v = n.g.add_constant(tensor::scalar(2.5f));
    auto const g =
        n.after(dynamic_to_static{}, {n.raw<ops::expand>({}, {v, part}), n.raw<ops::fill>({.value = 1.5}, {part})});
    CHECK(to_string(g.type(g.output(0))) == "f32[2,3]");
    CHECK(to_string(g.type(g.output(1))) == "f32[2,3]");
    CHECK(g.operand_count(g.output(1).node) == 0);
}

// P5 has no form here: there is no TopK, nor OneHot, Resize or Tile; files with them keep them as they are.

TEST_CASE("DynamicToStatic P6: a slice with known bounds and steps has attributes, with axes given or not") {
    raw_net n;
    auto const x = n.input({5, 6});
    auto const all = n.raw<ops::slice>({}, {x, n.list({0, 5}), n.list({4, -7}), n.list({-2, -1}), n.list({2, -2})});
    auto const plain = n.raw<ops::slice>({}, {x, n.list({1}), n.list({3})});
    auto const g = n.after(dynamic_to_static{}, {all, plain});
    CHECK(n.outcome.matches == 2);
    CHECK(to_string(g.type(g.output(0))) == "f32[2,3]");
    CHECK(to_string(g.type(g.output(1))) == "f32[2,6]");
}

TEST_CASE("DynamicToStatic: every other operator with settings gets attributes too") {
    raw_net n;
    auto const x = n.input({1, 4, 6});
    auto const border = n.g.add_constant(tensor::scalar(0.5f));
    auto const parts = n.raw<ops::split>({.axis = 1}, {x, n.list({1, 3})}, 2);
    auto const g = n.after(dynamic_to_static{},
                           {n.raw<ops::squeeze>({}, {x, n.list({0})}), n.raw<ops::unsqueeze>({}, {x, n.list({-1})}),
                            n.raw<ops::reduce_sum>({}, {x, n.list({2})}),
                            n.raw<ops::reduce_mean>({.keepdims = false}, {x, n.list({1})}),
                            n.raw<ops::reduce_max>({}, {x, n.list({-1})}), value_id{parts.node, 1},
                            n.raw<ops::pad>({}, {x, n.list({1, 2}), border, n.list({-1})}),
                            n.raw<ops::pad>({.mode = "reflect"}, {x, n.list({0, 1, 0, 0, 0, 1})})});
    CHECK(n.outcome.matches == 8);
    for (auto node : g.order())
        if (!g.is<ops::input>(node) && node != g.return_node()) {
            CHECK(g.operand_count(node) == 1);
            CHECK(g.type({node, 0}).is_static());
        }
}

TEST_CASE("DynamicToStatic: sizes that come out of floating-point arithmetic are computed") {
    raw_net n;
    auto const x = n.input({2, 12}), y = n.input({3, 4}, "y");
    auto const real = n.raw<ops::cast>({.to = dtype::f32}, {n.dims_of(y)});
    auto const scaled = n.raw<ops::mul>({}, {real, n.g.add_constant(tensor::from<float>({2}, {2, 1}))});
    auto const to = n.raw<ops::cast>({.to = dtype::i64}, {scaled});
    auto const g = n.after(dynamic_to_static{}, {n.reshaped(x, to), n.reshaped(n.reshaped(x, to), n.list({24}))});
    CHECK(n.outcome.matches == 3);
    CHECK(g.attributes<ops::reshape>(g.output(0).node).shape == ints{6, 4});
    CHECK(count<ops::mul, ops::cast>(g) == 0);
}

TEST_CASE("DynamicToStatic N1: unknown dimensions leave a reshape as it is") {
    raw_net n;
    auto const x = n.input({2, 12}), y = n.b.input(dtype::f32, {dim{symbol{"rows"}}, 6}, "y");
    CHECK(n.untouched(dynamic_to_static{}, {n.reshaped(x, n.dims_of(y))}, false));
    CHECK(n.outcome.skips("not known") == 1);
}

TEST_CASE("DynamicToStatic N2, N3: with one setting open, bound or border, all stay operands") {
    raw_net n;
    auto const x = n.input({5, 6});
    auto const end = n.input({1}, "end", dtype::i64), border = n.input({}, "border");
    CHECK(n.untouched(dynamic_to_static{}, {n.raw<ops::slice>({}, {x, n.list({0}), end})}));
    CHECK(n.outcome.skips("known in part") == 1);
    CHECK(n.untouched(dynamic_to_static{}, {n.raw<ops::pad>({}, {x, n.list({0, 1, 0, 1}), border})}));
    CHECK(n.outcome.skips("known in part") == 1);
}

TEST_CASE("DynamicToStatic: what would fail when it runs stays, and so does what no attribute says") {
    raw_net n;
    auto const x = n.input({5, 6});
    auto const unknown = n.raw<ops::cast>({.to = dtype::i64}, {n.g.add_constant(tensor::from<float>({1}, {7}))});
    auto const wrong = n.reshaped(x, unknown);
    auto const none = n.raw<ops::reduce_sum>({.noop_with_empty_axes = true}, {x, n.list({})});
    CHECK(n.untouched(dynamic_to_static{}, {wrong, none}, false));
    CHECK(n.outcome.skips("fails when it runs") == 1);
    CHECK(n.outcome.skips("no attribute says so") == 1);
}

TEST_CASE("DynamicToStatic: no bit of a random graph changes") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 60));
        run(dynamic_to_static{}, m, true, seed + 1);
    }
}

TEST_CASE("DynamicToStatic: a chain of thousands of dependent reshapes takes one sweep") {
    raw_net n;
    auto v = n.input({4, 6});
    auto const order = n.list({1, 0});
    for (int i = 0; i < 20000; ++i) v = n.reshaped(v, n.raw<ops::gather>({}, {n.dims_of(v), order}));
    n.g.set_outputs(std::vector{v});
    auto m = module_of(n.g);
    CHECK(run_pass(dynamic_to_static{}, m).value().matches == 20000);
    CHECK(m.find("main")->body.size() == 20002);
}

TEST_CASE("DynamicToStatic changes nothing in networks whose shapes are numbers") {
    auto const changed = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(dynamic_to_static{}, m, false).changed;
    };
    CHECK_FALSE(changed(models::resnet50({.image = 32})));
    CHECK_FALSE(changed(models::mobilenet_v2({.image = 32})));
    CHECK_FALSE(changed(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})));
}

} // namespace dynamic_to_static_test
