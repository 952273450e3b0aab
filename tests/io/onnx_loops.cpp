#include "io/function_checks.hpp"
#include "io/small_stack.hpp"
#include <gsub/ir/module.hpp>

#include <array>
#include <ctime>
#include <functional>
#include <utility>

namespace onnx_loops_test {

using namespace function_checks;
using model_checks::count;
using model_checks::read;
using model_checks::verdict_of;

std::string number(std::string_view name, std::int64_t v) {
    return w::raw_tensor(name, w::i64, {}, w::raw<std::int64_t>({v}));
}
std::string truth(std::string_view name, bool v) {
    return w::raw_tensor(name, w::boolean, {}, std::string(1, v ? '\1' : '\0'));
}
// Declares inputs of a body of which nothing is said but the name.
w::model body_of(w::texts const& inputs) {
    w::model m;
    m.opset = 13;
    for (auto const& name : inputs) m.inputs.push_back(w::value(name));
    return m;
}
std::vector<tensor> run(w::model const& m, std::vector<tensor> const& inputs) {
    auto const g = loaded(m);
    for (auto n : g.order())
        if (g.is<ops::opaque>(n)) FAIL_CHECK(g.attributes<ops::opaque>(n).reason);
    auto const found = evaluate_graph(g, inputs).value();
    auto const again = evaluate_graph(loaded(io::to_onnx(g).value()), inputs).value();
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(again.at(i).hash() == found[i].hash());
    return found;
}
// Why the loop of a model stays as it is in the file, or the message of the error.
std::string why(w::model const& m, io::load_options const& options = {}) {
    auto const g = read(m, options);
    if (!g) return g.error().message();
    for (auto n : g->order())
        if (g->is<ops::opaque>(n)) return g->attributes<ops::opaque>(n).reason;
    return "read";
}
bool has(std::string const& text, std::string_view words) {
    INFO(text);
    auto const found = text.find(words) != std::string::npos;
    CHECK(found);
    return found;
}
double seconds_of(std::function<void()> const& f) { // processor time
    auto const begin = std::clock();
    f();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// ---- Scan

// s + element, and with it times a value of the graph around.
w::model adding() {
    auto body = body_of({"s", "e"});
    body.add("Add", {"s", "e"}, {"next"}).add("Mul", {"next", "scale"}, {"seen"}).out("next").out("seen");
    return body;
}
w::model scan(w::model const& body, w::texts attributes, std::vector<w::size> const& s, std::vector<w::size> const& x,
              std::int64_t inputs = 1) {
    w::model m;
    m.in("s0", s).in("x", x).in("scale", {});
    attributes.push_back(w::graph("body", body.graph()));
    attributes.push_back(w::integer("num_scan_inputs", inputs));
    return m.add("Scan", {"s0", "x"}, {"last", "all"}, attributes, "sum").out("last").out("all");
}

TEST_CASE("a scan adds up along each axis, forwards and backwards, and stacks what it sees along each axis") {
    auto const x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), scale = floats({}, {10});
    for (std::int64_t const axis : {0, 1, -1, -2})
        for (bool const backwards : {false, true})
            for (std::int64_t const place : {0, 1, -1, -2})
                for (bool const reversed : {false, true}) {
                    INFO(axis << " " << backwards << " " << place << " " << reversed);
                    auto const along = axis == 0 || axis == -2;
                    std::int64_t const length = along ? 2 : 3, width = along ? 3 : 2;
                    auto const m = scan(adding(),
                                        {w::integer_list("scan_input_axes", {axis}),
                                         w::integer_list("scan_input_directions", {backwards}),
                                         w::integer_list("scan_output_axes", {place}),
                                         w::integer_list("scan_output_directions", {reversed})},
                                        {width}, {2, 3});
                    std::vector<double> state(static_cast<std::size_t>(width));
                    std::vector<double> all(static_cast<std::size_t>(length * width));
                    for (std::int64_t i = 0; i < length; ++i) {
                        auto const from = backwards ? length - 1 - i : i, to = reversed ? length - 1 - i : i;
                        for (std::int64_t j = 0; j < width; ++j) {
                            auto& s = state[static_cast<std::size_t>(j)];
                            s += static_cast<double>(along ? from * 3 + j : j * 3 + from) + 1;
                            auto const at = place == 0 || place == -2 ? to * width + j : j * length + to;
                            all[static_cast<std::size_t>(at)] = 10 * s;
                        }
                    }
                    auto const got = run(m, {tensor::zeros(dtype::f32, ints{width}), x, scale});
                    auto const sizes = place == 0 || place == -2 ? ints{length, width} : ints{width, length};
                    CHECK(near(got[0], tensor::from<double>(ints{width}, state).converted_to(dtype::f32)));
                    CHECK(near(got[1], tensor::from<double>(sizes, all).converted_to(dtype::f32)));
                }
}

TEST_CASE("a scan has several states and sequences, and a state may go on as it is") {
    auto body = body_of({"a", "b", "p", "q"});
    body.add("Add", {"a", "p"}, {"a2"}).add("Mul", {"p", "q"}, {"pq"}).add("Mul", {"pq", "b"}, {"seen"});
    body.out("a2").out("b").out("seen").out("p").out("b");
    w::model m;
    m.in("a0", {}).in("b0", {}).in("x", {3}).in("y", {3}, w::f32);
    m.add("Scan", {"a0", "b0", "x", "y"}, {"a", "b", "s", "t", "u"},
          {w::graph("body", body.graph()), w::integer("num_scan_inputs", 2),
           w::integer_list("scan_input_directions", {0, 1})});
    for (auto const* name : {"a", "b", "s", "t", "u"}) m.out(name);
    auto const got = run(m, {floats({}, {1}), floats({}, {2}), floats({3}, {1, 2, 3}), floats({3}, {4, 5, 6})});
    CHECK(near(got[0], floats({}, {7})));
    CHECK(near(got[1], floats({}, {2})));
    CHECK(near(got[2], floats({3}, {12, 20, 24})));
    CHECK(near(got[3], floats({3}, {1, 2, 3})));
    CHECK(near(got[4], floats({3}, {2, 2, 2})));
}

TEST_CASE("a scan of operator set 8 has a batch, each element of which has a scan of its own") {
    auto const m = [](w::list const& lengths, bool backwards) {
        w::model made;
        made.opset = 8;
        made.in("s0", {2, 1}).in("x", {2, 3, 1}).in("scale", {});
        if (!lengths.empty()) made.weight(w::integers("lengths", lengths));
        return made
            .add("Scan", {lengths.empty() ? "" : "lengths", "s0", "x"}, {"last", "all"},
                 {w::graph("body", adding().graph()), w::integer("num_scan_inputs", 1),
                  w::integer_list("directions", {backwards})})
            .out("last")
            .out("all");
    };
    std::vector<tensor> const inputs{floats({2, 1}, {0, 10}), floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), floats({}, {1})};
    for (auto const& lengths : {w::list{}, w::list{3, 3}}) {
        auto const got = run(m(lengths, false), inputs);
        CHECK(near(got[0], floats({2, 1}, {6, 25})));
        CHECK(near(got[1], floats({2, 3, 1}, {1, 3, 6, 14, 19, 25})));
    }
    CHECK(near(run(m({}, true), inputs)[1], floats({2, 3, 1}, {3, 5, 6, 16, 21, 25})));
    has(why(m({3, 2}, false)), "sequences that may be shorter than the longest");
    // A state that goes on as it is differs from one element of the batch to the next.
    auto body = body_of({"s", "e"});
    body.add("Neg", {"s"}, {"n"}).add("Add", {"n", "e"}, {"seen"}).out("s").out("seen");
    w::model kept;
    kept.opset = 8;
    kept.in("s0", {2, 1}).in("x", {2, 3, 1});
    kept.add("Scan", {"", "s0", "x"}, {"last", "all"},
             {w::graph("body", body.graph()), w::integer("num_scan_inputs", 1)});
    kept.out("all");
    CHECK(near(run(kept, {inputs[0], inputs[1]})[0], floats({2, 3, 1}, {1, 2, 3, -6, -5, -4})));
}

