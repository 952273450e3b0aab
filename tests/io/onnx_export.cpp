#include "io/model_checks.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/models/catalogue.hpp>

#include <set>

namespace {

namespace fs = std::filesystem;
namespace w = onnx_writer;
using namespace gsub;
using model_checks::loaded;
using model_checks::written;

io::onnx_model model_in(std::string const& text) {
    static std::deque<std::string> kept;
    return io::parse_onnx(model_checks::bytes_of(kept.emplace_back(text))).value();
}

// y = relu(x + w) with a weight of so many elements.
graph with_weight(std::int64_t elements, float value = 1) {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {elements}, "x");
    std::vector<float> const values(static_cast<std::size_t>(elements), value);
    auto const weight = b.constant(tensor::from<float>(ints{elements}, std::span<float const>{values}), "w");
    b.outputs({b.add<ops::relu>(b.add<ops::add>(x, weight))}, {"y"});
    return g;
}

std::string name_of_value(io::onnx_value const& v) {
    return std::string{v.name};
}

// Every node after those that make its operands, no name made twice: what ONNX's checker asks.
void is_sorted_and_unique(std::string const& text) {
    auto const m = model_in(text);
    std::set<std::string_view> made, nodes;
    for (auto const& v : m.graph.inputs) CHECK(made.insert(v.name).second);
    for (auto const& t : m.graph.initializers) CHECK(made.insert(t.name).second);
    for (auto const& n : m.graph.nodes) {
        for (auto in : n.inputs) CHECK((in.empty() || made.contains(in)));
        for (auto in : io::captured_names(n)) CHECK(made.contains(in));
        for (auto out : n.outputs)
            if (!out.empty()) CHECK(made.insert(out).second);
        CHECK(nodes.insert(n.name).second);
    }
    for (auto const& v : m.graph.outputs) CHECK(made.contains(v.name));
}

} // namespace

TEST_CASE("every model of the catalogue comes back from a file with the same hash, names and bytes") {
    scratch_folder const scratch;
    for (auto const& entry : models::catalogue()) {
        INFO(entry.name);
        auto const g = entry.build(1);
        auto const path = scratch / "m.onnx";
        io::save_onnx(g, path).value();
        auto const again = io::load_onnx<>(path).value();
        CHECK(again.hash() == g.hash());
        CHECK(again.info().output_names == g.info().output_names);
        REQUIRE(again.inputs().size() == g.inputs().size());
        for (std::size_t i = 0; i < g.inputs().size(); ++i)
            CHECK(again.name({again.inputs()[i], 0}) == g.name({g.inputs()[i], 0}));
        auto const first = io::read_file(path).value();
        io::save_onnx(g, path).value();
        CHECK(io::read_file(path).value() == first);
        io::save_onnx(again, path).value();
        CHECK(io::load_onnx<>(path).value().hash() == g.hash());
    }
}

TEST_CASE("the small models of the catalogue compute the same after a round trip") {
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const g = entry.build(1);
        auto const text = written(g);
        is_sorted_and_unique(text);
        CHECK(model_checks::same_outputs(loaded(text), g));
        CHECK(written(loaded(text)) == written(loaded(written(loaded(text)))));
    }
    auto const squeezenet = models::squeezenet1_1({.seed = 2});
    CHECK(model_checks::same_outputs(loaded(written(squeezenet)), squeezenet));
}

TEST_CASE("memory and file get the same bytes where no weight is external") {
    scratch_folder const scratch;
    auto const g = models::residual_conv(1, false);
    io::save_onnx(g, scratch / "m.onnx").value();
    CHECK(io::read_file(scratch / "m.onnx").value() == written(g));
    CHECK(scratch.names() == std::vector<std::string>{"m.onnx"});
}

TEST_CASE("large weights go to a file beside the model, each at a multiple of 64 bytes, and come back") {
    scratch_folder const scratch;
    graph g;
    graph_builder b{g};
    auto sum = b.input(dtype::f32, {1}, "x");
    for (std::int64_t size : {1, 255, 256, 257, 1000, 3, 5000})
        sum = b.add<ops::add>(sum, b.add<ops::gather>({.axis = 0}, {b.constant(tensor::zeros(dtype::f32, ints{size})),
                                                                    b.constant(tensor::from<std::int64_t>({1}, {0}))}));
    b.outputs({sum}, {"y"});
    auto const path = scratch / "m.onnx";
    io::save_onnx(g, path, {.external_tensor_bytes = 1024}).value();
    CHECK(scratch.names() == std::vector<std::string>{"m.onnx", "m.onnx.data"});
    auto const m = io::parse_onnx_file(path).value();
    std::size_t external = 0;
    for (auto const& t : m.graph.initializers) {
        if (!t.external) continue;
        ++external;
        CHECK(t.location == "m.onnx.data");
        CHECK(t.external_offset % 64 == 0);
        CHECK(t.external_offset + t.external_length <= fs::file_size(scratch / "m.onnx.data"));
    }
    CHECK(external == 4);
    for (bool map : {false, true}) CHECK(io::load_onnx<>(path, {.map = map}).value().hash() == g.hash());
    io::save_onnx(g, path, {.external_total_bytes = 4096}).value();
    CHECK(io::load_onnx<>(path).value().hash() == g.hash());
}

