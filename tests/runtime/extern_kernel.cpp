#include "catch.hpp"
#include "io/model_checks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace extern_kernel_test {

struct scale {}; ///< factor * x
} // namespace extern_kernel_test

template <>
struct gsub::op_traits<extern_kernel_test::scale> {
    static constexpr std::string_view name = "Scale", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    struct attributes {
        double factor = 2;
        bool flag = true;
        ints sizes{};
        reals points{};
        std::string word{"none"};
        dtype element = dtype::f32;
        static constexpr field<attributes> fields[] = {
            {"factor", &attributes::factor}, {"flag", &attributes::flag}, {"sizes", &attributes::sizes},
            {"points", &attributes::points}, {"word", &attributes::word}, {"element", &attributes::element}};
    };
};
template <>
struct gsub::infer_shape<extern_kernel_test::scale> : same_as_input<0> {};

namespace extern_kernel_test {

using namespace gsub;
using runtime::bind_kernels;
using runtime::extern_kernel;
using runtime::user_kernel;
using own_graph = basic_graph<standard_ops::with<scale>>;
namespace w = onnx_writer;

// What a function has been given, copied while it is there.
struct heard {
    std::vector<tensor_type> operands, results;
    std::vector<bool> given;
    std::vector<std::string> attributes;
    bool typed = false;
};
tensor_type type_of(gsub_array const& a) {
    return {static_cast<dtype>(a.dtype), std::span{a.dims, static_cast<std::size_t>(a.rank)}};
}
template <class Call>
std::vector<std::string> attributes_of_call(Call const& call) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < call.attribute_count; ++i) {
        auto const& a = call.attributes[i];
        auto text = fmt::format("{}:", a.name);
        for (std::size_t k = 0; k < a.count; ++k) {
            if (a.integers) text += fmt::format(" {}", a.integers[k]);
            if (a.reals) text += fmt::format(" {}", a.reals[k]);
            if (a.texts) text += fmt::format(" '{}'", std::string_view{a.texts[k].data, a.texts[k].size});
        }
        out.push_back(a.kind == GSUB_SERIALIZED ? fmt::format("{}: serialized", a.name) : text);
    }
    return out;
}
int listen(gsub_call const* call) {
    auto& h = *static_cast<heard*>(call->user);
    h = {};
    for (std::size_t i = 0; i < call->operand_count; ++i) {
        h.given.push_back(call->operands[i].data != nullptr);
        h.operands.push_back(h.given.back() ? type_of(call->operands[i]) : tensor_type{});
    }
    for (std::size_t i = 0; i < call->result_count; ++i) h.results.push_back(type_of(call->results[i]));
    h.attributes = attributes_of_call(*call);
    h.typed = call->typed != nullptr;
    return GSUB_OK;
}
int do_nothing(gsub_call const*) {
    return GSUB_OK;
}

// Everything that the one step of a bound graph writes, on operands of zeros.
result<std::vector<tensor>> run_step(runtime::bound_graph const& b, executor& threads) {
    auto const n = b.steps.at(0).first;
    auto const& step = b.steps[0].second;
    std::vector<tensor> memory;
    std::vector<void*> values;
    for (auto v : b.graph.operands(n))
        if (v.valid()) memory.push_back(tensor::zeros(b.graph.type(v)));
    auto const operands = memory.size();
    for (std::uint32_t port = 0; port < b.graph.result_count(n); ++port)
        memory.push_back(tensor::zeros(b.graph.type({n, port})));
    for (auto& t : memory) values.push_back(t.mutable_raw().data());
    return capture([&] {
        step->run(values, threads);
        return std::vector<tensor>(memory.begin() + static_cast<std::ptrdiff_t>(operands), memory.end());
    });
}
result<std::vector<tensor>> run_step(runtime::bound_graph const& b) {
    inline_executor alone;
    return run_step(b, alone);
}

own_graph scaled(attributes_of<scale> const& a = {}) {
    own_graph g;
    graph_builder b{g};
    auto const y = b.add<scale>(a, {b.input(dtype::f32, {2, 3}, "x")});
    g.set_name(y, "y");
    b.outputs({y}, {"y"});
    return g;
}

