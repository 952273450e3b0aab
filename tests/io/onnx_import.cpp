#include "io/model_checks.hpp"
#include "io/scratch_folder.hpp"
#include "io/small_stack.hpp"
#include "ir/integer_types.hpp"
#include <gsub/core/format.hpp>
#include <gsub/models/catalogue.hpp>

#include <ctime>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace w = onnx_writer;
namespace fs = std::filesystem;
using namespace gsub;
using model_checks::loaded;
using model_checks::read;
using model_checks::says;
using model_checks::verdict_of;

template <class T>
void shuffle(std::vector<T>& list, random_stream& r) {
    for (auto i = list.size(); i > 1; --i) std::swap(list[i - 1], list[r.below(i)]);
}

// x -> relu -> add(w) -> conv, with a second branch, an unknown operator and a subgraph: a bit of everything.
w::model mixed() {
    w::model branch;
    branch.add("Add", {"relu", "w"}, {"inner"}).out("inner");
    w::model m;
    m.domains = {{"com.example", 2}};
    return m.in("x", {2, 3})
        .in("flag", {}, w::boolean)
        .weight(w::floats("w", {3}, {1, 2, 3}))
        .weight(w::integers("to", {3, 2}))
        .add("Relu", {"x"}, {"relu"}, {}, "first")
        .add("Add", {"relu", "w"}, {"sum"}, {}, "second")
        .add("Sigmoid", {"x"}, {"gate"})
        .add("Mul", {"sum", "gate"}, {"gated"})
        .add("If", {"flag"}, {"either"},
             {w::graph("then_branch", branch.graph()), w::graph("else_branch", branch.graph())})
        .add("Special", {"gated", "", "either"}, {"special"},
             {w::integer("k", 3), w::word("s", "text"), w::real_list("f", {1, 2})}, "own", "com.example")
        .add("Reshape", {"gated", "to"}, {"y"})
        .out("y")
        .out("special");
}

w::model one_output(w::texts const& nodes) {
    w::model m;
    m.in("x", {2, 3}).out("y");
    m.nodes = nodes;
    return m;
}

// A relu of a tensor whose elements lie in another file.
w::model external_model(std::vector<std::pair<std::string, std::string>> const& entries, w::list const& dims = {4}) {
    w::model m;
    return m.weight(w::external_tensor("w", w::f32, dims, entries)).add("Relu", {"w"}, {"y"}).out("y");
}

// Processor time of this process: other processes have no part in it.
// Processor time: what else the machine runs is no matter.
double seconds_of(std::function<void()> const& f) {
    auto const begin = std::clock();
    f();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string name(char letter, std::size_t i) {
    return fmt::format("{}{}", std::string_view{&letter, 1}, i);
}

w::model chain(std::size_t length) {
    w::model m;
    m.in("v0", {2});
    for (std::size_t i = 0; i < length; ++i) m.add("Relu", {name('v', i)}, {name('v', i + 1)});
    return m.out(name('v', length));
}
w::model reversed(w::model m) {
    std::reverse(m.nodes.begin(), m.nodes.end());
    return m;
}
w::model side_by_side(std::size_t width) {
    w::model m;
    m.in("x", {2});
    for (std::size_t i = 0; i < width; ++i) m.add("Relu", {"x"}, {name('v', i)}).out(name('v', i));
    return m;
}
w::model joined(std::size_t width) {
    w::model m;
    m.in("x", {2});
    w::texts all;
    for (std::size_t i = 0; i < width; ++i) {
        m.weight(w::floats(name('w', i), {2}, {1, 2})).add("Add", {"x", name('w', i)}, {name('v', i)});
        all.push_back(name('v', i));
    }
    return m.add("Sum", all, {"y"}).out("y");
}

TEST_CASE("sizes that are given are those of all dimensions of a name, and what is computed of them is known") {
    w::model m;
    m.in("x", {w::size{"batch"}, w::size{3}});
    m.in("y", {w::size{3}, w::size{"batch"}});
    m.out("z");
    m.add("MatMul", {"x", "y"}, {"z"});
    auto const symbolic = loaded(m);
    CHECK(to_string(symbolic.type(symbolic.output(0))) == "f32[batch,batch]");
    for (auto const& options :
         {io::load_options{.dims = {{"batch", 8}}}, io::load_options{.shapes = {{"y", {3, 8}}}}}) {
        auto const g = loaded(m, options);
        CHECK(to_string(g.type({g.inputs()[0], 0})) == "f32[8,3]");
        CHECK(to_string(g.type(g.output(0))) == "f32[8,8]");
    }
    auto const refused = [&](io::load_options const& options) { return verdict_of(read(m, options)); };
    CHECK(says(refused({.dims = {{"size", 8}}}), errors::input_binding, "no input has a dimension of this name"));
    CHECK(says(refused({.dims = {{"batch", -1}}}), errors::input_binding, "a dimension of -1"));
    CHECK(says(refused({.shapes = {{"z", {1}}}}), errors::input_binding, "there is no such input; there are"));
    CHECK(says(refused({.shapes = {{"x", {1}}}}), errors::input_binding, "1 sizes for 2 dimensions"));
    CHECK(says(refused({.shapes = {{"x", {8, 4}}}}), errors::input_binding, "dimension 1 is 3, not 4"));
    CHECK(says(refused({.shapes = {{"x", {8, 3}}, {"y", {3, 9}}}}), errors::input_binding, "is 8 and 9"));
}

TEST_CASE("dimensions that are all called a question mark are each of any size") {
    w::model m;
    m.in("x", {w::size{"?"}, w::size{3}, w::size{"?"}});
    m.out("y");
    m.add("Relu", {"x"}, {"y"});
    CHECK(to_string(loaded(m).type(loaded(m).output(0))) == "f32[?,3,?]");
    auto const g = loaded(m, {.shapes = {{"x", {2, 3, 5}}}});
    CHECK(to_string(g.type(g.output(0))) == "f32[2,3,5]");
}

TEST_CASE("an input with a value is a constant, and what it decides about is known") {
    w::model m;
    m.opset = 13;
    m.in("x", {w::size{2}, w::size{3}});
    m.in("to", {w::size{"rank"}}, 7);
    m.out("y");
    m.add("Reshape", {"x", "to"}, {"y"});
    auto const with = [](tensor t) { return io::load_options{.values = {{"to", std::move(t)}}}; };
    auto const g = loaded(m, with(tensor::from<std::int64_t>({2}, {3, 2})));
    CHECK(g.inputs().size() == 1);
    CHECK(to_string(g.type(g.output(0))) == "f32[3,2]");
    auto const one = loaded(m, with(tensor::scalar(std::int64_t{6}))); // for a vector of one
    CHECK(to_string(one.type(one.output(0))) == "f32[6]");
    CHECK(says(verdict_of(read(m, with(tensor::from<float>({1}, {6})))), errors::input_binding, "is no value of i64"));
    w::model narrow;
    narrow.in("x", {}, 3);
    narrow.out("y");
    narrow.add("Identity", {"x"}, {"y"});
    auto const taken = [&](std::int64_t v) { return read(narrow, {.values = {{"x", tensor::scalar(v)}}}); };
    CHECK(taken(-128)->constant_data(taken(-128)->output(0).node).data<std::int8_t>()[0] == -128);
    CHECK(says(verdict_of(taken(128)), errors::input_binding, "is no value of i8"));
}

} // namespace

