#include "io/model_checks.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/text.hpp>

namespace {

namespace w = onnx_writer;
using namespace gsub;
using model_checks::loaded;
using model_checks::says;

// A model of one node over `x` and constant operands given by name.
struct one_node {
    std::string op;
    std::int64_t opset;
    w::texts attributes{};
    w::texts constants{}; ///< operands after the first, as tensors; empty: left out
    int results = 1;
};

w::model model_of(one_node const& n, std::vector<w::size> const& x, int type = w::f32) {
    w::model m;
    m.opset = n.opset;
    m.in("x", x, type);
    w::texts inputs{"x"}, outputs;
    for (auto const& c : n.constants) {
        auto const name = c.empty() ? std::string{} : fmt::format("c{}", inputs.size());
        inputs.push_back(name);
        if (!c.empty()) m.weight(c + w::made([&](w::pbf_writer& p) { p.add_string(8, name); }));
    }
    for (int i = 0; i < n.results; ++i) outputs.push_back(fmt::format("y{}", i)), m.out(outputs.back());
    m.add(n.op, inputs, outputs, n.attributes, "node");
    return m;
}

std::string list(w::list const& v) {
    return w::integers("", v);
}
std::string scalar(float v) {
    return w::floats("", {}, {v});
}
std::string flag(bool v) {
    return w::raw_tensor("", w::boolean, {}, std::string(1, static_cast<char>(v)));
}
std::string byte_of(int type, int v) {
    return w::raw_tensor("", type, {}, std::string(1, static_cast<char>(v)));
}
using w::integer;
using w::integer_list;
using w::real;
using w::word;

std::string const scale_of_three = w::floats("", {3}, {1, 2, 3});

// Forms of one operator that mean the same for an operand of shape `x`.
struct same_meaning {
    std::vector<w::size> x;
    std::vector<one_node> forms;
};

std::vector<same_meaning> const& equal_forms() {
    static std::vector<same_meaning> const all{
        {{2, 3},
         {{"Clip", 6, {real("min", 0), real("max", 6)}},
          {"Clip", 10, {real("max", 6), real("min", 0)}},
          {"Clip", 11, {}, {scalar(0), scalar(6)}},
          {"Clip", 13, {}, {scalar(0), scalar(6)}}}},
        {{2, 3}, {{"Clip", 6, {real("max", 1)}}, {"Clip", 12, {}, {"", scalar(1)}}}},
        {{2, 3},
         {{"QuantizeLinear", 10, {}, {scalar(0.5f)}},
          {"QuantizeLinear", 13, {integer("axis", 0)}, {scalar(0.5f)}},
          {"QuantizeLinear", 21, {integer("axis", 7), integer("output_dtype", w::u8)}, {scalar(0.5f)}}}},
        {{2, 3},
         {{"QuantizeLinear", 13, {}, {scale_of_three}},
          {"QuantizeLinear", 19, {integer("axis", -1), integer("saturate", 1)}, {scale_of_three}}}},
        {{2, 3},
         {{"QuantizeLinear", 10, {}, {scalar(0.5f), byte_of(w::i8, 0)}},
          {"QuantizeLinear", 21, {integer("output_dtype", w::i8)}, {scalar(0.5f)}}}},
        {{2, 3}, {{"Clip", 6}, {"Clip", 13}, {"Clip", 13, {}, {"", ""}}}},
        {{4, 6},
         {{"Split", 7, {integer("axis", 1), integer_list("split", {2, 4})}, {}, 2},
          {"Split", 11, {integer("axis", -1 + 2), integer_list("split", {2, 4})}, {}, 2},
          {"Split", 13, {integer("axis", 1)}, {list({2, 4})}, 2}}},
        {{4, 6},
         {{"Split", 7, {}, {}, 2},
          {"Split", 13, {integer("axis", 0)}, {}, 2},
          {"Split", 18, {integer("num_outputs", 2)}, {}, 2},
          {"Split", 13, {}, {list({2, 2})}, 2}}},
        {{5, 6}, {{"Split", 18, {integer("num_outputs", 2)}, {}, 2}, {"Split", 13, {}, {list({3, 2})}, 2}}},
        {{4, 6},
         {{"Slice", 7, {integer_list("starts", {1, 0}), integer_list("ends", {3, 100}), integer_list("axes", {0, 1})}},
          {"Slice", 9, {integer_list("starts", {1, 0}), integer_list("ends", {3, 100})}},
          {"Slice", 10, {}, {list({1, 0}), list({3, 100})}},
          {"Slice", 13, {}, {list({1, 0}), list({3, 100}), list({0, 1}), list({1, 1})}},
          {"Slice", 11, {}, {list({1, 0}), list({3, 100}), "", list({1, 1})}}}},
        {{4, 6},
         {{"Pad", 7, {integer_list("pads", {0, 1, 2, 0}), real("value", 3)}},
          {"Pad", 10, {word("mode", "constant"), integer_list("pads", {0, 1, 2, 0}), real("value", 3)}},
          {"Pad", 11, {}, {list({0, 1, 2, 0}), scalar(3)}},
          {"Pad", 18, {}, {list({0, 1, 2, 0}), scalar(3), ""}},
          {"Pad", 18, {}, {list({1, 0, 0, 2}), scalar(3), list({-1, 0})}}}},
        {{4, 6},
         {{"Pad", 7, {word("mode", "edge"), integer_list("pads", {1, 1, 1, 1})}},
          {"Pad", 13, {word("mode", "edge")}, {list({1, 1, 1, 1})}}}},
        {{1, 4, 1}, {{"Squeeze", 7, {integer_list("axes", {0, 2})}}, {"Squeeze", 13, {}, {list({0, 2})}}}},
        {{1, 4, 1}, {{"Squeeze", 7}, {"Squeeze", 13}}},
        {{2, 3}, {{"Unsqueeze", 7, {integer_list("axes", {0, 3})}}, {"Unsqueeze", 13, {}, {list({0, 3})}}}},
        {{2, 3},
         {{"Softmax", 7},
          {"Softmax", 12, {integer("axis", 1)}},
          {"Softmax", 13},
          {"Softmax", 13, {integer("axis", -1)}}}},
        {{2, 3, 4}, {{"Softmax", 11, {integer("axis", 2)}}, {"Softmax", 13}}},
        {{2, 3},
         {{"Dropout", 7, {real("ratio", 0.5f)}},
          {"Dropout", 10},
          {"Dropout", 12, {integer("seed", 3)}, {scalar(0.5f)}},
          {"Dropout", 13, {}, {scalar(0.3f), flag(false)}},
          {"Dropout", 13, {}, {scalar(0.0f), flag(true)}}}},
        {{2, 3}, {{"Sum", 8}, {"Identity", 8}}},
        {{2, 3, 4},
         {{"ReduceMean", 7, {integer_list("axes", {0, -1})}},
          {"ReduceMean", 17, {integer("keepdims", 1), integer_list("axes", {0, -1})}},
          {"ReduceMean", 18, {}, {list({0, -1})}},
          {"ReduceMean", 21, {integer("noop_with_empty_axes", 1)}, {list({0, -1})}}}},
        {{2, 3, 4},
         {{"ReduceSum", 11, {integer_list("axes", {1}), integer("keepdims", 0)}},
          {"ReduceSum", 13, {integer("keepdims", 0)}, {list({1})}}}},
        {{2, 3, 4}, {{"ReduceMax", 8}, {"ReduceMax", 13}, {"ReduceMax", 18}, {"ReduceMax", 20, {}, {list({})}}}},
        {{2, 3},
         {{"ReduceSum", 13, {integer("noop_with_empty_axes", 1)}},
          {"ReduceMax", 18, {integer("noop_with_empty_axes", 1)}, {list({})}},
          {"Identity", 13}}},
        {{2, 3}, {{"Pow", 7, {}, {scalar(2)}}, {"Pow", 15, {}, {scalar(2)}}}},
        {{2, 3}, {{"Elu", 7}, {"Elu", 21, {real("alpha", 1)}}}},
        {{2, 3},
         {{"Einsum", 12, {word("equation", "ij,j")}, {scale_of_three}},
          {"Einsum", 21, {word("equation", "ij,j")}, {scale_of_three}}}},
        {{2, 3}, {{"Reciprocal", 7}, {"Reciprocal", 13}}},
        {{2, 3}, {{"Floor", 7}, {"Floor", 13}}},
        {{2, 3}, {{"Ceil", 7}, {"Ceil", 13}}},
        {{2, 3}, {{"Round", 11}, {"Round", 21}}},
        {{2, 3}, {{"Softplus", 7}, {"Softplus", 21}}},
        {{2, 3}, {{"Softsign", 7}, {"Softsign", 21}}},
        {{2, 1}, {{"Expand", 8, {}, {list({4, 1, 3})}}, {"Expand", 13, {}, {list({4, 1, 3})}}}},
        {{2, 3}, {{"Equal", 11, {}, {scalar(1)}}, {"Equal", 13, {}, {scalar(1)}}, {"Equal", 19, {}, {scalar(1)}}}},
        {{2, 3}, {{"Less", 7, {}, {scalar(1)}}, {"Less", 9, {}, {scalar(1)}}, {"Less", 13, {}, {scalar(1)}}}},
        {{2, 3}, {{"GreaterOrEqual", 12, {}, {scalar(1)}}, {"GreaterOrEqual", 16, {}, {scalar(1)}}}},
        {{2, 3}, {{"IsNaN", 9}, {"IsNaN", 13}, {"IsNaN", 20}}},
        {{2, 3},
         {{"IsInf", 10}, {"IsInf", 10, {integer("detect_negative", 1), integer("detect_positive", 1)}}, {"IsInf", 20}}},
        {{2, 3}, {{"LeakyRelu", 7, {real("alpha", 0.01f)}}, {"LeakyRelu", 16}}},
        {{2, 3},
         {{"LayerNormalization", 17, {}, {scale_of_three}},
          {"LayerNormalization", 17, {integer("axis", 1), real("epsilon", 1e-5f)}, {scale_of_three}},
          {"LayerNormalization", 21, {integer("stash_type", 1)}, {scale_of_three, ""}}}},
        {{2, 3}, {{"Gelu", 20}, {"Gelu", 21, {word("approximate", "none")}}}},
        {{2, 3, 4}, {{"Transpose", 7}, {"Transpose", 13, {integer_list("perm", {2, 1, 0})}}}},
        {{2, 3}, {{"Reshape", 7, {}, {list({3, -1})}}, {"Reshape", 21, {integer("allowzero", 0)}, {list({3, -1})}}}},
        {{1, 2, 8, 8},
         {{"MaxPool", 8, {integer_list("kernel_shape", {3, 3}), integer_list("pads", {1, 1, 1, 1})}},
          {"MaxPool",
           12,
           {integer_list("kernel_shape", {3, 3}), integer_list("pads", {1, 1, 1, 1}), integer_list("strides", {1, 1}),
            integer_list("dilations", {1, 1}), integer("ceil_mode", 0)}},
          {"MaxPool", 8, {integer_list("kernel_shape", {3, 3}), word("auto_pad", "SAME_UPPER")}},
          {"MaxPool", 8, {integer_list("kernel_shape", {3, 3}), word("auto_pad", "SAME_LOWER")}}}},
        {{1, 2, 7, 7},
         {{"AveragePool",
           7,
           {integer_list("kernel_shape", {2, 2}), integer_list("strides", {2, 2}), word("auto_pad", "SAME_UPPER")}},
          {"AveragePool",
           19,
           {integer_list("kernel_shape", {2, 2}), integer_list("strides", {2, 2}), integer_list("pads", {0, 0, 1, 1}),
            integer("count_include_pad", 0)}}}},
        {{1, 2, 7, 7},
         {{"AveragePool",
           7,
           {integer_list("kernel_shape", {2, 2}), integer_list("strides", {2, 2}), word("auto_pad", "SAME_LOWER")}},
          {"AveragePool",
           11,
           {integer_list("kernel_shape", {2, 2}), integer_list("strides", {2, 2}),
            integer_list("pads", {1, 1, 0, 0})}}}},
        {{1, 2, 7, 7},
         {{"AveragePool", 7, {integer_list("kernel_shape", {2, 2}), word("auto_pad", "VALID")}},
          {"AveragePool", 7, {integer_list("kernel_shape", {2, 2})}}}},
    };
    return all;
}

w::texts const conv_weight{w::floats("", {2, 1, 3, 3}, std::vector<float>(18, 0.5f))};

struct refused {
    std::vector<w::size> x;
    one_node node;
    char const* words;
    int type = w::f32;
};

} // namespace