TEST_CASE("a graph over mapped weights can be saved over its own files") {
    scratch_folder const scratch;
    auto const path = scratch / "m.onnx";
    auto const g = with_weight(10'000);
    io::save_options const external{.external_tensor_bytes = 1000};
    io::save_onnx(g, path, external).value();
    auto const mapped = io::load_onnx<>(path, {.map = true}).value();
    io::save_onnx(mapped, path, external).value();
    CHECK(io::load_onnx<>(path).value().hash() == g.hash());
    CHECK(mapped.hash() == g.hash());
}

TEST_CASE("a model that cannot be saved leaves what was there") {
    scratch_folder const scratch;
    auto const path = scratch.file("m.onnx", "old");
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::dirac>({.shape = {1, 1, 1, 1}, .position = {0, 0}}, std::span<value_id const>{})});
    auto const v = model_checks::verdict_of(io::save_onnx(g, path));
    CHECK(model_checks::says(v, errors::no_form_in_files, "fold constants before saving"));
    CHECK(io::read_file(path).value() == "old");
    CHECK(scratch.names() == std::vector<std::string>{"m.onnx"});
    CHECK(io::save_onnx(with_weight(4), scratch / "no/m.onnx").error().id() == errors::file_access);
}

TEST_CASE("two values that must have one name are refused, other names give way") {
    auto const named = [](std::string_view input, std::string_view output) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2}, input);
        auto const inner = b.add<ops::relu>(x);
        g.set_name(inner, "y");
        b.outputs({b.add<ops::tanh>(inner)}, {std::string{output}});
        return g;
    };
    auto const v = model_checks::verdict_of(io::to_onnx(named("x", "x")));
    CHECK(model_checks::says(v, errors::no_form_in_files, "\"x\""));
    for (auto const& g : {named("x", "y"), named("", ""), named("output_0", ""), named("", "input_0")}) {
        auto const text = written(g);
        is_sorted_and_unique(text);
        CHECK(loaded(text).hash() == g.hash());
    }
}

TEST_CASE("an output that is an input, a constant or another output has its own name") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const c = b.constant(tensor::from<float>({2}, {1, 2}), "c");
    auto const y = b.add<ops::relu>(x);
    b.outputs({x, c, y, y, x}, {"a", "b", "y", "z", "x"});
    auto const text = written(g);
    is_sorted_and_unique(text);
    auto const again = loaded(text);
    CHECK(again.info().output_names == g.info().output_names);
    CHECK(model_checks::same_outputs(again, g));
}

TEST_CASE("a value that a subgraph reads keeps its name though another value has taken its place") {
    w::model branch;
    branch.add("Neg", {"middle"}, {"t"}).out("t");
    w::model m;
    m.in("flag", {}, w::boolean)
        .in("x", {2})
        .add("Identity", {"x"}, {"middle"})
        .add("If", {"flag"}, {"y"}, {w::graph("then_branch", branch.graph()), w::graph("else_branch", branch.graph())})
        .out("y");
    auto g = loaded(m);
    for (auto n : g.order())
        if (g.is<ops::identity>(n)) { // as a cleanup does
            g.replace_uses({n, 0}, g.operand(n, 0));
            break;
        }
    g.erase_dead();
    auto const text = written(g);
    is_sorted_and_unique(text);
    CHECK(model_in(text).graph.nodes.size() == 2);
    CHECK(loaded(text).info().output_names == std::vector<std::string>{"y"});
}