// x -> test.Own(x, , k) -> y, with a type of y in the file or without.
w::model own_node(std::vector<std::string> const& attributes = {}, std::vector<w::size> const& type = {4, 5},
                  bool typed = true) {
    w::model m;
    m.domains = {{"test", 1}};
    m.in("x", {2, 3}).weight(w::integers("k", {4, 5}));
    m.add("Own", {"x", "", "k"}, {"own"}, attributes, "here", "test").add("Relu", {"own"}, {"y"}).out("y");
    if (typed) m.values.push_back(w::value("own", w::f32, type));
    return m;
}
user_kernel own_kernel(gsub_kernel f, gsub_shape_function shape = nullptr, void* user = nullptr) {
    auto k = extern_kernel("test", "Own", f, shape, user);
    k.elements = {dtype::f32, dtype::i64};
    return k;
}

result<runtime::bound_graph> bound(any_graph const& g, user_kernel const& k) {
    return bind_kernels(g, {&k, 1});
}
template <class T>
bool refused(result<T> const& r, error_id id, std::string_view words) {
    if (r) return false;
    UNSCOPED_INFO(to_string(r.error().id()) << ": " << r.error().message());
    return r.error().id() == id && r.error().message().find(words) != std::string::npos;
}

} // namespace extern_kernel_test

TEST_CASE("a function gets types, attributes and the user's pointer, of operators of an op set and of opaque nodes") {
    using namespace extern_kernel_test;
    heard h;
    SECTION("an operator of an op set") {
        attributes_of<scale> const a{.factor = 0.5, .flag = true, .sizes = {7, 8}, .points = {1.5}, .word = "x"};
        auto const b = bound(scaled(a), extern_kernel<scale>(listen, &h)).value();
        REQUIRE(run_step(b));
        CHECK(h.operands == std::vector{tensor_type{dtype::f32, ints{2, 3}}});
        CHECK(h.results == h.operands);
        CHECK(h.typed);
        CHECK(h.attributes == std::vector<std::string>{"factor: 0.5", "flag: 1", "sizes: 7 8", "points: 1.5",
                                                       "word: 'x'", "element: 'f32'"});
    }
    SECTION("an opaque node") {
        auto const g = model_checks::loaded(
            own_node({w::integer("i", -3), w::real("r", 0.5f), w::word("s", "text"), w::integer_list("is", {1, 2}),
                      w::real_list("rs", {0.5f, 2}), w::tensor("t", w::floats("", {1}, {1}))}));
        auto const b = bound(g, own_kernel(listen, nullptr, &h)).value();
        REQUIRE(run_step(b));
        CHECK(h.operands ==
              std::vector{tensor_type{dtype::f32, ints{2, 3}}, tensor_type{}, tensor_type{dtype::i64, ints{2}}});
        CHECK(h.given == std::vector{true, false, true});
        CHECK(h.results == std::vector{tensor_type{dtype::f32, ints{4, 5}}});
        CHECK_FALSE(h.typed);
        CHECK(h.attributes ==
              std::vector<std::string>{"i: -3", "r: 0.5", "s: 'text'", "is: 1 2", "rs: 0.5 2", "t: serialized"});
    }
    SECTION("an operator of an op set that is opaque in this graph") {
        w::model m;
        m.domains = {{"test", 1}};
        m.in("x", {2}).add("Scale", {"x"}, {"y"}, {w::real("factor", 4)}, {}, "test");
        m.outputs.push_back(w::value("y", w::f32, {2}));
        auto const b = bound(model_checks::loaded(m), extern_kernel<scale>(listen, &h)).value();
        REQUIRE(run_step(b));
        CHECK_FALSE(h.typed);
        CHECK(h.attributes == std::vector<std::string>{"factor: 4"});
    }
}

TEST_CASE("attributes are found by name") {
    std::array<gsub_attribute, 3> list{};
    for (std::size_t i = 0; i < 3; ++i) list[i].name = std::array{"a", "abc", "ab"}[i];
    for (std::size_t i = 0; i < 3; ++i) CHECK(gsub_find_attribute(list.data(), 3, list[i].name) == &list[i]);
    for (auto const* absent : {"", "abcd", "b"}) CHECK(gsub_find_attribute(list.data(), 3, absent) == nullptr);
}