TEST_CASE("a scan of no elements gives its states, and sequences without elements") {
    auto const m = scan(adding(), {w::integer_list("scan_output_axes", {-1})}, {2}, {0, 2});
    auto const got = run(m, {floats({2}, {1, 2}), floats({0, 2}, {}), floats({}, {10})});
    CHECK(near(got[0], floats({2}, {1, 2})));
    CHECK(got[1].type() == floats({2, 0}, {}).type());
    has(why(scan(adding(), {}, {"n"}, {0, "n"})), "no iterations, and results of");
}

TEST_CASE("a scan whose length is open is read where the length is given") {
    auto const m = scan(adding(), {}, {2}, {"steps", 2});
    has(why(m), "dimension 0 has no size");
    CHECK(why(m, {.dims = {{"steps", 3}}}) == "read");
}

TEST_CASE("settings of a scan that are out of range are errors") {
    auto const refused = [](w::texts attributes, std::string_view words, std::int64_t inputs = 1) {
        auto const m = scan(adding(), std::move(attributes), {2}, {3, 2}, inputs);
        CHECK(verdict_of(read(m)).code == static_cast<int>(error_code::invalid_input));
        has(why(m), words);
    };
    refused({}, "num_scan_inputs 0 for 2 operands", 0);
    refused({}, "num_scan_inputs -1 for 2 operands", -1);
    refused({}, "num_scan_inputs 3 for 2 operands", 3);
    refused({}, "num_scan_inputs 4611686018427387904 for 2 operands", std::int64_t{1} << 62);
    refused({}, "sequences of lengths", 2);
    refused({w::integer_list("scan_input_axes", {2})}, "axis 2");
    refused({w::integer_list("scan_input_axes", {-3})}, "axis -3");
    refused({w::integer_list("scan_input_axes", {0, 0})}, "scan_input_axes of 2 numbers for 1");
    refused({w::integer_list("scan_output_axes", {2})}, "axis 2");
    refused({w::integer_list("scan_input_directions", {2})}, "scan_input_directions with 2");
    refused({w::integer_list("scan_output_directions", {0, 0})}, "scan_output_directions of 2 numbers for 1");
    has(why(scan(adding(), {w::integer("other", 1)}, {2}, {3, 2})), "attribute \"other\" is not supported");
}