TEST_CASE("the operator set is the oldest from 13 on that can say what the graph says") {
    auto const opset = [](graph const& g, io::save_options const& o = {}) {
        return model_in(written(g, o)).opsets.front().second;
    };
    auto const g = with_weight(2);
    CHECK(opset(g) == 13);
    CHECK(opset(g, {.opset = 9}) == 9);
    graph newer;
    graph_builder b{newer};
    b.outputs({b.add<ops::reshape>({.shape = {0}, .allow_zero = true}, {b.input(dtype::f32, {0}, "x")})});
    CHECK(opset(newer) == 14);
    graph narrow; // arithmetic on integers of 8 and 16 bits, which came later than on others
    graph_builder of_bytes{narrow};
    auto const bytes = of_bytes.input(dtype::u8, {2}, "x");
    of_bytes.outputs({of_bytes.add<ops::mul>(bytes, bytes)});
    CHECK(opset(narrow) == 14);
    auto const v = model_checks::verdict_of(io::to_onnx(newer, {.opset = 13}));
    CHECK(model_checks::says(v, errors::no_form_in_files, "needs operator set 14"));
}

TEST_CASE("a softmax of no element is written so that it is read again, whatever it flattens") {
    for (std::int64_t const axis : {0, 1}) {
        graph g;
        graph_builder b{g};
        b.outputs({b.add<ops::softmax>({.axis = axis, .flatten = true}, {b.input(dtype::f32, {0, 2, 3}, "x")})});
        auto const again = loaded(written(g));
        CHECK(again.type(again.output(0)) == g.type(g.output(0)));
        auto const nothing = tensor::zeros(dtype::f32, ints{0, 2, 3});
        CHECK(evaluate_graph(again, std::vector{nothing}).value().at(0).type() == nothing.type());
    }
}

TEST_CASE("a model with unknown operators stays in its own operator set") {
    w::model m;
    m.opset = 9;
    m.in("x", {2}).add("Unheard", {"x"}, {"u"}).add("Relu", {"u"}, {"y"}).out("y");
    CHECK(model_in(written(loaded(m))).opsets.front().second == 9);
    w::model branch;
    branch.add("Relu", {"x"}, {"t"}).out("t");
    m.nodes[0] = w::node("Own", {"x"}, {"u"}, {w::graph("body", branch.graph())}, "n", "com.example");
    m.domains = {{"com.example", 1}};
    CHECK(model_in(written(loaded(m))).opsets.front().second == 9);
    m.nodes[0] = w::node("Own", {"x"}, {"u"}, {}, "n", "com.example");
    CHECK(model_in(written(loaded(m))).opsets.front().second == 13);
}

TEST_CASE("all that a file says of an unknown operator comes back: absent operands, unread results, declared types") {
    w::model m;
    m.in("x", {2})
        .add("Unheard", {"x", "", ""}, {"y", "", "unread"}, {w::integer("k", 1)})
        .add("Relu", {"x"}, {"r"})
        .add("Heard", {"y", "r"}, {"z"})
        .out("z");
    m.values = {w::value("y", w::text, {2, "n"}), w::value("unread", w::f32, {4})};
    auto const g = loaded(m);
    auto const text = written(g);
    auto const again = loaded(text);
    CHECK(again.hash() == g.hash());
    CHECK(written(again) == text);
    auto const p = model_in(text);
    REQUIRE(p.graph.nodes.at(0).op_type == "Unheard");
    CHECK(p.graph.nodes[0].inputs == std::vector<std::string_view>{"x", "", ""});
    CHECK(p.graph.nodes[0].outputs == std::vector<std::string_view>{"y", "", "unread"});
    REQUIRE(p.graph.values.size() == 2);
    CHECK(p.graph.values[0].data_type == w::text);
    CHECK(p.graph.values[1].data_type == w::f32);
}

TEST_CASE("inputs and outputs of types that gsub does not compute with keep them") {
    w::model m;
    m.in("words", {2, "n"}, w::text).add("Unheard", {"words"}, {"y"}).out("y");
    m.outputs = {w::value("y", 14, {3})}; // complex64
    auto const type_of = [](std::string const& text) {
        auto const p = model_in(text);
        return std::string{p.graph.inputs.at(0).type} + std::string{p.graph.outputs.at(0).type};
    };
    CHECK(type_of(written(loaded(m))) == type_of(m.text()));
}

TEST_CASE("metadata, functions and the graph's name are kept") {
    auto const g = [] {
        auto made = with_weight(2);
        auto info = made.info();
        info.name = "net", info.metadata = {{"author", "someone"}, {"", "\xff"}},
        info.functions = {"bytes of a function"};
        made.set_info(info);
        return made;
    }();
    auto const again = loaded(written(g));
    CHECK(again.info().name == "net");
    CHECK(again.info().metadata == g.info().metadata);
    CHECK(again.info().functions == g.info().functions);
}

