#include "catch.hpp"
#include "io/model_checks.hpp"
#include <gsub/aot/export.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace extern_build_test {

struct twice {}; ///< x + x, which gsub does not know how to compute
} // namespace extern_build_test

template <>
struct gsub::op_traits<extern_build_test::twice> {
    static constexpr std::string_view name = "Twice", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct gsub::infer_shape<extern_build_test::twice> : same_as_input<0> {};

namespace extern_build_test {

using namespace gsub;
using models::network_builder;
using models::weight_source;
using own_ops = standard_ops::with<twice>;
using own_graph = basic_graph<own_ops>;
using runtime::extern_kernel;
using runtime::user_kernel;
namespace w = onnx_writer;

// result = factor * operand; `user` counts the calls.
template <int Factor>
int times(gsub_call const* call) {
    if (call->user) ++*static_cast<std::atomic<int>*>(call->user);
    for (std::int64_t i = 0; i < call->results[0].elements; ++i)
        static_cast<float*>(call->results[0].data)[i] = Factor * static_cast<float const*>(call->operands[0].data)[i];
    return GSUB_OK;
}
// Fails for a negative first element.
int positive_only(gsub_call const* call) {
    if (static_cast<float const*>(call->operands[0].data)[0] < 0)
        return gsub_fail(call->message, GSUB_INVALID_INPUT, "negative");
    return times<2>(call);
}
int same_shape(gsub_shape_call const* call) {
    auto const& x = call->operands[0];
    auto& y = call->results[0];
    y.dtype = x.dtype, y.rank = x.rank;
    for (std::int32_t i = 0; i < x.rank; ++i) y.dims[i] = x.dims[i];
    return GSUB_OK;
}

build_options with(std::span<user_kernel const> kernels) {
    build_options options;
    options.jit.use_cache = false;
    options.kernels = kernels;
    return options;
}
std::size_t count(runtime::executable const& e, std::string_view kind) {
    std::size_t n = 0;
    for (auto const& s : e.steps()) n += kind_of(s) == kind;
    return n;
}

// Convolution, operator, activation, convolution: blocks of channels before and after the operator.
template <class Graph, class Op>
Graph around(std::int64_t channels, Op&& op) {
    Graph g;
    network_builder net{g, weight_source{7}};
    auto x = net.input(dtype::f32, {1, 3, 9, 7}, "x");
    x = net.conv("a", x, {channels, {3, 3}, {1, 1}, {1, 1}, 1, true});
    x = op(g, x);
    x = net.relu("r", x);
    net.output(net.conv("b", x, {5, {1, 1}, {1, 1}, {0, 0}, 1, true}), "y");
    return g;
}

} // namespace extern_build_test

TEST_CASE("an operator of one's own that only a function can compute is a step among generated kernels") {
    using namespace extern_build_test;
    auto const own = std::array{extern_kernel<twice>(times<2>)};
    for (std::int64_t const channels : {1, 8, 16, 20}) {
        auto const g = around<own_graph>(channels, [](own_graph& to, value_id x) { return to.add<twice>(x); });
        auto const plain = around<graph>(channels, [](graph& to, value_id x) { return to.add<ops::add>(x, x); });
        CHECK_FALSE(build(g, host(), with({})));
        for (bool const generate : {true, false}) {
            auto options = with(own);
            options.generate = generate;
            auto const e = build(g, host(), options).value();
            CHECK(count(e, "extern test.Twice") == 1);
            CHECK((count(e, "conv2d") == 2) == generate);
            auto const inputs = random_inputs(g, static_cast<std::uint64_t>(channels));
            CHECK(compare(e.run(inputs).value()[0], evaluate_graph(plain, inputs).value()[0]).value().max_relative <
                  1e-5);
        }
    }
}

TEST_CASE("a function comes before gsub's own kernel of an operator, within groups and on constants too") {
    using namespace extern_build_test;
    std::atomic<int> calls = 0;
    auto const own = std::array{extern_kernel<ops::relu>(times<3>, &calls)};
    auto const nothing = [](graph&, value_id x) { return x; };
    auto const g = around<graph>(8, nothing);
    auto const e = build(g, host(), with(own)).value();
    CHECK(count(e, "extern Relu") == 1);
    auto const inputs = random_inputs(g, 1);
    CHECK_FALSE(e.run(inputs).value()[0].raw().empty());
    CHECK(calls == 1);

    graph c;
    graph_builder b{c};
    auto const k = b.add<ops::relu>(b.constant(tensor::from<float>({2}, {-1, 2})));
    b.outputs({b.add<ops::add>(k, b.input(dtype::f32, {2}, "x"))});
    auto const on_constants = build(c, host(), with(own)).value();
    for (int run = 1; run < 3; ++run) {
        auto const y = on_constants.run(std::array{tensor::from<float>({2}, {1, 1})}).value()[0];
        CHECK(y.data<float>()[0] == -2.0f);
        CHECK(y.data<float>()[1] == 7.0f);
        CHECK(calls == 1 + run);
    }
}

TEST_CASE("an opaque node of a file is computed by its function") {
    using namespace extern_build_test;
    w::model m;
    m.domains = {{"test", 1}};
    m.in("x", {2, 3}).add("Relu", {"x"}, {"a"}).add("Own", {"a"}, {"b"}, {}, "here", "test");
    m.add("Neg", {"b"}, {"c"}, {}, "other", "test").add("Relu", {"b"}, {"y"}).out("y");
    m.add("Sigmoid", {"c"}, {"z"}).out("z");
    auto const g = model_checks::loaded(m);
    auto const own = std::array{extern_kernel("test", "Own", times<2>, same_shape),
                                extern_kernel("test", "Neg", times<-1>, same_shape)};
    auto const e = build(g, host(), with(own)).value();
    CHECK(e.outputs()[0] == tensor_type{dtype::f32, ints{2, 3}});
    auto const x = tensor::from<float>({2, 3}, {-1, 1, 2, -2, 0, 3});
    auto const y = e.run(std::array{x}).value();
    for (std::size_t i = 0; i < 6; ++i) {
        auto const b = 2 * std::max(x.data<float>()[i], 0.0f);
        CHECK(y[0].data<float>()[i] == b);
        CHECK(y[1].data<float>()[i] == Approx(1 / (1 + std::exp(b))));
    }
    // What has no function is named alone.
    auto const missing = build(g, host(), with(std::span{own}.first(1)));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code() == error_code::unsupported);
    REQUIRE(missing.error().problems().size() == 1);
    CHECK(missing.error().problems()[0].node == "other");
}