// ---- Loop

// A loop over states, with a number of iterations and a condition as they are named.
w::model loop(w::model const& body, std::string const& most, std::string const& condition, w::texts const& states,
              w::texts const& results) {
    w::model m;
    m.weight(number("five", 5)).weight(number("none", 0)).weight(number("negative", -3));
    m.weight(number("huge", std::int64_t{1} << 62)).weight(number("most", 4096)).weight(truth("true", true));
    m.weight(truth("false", false));
    w::texts operands{most, condition};
    operands.insert(operands.end(), states.begin(), states.end());
    m.add("Loop", operands, results, {w::graph("body", body.graph())}, "loop");
    for (auto const& r : results) m.out(r);
    return m;
}
// Doubles its state and tells the state before.
w::model doubling() {
    auto body = body_of({"i", "c", "s"});
    return body.add("Add", {"s", "s"}, {"next"}).add("Identity", {"c"}, {"on"}).out("on").out("next").out("s");
}

TEST_CASE("a loop makes its number of iterations, and none where there is none or the condition does not hold") {
    for (auto const* condition : {"", "true"}) {
        auto m = loop(doubling(), "five", condition, {"x"}, {"y", "all"});
        auto const got = run(m.in("x", {1}), {floats({1}, {3})});
        CHECK(near(got[0], floats({1}, {96})));
        CHECK(near(got[1], floats({5, 1}, {3, 6, 12, 24, 48})));
    }
    for (auto const& [most, condition] :
         {std::pair{"none", ""}, std::pair{"negative", "true"}, std::pair{"five", "false"}, std::pair{"", "false"}}) {
        auto m = loop(doubling(), most, condition, {"x"}, {"y", "all"});
        auto const got = run(m.in("x", {1}), {floats({1}, {3})});
        CHECK(near(got[0], floats({1}, {3})));
        CHECK(got[1].type() == floats({0, 1}, {}).type());
    }
    auto alone = loop(doubling(), "none", "", {"x"}, {"y"});
    CHECK(near(run(alone.in("x", {1}), {floats({1}, {3})})[0], floats({1}, {3})));
}