TEST_CASE("nodes with a kernel are opaque, all else of the graph is as before") {
    using namespace extern_kernel_test;
    auto const g = model_checks::loaded(own_node());
    auto const b = bound(g, own_kernel(do_nothing)).value();
    REQUIRE(b.steps.size() == 1);
    CHECK(b.graph.is<ops::opaque>(b.steps[0].first));
    CHECK(b.step_of(b.steps[0].first) == b.steps[0].second);
    CHECK(b.step_of(b.graph.return_node()) == nullptr);
    CHECK(b.graph.size() == g.size());
    CHECK(b.graph.info().output_names == g.info().output_names);
    for (std::size_t i = 0; i < g.output_count(); ++i) CHECK(b.graph.type(b.graph.output(i)) == g.type(g.output(i)));
    auto const problems = not_computable(b.graph, table_of<eval_row, standard_ops>());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].reason == runtime::computed_by_user);
    CHECK(problems[0].node == "here");
    std::vector<node_id> const own{b.steps[0].first};
    CHECK(not_computable(b.graph, table_of<eval_row, standard_ops>(), own).empty());
    // Without one of its operators, a kernel changes nothing.
    CHECK(bound(g, extern_kernel("test", "Other", do_nothing)).value().graph == g);
}

TEST_CASE("a shape function completes what the graph knows, and its types go on") {
    using namespace extern_kernel_test;
    // The sizes are those that the constant operand tells.
    auto const sizes = [](gsub_shape_call const* call) {
        auto const& k = call->operands[2];
        if (call->operands[0].data || !k.data)
            return gsub_fail(call->message, GSUB_INVALID_INPUT, "constants have data");
        auto& r = call->results[0];
        r.dtype = call->operands[0].dtype;
        r.rank = static_cast<std::int32_t>(k.elements);
        for (std::int32_t i = 0; i < r.rank; ++i) r.dims[i] = static_cast<std::int64_t const*>(k.data)[i];
        return static_cast<int>(GSUB_OK);
    };
    for (auto const& m : {own_node({}, {}, false), own_node({}, {-1, "n"}), own_node({}, {4, 5})}) {
        auto const b = bound(model_checks::loaded(m), own_kernel(do_nothing, sizes)).value();
        CHECK(b.graph.type(b.graph.output(0)) == tensor_type{dtype::f32, ints{4, 5}});
    }
    CHECK(refused(bound(model_checks::loaded(own_node({}, {4, 6})), own_kernel(do_nothing, sizes)),
                  error_code::invalid_input, "f32[4,5]; in the graph it is f32[4,6]"));
}

TEST_CASE("types that nobody knows, or that make no sense, are refused and the node is named") {
    using namespace extern_kernel_test;
    auto const unknown = model_checks::loaded(own_node({}, {}, false));
    auto const with = [&](gsub_shape_function f) { return bound(unknown, own_kernel(do_nothing, f)); };
    CHECK(refused(with(nullptr), errors::user_kernel_signature,
                  "test.Own (node \"here\"): the type of result 0 is not known"));
    CHECK(refused(with([](gsub_shape_call const*) -> int { return GSUB_OK; }), errors::user_kernel_signature,
                  "not known"));
    CHECK(refused(with([](gsub_shape_call const* c) -> int { return c->results[0].dtype = 99, GSUB_OK; }),
                  error_code::invalid_input, "the element type 99"));
    CHECK(refused(with([](gsub_shape_call const* c) -> int { return c->results[0].rank = 17, GSUB_OK; }),
                  error_code::invalid_input, "the rank 17"));
    CHECK(refused(with([](gsub_shape_call const* c) -> int {
                      c->results[0].rank = 1, c->results[0].dims[0] = -5;
                      return GSUB_OK;
                  }),
                  error_code::invalid_input, "the size -5"));
    CHECK(refused(with([](gsub_shape_call const* c) { return gsub_fail(c->message, GSUB_UNSUPPORTED, "no boxes"); }),
                  error_code::unsupported, "(node \"here\"): no boxes"));
    CHECK(refused(with([](gsub_shape_call const*) -> int { throw std::runtime_error{"thrown"}; }),
                  errors::user_kernel_failed, "thrown"));
}