TEST_CASE("forms of an operator that mean the same give the same graph and the same numbers") {
    for (auto const& group : equal_forms()) {
        auto const first = loaded(model_of(group.forms.front(), group.x));
        CHECK(model_checks::count<ops::opaque>(first) == 0);
        for (auto const& form : group.forms) {
            INFO(form.op << "-" << form.opset);
            auto const g = loaded(model_of(form, group.x));
            CHECK(g.hash() == first.hash());
            CHECK(model_checks::same_outputs(g, first));
        }
    }
}

TEST_CASE("what one operator set means is written so in any other that can express it") {
    for (auto const& group : equal_forms())
        for (auto const& form : group.forms) {
            auto const g = loaded(model_of(form, group.x));
            for (std::int64_t opset = 7; opset <= io::newest_opset; ++opset) {
                INFO(form.op << "-" << form.opset << " in operator set " << opset);
                auto const text = io::to_onnx(g, {.opset = opset});
                if (!text) {
                    CHECK(text.error().code() == error_code::unsupported);
                    auto const since = table_of<io::onnx_row, standard_ops>()[g.row(g.output(0).node)].since;
                    CHECK(opset < std::max<std::int64_t>(13, since));
                    continue;
                }
                auto const again = loaded(*text);
                CHECK(again.hash() == g.hash());
                CHECK(again.info().domains.front().second == opset);
            }
        }
}