TEST_CASE("a loop ends as soon as its condition is known to be false") {
    for (auto const* most : {"five", "huge", ""}) {
        auto body = body_of({"i", "c", "s"});
        body.weight(number("two", 2)).add("Less", {"i", "two"}, {"on"}).add("Add", {"s", "s"}, {"next"});
        body.out("on").out("next").out("i");
        auto m = loop(body, most, "true", {"x"}, {"y", "all"});
        auto const got = run(m.in("x", {1}), {floats({1}, {3})});
        CHECK(near(got[0], floats({1}, {24})));
        CHECK(got[1].hash() == whole({3}, {0, 1, 2}).hash());
    }
    // The last iteration may leave open whether there would be another one.
    auto body = body_of({"i", "c", "s"});
    body.weight(number("two", 2)).add("ReduceSum", {"s"}, {"sum"}, {w::integer("keepdims", 0)});
    body.add("Greater", {"sum", "s"}, {"on"}).add("Add", {"s", "s"}, {"next"}).out("on").out("next");
    auto m = loop(body, "one", "", {"x"}, {"y"});
    CHECK(near(run(m.weight(number("one", 1)).in("x", {1}), {floats({1}, {3})})[0], floats({1}, {6})));
}

TEST_CASE("a condition that compares a counter and a size as reals is known, as TensorFlow's exporter writes it") {
    auto body = body_of({"i", "c", "counter", "s"});
    body.weight(number("one", 1)).add("Add", {"counter", "one"}, {"more"}).add("Add", {"s", "s"}, {"next"});
    body.add("Cast", {"more"}, {"turn"}, {w::integer("to", 1)}).add("Less", {"turn", "turns"}, {"on"});
    auto m = loop(body.out("on").out("more").out("next"), "", "begins", {"none", "x"}, {"count", "y"});
    m.in("x", {3}).add("Shape", {"x"}, {"size"}).add("Squeeze", {"size"}, {"length"});
    m.add("Cast", {"length"}, {"turns"}, {w::integer("to", 1)}).add("Cast", {"none"}, {"first"}, {w::integer("to", 1)});
    auto const got = run(m.add("Less", {"first", "turns"}, {"begins"}), {floats({3}, {1, 2, 3})});
    CHECK(got[0].hash() == whole({}, {3}).hash());
    CHECK(near(got[1], floats({3}, {8, 16, 24})));
}

TEST_CASE("states of a loop grow, and what depends on the iteration's number is known") {
    auto body = body_of({"i", "c", "s"});
    body.weight(w::integers("first", {0})).weight(number("one", 1)).weight(w::integers("axis", {0}));
    body.add("Add", {"i", "one"}, {"end"}).add("Unsqueeze", {"end", "axis"}, {"ends"});
    body.add("Slice", {"x", "first", "ends", "axis"}, {"front"});
    body.add("Concat", {"s", "front"}, {"next"}, {w::integer("axis", 0)}).out("c").out("next");
    w::model m = loop(body, "three", "", {"x"}, {"y"});
    m.weight(number("three", 3)).in("x", {4});
    CHECK(near(run(m, {floats({4}, {1, 2, 3, 4})})[0], floats({10}, {1, 2, 3, 4, 1, 1, 2, 1, 2, 3})));
}