// ---- what is accepted ----------------------------------------------------------------------------------------------

TEST_CASE("weights mean the same raw, typed, packed or in another file") {
    scratch_folder const scratch;
    std::vector<float> const values{1, -2.5f, 1e-40f, std::numeric_limits<float>::infinity()};
    scratch.file("data.bin", "1234" + w::raw(values));
    auto const with = [](std::string const& proto) {
        w::model m;
        return m.weight(proto).add("Relu", {"w"}, {"y"}).out("y");
    };
    auto const head = w::tensor_head("w", w::f32, {4});
    auto const raw = loaded(with(w::floats("w", {4}, values)));
    CHECK(loaded(with(head + w::made([&](w::pbf_writer& p) { p.add_packed_float(4, values.begin(), values.end()); })))
              .hash() == raw.hash());
    CHECK(loaded(with(head + w::made([&](w::pbf_writer& p) {
                          for (auto v : values) p.add_float(4, v);
                      })))
              .hash() == raw.hash());
    auto const path = scratch.file("m.onnx", external_model({{"location", "data.bin"}, {"offset", "4"}}).text());
    for (bool map : {false, true}) CHECK(io::load_onnx<>(path, {.map = map}).value().hash() == raw.hash());
}

TEST_CASE("large aligned weights of a mapped file are views of it, which go with the graph, others are copies") {
    scratch_folder const scratch;
    random_stream r{1};
    std::int64_t const large = 50'000;
    std::vector<float> values(static_cast<std::size_t>(large));
    for (auto& v : values) v = static_cast<float>(r.normal());
    scratch.file("data.bin", w::raw(values) + "1" + w::raw(values));
    auto const mappings = [&](std::string_view name) {
        std::ifstream maps{"/proc/self/maps"};
        int found = 0;
        for (std::string line; std::getline(maps, line);) found += line.ends_with(scratch / name);
        return found;
    };
    for (auto const& [offset, dims, views] :
         {std::tuple{"0", large, 1}, {"4", large - 1, 1}, {"200001", large, 0}, {"0", std::int64_t{100}, 0}}) {
        auto const path =
            scratch.file("m.onnx", external_model({{"location", "data.bin"}, {"offset", offset}}, {dims}).text());
        auto const read = io::load_onnx<>(path).value();
        CHECK(mappings("data.bin") == 0);
        {
            auto const mapped = io::load_onnx<>(path, {.map = true}).value();
            CHECK(mappings("data.bin") == views);
            CHECK(mapped.hash() == read.hash());
        }
        CHECK(mappings("data.bin") == 0);
    }
    // Inside of the model's file an offset is aligned or not, as it happens.
    int views = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        w::model m;
        m.weight(w::floats("w", {large}, values)).add("Relu", {"w"}, {"y"}, {}, std::string(i + 1, 'n')).out("y");
        auto const path = scratch.file("m.onnx", m.text());
        auto const read = io::load_onnx<>(path).value(), mapped = io::load_onnx<>(path, {.map = true}).value();
        views += mappings("m.onnx");
        CHECK(mapped.hash() == read.hash());
    }
    CHECK(views >= 1);
    CHECK(views < 4);
}