TEST_CASE("random graphs keep their numbers through a file, and a second trip changes nothing") {
    std::size_t written = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        INFO(seed);
        graph g;
        random_graph::generator make{g, seed};
        make.grow(12);
        make.finish();
        fold_constants(g).value();
        auto const text = io::to_onnx(g);
        if (!text) { // arithmetic on weights that is beyond folding
            CHECK(text.error().code() == error_code::unsupported);
            continue;
        }
        ++written;
        auto const again = loaded(*text);
        auto const a = model_checks::outputs_of(g, seed), b = model_checks::outputs_of(again, seed);
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            auto const far = compare(a[i], b[i]).value();
            CHECK(far.max_relative < 1e-5); // attributes are floats in files
            CHECK(far.same_specials);
        }
        CHECK(loaded(model_checks::written(again)).hash() == again.hash());
        CHECK(model_checks::written(loaded(model_checks::written(again))) == model_checks::written(again));
    }
    CHECK(written > 100);
}

TEST_CASE("bounds that no clip has by default are kept") {
    auto const infinity = std::numeric_limits<float>::infinity();
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    for (auto const& [low, high] : {std::pair{infinity, infinity},
                                    {-infinity, -infinity},
                                    {0.0f, infinity},
                                    {-infinity, 0.0f},
                                    {nan, 1.0f},
                                    {0.0f, nan}}) {
        auto const g = loaded(model_of({"Clip", 9, {real("min", low), real("max", high)}}, {2}));
        for (std::int64_t opset : {9, 13}) {
            auto const again = loaded(io::to_onnx(g, {.opset = opset}).value());
            CHECK(again.hash() == g.hash());
        }
    }
}

TEST_CASE("settings that stand at the edge of their form are kept by a round trip in the same operator set") {
    one_node const edges[] = {
        {"LRN", 7, {integer("size", 3)}},
        {"HardSigmoid", 7},
        {"Unsqueeze", 9, {integer_list("axes", {})}},
        {"Unsqueeze", 13, {}, {list({})}},
        {"Softmax", 9, {integer("axis", 0)}},
        {"Clip", 13, {}, {w::raw_tensor("", w::f64, {}, std::string(8, '\0'))}},
    };
    for (auto const& n : edges) {
        INFO(n.op << "-" << n.opset);
        auto const g = model_checks::read(model_of(n, {2, 3, 4}));
        if (!g) {
            CHECK(n.op == "Clip"); // bounds of another element type
            continue;
        }
        auto const text = io::to_onnx(*g, {.opset = n.opset}).value();
        CHECK(loaded(text).hash() == g->hash());
        CHECK(io::to_onnx(loaded(text), {.opset = n.opset}).value() == text);
    }
}