// z = if flag then w + x else (if flag then x else w), with a weight in each branch, a captured output and an inner If.
w::model nested_choice() {
    w::model inner_yes, inner_no, yes, no, m;
    inner_yes.out("x");
    inner_no.weight(w::floats("w", {2}, {5, 6})).out("w");
    yes.weight(w::floats("t", {2}, {1, 2})).add("Add", {"t", "r"}, {"sum"}).out("sum");
    no.add("If", {"flag"}, {"inner"},
           {w::graph("then_branch", inner_yes.graph()), w::graph("else_branch", inner_no.graph())})
        .add("Mul", {"inner", "big"}, {"product"})
        .out("product");
    return m.in("x", {2})
        .in("flag", {}, w::boolean)
        .weight(w::floats("big", {100, 2}, std::vector<float>(200, 3)))
        .add("Relu", {"x"}, {"r"})
        .add("If", {"flag"}, {"z"}, {w::graph("then_branch", yes.graph()), w::graph("else_branch", no.graph())})
        .out("z");
}

TEST_CASE("a module is written with its branches as subgraphs, and read again it is the same") {
    auto const table = table_of<io::onnx_row, standard_ops>();
    auto const read = [&](std::string const& text) {
        return io::load_onnx_module(model_checks::bytes_of(text), dialect::of<standard_ops>(), table).value();
    };
    auto const m = read(nested_choice().text());
    CHECK(m.functions().size() == 5);
    for (std::int64_t const opset : {0, 11, 13, 21}) {
        auto const text = io::to_onnx(m, table, {.opset = opset}).value();
        auto const again = read(text);
        CHECK(again.functions().size() == 5);
        for (bool const flag : {false, true}) {
            auto const inputs = std::array{tensor::from<float>({2}, {-1, 4}), tensor::scalar(flag)};
            auto const evaluators = table_of<eval_row, standard_ops>();
            auto const a = evaluate_module(m, evaluators, inputs).value().at(0),
                       b = evaluate_module(again, evaluators, inputs).value().at(0);
            CHECK(a.hash() == b.hash());
        }
        CHECK(io::to_onnx(again, table, {.opset = opset}).value().size() == text.size());
    }
    CHECK_FALSE(io::to_onnx(m, table, {.opset = 10})); // the branches give different shapes
}

TEST_CASE("a graph with an If and without its module is refused at export") {
    auto const table = table_of<io::onnx_row, standard_ops>();
    auto const m =
        io::load_onnx_module(model_checks::bytes_of(nested_choice().text()), dialect::of<standard_ops>(), table)
            .value();
    auto const r = io::to_onnx(m.find("main")->body, table);
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::no_form_in_files);
    CHECK(r.error().message().find("save the module") != std::string::npos);
}

TEST_CASE("powers of integers that ONNX has none of are written as those of 64 bits, and wrap alike") {
    for (auto const element : {dtype::u8, dtype::i8, dtype::u16, dtype::i16, dtype::u32, dtype::u64, dtype::i32}) {
        CAPTURE(to_string(element));
        graph g;
        graph_builder b{g};
        auto const x = b.input(element, {7}, "x");
        b.outputs({b.add<ops::pow>(b.constant(tensor::from<std::int64_t>({1}, {2}).converted_to(element)), x)}, {"y"});
        auto const text = written(g);
        for (auto const& n : model_in(text).graph.nodes)
            CHECK((n.op_type != "Pow" || (n.inputs[1] == "x") == (element == dtype::i32)));
        auto const again = loaded(text);
        auto const shifts = tensor::from<std::int64_t>({7}, {0, 1, 5, 7, 8, 15, 31}).converted_to(element);
        CHECK(evaluate_graph(again, std::array{shifts}).value()[0].hash() ==
              evaluate_graph(g, std::array{shifts}).value()[0].hash());
    }
}

TEST_CASE("named and unknown dimensions are written as such") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, shape{dim{symbol{"batch"}}, dim{}, dim{3}}, "x");
    b.outputs({b.add<ops::relu>(x)}, {"y"});
    auto const m = model_in(written(g));
    auto const& dims = m.graph.inputs.at(0).dims;
    REQUIRE(dims.size() == 3);
    CHECK(dims[0].name == "batch");
    CHECK((dims[1].name.empty() && dims[1].size == -1));
    CHECK(dims[2].size == 3);
    CHECK(name_of_value(m.graph.outputs.at(0)) == "y");
    CHECK(loaded(written(g)).hash() == g.hash());
}
