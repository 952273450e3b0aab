// An operator of one's own with a generated kernel: one row says what it computes of an element.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>
#include <span>

namespace app::ops {
struct swish {}; ///< x / (1 + exp(-slope x))
} // namespace app::ops

template <>
struct gsub::op_traits<app::ops::swish> {
    static constexpr std::string_view name = "Swish", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    struct attributes {
        double slope = 1;
        static constexpr field<attributes> fields[] = {{"slope", &attributes::slope}};
    };
};
template <>
struct gsub::infer_shape<app::ops::swish> : same_as_input<0> {};
template <>
struct gsub::evaluate<app::ops::swish> {
    template <class T>
    static T scalar(op_traits<app::ops::swish>::attributes const& a, T x) {
        return x / (T(1) + math::exp(-math::constant<T>(a.slope) * x));
    }
};
template <>
struct gsub::scalar_lowering<app::ops::swish> { // the row: f32, f64, f16 and bf16 follow from it
    static scalar lower(scalar_builder& b, op_traits<app::ops::swish>::attributes const& a, std::span<scalar const> x) {
        return x[0] * apply(loop::scalar_op::sigmoid, x[0] * b.number(a.slope, x[0]));
    }
};

namespace {

using my_graph = gsub::basic_graph<gsub::standard_ops::with<app::ops::swish>>;

// relu(swish(x)) * scale
my_graph gated(gsub::dtype element) {
    my_graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(element, {64, 100}, "x"), scale = b.input(element, {100}, "scale");
    auto const swish = b.add<app::ops::swish>({.slope = 1.5}, {x});
    b.outputs({b.add<gsub::ops::mul>(b.add<gsub::ops::relu>(swish), scale)}, {"y"});
    return g;
}

} // namespace

int main() {
    for (auto const element : {gsub::dtype::f32, gsub::dtype::f64, gsub::dtype::f16}) {
        auto const g = gated(element);
        auto const program = gsub::build(g).value();
        require(program.steps().size() == 1, "the operator shares a kernel with those behind it");
        std::cout << to_string(element) << ": " << program.steps()[0].name << ", " << kind_of(program.steps()[0])
                  << '\n';

        auto const inputs = gsub::random_inputs(g, 1);
        auto const y = program.run(inputs).value().at(0);
        auto const expected = gsub::evaluate_graph(g, inputs).value().at(0);
        require(gsub::compare(y, expected).value().max_relative < (element == gsub::dtype::f16 ? 1e-3 : 1e-6),
                "the kernel computes what evaluate says");
    }
}