TEST_CASE("settings over an operand of unknown element type stay in the form that the file gave them") {
    for (std::int64_t opset : {9, 13}) {
        w::model m;
        m.opset = opset;
        m.in("x", {2, 2}).weight(w::floats("low", {}, {1})).weight(w::integers("pads", {1, 0, 0, 1}));
        m.add("Unheard", {"x"}, {"u"});
        if (opset == 9)
            m.add("Clip", {"u"}, {"c"}, {real("min", 1)})
                .add("Pad", {"c"}, {"y"}, {integer_list("pads", {1, 0, 0, 1})});
        else
            m.add("Clip", {"u", "low"}, {"c"}).add("Pad", {"c", "pads", "low"}, {"y"});
        auto const g = loaded(m.out("y"));
        CHECK(loaded(model_checks::written(g)).hash() == g.hash());
    }
}

TEST_CASE("axes that only the run knows stay an operand, in the operator sets that have one") {
    for (bool noop : {false, true}) {
        w::model m;
        m.opset = 18;
        m.in("x", {2, 3}).in("axes", {"k"}, w::i64);
        m.add("ReduceSum", {"x", "axes"}, {"y"}, {integer("noop_with_empty_axes", noop)}).out("y");
        auto const g = loaded(m);
        CHECK(loaded(model_checks::written(g)).hash() == g.hash());
        CHECK(io::to_onnx(g, {.opset = 12}).error().message().find("need operator set 13") != std::string::npos);
        auto const x = tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
        auto const sum = [&](ints const& axes) {
            auto const count = static_cast<std::int64_t>(axes.size());
            return to_string(
                evaluate_graph(g, std::vector{x, tensor::from<std::int64_t>(ints{count}, axes)}).value()[0]);
        };
        CHECK(sum({0}) == "f32[1,3] {5, 7, 9}");
        CHECK(sum({}) == (noop ? "f32[2,3] {1, 2, 3, 4, 5, 6}" : "f32[1,1] {21}"));
    }
}

TEST_CASE("mean and inverse deviation of a layer normalisation are nodes of their own") {
    for (int results : {2, 3}) {
        auto const g = loaded(model_of({"LayerNormalization", 17, {}, {scale_of_three}, results}, {2, 3}));
        CHECK(model_checks::count<ops::opaque>(g) == 0);
        auto const x = tensor::from<float>({2, 3}, {1, 2, 3, 4, 4, 4});
        auto const y = evaluate_graph(g, std::vector{x}).value();
        REQUIRE(y.size() == static_cast<std::size_t>(results));
        CHECK(to_string(y[1]) == "f32[2,1] {2, 4}");
        if (results == 3) CHECK(std::abs(y[2].data<float>()[0] - 1.2247356f) < 1e-5f);
        CHECK(loaded(model_checks::written(g)).hash() == g.hash());
    }
    auto const half = loaded(model_of(
        {"LayerNormalization", 17, {}, {w::raw_tensor("", w::f16, {3}, std::string(6, 1))}, 2}, {2, 3}, w::f16));
    CHECK(model_checks::count<ops::opaque>(half) == 1);
}

TEST_CASE("a power has the element type of its base, whatever that of the exponent is") {
    auto const power = [](int base, int exponent, std::string const& of_exponent) {
        w::model m;
        m.opset = 13;
        m.in("a", {3}, base).in("b", {3}, exponent).add("Pow", {"a", "b"}, {"y"}).out("y");
        auto const g = loaded(m);
        auto const of = [](int type, std::vector<float> const& v) {
            return tensor::from<float>(ints{3}, v).converted_to(*dtype_of_onnx(type));
        };
        auto const exponents = of_exponent == "half" ? std::vector<float>{0.5f, 1.5f, 1} : std::vector<float>{2, 1, 3};
        return to_string(evaluate_graph(g, std::vector{of(base, {4, 9, 2}), of(exponent, exponents)}).value()[0]);
    };
    CHECK(power(w::f32, w::i64, "") == "f32[3] {16, 9, 8}");
    CHECK(power(w::f32, w::f64, "half") == "f32[3] {2, 27, 2}");
    CHECK(power(w::i64, w::f32, "half") == "i64[3] {2, 27, 2}");
    CHECK(power(w::i64, w::i32, "") == "i64[3] {16, 9, 8}");
    CHECK(power(w::i32, w::i64, "") == "i32[3] {16, 9, 8}");
    for (auto base : {w::f32, w::f64, w::f16, w::i32, w::i64})
        for (auto exponent : {w::u8, w::u16, w::u32, w::u64, w::i8, w::i16})
            CHECK(power(base, exponent, "") == fmt::format("{}[3] {{16, 9, 8}}", to_string(*dtype_of_onnx(base))));
}

TEST_CASE("constants of every form become constants") {
    struct form {
        std::string attribute;
        std::string text;
    };
    for (auto const& [attribute, text] :
         {form{w::tensor("value", w::floats("", {2}, {1, 2})), "f32[2] {1, 2}"},
          form{real("value_float", 2), "f32[] {2}"}, form{integer("value_int", -7), "i64[] {-7}"},
          form{integer_list("value_ints", {1, 2}), "i64[2] {1, 2}"},
          form{w::real_list("value_floats", {1, 2, 3}), "f32[3] {1, 2, 3}"},
          form{w::tensor("value", list({3})), "i64[1] {3}"}}) {
        w::model m;
        m.add("Constant", {}, {"c"}, {attribute}).out("c");
        auto const g = loaded(m);
        REQUIRE(g.is<ops::constant>(g.output(0).node));
        CHECK(to_string(g.constant_data(g.output(0).node)) == text);
    }
    w::model strings;
    strings.add("Constant", {}, {"c"}, {word("value_string", "text")}).out("c");
    CHECK(model_checks::count<ops::opaque>(loaded(strings)) == 1);
}