TEST_CASE("a number of iterations or a condition that data decide keeps the loop as it is in the file") {
    auto open = loop(doubling(), "n", "", {"x"}, {"y", "all"});
    open.in("x", {1}).in("n", {}, w::i64);
    CHECK(why(open) == "how many iterations it makes is not known");
    CHECK(why(open, {.values = {{"n", tensor::scalar(std::int64_t{3})}}}) == "read");
    auto begins = loop(doubling(), "five", "flag", {"x"}, {"y", "all"});
    CHECK(why(begins.in("x", {1}).in("flag", {}, w::boolean)) == "whether it begins depends on data");
    auto body = body_of({"i", "c", "s"});
    body.add("Add", {"s", "s"}, {"next"}).add("Greater", {"limit", "next"}, {"small"}).out("small").out("next");
    auto goes_on = loop(body, "five", "", {"x"}, {"y"});
    CHECK(why(goes_on.in("x", {}).in("limit", {})) ==
          "whether it goes on behind iteration 0 depends on data: \"small\"");
    auto captured = loop(body_of({"i", "c", "s"}).out("flag").out("s"), "five", "", {"x"}, {"y"});
    has(why(captured.in("x", {}).in("flag", {}, w::boolean)), "depends on data: \"flag\"");
}

TEST_CASE("nodes that no iteration changes are made once") {
    auto body = body_of({"i", "c", "s"});
    body.weight(w::floats("big", {1000}, std::vector<float>(1000, 1)));
    body.add("Constant", {}, {"k"}, {w::tensor("value", w::floats("", {1000}, std::vector<float>(1000, 2)))});
    body.add("Exp", {"x"}, {"e"}).add("Mul", {"big", "k"}, {"bk"}).add("Mul", {"e", "bk"}, {"f"});
    body.add("Add", {"s", "f"}, {"next"}).out("c").out("next");
    auto m = loop(body, "five", "", {"x"}, {"y"});
    auto const g = loaded(m.in("x", {1000}));
    CHECK(count<ops::exp>(g) == 1);
    CHECK(count<ops::mul>(g) == 2);
    CHECK(count<ops::add>(g) == 5);
    CHECK(count<ops::constant>(g) == 2);
}

// s += twice the sum of x * i * scale, and behind iteration 1 the state is -s.
w::model nested_loops() {
    auto inner = body_of({"acc", "e"});
    inner.add("Mul", {"e", "fi"}, {"p"}).add("Mul", {"p", "scale"}, {"q"}).add("Add", {"acc", "q"}, {"acc2"});
    inner.out("acc2");
    w::model yes, no;
    yes.add("Neg", {"sum"}, {"a"}).out("a");
    no.add("Identity", {"sum"}, {"b"}).out("b");
    auto middle = body_of({"j", "d", "t"});
    middle.add("Scan", {"t", "x"}, {"scanned"}, {w::graph("body", inner.graph()), w::integer("num_scan_inputs", 1)})
        .out("d")
        .out("scanned");
    auto outer = body_of({"i", "c", "s"});
    outer.weight(number("two", 2)).weight(number("one", 1)).add("Cast", {"i"}, {"fi"}, {w::integer("to", w::f32)});
    outer.add("Loop", {"two", "", "s"}, {"sum"}, {w::graph("body", middle.graph())}, "middle");
    outer.add("Equal", {"i", "one"}, {"is_one"});
    outer.add("If", {"is_one"}, {"next"}, {w::graph("then_branch", yes.graph()), w::graph("else_branch", no.graph())});
    outer.out("c").out("next");
    auto m = loop(outer, "three", "", {"s0"}, {"y"});
    m.weight(number("three", 3)).in("s0", {}).in("x", {3}).in("scale", {});
    return m;
}

