#include "ir/random_graph.hpp"
#include "passes/pass_bench.hpp"
#include <gsub/core/format.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/layout/convert_layout.hpp>

namespace convert_test {

using namespace pass_bench;
using passes::convert_layout;

convert_layout to(std::string_view text) {
    return convert_layout::from_text(text).value();
}

// Operators in order, `'` behind those stored in blocks, `>` for a change of layout.
std::string converted(bench& n, std::vector<value_id> const& outputs, convert_layout const& p,
                      pass_outcome* told = nullptr) {
    n.g.set_outputs(outputs);
    gsub::module m;
    m.add("main", n.g);
    auto const outcome = run_pass(p, m).value();
    if (told) *told = outcome;
    auto const& g = m.find("main")->body;
    for (auto const& found : check(g, stage::canonical)) FAIL_CHECK(to_string(found));
    auto again = m;
    CHECK_FALSE(run_pass(p, again).value().changed);
    auto const inputs = random_inputs(n.g, 1);
    auto const before = evaluate_graph(n.g, inputs).value();
    auto const after = evaluate_graph(g, table_of<eval_row, standard_ops>(), inputs).value();
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
    std::string text;
    for (auto i : g.order()) {
        if (g.op(i).category == op_category::structural) continue;
        text += text.empty() ? "" : " ";
        text += g.is<ops::layout_transform>(i) ? std::string_view{">"} : g.op(i).name;
        if (!g.type({i, 0}).layout.empty()) text += "'";
    }
    return text;
}

// Layouts of gsub store what stays NCHW in meaning: the cases of the literature from NHWC to NCHW become those from
// row-major to blocks.
TEST_CASE("ConvertLayout P1: one change of layout in, one out") {
    bench n;
    CHECK(converted(n, {n.op<ops::relu>(n.conv(n.image()))}, to("NCHW4c")) == ">' Conv' Relu' >");
}

TEST_CASE("ConvertLayout P2: two convolutions and their concatenation") {
    bench n;
    auto const x = n.image();
    auto const y = n.op<ops::concat>({.axis = 1}, {n.conv(x), n.conv(x)});
    CHECK(converted(n, {y}, to("Conv=NCHW4c")) == ">' Conv' Conv' Concat' >");
}

TEST_CASE("ConvertLayout P3: a normalisation follows the convolution") {
    bench n;
    auto const one = n.numbers({4}, {1, 2, 3, 4});
    auto const norm = n.op<ops::batch_norm>({}, {n.conv(n.image()), one, one, one, one});
    CHECK(converted(n, {n.op<ops::relu>(norm)}, to("NCHW4c")) == ">' Conv' BatchNormalization' Relu' >");
}

TEST_CASE("ConvertLayout P4: a number stays a number") {
    bench n;
    CHECK(converted(n, {n.op<ops::add>(n.conv(n.image()), n.number(1))}, to("NCHW4c")) == ">' Conv' Add' >");
}

TEST_CASE("ConvertLayout P5: a pool follows the flow, unless it is named") {
    bench n;
    attributes_of<ops::max_pool> pool;
    pool.kernel_shape = {2, 2}, pool.strides = {2, 2}, pool.dilations = {1, 1}, pool.pads = ints(4, 0);
    auto const y = n.op<ops::max_pool>(pool, {n.conv(n.image())});
    CHECK(converted(n, {y}, to("Conv=NCHW4c")) == ">' Conv' MaxPool' >");
    CHECK(converted(n, {y}, to("Conv=NCHW4c,MaxPool=row-major")) == ">' Conv' > MaxPool");
    CHECK(converted(n, {y}, to("Conv=NCHW4c, MaxPool=NCHW2c")) == ">' Conv' >' MaxPool' >");
}

TEST_CASE("ConvertLayout N1, N2: what is as wanted, and operators that are not named, are left") {
    bench n;
    auto const y = n.op<ops::relu>(n.conv(n.image()));
    pass_outcome told;
    CHECK(converted(n, {y}, to("row-major"), &told) == "Conv Relu");
    CHECK_FALSE(told.changed);
    CHECK(converted(n, {y}, to("MaxPool=NCHW4c"), &told) == "Conv Relu");
    CHECK(told.matches == 0);
    CHECK(converted(n, {y}, convert_layout{}, &told) == "Conv Relu"); // NCHW, as it is
    CHECK(converted(n, {y}, convert_layout{.desired_layouts = {}}, &told) == "Conv Relu");
    CHECK(told.skips("no layout is asked for") == 1);
}

TEST_CASE("ConvertLayout N3: what moves elements reads row-major values") {
    bench n;
    auto const t = n.op<ops::transpose>({.perm = {0, 1, 3, 2}}, {n.conv(n.image())});
    CHECK(converted(n, {n.op<ops::reshape>({.shape = {4, 36}}, {n.conv(t)})}, to("NCHW4c")) ==
          ">' Conv' > Transpose >' Conv' > Reshape");
}

TEST_CASE("ConvertLayout N4: nodes on the caller's list, and those of other ranks, read row-major values") {
    bench n;
    auto const first = n.conv(n.image()), second = n.conv(first);
    n.g.set_source(first.node, "stem");
    auto p = to("NCHW4c");
    p.row_major = {"stem"};
    CHECK(converted(n, {second}, p) == "Conv >' Conv' >");
    bench lines;
    attributes_of<ops::conv> a;
    a.strides = {1}, a.dilations = {1}, a.pads = {0, 0};
    auto const y = lines.b.add<ops::conv>(a, {lines.input({1, 2, 5}), lines.weight({2, 2, 3})});
    CHECK(converted(lines, {y}, to("NCHW4c")) == "Conv");
}

TEST_CASE("ConvertLayout: names that are no layouts or operators are refused") {
    for (auto const wrong : {"NHCW", "Conv=", "Conv=CHW", "NCHW4c,nonsense"}) {
        auto const p = convert_layout::from_text(wrong);
        REQUIRE_FALSE(p);
        CHECK(p.error().id() == errors::layout_request);
    }
    bench n;
    pass_context cx;
    CHECK(to("Convolution=NCHW4c")(n.g, cx).error().code() == error_code::usage);
    CHECK(to("Cnov=NCHW")(n.g, cx).error().code() == error_code::usage);
    CHECK(convert_layout{.desired_layouts = {{"Conv", "HWNC"}}}(n.g, cx).error().code() == error_code::usage);
}

TEST_CASE("ConvertLayout: layouts of weights are named beside those of data, and those that no kernel reads are said") {
    bench n;
    auto const y = n.op<ops::relu>(n.conv(n.image()));
    pass_outcome told;
    for (auto const plain : {"NCHW4c:OIHW", "Conv=NCHW4c:default"}) {
        CAPTURE(plain);
        CHECK(converted(n, {y}, to(plain), &told) == ">' Conv' Relu' >");
        CHECK(told.skipped.empty());
    }
    for (auto const& [desired, layout] :
         {std::pair{"NCHW4c:OIHW16i16o", "OIHW16i16o"}, std::pair{"NCHW:HWIO", "HWIO"}}) {
        CAPTURE(desired);
        converted(n, {y}, to(desired), &told);
        CHECK(told.skips(fmt::format("no kernel reads weights in {}: they stay as they are", layout)) == 1);
    }
    for (auto const wrong : {"NCHW4c:", "NCHW4c:NCHW", "NCHW4c:OIHH", "NCHW4c:OIHW16", "NCHW4c:OIHW0o",
                             "NCHW4c:OIHW4o4o", "NCHW4c:OIHW16x"}) {
        CAPTURE(wrong);
        auto const p = convert_layout::from_text(wrong);
        REQUIRE_FALSE(p);
        CHECK(p.error().id() == errors::layout_request);
    }
    pass_context cx;
    n.g.set_outputs(std::vector{y});
    CHECK(convert_layout{.desired_layouts = {{"Conv", "NCHW4c", "IHW"}}}(n.g, cx).error().code() == error_code::usage);
}

TEST_CASE("ConvertLayout: networks have all of their convolutions in blocks") {
    struct expectation {
        std::string_view model;
        std::size_t convolutions;
    };
    for (auto const& [name, convolutions] : {expectation{"resnet50", 53}, {"mobilenet_v2", 52}, {"bert_base", 0}}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        pass_context cx;
        CHECK(to("NCHW16c")(g, cx).value().matches == convolutions);
        CHECK(count_of(g, "LayoutTransform") == (convolutions == 0 ? 0 : 2));
    }
}

// A graph as exporters of TensorFlow write it: NHWC between convolutions, which compute on NCHW.
struct channels_last_net : bench {
    value_id turned(value_id x, ints perm) { return b.add<ops::transpose>({.perm = std::move(perm)}, {x}); }
    value_id first(value_id x) { return turned(x, {0, 3, 1, 2}); }
    value_id last(value_id x) { return turned(x, {0, 2, 3, 1}); }
    value_id input() { return b.input(dtype::f32, {1, 6, 6, 4}, fmt::format("x{}", g.inputs().size())); }
    value_id layer(value_id x) { // convolution, bias, activation, all seen from NHWC
        return op<ops::relu>(op<ops::add>(last(conv(first(x))), numbers({4}, {1, 2, 3, 4})));
    }
    template <class Op>
    std::size_t count(any_graph const& of) {
        std::size_t found = 0;
        for (auto n : of.order()) found += of.is<Op>(n) && !of.constant(n);
        return found;
    }
    // Converts a graph with these outputs, and compares what it computes.
    any_graph to_order(std::vector<value_id> const& outputs, std::string_view text = "NCHW") {
        g.set_outputs(outputs);
        any_graph made = g;
        pass_context cx;
        auto const p = to(text);
        CHECK(p(made, cx).value().changed);
        for (auto const& found : check(made, stage::imported)) FAIL_CHECK(to_string(found));
        auto again = made;
        CHECK_FALSE(p(again, cx).value().changed);
        auto const inputs = random_inputs(g, 1);
        auto const before = evaluate_graph(g, inputs).value();
        auto const after = evaluate_graph(made, table_of<eval_row, standard_ops>(), inputs).value();
        for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
        for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(made.type(made.output(i)) == g.type(outputs[i]));
        return made;
    }
    std::size_t transposes(std::vector<value_id> const& outputs, std::string_view text = "NCHW") {
        return count<ops::transpose>(to_order(outputs, text));
    }
};

TEST_CASE("ConvertLayout: transpositions between convolutions cancel, one is left at the input and one at the output") {
    channels_last_net n;
    auto const x = n.layer(n.input());
    auto const y = n.layer(n.layer(x));
    auto const made = n.to_order({n.op<ops::add>(x, y)});
    CHECK(n.count<ops::transpose>(made) == 2);
    for (auto i : made.order()) // the bias is one number a channel
        if (made.is<ops::add>(i) && made.constant(made.operand(i, 1)))
            CHECK(made.type(made.operand(i, 1)).sizes() == ints{1, 4, 1, 1});
}

TEST_CASE("ConvertLayout: attributes that name dimensions are rewritten") {
    channels_last_net n;
    auto const x = n.layer(n.input()), y = n.layer(n.input());
    auto const joined = n.b.add<ops::concat>({.axis = -1}, {x, y});
    auto const padded = n.b.add<ops::pad>({.pads = {0, 0, 1, 0, 0, 2, 3, 0}}, {joined});
    auto const cut =
        n.b.add<ops::slice>({.starts = {1, 2}, .ends = {8, 7}, .axes = {1, -1}, .steps = {2, 1}}, {padded});
    auto const parts = n.b.add<ops::split>({.axis = 3, .sizes = {2, 3}}, {cut}, 2);
    auto const soft = n.b.add<ops::softmax>({.axis = -1}, {value_id{parts.node, 1}});
    auto const mean = n.b.add<ops::reduce_mean>({.axes = {1, 2}, .keepdims = false}, {soft});
    auto const most = n.b.add<ops::reduce_max>({.axes = {-1}, .keepdims = true}, {parts});
    auto const made = n.to_order({mean, n.op<ops::neg>(most)});
    CHECK(n.count<ops::transpose>(made) == 3); // two inputs and the output of rank 4
    for (auto i : made.order()) {
        if (made.is<ops::concat>(i)) CHECK(made.attributes<ops::concat>(i).axis == 1);
        if (made.is<ops::pad>(i)) CHECK(made.attributes<ops::pad>(i).pads == ints{0, 0, 0, 1, 0, 0, 2, 3});
        if (made.is<ops::softmax>(i)) CHECK(made.attributes<ops::softmax>(i).axis == 1);
        if (made.is<ops::reduce_mean>(i)) CHECK(made.attributes<ops::reduce_mean>(i).axes == ints{2, 3});
    }
}

TEST_CASE("ConvertLayout: a border in front of a transposition goes behind it, where a convolution can take it") {
    channels_last_net n;
    auto const padded = n.b.add<ops::pad>({.pads = {0, 1, 1, 0, 0, 1, 1, 0}}, {n.input()});
    auto const made = n.to_order({n.last(n.conv(n.first(padded)))});
    for (auto i : made.order())
        if (made.is<ops::conv>(i)) CHECK(made.is<ops::pad>(made.operand(i, 0).node));
}

TEST_CASE("ConvertLayout: what needs the order that there was gets it, and what would move more is left alone") {
    channels_last_net n;
    auto const x = n.layer(n.input());
    CHECK(n.transposes({n.b.add<ops::flatten>({}, {x}), n.b.add<ops::reshape>({.shape = {6, 6, 4}}, {x})}) == 2);
    // Arithmetic with values of the order that it stands in would turn all of these.
    channels_last_net other;
    auto const few = other.b.input(dtype::f32, {1, 4, 6, 6}, "few");
    auto sum = other.op<ops::add>(other.last(few), other.input());
    for (int i = 0; i < 3; ++i) sum = other.op<ops::add>(sum, other.input());
    other.g.set_outputs({&sum, 1});
    any_graph g = other.g;
    pass_context cx;
    auto const told = to("NCHW")(g, cx).value();
    CHECK_FALSE(told.changed);
    CHECK(told.skips("transpositions would move more") == 1);
}

TEST_CASE("ConvertLayout: to NHWC everything between convolutions has its channels last") {
    bench n;
    auto const x = n.op<ops::relu>(n.conv(n.image()));
    auto const y = n.op<ops::global_average_pool>(n.op<ops::add>(n.conv(x), x));
    n.g.set_outputs({&y, 1});
    any_graph made = n.g;
    pass_context cx;
    REQUIRE(to("NHWC")(made, cx).value().changed);
    for (auto i : made.order())
        if (made.is<ops::relu>(i) || made.is<ops::add>(i)) CHECK(made.type({i, 0}).dims.back() == dim{4});
    auto again = made;
    CHECK_FALSE(to("NHWC")(again, cx).value().changed);
    // And back.
    REQUIRE(to("NCHW")(made, cx).value().changed);
    CHECK(made == any_graph{n.g});
    auto const named = to("Conv=NHWC, MaxPool=NCHW4c");
    CHECK(named.desired_layouts.size() == 2);
    CHECK_FALSE(convert_layout::from_text("NHCW"));
}

TEST_CASE("ConvertLayout: orders of dimensions change no number of any graph") {
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        for (auto const* text : {"NCHW", "NHWC"}) {
            CAPTURE(seed, text);
            auto const g = random_graph::make(seed, 40);
            any_graph made = g;
            pass_context cx;
            (void)to(text)(made, cx).value();
            auto const inputs = random_inputs(g, seed);
            auto const before = evaluate_graph(g, inputs).value();
            auto const after = evaluate_graph(made, table_of<eval_row, standard_ops>(), inputs).value();
            for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
        }
}

} // namespace convert_test