TEST_CASE("ConstantOfShape takes its shape from a constant or at run time") {
    w::model m;
    m.in("n", {1}, w::i64)
        .weight(w::integers("shape", {2, 3}))
        .add("ConstantOfShape", {"shape"}, {"a"}, {w::tensor("value", w::floats("", {1}, {2.5f}))})
        .add("ConstantOfShape", {"shape"}, {"b"})
        .add("ConstantOfShape", {"n"}, {"c"}, {w::tensor("value", list({7}))})
        .out("a")
        .out("b")
        .out("c");
    auto const g = loaded(m);
    auto const results = evaluate_graph(g, std::vector{tensor::from<std::int64_t>({1}, {2})}).value();
    CHECK(to_string(results[0]) == "f32[2,3] {2.5, 2.5, 2.5, 2.5, 2.5, 2.5}");
    CHECK(to_string(results[1]) == "f32[2,3] {0, 0, 0, 0, 0, 0}");
    CHECK(to_string(results[2]) == "i64[2] {7, 7}");
    CHECK(loaded(model_checks::written(g)).hash() == g.hash());
}

TEST_CASE("inputs, weights, casts and fills of every element type come back from a file") {
    random_stream r{5};
    for (auto element : stored_dtypes) {
        CAPTURE(to_string(element));
        auto t = tensor::uninitialized(element, ints{2, 3});
        for (auto& byte : t.mutable_raw()) byte = static_cast<std::byte>(element == dtype::boolean ? r() & 1 : r());
        graph g;
        graph_builder b{g};
        auto const x = b.input(element, {2, 3}, "x"), n = b.input(dtype::i64, {1}, "n");
        b.outputs(
            {b.add<ops::concat>({}, {x, b.constant(t, "w")}),
             b.add<ops::cast>({.to = element}, {b.input(dtype::f32, {4}, "y")}),
             b.add<ops::fill>(
                 {.element = element, .value = is_floating(element) ? 2.5 : 0, .integer = is_floating(element) ? 0 : 1},
                 {n})});
        auto const again = loaded(model_checks::written(g));
        CHECK(again.hash() == g.hash());
        CHECK(again.type(again.output(0)).element == element);
    }
    for (auto element : {dtype::i64, dtype::u64}) { // numbers that a double lacks
        w::model m;
        m.in("n", {1}, w::i64).in("x", {2}, info(element).onnx);
        auto const raw = std::string(7, '\xff') + '\x81';
        m.weight(w::raw_tensor("low", info(element).onnx, {}, raw)).weight(w::integers("pads", {1, 0}));
        m.add("ConstantOfShape", {"n"}, {"a"}, {w::tensor("value", w::raw_tensor("", info(element).onnx, {1}, raw))})
            .add("Pad", {"x", "pads", "low"}, {"b"})
            .add("Clip", {"x", "low"}, {"c"})
            .out("a")
            .out("b")
            .out("c");
        auto const g = loaded(m);
        CHECK(loaded(model_checks::written(g)).hash() == g.hash());
        auto const y =
            evaluate_graph(g, std::vector{tensor::from<std::int64_t>({1}, {1}), tensor::zeros(element, ints{2})})
                .value();
        auto const number = [](tensor const& v) {
            return std::string{reinterpret_cast<char const*>(v.raw().data()), 8};
        };
        CHECK(number(y[0]) == raw);
        CHECK(number(y[1]) == raw);
        CHECK(number(y[2]) == (element == dtype::u64 ? raw : std::string(8, '\0')));
    }
}

TEST_CASE("shape arithmetic over fixed sizes is folded, over named ones it stays") {
    auto const reshaped = [](w::size batch) {
        w::model m;
        m.in("x", {batch, 2, 3})
            .weight(w::integers("rest", {-1}))
            .weight(w::integers("zero", {0}))
            .add("Shape", {"x"}, {"s"})
            .add("Gather", {"s", "zero"}, {"n"})
            .add("Concat", {"n", "rest"}, {"to"}, {integer("axis", 0)})
            .add("Reshape", {"x", "to"}, {"y"})
            .out("y");
        return loaded(m);
    };
    auto const fixed = reshaped(4);
    CHECK(fixed.size() == 3);
    CHECK(to_string(fixed.type(fixed.output(0))) == "f32[4,6]");
    auto const named = reshaped("n");
    CHECK(named.type(named.output(0)).dims[0] == dim{symbol{"n"}});
    CHECK(to_string(model_checks::outputs_of(named)[0].type()) == "f32[2,6]");
}

TEST_CASE("a fused activation is written as a node of its own") {
    for (auto act : {activation::relu, activation::clip, activation::sigmoid, activation::tanh})
        for (std::int64_t opset : {8, 13}) {
            graph g;
            graph_builder b{g};
            auto const x = b.input(dtype::f32, {1, 1, 3, 3}, "x");
            attributes_of<ops::conv> a;
            a.strides = a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
            a.act = act, a.act_min = -0.5, a.act_max = 0.5;
            b.outputs({b.add<ops::conv>(a, {x, b.constant(tensor::from<float>({1, 1, 1, 1}, {2}))})});
            auto const again = loaded(io::to_onnx(g, {.opset = opset}).value());
            CHECK(again.size() == g.size() + 1);
            CHECK(model_checks::same_outputs(g, again));
        }
}