TEST_CASE("loops, scans and branches within a body are unrolled with it, and read what is around") {
    double want = 1;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 2; ++j)
            for (double e : {1.0, 2.0, 3.0}) want += e * i * 10;
        if (i == 1) want = -want;
    }
    CHECK(near(run(nested_loops(), {floats({}, {1}), floats({3}, {1, 2, 3}), floats({}, {10})})[0],
               floats({}, {static_cast<float>(want)})));
}

TEST_CASE("a loop with a node that stays as it is in the file stays whole, with the reason") {
    auto body = body_of({"i", "c", "s"});
    body.add("Special", {"s"}, {"next"}, {}, "own").out("c").out("next");
    auto outer = body_of({"k", "d", "t"});
    outer.add("Loop", {"five", "", "t"}, {"u"}, {w::graph("body", body.graph())}, "inner").out("d").out("u");
    for (auto const& b : {body, outer}) {
        auto m = loop(b, "five", "", {"x"}, {"y"});
        m.in("x", {2});
        auto const g = loaded(m);
        CHECK(g.size() == loaded(io::to_onnx(g).value()).size());
        CHECK(count<ops::opaque>(g) == 1);
        has(why(m), "in its body, Special \"own\": gsub does not know this operator");
    }
    // Sequences are no tensors.
    auto sequence = body_of({"i", "c"});
    sequence.inputs.push_back(w::made([](w::pbf_writer& p) {
        p.add_string(1, "s");
        p.add_message(2, w::made([](w::pbf_writer& t) { t.add_message(4, std::string{}); }));
    }));
    sequence.out("c").out("s");
    auto m = loop(sequence, "five", "", {"x"}, {"y"});
    has(why(m.in("x", {2})), "its body takes \"s\", a sequence, map or optional value");
}

TEST_CASE("a branch of unknown condition in a body calls functions of the module") {
    w::model yes, no;
    yes.add("Neg", {"s"}, {"a"}).out("a");
    no.add("Add", {"s", "s"}, {"b"}).out("b");
    auto body = body_of({"i", "c", "s"});
    body.add("If", {"flag"}, {"next"}, {w::graph("then_branch", yes.graph()), w::graph("else_branch", no.graph())},
             "choice");
    body.out("c").out("next");
    auto m = loop(body, "five", "", {"x"}, {"y"});
    m.in("x", {}).in("flag", {}, w::boolean);
    has(why(m), "in its body, If \"choice\"");
    auto const text = m.text();
    auto const read = io::load_onnx_module(model_checks::bytes_of(text), dialect::of<standard_ops>(),
                                           table_of<io::onnx_row, standard_ops>())
                          .value();
    CHECK(read.functions().size() == 11);
    for (bool const flag : {false, true}) {
        auto const y =
            evaluate_module(read, table_of<eval_row, standard_ops>(), std::array{floats({}, {1}), tensor::scalar(flag)})
                .value();
        CHECK(y.at(0).data<float>()[0] == (flag ? -1.f : 32.f));
    }
}