TEST_CASE("operands and results that a kernel is not registered for are refused before anything runs") {
    using namespace extern_kernel_test;
    auto const g = model_checks::loaded(own_node());
    auto k = own_kernel(do_nothing);
    CHECK(bound(g, k));
    auto wrong = k;
    wrong.elements = {dtype::f32};
    CHECK(refused(bound(g, wrong), errors::user_kernel_signature,
                  "operand 2 has elements of type i64; its kernel is registered for f32"));
    wrong.elements = {dtype::i64, dtype::f64};
    CHECK(refused(bound(g, wrong), errors::user_kernel_signature, "operand 0 has elements of type f32"));
    wrong = k;
    wrong.max_operands = 2;
    CHECK(refused(bound(g, wrong), errors::user_kernel_signature, "3 operands; its kernel is registered for 0 to 2"));
    wrong = k;
    wrong.min_operands = 4;
    CHECK(refused(bound(g, wrong), errors::user_kernel_signature, "at least 4"));
    wrong = k;
    wrong.results = 2;
    CHECK(refused(bound(g, wrong), errors::user_kernel_signature, "1 results; its kernel is registered for 2"));
    k.elements.clear();
    CHECK(bound(g, k));
}

TEST_CASE("kernels without a function or name, and two of one operator, are usage errors") {
    using namespace extern_kernel_test;
    auto const g = scaled();
    CHECK(refused(bound(g, extern_kernel<scale>(nullptr)), errors::user_kernel_entry, "test.Scale has no function"));
    CHECK(refused(bound(g, extern_kernel("test", "", do_nothing)), errors::user_kernel_entry, "no operator"));
    auto const twice = std::array{extern_kernel<scale>(do_nothing), extern_kernel("test", "Scale", do_nothing)};
    CHECK(refused(bind_kernels(g, twice), errors::user_kernel_entry, "test.Scale has two user kernels"));
}

TEST_CASE("what a function does wrong is an error that names the node") {
    using namespace extern_kernel_test;
    auto const outcome = [](gsub_kernel f) { return run_step(bound(scaled(), extern_kernel<scale>(f)).value()); };
    CHECK(outcome(do_nothing));
    CHECK(refused(outcome([](gsub_call const* c) { return gsub_fail(c->message, GSUB_INVALID_INPUT, "too hot"); }),
                  error_code::invalid_input, "test.Scale (node \"y\"): too hot"));
    CHECK(refused(outcome([](gsub_call const*) -> int { return GSUB_UNSUPPORTED; }), error_code::unsupported,
                  "does not say why"));
    CHECK(refused(outcome([](gsub_call const* c) {
                      gsub_fail(c->message, GSUB_OK, "worse");
                      return -7;
                  }),
                  errors::user_kernel_failed, "worse (status -7)"));
    CHECK(refused(outcome([](gsub_call const*) -> int { throw std::runtime_error{"thrown"}; }),
                  errors::user_kernel_failed, "\"y\"): its kernel has thrown: thrown"));
    CHECK(refused(outcome([](gsub_call const*) -> int { throw 3; }), errors::user_kernel_failed, "no exception"));
    CHECK(refused(outcome([](gsub_call const*) -> int {
                      throw error{error_code::negative, "own"};
                  }),
                  error_code::negative, "(node \"y\"): negative result: own"));
    // A message without an end is cut off.
    auto const long_text = outcome([](gsub_call const* c) {
        std::fill_n(c->message, GSUB_MESSAGE_SIZE, 'a');
        return static_cast<int>(GSUB_ENVIRONMENT);
    });
    CHECK(refused(long_text, error_code::environment, std::string(GSUB_MESSAGE_SIZE - 1, 'a')));
    CHECK(long_text.error().message().find(std::string(GSUB_MESSAGE_SIZE, 'a')) == std::string::npos);
}

TEST_CASE("a function may use the threads of the run") {
    using namespace extern_kernel_test;
    auto const fill = [](gsub_call const* call) -> int {
        auto const& r = call->results[0];
        call->parallel_for(
            call, static_cast<std::size_t>(r.elements),
            [](void* to, std::size_t i) { static_cast<float*>(to)[i] += static_cast<float>(i) + 1; }, r.data);
        return call->concurrency > 0 ? GSUB_OK : GSUB_ENVIRONMENT;
    };
    auto const b = bound(scaled(), extern_kernel<scale>(fill)).value();
    fork_join_executor threads{3};
    auto const y = run_step(b, threads).value();
    for (std::size_t i = 0; i < 6; ++i) CHECK(y[0].data<float>()[i] == static_cast<float>(i) + 1);
}
