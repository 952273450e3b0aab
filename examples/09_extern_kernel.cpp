// Kernels of one's own: functions in C that compute what gsub has no kernel for.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <array>
#include <cmath>
#include <iostream>
#include <span>

extern "C" { // 09_extern_kernel.c
int app_leaky(gsub_call const* call);
int app_top_shape(gsub_shape_call const* call);
int app_top(gsub_call const* call);
}

namespace app::ops {
struct leaky {}; ///< x where x > 0, else slope * x
struct top {};   ///< the k largest elements
} // namespace app::ops

// What gsub has to know of an operator to build a graph with it. How it is computed, the function alone knows.
template <>
struct gsub::op_traits<app::ops::leaky> {
    static constexpr std::string_view name = "Leaky", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    struct attributes {
        double slope = 0.25;
        static constexpr field<attributes> fields[] = {{"slope", &attributes::slope}};
    };
};
template <>
struct gsub::infer_shape<app::ops::leaky> : same_as_input<0> {};
template <>
struct gsub::io::onnx_traits<app::ops::leaky> {
    static constexpr std::int64_t since = 1;
};

template <>
struct gsub::op_traits<app::ops::top> {
    static constexpr std::string_view name = "Top", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::injective;
    struct attributes {
        std::int64_t k = 1;
        static constexpr field<attributes> fields[] = {{"k", &attributes::k}};
    };
};
template <>
struct gsub::infer_shape<app::ops::top> {
    static void infer(infer_context& cx) {
        cx.result(0, {cx.type(0).element, shape{cx.attributes<app::ops::top>().k}});
    }
};
template <>
struct gsub::io::onnx_traits<app::ops::top> {
    static constexpr std::int64_t since = 1;
};

namespace {

using my_graph = gsub::basic_graph<gsub::standard_ops::with<app::ops::leaky, app::ops::top>>;

my_graph top_of_leaky() {
    my_graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(gsub::dtype::f32, {6}, "x");
    auto const shifted = b.add<gsub::ops::sub>(x, b.constant(gsub::tensor::from<float>({1}, {1})));
    auto const leaky = b.add<app::ops::leaky>({.slope = 0.5}, {shifted});
    b.outputs({b.add<app::ops::top>({.k = 3}, {b.add<gsub::ops::mul>(leaky, leaky)})}, {"y"});
    return g;
}

void check(gsub::runtime::executable const& program) {
    auto const x = gsub::tensor::from<float>({6}, {1, 4, -3, 2, 0, 3});
    auto const y = program.run(std::array{x}).value().at(0);
    std::cout << y << '\n';
    for (std::size_t i = 0; i < 3; ++i)
        require(y.data<float>()[i] == std::array{9.0f, 4.0f, 4.0f}[i], "functions and generated kernels work together");
}

// Operators of one's own op set, registered by their types.
void of_an_op_set() {
    using gsub::runtime::extern_kernel;
    auto const kernels = std::array{extern_kernel<app::ops::leaky>(app_leaky), extern_kernel<app::ops::top>(app_top)};
    gsub::build_options options;
    options.kernels = kernels;
    auto const program = gsub::build(top_of_leaky(), gsub::host(), options).value();
    for (auto const& step : program.steps()) std::cout << kind_of(step) << '\n';
    check(program);
}

// The same operators as nodes that gsub does not know, in a file: registered by their names. Their types are known
// where the file states them or a function does.
void of_a_file() {
    auto const file = gsub::io::to_onnx(top_of_leaky()).value();
    auto const stranger = gsub::io::load_onnx(std::as_bytes(std::span{file})).value();
    require(!gsub::build(stranger), "nobody computes these nodes");

    using gsub::runtime::extern_kernel;
    auto const same_type = [](gsub_shape_call const* call) -> int {
        auto const& x = call->operands[0];
        call->results[0].dtype = x.dtype, call->results[0].rank = x.rank;
        for (int i = 0; i < x.rank; ++i) call->results[0].dims[i] = x.dims[i];
        return GSUB_OK;
    };
    auto const kernels = std::array{extern_kernel("app", "Leaky", app_leaky, same_type),
                                    extern_kernel("app", "Top", app_top, app_top_shape)};
    gsub::build_options options;
    options.kernels = kernels;
    check(gsub::build(stranger, gsub::host(), options).value());
}

} // namespace

int main() {
    of_an_op_set();
    of_a_file();
}
