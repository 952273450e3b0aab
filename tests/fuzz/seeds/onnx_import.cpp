// Writes the seed corpus of the fuzz target of the same name into a folder: one small model for each way in which a
// model can say something.
#include "io/onnx_writer.hpp"

#include <cstdio>
#include <fstream>

namespace w = onnx_writer;

namespace {

std::string folder;

void seed(char const* name, w::model const& m) {
    auto const text = m.text();
    std::ofstream{folder + "/" + name + ".onnx", std::ios::binary} << std::string_view{text};
}

std::string branch(w::texts const& reads, w::texts const& weights = {}) {
    w::model m;
    m.add("Add", reads, {"inner"}).out("inner");
    m.initializers = weights;
    return m.graph();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fputs("usage: seeds_onnx_import FOLDER\n", stderr), 2;
    folder = argv[1];

    seed("relu", w::model{}.in("x", {2, "n"}).add("Relu", {"x"}, {"y"}).out("y"));
    seed("conv",
         w::model{}
             .in("x", {1, 2, 5, 5})
             .weight(w::floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}))
             .weight(w::floats("b", {2}, {1, 2}))
             .add("Conv", {"x", "w", "b"}, {"c"},
                  {w::integer_list("strides", {2, 2}), w::word("auto_pad", "SAME_UPPER")}, "first")
             .add("BatchNormalization", {"c", "b", "b", "b", "b"}, {"n"}, {w::real("epsilon", 0.5f)})
             .add("MaxPool", {"n"}, {"p"}, {w::integer_list("kernel_shape", {2, 2}), w::integer("ceil_mode", 1)})
             .add("AveragePool", {"p"}, {"a"},
                  {w::integer_list("kernel_shape", {1, 1}), w::integer("count_include_pad", 1)})
             .add("GlobalAveragePool", {"a"}, {"g"})
             .add("LRN", {"g"}, {"y"}, {w::integer("size", 3)})
             .out("y"));
    seed("gemm", w::model{}
                     .in("x", {2, 3})
                     .in("w", {3, 2})
                     .weight(w::floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}))
                     .add("Gemm", {"x", "w"}, {"g"}, {w::real("alpha", 0.5f), w::integer("transB", 0)})
                     .add("MatMul", {"g", "g"}, {"m"})
                     .add("Softmax", {"m"}, {"s"}, {w::integer("axis", 0)})
                     .add("HardSigmoid", {"s"}, {"y"}, {w::real("alpha", 0.25f)})
                     .out("y"));
    seed("old", [] {
        w::model m;
        m.opset = 9;
        m.in("x", {2, 4})
            .add("Clip", {"x"}, {"c"}, {w::real("min", 0), w::real("max", 6)})
            .add("Slice", {"c"}, {"s"},
                 {w::integer_list("starts", {0}), w::integer_list("ends", {2}), w::integer_list("axes", {1})})
            .add("Unsqueeze", {"s"}, {"u"}, {w::integer_list("axes", {0})})
            .add("Squeeze", {"u"}, {"q"})
            .add("Pad", {"q"}, {"p"}, {w::integer_list("pads", {1, 0, 0, 1}), w::real("value", 2)})
            .add("Softmax", {"p"}, {"f"}, {w::integer("axis", 0)})
            .add("Split", {"f"}, {"a", "b"}, {w::integer("axis", 1)})
            .add("Dropout", {"a"}, {"d"}, {w::real("ratio", 0.5f)})
            .out("d")
            .out("b");
        return m;
    }());
    seed("new", [] {
        w::model m;
        m.opset = 18;
        m.in("x", {2, 4})
            .weight(w::floats("low", {}, {0}))
            .weight(w::integers("one", {1}))
            .weight(w::integers("zero", {0}))
            .weight(w::integers("pads", {1, 2}))
            .add("Clip", {"x", "low"}, {"c"})
            .add("Slice", {"c", "zero", "one", "one"}, {"s"})
            .add("Unsqueeze", {"s", "zero"}, {"u"})
            .add("Squeeze", {"u", "zero"}, {"q"})
            .add("Pad", {"q", "pads", "low", "zero"}, {"p"}, {w::word("mode", "constant")})
            .add("Split", {"p"}, {"a", "b"}, {w::integer("num_outputs", 2)})
            .add("Gather", {"a", "zero"}, {"y"}, {w::integer("axis", 1)})
            .out("y")
            .out("b");
        return m;
    }());
    seed("shapes", w::model{}
                       .in("x", {"n", 2, 3})
                       .weight(w::integers("one", {-1}))
                       .weight(w::integers("zero", {0}))
                       .add("Shape", {"x"}, {"s"})
                       .add("Gather", {"s", "zero"}, {"n"})
                       .add("Mul", {"n", "one"}, {"m"})
                       .add("Concat", {"n", "one"}, {"t"}, {w::integer("axis", 0)})
                       .add("Reshape", {"x", "t"}, {"r"})
                       .add("Cast", {"r"}, {"d"}, {w::integer("to", w::f64)})
                       .add("Transpose", {"d"}, {"p"})
                       .add("Flatten", {"p"}, {"y"}, {w::integer("axis", -1)})
                       .out("y")
                       .out("m"));
    seed("constants", w::model{}
                          .in("x", {4})
                          .weight(w::integers("four", {4}))
                          .add("Constant", {}, {"a"}, {w::real_list("value_floats", {1, 2, 3, 4})})
                          .add("Constant", {}, {"b"}, {w::tensor("value", w::floats("", {1}, {2}))})
                          .add("ConstantOfShape", {"four"}, {"c"}, {w::tensor("value", w::floats("", {1}, {3}))})
                          .add("Sum", {"x", "a", "b", "c"}, {"y"})
                          .out("y")
                          .out("a"));
    seed("typed",
         w::model{}
             .in("x", {2}, w::i32)
             .weight(w::tensor_head("w", w::i32, {2}) + w::made([](auto& p) { p.add_int32(5, 1), p.add_int32(5, -2); }))
             .weight(w::tensor_head("h", w::f16, {1}) + w::made([](auto& p) { p.add_int32(5, 15360); }))
             .add("Add", {"x", "w"}, {"y"})
             .add("Identity", {"h"}, {"z"})
             .out("y")
             .out("z"));
    seed("unknown", [] {
        w::model m;
        m.domains = {{"com.example", 1}};
        m.in("x", {2, 2})
            .in("cond", {}, w::boolean)
            .weight(w::floats("w", {2, 2}, {1, 2, 3, 4}))
            .add("Relu", {"x"}, {"r"})
            .add("If", {"cond"}, {"y"},
                 {w::graph("then_branch", branch({"r", "w"})),
                  w::graph("else_branch", branch({"x", "k"}, {w::floats("k", {}, {1})}))})
            .add("Special", {"y", "", "w"}, {"z", "q"}, {w::integer_list("k", {1, 2}), w::word("s", "text")}, "special",
                 "com.example")
            .out("z");
        m.values.push_back(w::value("z", w::f32, {2, 2}));
        return m;
    }());
    seed("strings", w::model{}
                        .in("x", {2}, w::text)
                        .weight(w::tensor_head("s", w::text, {1}) + w::made([](auto& p) { p.add_string(6, "a"); }))
                        .add("Equal", {"x", "s"}, {"y"})
                        .out("y"));
    seed("functions", w::model{}
                          .in("x", {2, "n"})
                          .add("Reciprocal", {"x"}, {"r"})
                          .add("Floor", {"r"}, {"f"})
                          .add("Ceil", {"f"}, {"c"})
                          .add("Round", {"c"}, {"o"})
                          .add("Softplus", {"o"}, {"p"})
                          .add("Softsign", {"p"}, {"s"})
                          .add("Less", {"s", "x"}, {"l"})
                          .add("Where", {"l", "s", "x"}, {"y"})
                          .out("y"));
    seed("einsum", w::model{}
                       .in("x", {2, 3, 4})
                       .in("w", {3, 4})
                       .add("Einsum", {"x", "w"}, {"a"}, {w::word("equation", "...ij, ij -> ...i")})
                       .add("Einsum", {"a"}, {"d"}, {w::word("equation", "ij->")})
                       .add("Einsum", {"x", "x"}, {"y"}, {w::word("equation", "bij,bkj")})
                       .out("y")
                       .out("d"));
    seed("volume",
         w::model{}
             .in("x", {1, 1, 3, 4, 5})
             .weight(w::floats("w", {1, 1, 1, 2, 1}, {1, 2}))
             .add("Conv", {"x", "w"}, {"c"}, {w::integer_list("dilations", {1, 2, 1}), w::integer("group", 1)})
             .add("MaxPool", {"c"}, {"p"}, {w::integer_list("kernel_shape", {2, 1, 2}), w::integer("storage_order", 0)})
             .add("ReduceMean", {"p"}, {"y"}, {w::integer_list("axes", {-1, 2}), w::integer("keepdims", 0)})
             .out("y"));
    return 0;
}
