#include "exported_model.hpp"
#include <gsub/core/random.hpp>
#include <gsub/driver/gsub_codegen.hpp>
#include <gsub/ir/builder.hpp>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace export_functions_test {
struct scaled {}; ///< slope * x + shifts[0], and shifts[1] - x
} // namespace export_functions_test

template <>
struct gsub::op_traits<export_functions_test::scaled> {
    static constexpr std::string_view name = "Scaled", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 2, results = 2;
    static constexpr auto category = op_category::opaque;
    struct attributes {
        double slope = 0.1;
        ints shifts{};
        reals bounds{};
        std::string text{};
        static constexpr field<attributes> fields[] = {{"slope", &attributes::slope},
                                                       {"shifts", &attributes::shifts},
                                                       {"bounds", &attributes::bounds},
                                                       {"text", &attributes::text}};
    };
};
template <>
struct gsub::infer_shape<export_functions_test::scaled> {
    static void infer(infer_context& cx) {
        cx.result(0, cx.type(0));
        cx.result(1, cx.type(0));
    }
};

namespace export_functions_test {

using namespace exported_model;
using own_ops = standard_ops::with<scaled>;

int never(gsub_call const*) {
    return GSUB_ENVIRONMENT;
}

// x to exp(app.Scaled(2 x)), both results.
basic_graph<own_ops> graph_with_function() {
    basic_graph<own_ops> g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {3, 4}, "x");
    auto const twice = b.add<ops::add>(x, x);
    auto const y = b.add<scaled>({.slope = 0.25,
                                  .shifts = {3, std::numeric_limits<std::int64_t>::min()},
                                  .bounds = {std::numeric_limits<double>::infinity(), -1.5},
                                  .text = "a??\"\n\\z"},
                                 {twice, value_id{}}, 2);
    b.outputs({b.add<ops::relu>(y), b.add<ops::neg>(value_id{y.node, 1})});
    return g;
}
runtime::user_kernel kernel_called(std::string symbol) {
    auto k = runtime::extern_kernel<scaled>(never);
    k.symbol = std::move(symbol);
    return k;
}
result<runtime::program> planned(runtime::user_kernel const& k) {
    build_options options;
    options.kernels = {&k, 1};
    options.rows = table_of<lowering_row, own_ops>();
    options.scalars = table_of<scalar_row, own_ops>();
    return plan(any_graph{graph_with_function()}, table_of<eval_row, own_ops>(), isa::baseline, options);
}

TEST_CASE("an exported model calls functions of the application by their names") {
    if (!has_cmake()) return;
    auto const p = planned(kernel_called("app_scaled")).value();
    temporary_folder const folder;
    CHECK(written(p, folder.path.string(), {"net", true}).steps == p.steps.size());
    CHECK(folder.text("README.txt").find("Calls app_scaled") != std::string::npos);
    auto const api = loaded(folder.path.string(), "net",
                            "-Dnet_FUNCTIONS='" GSUB_FUNCTION_OF_APPLICATION "' '-DCMAKE_C_FLAGS=-I" GSUB_INCLUDE "'");
    auto const weights = folder.at("weights.bin");
    c_options options;
    options.weights_path = weights.c_str();
    void* context = nullptr;
    REQUIRE(api.create(&options, &context) == ok);
    CHECK(std::string{api.message(context)}.empty());
    std::vector<float> x{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
    std::vector<tensor> outputs{tensor::zeros(p.outputs[0]), tensor::zeros(p.outputs[1])};
    CHECK(run(api, context, {tensor::from(ints{3, 4}, as_span(x))}, outputs) == ok);
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(outputs[0].data<float>()[i] == std::max(0.25f * 2 * x[i] + 3, 0.0f));
        CHECK(outputs[1].data<float>()[i] ==
              -(static_cast<float>(std::numeric_limits<std::int64_t>::min()) - 2 * x[i]));
    }
    x[0] = -1;
    CHECK(run(api, context, {tensor::from(ints{3, 4}, as_span(x))}, outputs) == function_failed);
    CHECK(std::string{api.message(context)} == "the first number is negative");
    CHECK(std::string{api.status_text(function_failed)} == "a function of the application fails");
    x[0] = 1;
    CHECK(run(api, context, {tensor::from(ints{3, 4}, as_span(x))}, outputs) == ok);
    CHECK(std::string{api.message(context)}.empty());
    api.destroy(context);
}

TEST_CASE("a function without a name, or with none that C has, is refused") {
    temporary_folder const folder;
    auto const nameless = export_program(planned(kernel_called("")).value(), folder.at("a"));
    CHECK(nameless.error().id() == errors::not_exported);
    CHECK(nameless.error().message().find("user_kernel::symbol") != std::string::npos);
    for (std::string const bad : {"f(); //", "7f", "a-b", "a b"}) {
        auto const made = export_program(planned(kernel_called(bad)).value(), folder.at("b"));
        CAPTURE(bad);
        CHECK(made.error().id() == errors::export_request);
    }
    CHECK_FALSE(std::filesystem::exists(folder.at("b")));
}

} // namespace export_functions_test