TEST_CASE("types that a body declares may be wide or wrong in sizes, not in element types") {
    auto const declared = [](int type, std::vector<w::size> const& dims) {
        w::model body;
        body.in("i", {}, w::i64).in("c", {}, w::boolean).in("s", dims, type);
        body.add("Add", {"s", "s"}, {"next"}).out("c").out("next");
        auto m = loop(body, "five", "", {"x"}, {"y"});
        return m.in("x", {2});
    };
    for (auto const& dims : {std::vector<w::size>{2}, {"n"}, {7}, {7, 7}})
        CHECK(near(run(declared(w::f32, dims), {floats({2}, {1, 2})})[0], floats({2}, {32, 64})));
    has(why(declared(w::i64, {2})), "in its body, input \"s\": it is declared as i64 and is given f32[2]");
    auto cast = body_of({"i", "c", "s"});
    cast.add("Cast", {"s"}, {"next"}, {w::integer("to", w::f64)}).out("c").out("next");
    auto m = loop(cast, "five", "", {"x"}, {"y"});
    has(why(m.in("x", {2})), "state \"next\" is f32 and then f64");
    // Number and condition are vectors where the body says so.
    w::model vectors;
    vectors.in("i", {1}, w::i64).in("c", {1}, w::boolean).in("s", {"n"}, w::i64);
    vectors.add("Concat", {"s", "i"}, {"next"}, {w::integer("axis", 0)}).out("c").out("next");
    auto counted = loop(vectors, "five", "true", {"x"}, {"y"});
    CHECK(run(counted.in("x", {1}, w::i64), {whole({1}, {9})})[0].hash() == whole({6}, {9, 0, 1, 2, 3, 4}).hash());
}

TEST_CASE("bodies of the wrong form are errors that tell it") {
    auto const refused = [](w::model const& body, std::string_view words, w::texts const& results = {"y"}) {
        auto m = loop(body, "five", "", {"x"}, results);
        m.in("x", {2});
        CHECK(verdict_of(read(m)).code == static_cast<int>(error_code::invalid_input));
        has(why(m), words);
    };
    refused(body_of({"i", "c"}).out("c"), "its body has 2 inputs; it takes 3");
    refused(body_of({"i", "c", "s", "t"}).out("c").out("s"), "its body has 4 inputs; it takes 3");
    refused(body_of({"i", "c", "s"}).out("c"), "its body has 1 outputs; it gives at least 2");
    refused(body_of({"i", "c", "s"}), "its body has 0 outputs");
    refused(body_of({"i", "c", "s"}).out("c").out("s").out("nowhere"), "nowhere");
    refused(body_of({"i", "c", "s"}).out("c").out("s"), "2 results; its body gives 1", {"y", "z"});
    refused(body_of({"i", "c", "s"}).weight(w::floats("s", {2}, {1, 2})).out("c").out("s"),
            "input \"s\" of its body has a value");
    refused(body_of({"i", "i", "s"}).out("i").out("s"), "two inputs have this name");
    refused(body_of({"i", "c", "s"}).add("Concat", {"s"}, {"t"}, {}, "joined").out("c").out("t"),
            "in its body, Concat-13 \"joined\": no axis");
    w::model none;
    none.in("x", {2}).weight(number("five", 5)).add("Loop", {"five", "", "x"}, {"y"}).out("y");
    has(why(none), "its body is missing");
}

TEST_CASE("loops of more iterations than are written are told at once, alone and within each other") {
    auto const plain = [](std::string const& most, w::model const& body) {
        auto m = loop(body, most, "", {"x"}, {"y"});
        return m.in("x", {1});
    };
    auto const endless = body_of({"i", "c", "s"}).add("Add", {"s", "s"}, {"t"}).out("c").out("t");
    has(why(plain("huge", endless)), "4611686018427387904 iterations; at most 4096 are written one by one");
    has(why(plain("", endless)), "more than 4096 iterations");
    // 4096 within each other, with a condition that is known at once, and one that each iteration tells.
    for (bool const told : {false, true}) {
        auto body = endless;
        for (int level = 0; level < 4; ++level) {
            auto const t = fmt::format("t{}", level), u = fmt::format("u{}", level);
            auto around = body_of({fmt::format("i{}", level), fmt::format("c{}", level), t});
            around.weight(number(fmt::format("k{}", level), -1));
            around.add("Loop", {"most", "", t}, {u}, {w::graph("body", body.graph())}, fmt::format("loop{}", level));
            around.add("Greater", {fmt::format("i{}", level), fmt::format("k{}", level)}, {fmt::format("g{}", level)});
            body = around.out(told ? fmt::format("g{}", level) : fmt::format("c{}", level)).out(u);
        }
        std::string reason;
        auto const seconds = seconds_of([&] { reason = why(plain("most", body)); });
        has(reason, "written one by one, iterations of loops are more than 500000 nodes and values");
        CHECK(seconds < 20);
    }
    auto const small = plain("five", doubling());
    CHECK(why(small) == "read");
    has(why(plain("five", endless), {.limits = {.max_nodes = 20}}), "more than 5 nodes and values");
    has(why(scan(adding(), {}, {2}, {std::int64_t{1} << 40, 2})), "iterations; at most 4096");
    has(why(scan(adding(), {}, {2}, {4097, 2})), "4097 iterations; at most 4096 are written one by one");
}