TEST_CASE("typed weights of every element type are read from the field that the schema names") {
    struct typed {
        int type;
        int field;
        dtype element;
    };
    for (auto const& c : {typed{w::i64, 7, dtype::i64}, typed{w::i32, 5, dtype::i32}, typed{w::i16, 5, dtype::i16},
                          typed{w::i8, 5, dtype::i8}, typed{w::u8, 5, dtype::u8}, typed{w::boolean, 5, dtype::boolean},
                          typed{w::u16, 5, dtype::u16}, typed{w::u32, 11, dtype::u32}, typed{w::u64, 11, dtype::u64}}) {
        w::model m;
        m.weight(w::tensor_head("w", c.type, {3}) + w::made([&](w::pbf_writer& p) {
                     for (int v : {0, 1, 100}) p.add_int64(static_cast<unsigned>(c.field), v);
                 }));
        auto const g = loaded(m.out("w"));
        auto const& t = g.constant_data(g.output(0).node);
        CHECK(t.element() == c.element);
        CHECK(t.to_ints() == ints{0, 1, c.element == dtype::boolean ? 1 : 100});
    }
    each_integer_type([]<class T> { // the ends of every integer type, packed or not
        constexpr auto element = dtype_of<T>;
        CAPTURE(to_string(element));
        auto const field = element == dtype::i64 ? 7u : element == dtype::u64 || element == dtype::u32 ? 11u : 5u;
        constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        std::vector<std::int64_t> const varints{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
        for (bool const packed : {false, true}) {
            auto const with_weight = [&](unsigned in) {
                w::model m;
                return m
                    .weight(w::tensor_head("w", info(element).onnx, {2}) + w::made([&](w::pbf_writer& p) {
                                if (packed) return p.add_packed_int64(in, varints.begin(), varints.end());
                                for (auto v : varints) p.add_int64(in, v);
                            }))
                    .out("w");
            };
            auto const g = loaded(with_weight(field));
            CHECK(g.constant_data(g.output(0).node).hash() == tensor::from<T>({2}, {low, high}).hash());
            auto const wrong = verdict_of(model_checks::read(with_weight(field == 5 ? 11 : 5)));
            CHECK(wrong.message.find(fmt::format(" of element type {}", to_string(element))) != std::string::npos);
        }
    });
    w::model halves; // 16-bit floats are stored as their bits
    halves.weight(w::tensor_head("h", w::f16, {1}) + w::made([](w::pbf_writer& p) { p.add_int32(5, 0x3c00); }))
        .weight(w::tensor_head("b", w::bf16, {1}) + w::made([](w::pbf_writer& p) { p.add_int32(5, 0x3f80); }))
        .weight(w::tensor_head("d", w::f64, {1}) + w::made([](w::pbf_writer& p) { p.add_double(10, 1.0); }));
    auto const g = loaded(halves.out("h").out("b").out("d"));
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(g.constant_data(g.output(i).node).converted_to(dtype::f32).data<float>()[0] == 1.0f);
}

TEST_CASE("an initializer that is also an input is a weight") {
    w::model m;
    m.in("w", {3}).in("x", {2, 3}).weight(w::floats("w", {3}, {1, 2, 3})).add("Add", {"x", "w"}, {"y"}).out("y");
    auto const g = loaded(m);
    CHECK(g.inputs().size() == 1);
    m.inputs.erase(m.inputs.begin());
    CHECK(loaded(m).hash() == g.hash());
}

TEST_CASE("operands that are left out stay so, at the end and in between") {
    w::model m;
    m.in("x", {2, 3}).weight(w::floats("high", {}, {1}));
    m.add("Clip", {"x", "", "high"}, {"y"}).add("Clip", {"y", "", ""}, {"z"}).out("z");
    auto const g = loaded(m);
    CHECK(model_checks::count<ops::clip>(g) == 2);
    CHECK(model_checks::outputs_of(g)[0].dims().size() == 2);
}

TEST_CASE("the order of nodes and initializers in the file does not matter") {
    auto m = mixed();
    auto const g = loaded(m);
    auto const text = model_checks::written(g);
    random_stream r{1};
    for (int i = 0; i < 30; ++i) {
        shuffle(m.nodes, r), shuffle(m.initializers, r);
        auto const other = loaded(m);
        CHECK(other.hash() == g.hash());
        CHECK(model_checks::written(other) == text);
    }
}

TEST_CASE("an imported graph keeps the names of inputs, outputs, values and nodes") {
    auto const g = loaded(mixed());
    CHECK(g.name({g.inputs()[0], 0}) == "x");
    CHECK(g.info().output_names == std::vector<std::string>{"y", "special"});
    std::vector<std::string> sources;
    for (auto n : g.order())
        for (auto const& s : g.sources(n)) sources.push_back(s);
    for (auto const* s : {"first", "second", "gate", "own"})
        CHECK(std::find(sources.begin(), sources.end(), s) != sources.end());
}

TEST_CASE("unknown operators stay opaque, are noted by name and keep their attributes byte for byte") {
    model_checks::note_taker notes;
    auto const g = loaded(mixed(), {.observe = &notes});
    CHECK(model_checks::count<ops::opaque>(g) == 2);
    CHECK(notes.heard("com.example.Special"));
    CHECK(notes.heard("If"));
    auto const again = model_checks::written(loaded(model_checks::written(g)));
    auto const attributes_of_node = [](std::string const& text, std::string_view op) {
        auto const m = io::parse_onnx(model_checks::bytes_of(text)).value();
        std::vector<std::string> out;
        for (auto const& n : m.graph.nodes)
            if (n.op_type == op)
                for (auto const& a : n.attributes) out.emplace_back(a.message);
        return out;
    };
    for (auto const* op : {"Special", "If"}) {
        auto const before = attributes_of_node(mixed().text(), op);
        CHECK_FALSE(before.empty());
        CHECK(attributes_of_node(again, op) == before);
    }
}

TEST_CASE(
    "weights of element types that gsub does not compute with are kept, small and large, in memory and on the disk") {
    scratch_folder const scratch;
    for (std::int64_t size : {1, 5000}) {
        w::model m;
        m.weight(w::raw_tensor("w", 14, {size}, std::string(static_cast<std::size_t>(size) * 8, 'u'))) // complex64
            .add("Unheard", {"w"}, {"y"})
            .out("y");
        for (auto const& g : {loaded(m), io::load_onnx<>(scratch.file("m.onnx", m.text())).value()}) {
            CHECK(model_checks::count<ops::opaque>(g) == 2);
            auto const text = model_checks::written(g);
            CHECK(text.find(std::string(static_cast<std::size_t>(size) * 8, 'u')) != std::string::npos);
            CHECK(loaded(text).hash() == g.hash());
        }
    }
    w::model apart;
    apart.weight(w::external_tensor("w", 14, {2}, {{"location", "data.bin"}})).add("Unheard", {"w"}, {"y"}).out("y");
    CHECK(says(apart, errors::element_type, "element type number 14 with elements in a file of their own"));
}

TEST_CASE("a described value without a name describes nothing") {
    w::model m;
    m.in("x", {2, 2}).add("Unheard", {"x"}, {"", "y"}).out("y");
    m.values.push_back(w::value("", w::f32, {2, 2}));
    auto const g = loaded(m);
    CHECK(loaded(model_checks::written(g)).hash() == g.hash());
}

TEST_CASE("values that subgraphs capture are operands of their node and keep their names") {
    auto const g = loaded(mixed());
    for (auto n : g.order()) {
        if (!g.is<ops::opaque>(n) || g.attributes<ops::opaque>(n).op_type != "If") continue;
        REQUIRE(g.operand_count(n) == 3);
        CHECK(g.name(g.operand(n, 1)) == "relu");
        CHECK(g.name(g.operand(n, 2)) == "w");
    }
    auto m = mixed();
    m.nodes.erase(m.nodes.begin());
    auto const v = verdict_of(model_checks::read(m));
    CHECK(v.message.find("a subgraph reads value \"relu\", which does not exist") != std::string::npos);
}

result<gsub::module> module_of(w::model const& m, io::load_options const& options = {}) {
    return io::load_onnx_module(model_checks::bytes_of(m.text()), dialect::of<standard_ops>(),
                                table_of<io::onnx_row, standard_ops>(), options);
}

// y = if the condition `of` then squeeze(x, its last axis) else identity(x), as exporters write it.
w::model squeezing(std::vector<w::size> const& x, std::string const& of = "one") {
    w::model yes, no, m;
    m.opset = 11;
    yes.add("Squeeze", {"x"}, {"squeezed"}, {w::integer_list("axes", {-1})}, "squeeze").out("squeezed");
    no.add("Identity", {"x"}, {"same"}, {}, "identity").out("same");
    return m.in("x", x)
        .in("flag", {}, w::boolean)
        .weight(w::integers("last", {-1}))
        .weight(w::integers("number", {1}))
        .add("Shape", {"x"}, {"sizes"})
        .add("Gather", {"sizes", "last"}, {"size"})
        .add("Equal", {"size", "number"}, {"one"})
        .add("If", {of}, {"y"}, {w::graph("then_branch", yes.graph()), w::graph("else_branch", no.graph())}, "choice")
        .out("y");
}

TEST_CASE("pads that begin with the last dimension and are turned as a matrix are known, as PyTorch writes them") {
    w::model m;
    m.in("x", {1, 9}).weight(w::integers("pads", {0, 4})).weight(w::integers("rest", {2}));
    m.add("ConstantOfShape", {"rest"}, {"none"}, {w::tensor("value", w::integers("", {0}))});
    m.add("Concat", {"pads", "none"}, {"all"}, {w::integer("axis", 0)});
    m.weight(w::integers("pairs", {-1, 2})).add("Reshape", {"all", "pairs"}, {"matrix"});
    m.weight(w::integers("zero", {0})).weight(w::integers("last", {-1}));
    m.weight(w::integers("least", {std::numeric_limits<std::int64_t>::min() + 1}));
    m.add("Slice", {"matrix", "last", "least", "zero", "last"}, {"backwards"});
    m.add("Transpose", {"backwards"}, {"turned"}, {w::integer_list("perm", {1, 0})});
    m.add("Reshape", {"turned", "last"}, {"list"}).add("Cast", {"list"}, {"whole"}, {w::integer("to", 7)});
    auto const g = loaded(m.add("Pad", {"x", "whole"}, {"y"}, {w::word("mode", "reflect")}).out("y"));
    CHECK(to_string(g.type(g.output(0))) == "f32[1,13]");
}

TEST_CASE("an If whose condition follows from the sizes is the branch taken, the other is not looked at") {
    auto const one = loaded(squeezing({2, 1})), three = loaded(squeezing({2, 3}));
    CHECK(to_string(one.type(one.output(0))) == "f32[2]");
    CHECK(to_string(three.type(three.output(0))) == "f32[2,3]"); // where squeezing would be wrong
    for (auto const* g : {&one, &three}) {
        CHECK(model_checks::count<ops::opaque>(*g) == 0);
        CHECK(model_checks::count<ops::if_else>(*g) == 0);
        CHECK(model_checks::count<ops::gather>(*g) == 0);
        CHECK(g->info().output_names == std::vector<std::string>{"y"});
    }
    CHECK(one.sources(one.output(0).node) == std::vector<std::string>{"squeeze"});
    CHECK(module_of(squeezing({2, 1})).value().functions().size() == 1);
}

TEST_CASE("an If of unknown condition is opaque in a graph and calls two functions in a module") {
    for (auto const& m : {squeezing({2, 1}, "flag"), squeezing({2, "n"})}) {
        auto const g = loaded(m);
        CHECK(model_checks::count<ops::opaque>(g) == 1);
        auto const functions = module_of(m).value();
        REQUIRE(functions.functions().size() == 3);
        auto const& main = functions.find("main")->body;
        CHECK(check(main, stage::imported).empty());
        auto const n = main.output(0).node;
        REQUIRE(main.is<ops::if_else>(n));
        CHECK(main.operand_count(n) == 2); // the condition and x
        CHECK(main.type({n, 0}).element == dtype::f32);
        CHECK_FALSE(main.type({n, 0}).ranked);
    }
    auto const m = module_of(squeezing({2, 1}, "flag")).value();
    for (bool const flag : {false, true}) {
        auto const x = tensor::from<float>({2, 1}, {1, 2});
        auto const y =
            evaluate_module(m, table_of<eval_row, standard_ops>(), std::array{x, tensor::scalar(flag)}).value();
        CHECK(y.at(0).hash() == (flag ? x.reshaped(ints{2}) : x).hash());
    }
}

TEST_CASE("the results of an opaque If have the types that both branches declare, as far as they are alike") {
    auto const branch = [](std::string const& op, int type, std::vector<w::size> const& dims) {
        w::model m;
        m.add(op, {"x"}, {op});
        m.outputs = {w::value(op, type, dims)};
        return m.graph();
    };
    auto const type = [&](std::string const& yes, std::string const& no) {
        w::model m;
        m.in("x", {2, 3}).in("flag", {}, w::boolean);
        m.add("If", {"flag"}, {"v"}, {w::graph("then_branch", yes), w::graph("else_branch", no)});
        auto const g = loaded(m.add("Relu", {"v"}, {"y"}).out("y"));
        CHECK(loaded(model_checks::written(g)).type(g.output(0)) == g.type(g.output(0)));
        return to_string(g.type(g.output(0)));
    };
    CHECK(type(branch("Tanh", w::f32, {2, 3}), branch("Neg", w::f32, {2, 3})) == "f32[2,3]");
    CHECK(type(branch("Tanh", w::f32, {2, 3}), branch("Neg", w::f32, {2, 4})) == "f32[2,?]");
    CHECK(type(branch("Tanh", w::f32, {2, 3}), branch("Neg", w::f32, {6})) == "f32[*]");
    CHECK(type(branch("Tanh", w::f32, {2, 3}), branch("Neg", w::i64, {2, 3})) == "?[*]");
}

TEST_CASE("faults in a branch are told with the branch's node, and so is a missing branch") {
    auto const refused = [](std::string const& then_branch, std::string_view words) {
        w::model m;
        m.in("x", {2}).in("flag", {}, w::boolean).out("y");
        w::texts attributes{w::graph("else_branch", w::model{}.add("Relu", {"x"}, {"b"}).out("b").graph())};
        if (!then_branch.empty()) attributes.push_back(w::graph("then_branch", then_branch));
        m.add("If", {"flag"}, {"y"}, attributes, "choice");
        auto const v = verdict_of(module_of(m));
        INFO(v.message);
        CHECK(v.code == static_cast<int>(error_code::invalid_input));
        CHECK(v.message.find(words) != std::string::npos);
        CHECK(v.message.find("choice") != std::string::npos);
        return v.id;
    };
    CHECK(refused({}, "a branch is missing") == errors::invalid_node);
    CHECK(refused(w::model{}.add("Concat", {"x"}, {"a"}, {}, "joined").out("a").graph(),
                  "in a branch, Concat-13 \"joined\": no axis") == errors::invalid_node);
    CHECK(refused(w::model{}.add("Relu", {"x"}, {"a"}).out("a").out("x").graph(), "a branch gives 2") ==
          errors::invalid_node);
    CHECK(refused(w::model{}.in("z", {2}).add("Relu", {"z"}, {"a"}).out("a").graph(), "it takes none") ==
          errors::invalid_node);
    refused(w::model{}.add("Cast", {"x"}, {"a"}, {w::integer("to", 7)}).out("a").graph(),
            "element types must be equal");
    CHECK(refused(w::model{}.add("Relu", {"nowhere"}, {"a"}).out("a").graph(), "does not exist") ==
          errors::names_in_model);
}

TEST_CASE("branches within branches are functions too, on a small stack, and no more than the limit") {
    auto const around = [](std::string const& inner, int level) {
        w::model m;
        auto const y = fmt::format("y{}", level);
        return m
            .add("If", {"c"}, {y},
                 {w::graph("then_branch", inner), w::graph("else_branch", w::model{}.out("c").graph())})
            .out(y)
            .graph();
    };
    auto core = w::model{}.add("Not", {"c"}, {"y0"}).out("y0").graph();
    for (int level = 1; level < 60; ++level) core = around(core, level);
    w::model m;
    m.in("c", {}, w::boolean)
        .add("If", {"c"}, {"y"}, {w::graph("then_branch", core), w::graph("else_branch", w::model{}.out("c").graph())})
        .out("y");
    small_stack::run([&] {
        auto const read = module_of(m).value();
        CHECK(read.functions().size() == 121);
        auto const y =
            evaluate_module(read, table_of<eval_row, standard_ops>(), std::array{tensor::scalar(true)}).value();
        CHECK_FALSE(y.at(0).data<bool>()[0]);
    });
    io::load_options few;
    few.limits.max_functions = 100;
    CHECK(says(verdict_of(module_of(m, few)), errors::model_limit, "more than 100 functions"));
}

TEST_CASE("nodes that lead to no output are left out and noted") {
    auto m = mixed();
    m.add("Relu", {"x"}, {"unused"}).add("Unheard", {"unused"}, {"of"});
    model_checks::note_taker notes;
    CHECK(loaded(m, {.observe = &notes}).hash() == loaded(mixed()).hash());
    CHECK(notes.heard("2 nodes lead to no output"));
}

TEST_CASE("tensors without elements and of rank 0 are right") {
    w::model m;
    m.in("x", {0, 3})
        .weight(w::floats("none", {0, 3}, {}))
        .weight(w::tensor_head("typed_none", w::f32, {2, 0}))
        .weight(w::floats("one", {}, {5}))
        .add("Concat", {"x", "none"}, {"c"}, {w::integer("axis", 0)})
        .add("Add", {"c", "one"}, {"y"})
        .out("y")
        .out("typed_none")
        .out("one");
    auto const results = model_checks::outputs_of(loaded(m));
    CHECK(to_string(results[0].type()) == "f32[0,3]");
    CHECK(to_string(results[1].type()) == "f32[2,0]");
    CHECK(to_string(results[2]) == "f32[] {5}");
}

TEST_CASE("NaN, infinities, denormals and negative zero pass through as they are") {
    std::vector<float> const odd{std::numeric_limits<float>::quiet_NaN(), -0.0f,
                                 std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::infinity()};
    w::model m;
    auto const g = loaded(m.weight(w::floats("w", {4}, odd)).out("w"));
    auto const again = loaded(model_checks::written(g));
    CHECK(std::string(reinterpret_cast<char const*>(again.constant_data(again.output(0).node).raw().data()), 16) ==
          w::raw(odd));
}

// ---- what is refused -----------------------------------------------------------------------------------------------

TEST_CASE("all problems of a model are reported at once, each with node, operator, reason and hint") {
    w::model m;
    m.in("x", {2, 3})
        .add("Softmax", {"x"}, {"a"}, {w::integer("axis", 7)}, "first_bad")
        .add("Transpose", {"x"}, {"b"}, {w::integer_list("perm", {0, 0})}, "second_bad")
        .add("Relu", {"x"}, {"c"}, {}, "good")
        .out("a")
        .out("b")
        .out("c");
    auto const g = model_checks::read(m);
    REQUIRE_FALSE(g);
    CHECK(g.error().code() == error_code::invalid_input);
    REQUIRE(g.error().problems().size() == 2);
    auto const& message = g.error().message();
    for (auto const* words : {"first_bad", "Softmax-13", "axis 7", "second_bad", "Transpose-13", "axis 0"})
        CHECK(message.find(words) != std::string::npos);
    CHECK(message.find("good") == std::string::npos);
}

TEST_CASE("no more problems are listed than the limit, and the rest are counted") {
    w::model m;
    m.in("x", {2});
    for (std::size_t i = 0; i < 50; ++i) m.add("Relu", {name('u', i)}, {name('v', i)}).out(name('v', i));
    for (std::size_t limit : {0u, 1u, 7u}) {
        auto const g = model_checks::read(m, {.limits = {.max_problems = limit}});
        REQUIRE_FALSE(g);
        auto const listed = std::max<std::size_t>(limit, 1);
        CHECK(g.error().problems().size() == listed + 1);
        CHECK(g.error().message().find(fmt::format("{} more problems", 50 - listed)) != std::string::npos);
    }
}

TEST_CASE("faults in the graph's structure are refused and the value is named") {
    auto const bad = errors::names_in_model;
    CHECK(says(one_output({w::node("Add", {"x", "y"}, {"y"})}), bad, "\"y\" depends on the node itself"));
    CHECK(says(one_output({w::node("Add", {"x", "b"}, {"y"}), w::node("Relu", {"y"}, {"b"})}), bad, "depends on"));
    CHECK(says(
        one_output({w::node("Relu", {"x"}, {"y"}), w::node("Add", {"p", "x"}, {"q"}), w::node("Relu", {"q"}, {"p"})}),
        bad, "depends on")); // a cycle that no output needs
    CHECK(says(one_output({w::node("Relu", {"absent"}, {"y"})}), bad, "input \"absent\" does not exist"));
    CHECK(says(one_output({w::node("Relu", {"x"}, {"z"})}), bad, "output does not exist"));
    CHECK(says(one_output({w::node("Relu", {"x"}, {"y"}), w::node("Tanh", {"x"}, {"y"})}), bad,
               "\"y\" is made more than"));
    CHECK(says(one_output({w::node("Relu", {"x"}, {"x"}), w::node("Relu", {"x"}, {"y"})}), bad,
               "\"x\" is made more than"));
    CHECK(says(w::model{}.in("", {1}).add("Relu", {""}, {"y"}).out("y"), bad, "has no name"));
    CHECK(says(one_output({w::node("Split", {"x"}, {"y", "y"}, {w::integer("axis", 0)})}), bad, "made more than"));
    auto twice = one_output({w::node("Relu", {"x"}, {"y"})});
    CHECK(says(w::model{twice}.in("x", {1}), bad, "two inputs have this name"));
    CHECK(says(w::model{twice}.weight(w::floats("w", {1}, {1})).weight(w::floats("w", {1}, {1})), bad,
               "two initializers have this name"));
    CHECK(says(w::model{twice}.weight(w::floats("y", {1}, {1})), bad, "made more than once"));
    w::model self;
    w::model branch;
    branch.add("Relu", {"y"}, {"t"}).out("t");
    self.in("c", {}, w::boolean).add("If", {"c"}, {"y"}, {w::graph("then_branch", branch.graph())}).out("y");
    CHECK(says(self, bad, "depends on the node itself"));
}

TEST_CASE("faults of weights are refused and the weight is named") {
    auto const with = [](std::string const& proto) {
        w::model m;
        m.weight(proto).add("Relu", {"w"}, {"y"}).out("y");
        return m;
    };
    auto const bad = errors::malformed_model, beyond = errors::model_limit;
    auto const largest = std::numeric_limits<std::int64_t>::max();
    auto const one_float = [](unsigned field) { return w::made([&](w::pbf_writer& p) { p.add_float(field, 1); }); };
    CHECK(says(with(w::floats("w", {3}, {1, 2})), bad, "8 bytes of elements"));
    CHECK(says(with(w::floats("w", {1}, {1, 2})), bad, "4 are needed"));
    CHECK(says(with(w::raw_tensor("w", w::f32, {1}, "123")), bad, "3 bytes"));
    CHECK(says(with(w::floats("w", {-1}, {1})), bad, "negative dimension"));
    CHECK(says(with(w::floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {1})), beyond, "exceeds the limit"));
    CHECK(says(with(w::floats("w", {largest}, {1})), beyond, "exceeds the limit"));
    CHECK(says(with(w::floats("w", {largest, largest, 0}, {1})), beyond, "exceeds the limit"));
    CHECK(says(with(w::tensor_head("w", w::f32, {std::int64_t{1} << 30})), bad, "0 elements"));
    CHECK(says(with(w::floats("w", {1}, {1}) + one_float(4)), bad, "more than one way"));
    CHECK(says(with(w::tensor_head("w", w::i32, {1}) + one_float(4)), bad, "in field 4"));
    CHECK(says(with(w::tensor_head("w", w::f32, {2}) + one_float(4)), bad, "1 elements"));
    CHECK(says(with(w::tensor_head("w", w::f32, {1}) + w::made([](w::pbf_writer& p) { p.add_int64(7, 1); })), bad,
               "in field 7"));
}