TEST_CASE("a softmax over flattened dimensions computes the same in operator sets that lack it") {
    auto const g = loaded(model_of({"Softmax", 11, {integer("axis", 1)}}, {2, 3, 4}));
    CHECK(loaded(io::to_onnx(g, {.opset = 12}).value()).hash() == g.hash());
    CHECK(model_checks::same_outputs(g, loaded(model_checks::written(g))));
}

TEST_CASE("settings out of range are refused at import, naming operator, node and setting") {
    auto const four = std::vector<w::size>{1, 2, 8, 8};
    auto const pool = [](w::texts more) {
        more.push_back(integer_list("kernel_shape", {2, 2}));
        return one_node{"MaxPool", 12, more};
    };
    auto const conv = [](w::texts attributes) { return one_node{"Conv", 13, attributes, conv_weight}; };
    auto const largest = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
    refused const cases[] = {
        {{1, 2, 8, 8}, conv({integer("group", 0)}), "group 0"},
        {{1, 2, 8, 8}, conv({integer("group", -1)}), "group -1"},
        {{1, 2, 8, 8}, conv({integer("group", largest)}), "group"},
        {{1, 3, 8, 8}, conv({integer("group", 2)}), "group 2"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("strides", {0, 1})}), "stride 0"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("dilations", {1})}), "dilations"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("pads", {1, 1})}), "pads"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("pads", {0, 0, 0, -1})}), "pad -1"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("pads", {0, 0, 0, largest})}), "pad"},
        {{1, 2, 8, 8}, conv({integer("group", 2), integer_list("kernel_shape", {2, 2})}), "kernel_shape"},
        {{1, 2, 8, 8}, conv({integer("group", 2), word("auto_pad", "SAME")}), "auto_pad"},
        {{1, 2, 2, 2}, conv({integer("group", 2)}), "does not fit"},
        {{1, 2, 8}, conv({integer("group", 2)}), "rank"},
        {four, {"MaxPool", 12}, "kernel_shape"},
        {four, {"MaxPool", 12, {integer_list("kernel_shape", {0, 2})}}, "kernel size 0"},
        {four, {"MaxPool", 12, {integer_list("kernel_shape", {largest, 2})}}, "kernel"},
        {four, {"MaxPool", 12, {integer_list("kernel_shape", {2, 2, 2})}}, "rank"},
        {four, pool({integer_list("strides", {1, least})}), "stride"},
        {four, pool({integer_list("strides", {1})}), "strides"},
        {four, pool({word("auto_pad", "SAME_UPPER"), integer_list("strides", {0, 0})}), "strides"},
        {four, {"AveragePool", 7, {integer_list("kernel_shape", {9, 9})}}, "does not fit"},
        {{2, 3}, {"Softmax", 13, {integer("axis", 2)}}, "axis 2"},
        {{2, 3}, {"Softmax", 13, {integer("axis", least)}}, "axis"},
        {{2, 3}, {"Flatten", 13, {integer("axis", 3)}}, "axis 3"},
        {{2, 3}, {"Transpose", 13, {integer_list("perm", {0, 0})}}, "axis 0"},
        {{2, 3}, {"Transpose", 13, {integer_list("perm", {0, 2})}}, "axis 2"},
        {{2, 3}, {"Transpose", 13, {integer_list("perm", {0})}}, "perm"},
        {{2, 3}, {"Concat", 13}, "axis"},
        {{2, 3}, {"Concat", 13, {integer("axis", 5)}}, "axis 5"},
        {{2, 3}, {"Split", 7, {}, {}, 3}, "equal parts"},
        {{2, 3}, {"Split", 7, {integer_list("split", {1, 2})}, {}, 2}, "sizes"},
        {{2, 3}, {"Split", 7, {integer_list("split", {3, -1})}, {}, 2}, "sizes"},
        {{2, 3}, {"Split", 7, {integer_list("split", {largest, largest})}, {}, 2}, "sizes"},
        {{2, 3}, {"Split", 18, {integer("num_outputs", 3)}, {}, 2}, "num_outputs 3"},
        {{2, 3}, {"Slice", 13, {}, {list({0}), list({1}), list({2})}}, "axis 2"},
        {{2, 3}, {"Slice", 13, {}, {list({0}), list({1, 2})}}, "starts"},
        {{2, 3}, {"Slice", 13, {}, {list({0}), list({1}), list({0}), list({0})}}, "step"},
        {{2, 3}, {"Pad", 7}, "pads"},
        {{2, 3}, {"Pad", 7, {integer_list("pads", {1, 1})}}, "pads"},
        {{2, 3}, {"Pad", 13, {word("mode", "other")}, {list({1, 1, 1, 1})}}, "mode"},
        {{2, 3}, {"Pad", 18, {}, {list({1, 1}), scalar(0), list({7})}}, "axis 7"},
        {{2, 3}, {"Pad", 18, {}, {list({1}), scalar(0), list({0})}}, "pads"},
        {{2, 3}, {"Reshape", 13}, "shape"},
        {{2, 3}, {"Reshape", 13, {}, {list({4, 2})}}, "cannot become"},
        {{2, 3}, {"Reshape", 13, {}, {list({-1, -1})}}, "-1"},
        {{2, 3}, {"Reshape", 13, {}, {list({-2, 3})}}, "-2"},
        {{2, 3}, {"Reshape", 13, {}, {list({largest, largest})}}, ""},
        {{2, 3}, {"Squeeze", 13, {}, {list({0})}}, "axis 0"},
        {{2, 3}, {"Squeeze", 13, {}, {list({9})}}, "ax"},
        {{2, 3}, {"Unsqueeze", 13, {}, {list({0, 0})}}, "ax"},
        {{2, 3}, {"Unsqueeze", 13, {}, {list({9})}}, "ax"},
        {{2, 3}, {"Unsqueeze", 13}, "axes"},
        {{2, 3}, {"Gather", 13, {integer("axis", 2)}, {list({0})}}, "axis 2"},
        {{2, 3}, {"ReduceMean", 13, {integer_list("axes", {2})}}, "axis 2"},
        {{2, 3}, {"ReduceMax", 18, {}, {list({0, -2})}}, "axis -2"},
        {{2, 3}, {"LayerNormalization", 17, {}, {w::floats("", {2}, {1, 2})}}, "scale"},
        {{2, 3}, {"LayerNormalization", 17, {integer("axis", 2)}, {scale_of_three}}, "axis 2"},
        {{2, 3}, {"Gelu", 20, {word("approximate", "erf")}}, "approximate"},
        {{2, 3}, {"Cast", 13}, "type"},
        {{2, 3}, {"Add", 13}, "operand"},
        {{2, 3}, {"Add", 13, {}, {w::floats("", {2}, {1, 2})}}, ""},
        {{2, 3}, {"Add", 13, {}, {list({1, 2, 3})}}, "element type"},
        {{2, 3}, {"MatMul", 13, {}, {w::floats("", {2}, {1, 2})}}, ""},
        {{2, 3}, {"Gemm", 13, {}, {w::floats("", {2, 2}, {1, 2, 3, 4})}}, ""},
        {{2, 3}, {"BatchNormalization", 13}, "operands"},
        {{1}, {"ConstantOfShape", 13, {w::tensor("value", w::floats("", {2}, {1, 2}))}}, "one element", w::i64},
        {{2, 3}, {"Relu", 13, {}, {}, 2}, "results"},
    };
    for (auto const& c : cases) {
        INFO(c.node.op << "-" << c.node.opset << ": " << c.words);
        auto const v = model_checks::verdict_of(model_checks::read(model_of(c.node, c.x, c.type)));
        INFO(v.message);
        CHECK(v.code == static_cast<int>(error_code::invalid_input));
        CHECK(v.message.find(c.words) != std::string::npos);
        CHECK(v.message.find(c.node.op) != std::string::npos);
        CHECK(v.message.find("node") != std::string::npos);
    }
}

