#include "io/model_checks.hpp"
#include "io/scratch_folder.hpp"

namespace {

namespace w = onnx_writer;
using namespace gsub;
using model_checks::bytes_of;
using model_checks::says;
using model_checks::verdict_of;

w::model tiny() {
    w::model m;
    m.in("x", {2, "n"}).weight(w::floats("w", {2, 1}, {1, 2})).add("Add", {"x", "w"}, {"y"}).out("y");
    return m;
}

// A graph nested in itself.
std::string nested_graph(int depth, std::string const& reads) {
    w::model m;
    if (depth == 0)
        m.add("Add", {reads, "inner"}, {"inner_sum"});
    else
        m.add("If", {reads}, {"z"}, {w::graph("then_branch", nested_graph(depth - 1, reads))});
    m.weight(w::floats("inner", {}, {1})).out("z");
    return m.graph();
}

io::onnx_node if_node(w::texts const& graphs) {
    static std::string text;
    w::texts attributes;
    for (auto const& g : graphs) attributes.push_back(w::graph("branch", g));
    text = w::node("If", {"cond"}, {"y"}, attributes);
    return io::parse_onnx_node(text);
}

} // namespace

TEST_CASE("a model parses to its parts") {
    auto m = tiny();
    m.domains = {{"com.example", 3}};
    auto const text = m.text();
    auto const parsed = io::parse_onnx(bytes_of(text)).value();
    CHECK(parsed.ir_version == 8);
    CHECK(parsed.opsets == decltype(parsed.opsets){{"", 13}, {"com.example", 3}});
    REQUIRE(parsed.graph.nodes.size() == 1);
    CHECK(parsed.graph.nodes[0].inputs == std::vector<std::string_view>{"x", "w"});
    REQUIRE(parsed.graph.initializers.size() == 1);
    CHECK(parsed.graph.initializers[0].dims == ints{2, 1});
    REQUIRE(parsed.graph.inputs.size() == 1);
    CHECK(parsed.graph.inputs[0].dims[0].size == 2);
    CHECK(parsed.graph.inputs[0].dims[1].name == "n");
}

TEST_CASE("the domain ai.onnx is the empty one") {
    w::model m;
    m.opset = 0, m.domains = {{"ai.onnx", 13}};
    m.in("x", {2}).add("Relu", {"x"}, {"y"}, {}, "n", "ai.onnx").out("y");
    CHECK(model_checks::count<ops::relu>(model_checks::loaded(m)) == 1);
}

TEST_CASE("a file parses as its bytes do, wherever the elements of a tensor stand among its fields") {
    scratch_folder const scratch;
    random_stream r{1};
    for (std::size_t elements : {1u, 1023u, 1024u, 5000u}) {
        std::vector<float> values(elements);
        for (auto& v : values) v = static_cast<float>(r.normal());
        auto const bytes = w::made([&](w::pbf_writer& p) { p.add_bytes(9, w::raw(values)); });
        auto const dims = w::made([&](w::pbf_writer& p) { p.add_int64(1, static_cast<std::int64_t>(elements)); });
        auto const type = w::made([](w::pbf_writer& p) { p.add_int32(2, w::f32); });
        auto const name = w::made([](w::pbf_writer& p) { p.add_string(8, "w"); });
        for (auto const& proto : {bytes + dims + type + name, dims + bytes + type + name, dims + type + name + bytes}) {
            w::model m;
            m.weight(proto).out("w");
            auto const memory = model_checks::loaded(m);
            auto const path = scratch.file("m.onnx", m.text());
            auto const file = io::load_onnx<>(path).value();
            CHECK(file.hash() == memory.hash());
            CHECK(file.constant_data(file.output(0).node).raw().size() == elements * 4);
        }
    }
}

TEST_CASE("elements of large initializers stay in the file until they are asked for") {
    scratch_folder const scratch;
    w::model m;
    m.weight(w::floats("w", {100'000}, std::vector<float>(100'000, 1.0f))).out("w");
    auto const parsed = io::parse_onnx_file(scratch.file("m.onnx", m.text())).value();
    std::size_t kept = 0;
    for (auto const& piece : *parsed.memory) kept += piece.size();
    CHECK(kept < 1000);
    CHECK(parsed.graph.initializers.at(0).length == 400'000);
}

TEST_CASE("each limit that a model exceeds gives `not supported` and names the limit") {
    scratch_folder const scratch;
    auto const both = [&](w::model const& m, io::onnx_limits const& limits, std::string_view words) {
        auto const text = m.text();
        io::load_options options;
        options.limits = limits;
        auto const memory = verdict_of(model_checks::read(text, options));
        auto const file = verdict_of(io::load_onnx<>(scratch.file("m.onnx", text), options));
        INFO(memory.message << " / " << file.message);
        CHECK(says(memory, errors::model_limit, words));
        CHECK(says(file, errors::model_limit, words));
    };
    both(tiny(), {.max_file_bytes = 20}, "the limit is 20");
    both(tiny(), {.max_structure_bytes = 20}, "more than 20 bytes");
    both(tiny(), {.max_tensor_bytes = 7}, "the limit of 7 bytes");
    w::model many = tiny();
    for (int i = 0; i < 5; ++i) many.add("Relu", {"x"}, {fmt::format("r{}", i)});
    both(many, {.max_nodes = 5}, "more than 5 nodes");
    many = tiny();
    for (int i = 0; i < 5; ++i) many.weight(w::floats(fmt::format("w{}", i), {1}, {1}));
    both(many, {.max_nodes = 5}, "more than 5 initializers");
    many = tiny();
    for (int i = 0; i < 5; ++i) many.in(fmt::format("x{}", i), {1});
    both(many, {.max_nodes = 5}, "more than 5 declared values");
    w::model deep;
    deep.in("x", {2}, w::boolean).add("Loop", {"x"}, {"y"}, {w::graph("body", nested_graph(3, "x"))}).out("y");
    both(deep, {.max_depth = 3}, "nested more than 3 deep");
    both(deep, {.max_nodes = 3}, "more than 3 nodes in subgraphs");
    CHECK(model_checks::read(deep, {.limits = {.max_nodes = 4, .max_depth = 4}}));
}

TEST_CASE("a model cut off at any byte is an error or a smaller model, in memory and on the disk alike") {
    scratch_folder const scratch;
    auto const whole = tiny().text();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        auto const cut = whole.substr(0, size);
        auto const memory = io::parse_onnx(bytes_of(cut));
        auto const file = io::parse_onnx_file(scratch.file("m.onnx", cut));
        CHECK(memory.has_value() == file.has_value());
        if (!memory) CHECK(memory.error().code() == error_code::invalid_input);
        if (!file) CHECK(file.error().message().find("m.onnx") != std::string::npos);
    }
}

