#include "io/model_checks.hpp"

// An operator of a user's own, with every kind of attribute, known to files by its struct alone.
namespace traits_test {
struct everything {};
struct kept_inside {};
} // namespace traits_test

template <>
struct gsub::op_traits<traits_test::everything> {
    static constexpr std::string_view name = "Everything", domain = "test.traits";
    static constexpr int min_inputs = 1, max_inputs = 3;
    static constexpr auto category = op_category::elementwise;
    struct attributes {
        std::int64_t count = 3;
        bool flag = false;
        double factor = 0.1;
        std::string mode = "plain";
        ints sizes{};
        reals weights{};
        static constexpr field<attributes> fields[] = {
            {"count", &attributes::count}, {"flag", &attributes::flag},   {"factor", &attributes::factor},
            {"mode", &attributes::mode},   {"sizes", &attributes::sizes}, {"weights", &attributes::weights}};
    };
};
template <>
struct gsub::infer_shape<traits_test::everything> : same_as_input<0> {};
template <>
struct gsub::io::onnx_traits<traits_test::everything> {
    static constexpr std::int64_t since = 2;
};

template <>
struct gsub::op_traits<traits_test::kept_inside> : gsub::op_traits<traits_test::everything> {
    static constexpr std::string_view name = "KeptInside";
};
template <>
struct gsub::infer_shape<traits_test::kept_inside> : same_as_input<0> {};

namespace {

namespace w = onnx_writer;
using namespace gsub;
using model_checks::bytes_of;
using traits_test::everything;
using own_ops = standard_ops::with<everything, traits_test::kept_inside>;
using own_graph = basic_graph<own_ops>;

result<own_graph> read_own(std::string const& text, observer* observe = nullptr) {
    io::load_options options;
    options.observe = observe;
    return io::load_onnx<own_ops>(bytes_of(text), options);
}

w::model own_model(w::texts const& attributes, std::int64_t version = 2) {
    w::model m;
    m.domains = {{"test.traits", version}};
    return m.in("x", {2}).add("Everything", {"x"}, {"y"}, attributes, "own", "test.traits").out("y");
}

attributes_of<everything> attributes_in(own_graph const& g) {
    REQUIRE(g.is<everything>(g.output(0).node));
    return g.attributes<everything>(g.output(0).node);
}

} // namespace

TEST_CASE("an operator of the user's own goes through a file with all its attributes") {
    own_graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    attributes_of<everything> const a{.count = -5,
                                      .flag = true,
                                      .factor = 0.25,
                                      .mode = std::string("two\0parts", 9),
                                      .sizes = {1, -2, std::int64_t{1} << 62},
                                      .weights = {0.5, -1}};
    b.outputs({b.add<everything>(a, {x, {}, b.add<ops::relu>(x)})}, {"y"});
    auto const text = io::to_onnx(g).value();
    auto const again = read_own(text).value();
    CHECK(again.hash() == g.hash());
    auto const got = attributes_in(again);
    CHECK(got.mode == a.mode);
    CHECK(got.sizes == a.sizes);
    CHECK(got.weights == a.weights);
    CHECK(io::to_onnx(again).value() == text);
}

TEST_CASE("an attribute that is left out has its default, rounded to the float that a file would hold") {
    auto const a = attributes_in(read_own(own_model({}).text()).value());
    CHECK(a.count == 3);
    CHECK(a.mode == "plain");
    CHECK(a.factor == static_cast<double>(0.1f));
}

TEST_CASE("an attribute without a type is read by the field that is set, one of another type is refused") {
    auto const untyped = w::attribute("count", 0, [](w::pbf_writer& p) { p.add_int64(3, 8); });
    CHECK(attributes_in(read_own(own_model({untyped}).text()).value()).count == 8);
    for (auto const& wrong : {w::real("count", 1), w::integer("mode", 1), w::word("sizes", "1"),
                              w::integer("weights", 1), w::integer_list("factor", {1})}) {
        auto const v = model_checks::verdict_of(read_own(own_model({wrong}).text()));
        INFO(v.message);
        CHECK(model_checks::says(v, error_code::invalid_input, "has type"));
        CHECK(v.message.find("Everything-2") != std::string::npos);
        CHECK(v.message.find("own") != std::string::npos);
    }
}

TEST_CASE("an attribute that nobody asks for leaves the node as it is, and a note says so") {
    model_checks::note_taker notes;
    auto const g = read_own(own_model({w::integer("count", 1), w::integer("extra", 1)}).text(), &notes).value();
    CHECK(g.is<ops::opaque>(g.output(0).node));
    CHECK(notes.heard("\"extra\" is not supported"));
    CHECK(notes.heard("test.traits.Everything"));
}

TEST_CASE("operands of a node that stays as it is keep their own nodes") {
    auto m = own_model({w::integer("extra", 1)});
    m.nodes.insert(m.nodes.begin(), w::node("Relu", {"x0"}, {"x"}));
    m.inputs = {w::value("x0", w::f32, {2})};
    auto const g = read_own(m.text()).value();
    auto const opaque = g.output(0).node;
    REQUIRE(g.is<ops::opaque>(opaque));
    CHECK(g.is<ops::relu>(g.operand(opaque, 0).node));
}

TEST_CASE("a domain version before the first definition that is read leaves the node as it is") {
    model_checks::note_taker notes;
    auto const g = read_own(own_model({}, 1).text(), &notes).value();
    CHECK(g.is<ops::opaque>(g.output(0).node));
    CHECK(notes.heard("from 2 on it is"));
    CHECK(read_own(own_model({}, 99).text()));
}

TEST_CASE("an operator without a form in files is not written, and the error names its node") {
    own_graph g;
    graph_builder b{g};
    auto const y = b.add<traits_test::kept_inside>({}, {b.input(dtype::f32, {2}, "x")});
    g.set_source(y.node, "inner");
    b.outputs({y});
    auto const v = model_checks::verdict_of(io::to_onnx(g));
    INFO(v.message);
    CHECK(model_checks::says(v, errors::no_form_in_files, "KeptInside"));
    CHECK(v.message.find("inner") != std::string::npos);
}

TEST_CASE("an operator of the user's own that the reader does not have survives in its domain") {
    auto const text = own_model({w::integer("count", 7), w::word("mode", "x")}).text();
    auto const plain = model_checks::loaded(text);
    CHECK(model_checks::count<ops::opaque>(plain) == 1);
    auto const again = read_own(model_checks::written(plain)).value();
    CHECK(attributes_in(again).count == 7);
    CHECK(attributes_in(again).mode == "x");
}

TEST_CASE("rows of operators without a form in files are empty") {
    constexpr auto row = io::onnx_row::of<everything>();
    static_assert(row.since == 2 && !row.needed_opset);
    static_assert(!row.import && !row.write); // by the fields of its struct
    static_assert(io::onnx_row::of<traits_test::kept_inside>().since == 0);
    static_assert(io::onnx_row::of<ops::dirac>().since == 0);
    auto const standard = table_of<io::onnx_row, standard_ops>();
    auto const known = table_of<op_info, standard_ops>();
    REQUIRE(standard.size() == known.size());
    for (std::size_t i = 0; i < standard.size(); ++i) {
        INFO(known[i].name);
        if (standard[i].since == 0)
            CHECK((!standard[i].import && !standard[i].write && !standard[i].needed_opset));
        else
            CHECK(standard[i].since <= io::newest_opset);
    }
}
