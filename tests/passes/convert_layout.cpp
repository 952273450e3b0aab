#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/convert_layout.hpp>

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
    for (auto const& found : check(g, stage::scheduled)) FAIL_CHECK(to_string(found));
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
        if (!g.type({i, 0}).arrangement.empty()) text += "'";
    }
    return text;
}

// Layouts of gsub store what stays NCHW in meaning: the cases of the literature from NHWC to NCHW become those from
// row-major to blocks. Weights have no layout, so there is none to name for them.
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
    CHECK(converted(n, {y}, convert_layout{}, &told) == "Conv Relu");
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
    for (auto const wrong : {"NHWC", "Conv=", "Conv=NCHW", "NCHW4c,nonsense"}) {
        auto const p = convert_layout::from_text(wrong);
        REQUIRE_FALSE(p);
        CHECK(p.error().code() == error_code::usage);
    }
    bench n;
    pass_context cx;
    CHECK(to("Convolution=NCHW4c")(n.g, cx).error().code() == error_code::usage);
    CHECK(convert_layout{.wishes = {{"Conv", "NHWC"}}}(n.g, cx).error().code() == error_code::usage);
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

} // namespace convert_test