TEST_CASE("a function that fails ends its run with an error that names the node, and harms no other run") {
    using namespace extern_build_test;
    own_graph g;
    graph_builder b{g};
    b.outputs({b.add<twice>(b.input(dtype::f32, {4}, "x"))});
    auto const own = std::array{extern_kernel<twice>(positive_only)};
    auto const e = build(g, host(), with(own)).value();
    auto const good = tensor::from<float>({4}, {1, 2, 3, 4}), bad = tensor::from<float>({4}, {-1, 2, 3, 4});
    std::atomic<int> wrong = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 50; ++i) {
                    auto const fails = (t + i) % 2 == 0;
                    auto const y = e.run(std::array{fails ? bad : good});
                    if (fails)
                        wrong += y || y.error().code() != error_code::invalid_input ||
                                 y.error().problems()[0].op != "test.Twice" ||
                                 y.error().problems()[0].reason != "negative";
                    else
                        wrong += !y || y.value()[0].data<float>()[3] != 8.0f;
                }
            });
    }
    CHECK(wrong == 0);
}

TEST_CASE("what a kernel is not registered for is refused by plan, and a program with functions by export_program") {
    using namespace extern_build_test;
    own_graph g;
    graph_builder b{g};
    b.outputs({b.add<twice>(b.input(dtype::i64, {4}, "x"))});
    auto own = std::array{extern_kernel<twice>(times<2>)};
    auto const refused = build(g, host(), with(own));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("operand 0 has elements of type i64") != std::string::npos);
    own[0].elements.clear();
    auto const evaluators = table_of<eval_row, own_ops>();
    auto const made = plan(g, evaluators, isa::baseline, with(own)).value();
    auto const folder = std::filesystem::temp_directory_path() / "gsub_extern_export_test";
    auto const written = aot::export_program(made, folder.string());
    REQUIRE_FALSE(written);
    CHECK(written.error().code() == error_code::unsupported);
    CHECK(written.error().message().find("test.Twice") != std::string::npos);
    CHECK(written.error().message().find(runtime::computed_by_user) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder));
}