TEST_CASE("constants that nodes are written with count by their size") {
    auto body = body_of({"i", "c", "s"});
    body.add("DFT", {"s"}, {"t"}).out("c").out("t");
    auto const with = [&](std::string const& iterations) {
        auto m = loop(body, iterations, "", {"x"}, {"y"});
        m.opset = 17;
        return m.in("x", {1, 512, 2});
    };
    CHECK(why(with("five")) == "read");
    has(why(with("most")), "more than 500000 nodes and values");
}

TEST_CASE("a mutated model with loops is an error or a legal graph") {
    w::texts const seeds{nested_loops().text(),
                         scan(adding(), {w::integer_list("scan_input_axes", {-1})}, {2}, {2, 3}).text(),
                         loop(doubling(), "five", "true", {"five"}, {"y", "all"}).text()};
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        INFO(seed);
        random_stream r{seed};
        auto text = seeds[r.below(seeds.size())];
        for (auto n = 1 + r.below(3); n-- > 0;) {
            auto const at = r.below(text.size()), from = r.below(text.size());
            if (r.below(2))
                text[at] = static_cast<char>(text[at] ^ 1 << r.below(8));
            else
                text[at] = text[from]; // names have one letter: another value takes this one's place
        }
        auto const g = read(text, {.limits = {.max_nodes = 2000}});
        accepted += g.has_value();
        if (g) CHECK(check(*g, stage::imported).empty());
    }
    CHECK(accepted > 100);
}

TEST_CASE("four thousand iterations are written in time that is linear in them") {
    auto const seconds = [](std::int64_t steps) {
        auto body = body_of({"s", "e"});
        std::string last = "s";
        for (int k = 0; k < 20; ++k) {
            auto next = fmt::format("t{}", k);
            body.add(k % 2 ? "Add" : "Mul", {last, "e"}, {next});
            last = next;
        }
        body.out(last).out(last);
        auto const m = scan(body, {}, {2}, {steps, 2});
        return seconds_of([&] { CHECK(count<ops::add>(loaded(m)) == static_cast<std::size_t>(10 * steps)); });
    };
    auto const few = seconds(512), many = seconds(4096);
    CHECK(many < 24 * few + 1);
}

TEST_CASE("loops within loops to the limit of depth are read on a small stack") {
    auto body = body_of({"i", "c", "s"}).add("Neg", {"s"}, {"t"}).out("c").out("t");
    for (int level = 0; level < 60; ++level) {
        auto const s = fmt::format("s{}", level), t = fmt::format("t{}", level), c = fmt::format("c{}", level);
        auto around = body_of({fmt::format("i{}", level), c, s});
        around.add("Loop", {"one", "", s}, {t}, {w::graph("body", body.graph())});
        body = around.out(c).out(t);
    }
    auto m = loop(body, "one", "", {"x"}, {"y"});
    m.weight(number("one", 1)).in("x", {});
    small_stack::run([&] { CHECK(run(m, {floats({}, {2})})[0].data<float>()[0] == -2); });
}

} // namespace onnx_loops_test