TEST_CASE("a weight that is not what it is declared as is refused, and so is an element type that ONNX has not") {
    auto const bad = errors::declared_type;
    w::model m;
    m.weight(w::floats("w", {3}, {1, 2, 3})).add("Relu", {"w"}, {"y"}).out("y");
    CHECK(model_checks::read(w::model{m}.in("w", {3})));
    CHECK(model_checks::read(w::model{m}.in("w", {"n"})));
    CHECK(says(w::model{m}.in("w", {3}, w::i64), bad, "it is f32[3] and is declared as i64[3]"));
    CHECK(says(w::model{m}.in("w", {4}), bad, "declared as f32[4]"));
    CHECK(says(w::model{m}.in("w", {1, 3}), bad, "declared as f32[1,3]"));
    for (int number : {0, 99, -1}) {
        w::model other;
        other.weight(w::raw_tensor("w", number, {1}, "1234")).add("Relu", {"w"}, {"y"}).out("y");
        CHECK(says(other, errors::malformed_model, "element type number"));
    }
}

TEST_CASE("weights that are stored sparsely are not read") {
    auto const graph = one_output({w::node("Relu", {"x"}, {"y"})}).graph() +
                       w::made([](w::pbf_writer& p) { p.add_message(15, std::string{}); });
    auto const text = w::made([&](w::pbf_writer& p) {
        p.add_int64(1, 8);
        p.add_message(7, graph);
        p.add_message(8, w::made([](w::pbf_writer& o) { o.add_string(1, ""), o.add_int64(2, 13); }));
    });
    CHECK(says(verdict_of(read(text)), errors::operator_form, "sparse initializers; try: store the weights densely"));
}