TEST_CASE("a required operand that is left out is refused for every operator, not read") {
    for (auto const& info : table_of<op_info, standard_ops>()) {
        auto const row = find_row(table_of<op_info, standard_ops>(), info.domain, info.name);
        if (!row || table_of<io::onnx_row, standard_ops>()[*row].since == 0 || info.min_inputs == 0) continue;
        for (std::int64_t opset : {7, 9, 10, 11, 13, 18, 21})
            for (w::texts const& inputs : {w::texts{}, w::texts{""}, w::texts{"", "c"}, w::texts{"", "c", "c"},
                                           w::texts{"", "", "", "", ""}, w::texts{"", "c", "c", "c", "c"}})
                for (int results : {0, 1, 2}) {
                    INFO(info.name << "-" << opset << " with " << inputs.size() << " operands");
                    w::model m;
                    m.opset = opset;
                    m.in("x", {2}).weight(w::integers("c", {1}));
                    w::texts outputs;
                    for (int i = 0; i < results; ++i) outputs.push_back(fmt::format("y{}", i));
                    m.add("Relu", {"x"}, {"r"}).add(std::string{info.name}, inputs, outputs, {}, "node").out("r");
                    for (auto const& o : outputs) m.out(o);
                    auto const g = model_checks::read(m);
                    if (g) CHECK((model_checks::count<ops::opaque>(*g) == 1 || results == 0));
                }
    }
}

TEST_CASE("remainders, bits of integers and bits as another type come back from a file") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x"), y = b.input(dtype::f32, {3}, "y");
    auto const i = b.add<ops::bit_cast>({.to = dtype::i32}, {b.add<ops::remainder>(x, y)});
    auto const j = b.input(dtype::i32, {3}, "j");
    b.outputs({b.add<ops::bitwise_xor>(b.add<ops::bitwise_or>(i, j), b.add<ops::bitwise_and>(j, i))});
    auto const back = loaded(io::to_onnx(g).value());
    CHECK(back.hash() == g.hash());
    auto const inputs = random_inputs(g, 1);
    CHECK(evaluate_graph(back, inputs).value().at(0).hash() == evaluate_graph(g, inputs).value().at(0).hash());
}

TEST_CASE("what comparisons and some others of each element type are written in is the oldest set that has them") {
    struct {
        char const* op;
        dtype element;
        std::int64_t opset;
    } const cases[] = {{"Equal", dtype::u64, 11},       {"Equal", dtype::u32, 11},        {"Equal", dtype::u16, 11},
                       {"Equal", dtype::u8, 11},        {"Less", dtype::u64, 9},          {"Less", dtype::u16, 9},
                       {"Equal", dtype::i64, 7},        {"Equal", dtype::boolean, 7},     {"Equal", dtype::f32, 11},
                       {"Equal", dtype::bf16, 13},      {"Less", dtype::f32, 7},          {"Less", dtype::i64, 9},
                       {"LessOrEqual", dtype::f32, 12}, {"LessOrEqual", dtype::bf16, 16}, {"Mod", dtype::f32, 10},
                       {"BitwiseAnd", dtype::u8, 18},   {"BitwiseXor", dtype::i64, 18}};
    for (auto const& c : cases) {
        INFO(c.op << " of " << to_string(c.element));
        graph g;
        graph_builder b{g};
        auto const x = b.input(c.element, {2}, "x"), y = b.input(c.element, {2}, "y");
        auto const row = find_row(g.operators().ops, {}, c.op).value();
        b.outputs({b.emit(row, {}, std::array{x, y})});
        CHECK(io::to_onnx(g, {.opset = c.opset}));
        if (c.opset > 7) CHECK_FALSE(io::to_onnx(g, {.opset = c.opset - 1}));
    }
}