TEST_CASE("what is no model at all is refused") {
    scratch_folder const scratch;
    for (auto const& text : {std::string{}, std::string{"text"}, std::string(1 << 20, '\0'), std::string(100, '\xff'),
                             std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10), std::string("\x08\x08", 2)}) {
        auto const v = verdict_of(io::load_onnx<>(scratch.file("m.onnx", text)));
        CHECK(model_checks::is(v, errors::malformed_model));
        CHECK(verdict_of(model_checks::read(text)).id == v.id);
    }
    CHECK(model_checks::is(verdict_of(io::load_onnx<>(scratch / "absent.onnx")), errors::file_access));
    CHECK(model_checks::is(verdict_of(io::load_onnx<>(scratch.path().string())), errors::not_a_file));
}

TEST_CASE("external data is described by its entries, unknown ones are ignored, wrong ones refused") {
    using entries = std::vector<std::pair<std::string, std::string>>;
    auto const described = [](entries const& e) {
        auto const text = w::external_tensor("w", w::f32, {2}, e);
        try {
            auto const t = io::parse_onnx_tensor(text);
            return fmt::format("{} {} {}{}", t.location, t.external_offset, t.has_external_length ? "yes " : "no ",
                               t.external_length);
        } catch (error const& fault) { return std::string{fault.what()}; }
    };
    CHECK(described({{"location", "a.bin"}, {"offset", "64"}, {"length", "8"}, {"raw_data", "x"}}) == "a.bin 64 yes 8");
    CHECK(described({{"location", "a.bin"}}) == "a.bin 0 no 0");
    for (auto const* bad : {"", "-1", "+1", " 1", "1 ", "0x10", "1.0", "18446744073709551616", "99999999999999999999"})
        for (auto const* key : {"offset", "length"}) {
            auto const text = described({{"location", "a.bin"}, {key, bad}});
            CHECK(text.find(fmt::format("{} is no number", key)) != std::string::npos);
        }
}

TEST_CASE("a tensor or a type of more than 300 dimensions is refused") {
    w::model m;
    m.weight(w::floats("w", w::list(301, 1), {1})).out("w");
    CHECK(says(m, error_code::invalid_input, "300 dimensions"));
    w::model t;
    t.in("x", std::vector<w::size>(301, 1)).out("x");
    CHECK(says(t, error_code::invalid_input, "300 dimensions"));
}

TEST_CASE("captured names are those that subgraphs read and do not define, in order of first mention") {
    auto const inner = w::model{}.in("own", {1}).weight(w::floats("k", {}, {1})).add("Add", {"b", "k"}, {"t"});
    auto branch = inner;
    branch.add("Add", {"t", "a"}, {"u"}).add("Add", {"own", ""}, {"v"}).out("u").out("c");
    auto deeper = inner;
    deeper.add("If", {"d"}, {"q"}, {w::graph("then_branch", branch.graph())}).out("q");
    auto const names = io::captured_names(if_node({branch.graph(), deeper.graph()}));
    CHECK(names == std::vector<std::string_view>{"b", "a", "c", "d"});
    CHECK(io::captured_names(if_node({})).empty());
}

TEST_CASE("a subgraph sees the names of the graphs around it, and a graph beside it does not") {
    w::model inside;
    inside.add("Neg", {"t"}, {"n"}).out("n");
    w::model around;
    around.add("Neg", {"x"}, {"t"}).add("If", {"t"}, {"z"}, {w::graph("then_branch", inside.graph())}).out("z");
    CHECK(io::captured_names(if_node({around.graph()})) == std::vector<std::string_view>{"x"});
    CHECK(io::captured_names(if_node({around.graph(), inside.graph()})) == std::vector<std::string_view>{"x", "t"});
}

TEST_CASE("nesting is followed without recursion up to its limit") {
    auto const node = if_node({nested_graph(60, "x")});
    CHECK(io::captured_names(node) == std::vector<std::string_view>{"x"});
    CHECK_THROWS_AS(io::captured_names(node, {.max_depth = 60}), error);
    // 20,000 levels, of which no reader may need a stack.
    CHECK_THROWS_AS(io::captured_names(if_node({w::nested(20'000, w::model{}.out("z").graph())})), error);
}