TEST_CASE("a faulty weight is the only problem that is told of it") {
    w::model m;
    m.in("x", {3}).weight(w::floats("w", {3}, {1, 2})).add("Add", {"x", "w"}, {"y"}).out("y");
    auto const g = model_checks::read(m);
    REQUIRE_FALSE(g);
    CHECK(g.error().problems().size() == 1);
}

TEST_CASE("attributes that are given twice or refer to a function that is not there are refused") {
    auto const bad = errors::invalid_node;
    CHECK(says(one_output({w::node("Softmax", {"x"}, {"y"}, {w::integer("axis", 0), w::integer("axis", 1)})}), bad,
               "attribute \"axis\" is given twice"));
    auto const reference = w::integer("axis", 0) + w::made([](w::pbf_writer& p) { p.add_bytes(21, "outer"); });
    CHECK(says(one_output({w::node("Softmax", {"x"}, {"y"}, {reference})}), bad, "refers to \"outer\""));
}

TEST_CASE("names of any length and kind are told in reports that stay short and printable") {
    std::string const name(70'000, 'n');
    w::model m;
    m.in("x", {2}).add("Add", {"x", name}, {"y"}, {}, name).out("y");
    auto const g = model_checks::read(m);
    REQUIRE_FALSE(g);
    CHECK(g.error().message().size() < 4096);
    model_checks::note_taker notes;
    static_cast<void>(loaded(one_output({w::node("Odd\nname\x1b", {"x"}, {"y"})}), {.observe = &notes}));
    CHECK(notes.heard("Odd\\x0aname\\x1b"));
}

TEST_CASE("operator sets beyond what gsub reads, missing or contradictory ones are refused") {
    auto m = one_output({w::node("Relu", {"x"}, {"y"})});
    m.opset = io::newest_opset + 1;
    CHECK(says(m, errors::newer_model, "newer than"));
    m.opset = std::numeric_limits<std::int64_t>::max();
    CHECK(says(m, errors::newer_model, "newer than"));
    m.opset = 0;
    CHECK(says(m, errors::malformed_model, "does not say which operator set"));
    m.opset = 13, m.domains = {{"ai.onnx", 14}};
    CHECK(says(m, errors::names_in_model, "versions 13 and 14"));
    m.domains = {{"ai.onnx", 13}};
    CHECK(model_checks::read(m));
    m.domains = {};
    m.opset = 5;
    CHECK(model_checks::count<ops::opaque>(loaded(m)) == 1);
}

TEST_CASE("sizes of inputs that no tensor can have are refused") {
    auto const largest = std::numeric_limits<std::int64_t>::max();
    auto const input = [](std::vector<w::size> const& dims) {
        w::model m;
        return m.in("big", dims).add("Relu", {"big"}, {"y"}).out("y");
    };
    CHECK(says(input({-2}), errors::declared_type, "a dimension of -2"));
    CHECK(says(input({largest}), errors::declared_type, "a dimension of"));
    CHECK(says(input({"n", largest}), errors::declared_type, "a dimension of"));
    CHECK(says(input({std::int64_t{1} << 40, std::int64_t{1} << 40}), errors::model_limit, "2^62 elements"));
    CHECK(model_checks::read(input({0, largest >> 1})));
    w::model product;
    product.in("a", {std::int64_t{1} << 32, 1}).in("b", {1, std::int64_t{1} << 32});
    product.add("Mul", {"a", "b"}, {"y"}).out("y");
    CHECK(says(product, error_code::invalid_input, "2^62 elements"));
}

TEST_CASE("a declared type that contradicts inference is noted, and inference stands") {
    auto m = one_output({w::node("Relu", {"x"}, {"y"})});
    m.outputs = {w::value("y", w::i64, {7})};
    model_checks::note_taker notes;
    auto const g = loaded(m, {.observe = &notes});
    CHECK(to_string(g.type(g.output(0))) == "f32[2,3]");
    CHECK(notes.heard("is declared as i64[7]"));
}

TEST_CASE("sizes that double at every node do not blow up") {
    for (auto const* op : {"Concat", "Add"}) {
        w::model m;
        m.in("v0", {2});
        for (std::size_t i = 0; i < 60; ++i)
            m.add(op, {name('v', i), name('v', i)}, {name('v', i + 1)},
                  op == std::string{"Concat"} ? w::texts{w::integer("axis", 0)} : w::texts{});
        m.out("v60");
        auto const g = loaded(m);
        CHECK(loaded(model_checks::written(g)).hash() == g.hash());
        m.add("Concat", {"v60", "v60"}, {"v61"}, {w::integer("axis", 0)})
            .add("Concat", {"v61", "v61"}, {"v62"}, {w::integer("axis", 0)});
        static_cast<void>(model_checks::read(m));
    }
}

TEST_CASE("names that would poison a shell, a source file or a report are carried as they are") {
    for (std::string const& poison :
         {std::string{"$(touch PWNED)"}, std::string{"a\"; */ #include <x>\n\\"}, std::string{"../../etc/passwd"},
          std::string(70'000, 'n'), std::string("nul\0inside", 10), std::string{"\xff\xfe"}, std::string{"int"}}) {
        w::model m;
        m.in(poison, {2}).add("Relu", {poison}, {poison + "2"}, {}, poison).out(poison + "2");
        auto const g = loaded(m);
        auto const again = loaded(model_checks::written(g));
        CHECK(again.hash() == g.hash());
        CHECK(again.name({again.inputs()[0], 0}) == poison);
        CHECK(again.info().output_names == std::vector<std::string>{poison + "2"});
    }
}

// ---- damaged files -------------------------------------------------------------------------------------------------

TEST_CASE("a model cut off at any byte is an error or a legal graph") {
    auto const whole = mixed().text();
    for (std::size_t size = 0; size < whole.size(); ++size)
        if (auto const g = model_checks::read(std::string_view{whole}.substr(0, size)))
            CHECK(check(*g, stage::imported).empty());
}

TEST_CASE("a mutated model is an error or a legal graph that survives a round trip, in memory and on the disk alike") {
    scratch_folder const scratch;
    w::texts seeds{mixed().text(), model_checks::written(models::residual_conv(1, false)), joined(5).text(),
                   side_by_side(4).text()};
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        INFO(seed);
        random_stream r{seed};
        auto text = seeds[r.below(seeds.size())];
        if (text.size() > 2000) text = seeds[0];
        for (auto n = 1 + r.below(3); n-- > 0;) {
            auto const at = r.below(text.size()), length = std::min<std::size_t>(r.below(20), text.size() - at);
            switch (r.below(5)) {
            case 0:
                text[at] = static_cast<char>(text[at] ^ 1 << r.below(8));
                break;
            case 1:
                text[at] = static_cast<char>(r());
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.insert(r.below(text.size()), text.substr(at, length));
                break;
            default:
                std::copy_n(seeds[0].begin() + static_cast<std::ptrdiff_t>(r.below(seeds[0].size() - length)), length,
                            text.begin() + static_cast<std::ptrdiff_t>(at));
            }
            if (text.empty()) text.push_back('x');
        }
        auto const g = model_checks::read(text);
        if (seed % 4 == 0) CHECK(io::load_onnx<>(scratch.file("m.onnx", text)).has_value() == g.has_value());
        if (!g) continue;
        ++accepted;
        CHECK(check(*g, stage::imported).empty());
        if (auto const out = io::to_onnx(*g)) CHECK(model_checks::read(*out));
    }
    CHECK(accepted > 100);
}

// ---- external data -------------------------------------------------------------------------------------------------

TEST_CASE("external data comes from plain files below the model's folder and from nowhere else") {
    scratch_folder const scratch;
    auto const canary = scratch.file("canary", std::string(16, 's'));
    auto const data = scratch.file("m/data.bin", std::string(16, 'd'));
    fs::create_symlink(canary, scratch / "m/link");
    fs::create_directory_symlink(scratch.path(), scratch / "m/up");
    fs::create_hard_link(canary, scratch / "m/hard");
    REQUIRE(::mkfifo((scratch / "m/fifo").c_str(), 0600) == 0);
    for (auto const& location :
         {std::string{"../canary"}, std::string{"sub/../../canary"}, canary, std::string{"link"},
          std::string{"up/canary"}, std::string{"hard"}, std::string{"fifo"}, std::string{"/dev/zero"},
          std::string{"absent"}, std::string{}, std::string("data.bin\0x", 10)}) {
        auto const path = scratch.file("m/m.onnx", external_model({{"location", location}}).text());
        for (bool map : {false, true}) {
            auto const v = verdict_of(io::load_onnx<>(path, {.map = map}));
            INFO(location << ": " << v.message);
            CHECK(model_checks::is(v, errors::external_data));
            CHECK(v.message.find("m.onnx") != std::string::npos);
            CHECK(v.message.find("initializer") != std::string::npos);
        }
    }
    auto const good = external_model({{"location", "data.bin"}});
    CHECK(io::load_onnx<>(scratch.file("m/m.onnx", good.text())));
    CHECK(says(good, error_code::invalid_input, "load the file by its path"));
}

TEST_CASE("external data beyond its file or of another length than the tensor is refused") {
    scratch_folder const scratch;
    scratch.file("data.bin", std::string(32, 'd'));
    auto const verdict = [&](std::string const& offset, std::string const& length) {
        std::vector<std::pair<std::string, std::string>> entries{{"location", "data.bin"}};
        if (!offset.empty()) entries.emplace_back("offset", offset);
        if (!length.empty()) entries.emplace_back("length", length);
        auto const path = scratch.file("m.onnx", external_model(entries).text());
        auto const read = verdict_of(io::load_onnx<>(path)), mapped = verdict_of(io::load_onnx<>(path, {.map = true}));
        CHECK(read.code == mapped.code);
        return read.code;
    };
    auto const bad = static_cast<int>(error_code::invalid_input);
    for (auto const* offset : {"", "0", "1", "7", "16"}) CHECK(verdict(offset, "") == 0);
    CHECK(verdict("16", "16") == 0);
    for (auto const* offset : {"17", "32", "33", "18446744073709551615", "9223372036854775807", "-1", "x"})
        CHECK(verdict(offset, "") == bad);
    for (auto const* length : {"0", "15", "17", "18446744073709551615", "-16"}) CHECK(verdict("0", length) == bad);
}

TEST_CASE("a sparse file of external data beyond 2 GiB is loaded mapped") {
    scratch_folder const scratch;
    auto const offset = (std::int64_t{5} << 30) + 64;
    auto const path = scratch / "data.bin";
    {
        auto const fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        REQUIRE(fd >= 0);
        float const values[4] = {1, 2, 3, -4};
        auto const made = ::ftruncate(fd, offset + 16) == 0 && ::pwrite(fd, values, 16, offset) == 16;
        ::close(fd);
        if (!made) {
            WARN("the disk refuses a sparse file of 5 GiB");
            return;
        }
    }
    auto const huge = std::int64_t{1} << 30; // elements, 4 GiB
    w::model m;
    m.weight(w::external_tensor("w", w::f32, {4}, {{"location", "data.bin"}, {"offset", std::to_string(offset)}}))
        .weight(w::external_tensor("zeros", w::f32, {huge}, {{"location", "data.bin"}, {"offset", "64"}}))
        .add("Relu", {"w"}, {"y"})
        .out("y")
        .out("zeros");
    auto const g = io::load_onnx<>(scratch.file("m.onnx", m.text()), {.map = true}).value();
    CHECK(g.constant_data(g.output(1).node).elements() == huge);
    CHECK(to_string(g.constant_data(g.operand(g.output(0).node, 0).node)) == "f32[4] {1, 2, 3, -4}");
}

// ---- size ----------------------------------------------------------------------------------------------------------

// Sanitizers take an order of magnitude more time.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t node_count = 20'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr std::size_t node_count = 20'000;
#else
constexpr std::size_t node_count = 100'000;
#endif
#else
constexpr std::size_t node_count = 100'000;
#endif

TEST_CASE("100,000 nodes in a chain or side by side go in and out in near-linear time on a small stack") {
    struct shape {
        char const* name;
        w::model (*make)(std::size_t);
    };
    for (auto const& s :
         {shape{"chain", chain}, shape{"reversed chain", [](std::size_t n) { return reversed(chain(n)); }},
          shape{"side by side", side_by_side}, shape{"weights", joined}}) {
        auto const time = [&](std::size_t n) {
            auto const text = s.make(n).text();
            return seconds_of([&] {
                small_stack::run([&] {
                    auto const g = loaded(text);
                    auto const out = model_checks::written(g);
                    CHECK(loaded(out).hash() == g.hash());
                });
            });
        };
        auto const small = std::min({time(node_count / 4), time(node_count / 4), time(node_count / 4)}),
                   large = std::min(time(node_count), time(node_count));
        INFO(s.name << ": " << small << " s and " << large << " s");
        CHECK(large / small < 10); // 4 where linear, 16 where quadratic
    }
}

TEST_CASE("hostile numbers of small things take time in proportion") {
    // Operator sets, unknown operators with many operands, foreign types: nothing is searched for once a node.
    auto const many_domains = [](std::size_t n) {
        w::model m = chain(n);
        for (std::size_t i = 0; i < n; ++i) m.domains.emplace_back(name('d', i), 1);
        return m;
    };
    auto const wide_unknown = [](std::size_t n) {
        w::model m;
        w::texts all;
        for (std::size_t i = 0; i < n; ++i) m.in(name('x', i), {2}, w::text), all.push_back(name('x', i));
        return m.add("Unheard", all, {"y"}, {w::word("padding", std::string(n, 'p'))}).out("y");
    };
    auto const many_attributes = [](std::size_t n) {
        w::texts attributes;
        for (std::size_t i = 0; i < n; ++i) attributes.push_back(w::integer(name('a', i), 1));
        w::model m;
        return m.in("x", {2}).add("Unheard", {"x"}, {"y"}, attributes).out("y");
    };
    auto const check_time = [](auto const& make) {
        auto const time = [&](std::size_t n) {
            auto const text = make(n).text();
            return seconds_of([&] { static_cast<void>(model_checks::written(loaded(text))); });
        };
        auto const small = std::min(time(5'000), time(5'000)), large = time(40'000);
        INFO(small << " s and " << large << " s");
        CHECK(large < 0.05 + 24 * small);
    };
    check_time(many_domains);
    check_time(wide_unknown);
    check_time(many_attributes);
}

TEST_CASE("20,000 nested subgraphs are refused on a small stack") {
    w::model m;
    m.in("c", {}, w::boolean)
        .add("If", {"c"}, {"y"}, {w::graph("then_branch", w::nested(20'000, w::model{}.out("z").graph()))}, "deep")
        .out("y");
    small_stack::run([&] {
        auto const v = verdict_of(model_checks::read(m));
        CHECK(says(v, errors::model_limit, "nested more than 64 deep"));
        CHECK(v.message.find("deep") != std::string::npos);
    });
}