TEST_CASE("a range of numbers that are known is a constant, whatever their type") {
    auto const number = [](std::string const& name, float v) { return w::floats(name, {}, {v}); };
    w::model m;
    m.weight(number("a", 0)).weight(number("b", 1)).weight(number("c", 0.25f));
    m.add("Range", {"a", "b", "c"}, {"y"}).out("y");
    auto const g = loaded(m);
    REQUIRE(g.is<ops::constant>(g.output(0).node));
    CHECK(g.constant_data(g.output(0).node).hash() == tensor::from<float>({4}, {0, 0.25f, 0.5f, 0.75f}).hash());
}

TEST_CASE("quantized operators come back from text and from a file, of the oldest set that has their form") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 4, 5, 5}, "x"), m = b.input(dtype::f32, {4, 3}, "m");
    auto const constant = [&](ints const& dims, dtype element, double first) {
        auto t = tensor::uninitialized(dtype::f64, dims);
        for (auto& v : t.mutable_data<double>()) v = first++;
        return b.constant(t.converted_to(element));
    };
    auto const one = constant({}, dtype::f32, 1), zero = constant({}, dtype::u8, 100);
    auto const q = b.add<ops::quantize>(x, one, zero), qm = b.add<ops::quantize>(m, one, zero);
    integer_window w;
    w.strides = w.dilations = {1, 1}, w.pads = {1, 0, 1, 0}, w.group = 2;
    auto const weight = constant({6, 2, 3, 2}, dtype::i8, -30), other = constant({3, 7}, dtype::i8, -3);
    auto const scales = constant({6}, dtype::f32, 1), zeros = constant({6}, dtype::i8, -2);
    auto const flat = constant({}, dtype::i8, 3);
    b.outputs({b.add<ops::conv_integer>(w, {q, weight, zero, zeros}),
               b.add<ops::qlinear_conv>(w, {q, one, zero, weight, scales, zeros, one, flat}),
               b.add<ops::mat_mul_integer>(qm, other, zero, flat),
               b.add<ops::qlinear_mat_mul>({}, {qm, one, zero, other, one, flat, one, zero})});
    auto const trip = [](graph const& from, std::int64_t opset) {
        CHECK_FALSE(io::to_onnx(from, {.opset = opset - 1}));
        auto const again = loaded(model_checks::written(from, {.opset = opset}));
        CHECK(again.hash() == from.hash());
        CHECK(model_checks::same_outputs(again, from));
        CHECK(parse_graph<standard_ops>(to_text(from)).value().hash() == from.hash());
    };
    trip(g, 10);
    auto const along = [&](scale_attributes const& a, ints const& dims, dtype real, dtype element, std::int64_t opset) {
        graph h;
        graph_builder c{h};
        auto const y = c.input(real, {3, 4}, "x");
        auto const s =
            c.constant(tensor::from<double>(dims, std::vector<double>(static_cast<std::size_t>(product(dims)), 0.5))
                           .converted_to(real));
        auto const z = c.constant(tensor::zeros(element, dims));
        c.outputs({c.add<ops::dequantize>(a, {c.add<ops::quantize>(a, {y, s, z}), s, z})});
        trip(h, opset);
    };
    along({}, {}, dtype::f32, dtype::i8, 10);
    along({}, {4}, dtype::f32, dtype::i8, 13);
    along({.axis = 0}, {3}, dtype::f32, dtype::u8, 13);
    along({}, {}, dtype::f16, dtype::u8, 19);
    along({}, {}, dtype::f32, dtype::i16, 21);
    along({}, {}, dtype::f32, dtype::u16, 21);
    along({.block_size = 3}, {3, 2}, dtype::f32, dtype::i8, 21);
    // A zero point that is an 8-bit float is foreign, and its reader with it.
    auto const foreign = loaded(model_of({"QuantizeLinear", 19, {}, {scalar(1), byte_of(17, 0)}}, {2, 3}));
    CHECK(model_checks::count<ops::opaque>(foreign) == 2);
}

TEST_CASE("what gsub does not compute stays as it is, with the reason") {
    one_node const kept[] = {
        {"Dropout", 13, {}, {scalar(0.5f), flag(true)}},
        {"Dropout", 7, {}, {}, 2},
        {"BatchNormalization", 7, {integer("spatial", 0)}, w::texts(4, w::floats("", {3}, {1, 1, 1}))},
        {"Cast", 13, {integer("to", w::text)}},
        {"Relu", 13, {real("alpha", 1)}},
        {"TfIdfVectorizer", 9},
        {"LayerNormalization", 17, {integer("stash_type", 10)}, {scale_of_three}},
        {"LayerNormalization", 16, {}, {scale_of_three}},
        {"Gelu", 19},
        {"QuantizeLinear", 21, {integer("output_dtype", 22)}, {scalar(1)}}, // a 4-bit integer
    };
    for (auto const& n : kept) {
        INFO(n.op << "-" << n.opset);
        model_checks::note_taker notes;
        auto const g = loaded(model_of(n, {2, 3}), {.observe = &notes});
        CHECK(model_checks::count<ops::opaque>(g) == 1);
        CHECK(notes.heard(n.op));
        auto const again = loaded(model_checks::written(g));
        CHECK(again.hash() == g.hash());
    }
}
