// Operators of one's own: an empty tag and one small specialisation for each layer that should know it.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <array>
#include <cmath>
#include <iostream>
#include <span>

namespace app::ops {
struct swish {}; ///< x / (1 + exp(-slope x))
struct gate {};  ///< a sigmoid(b), made of other operators
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
struct gsub::io::onnx_traits<app::ops::swish> {
    static constexpr std::int64_t since = 1; // attributes in the file are the fields of the struct
};

template <>
struct gsub::op_traits<app::ops::gate> {
    static constexpr std::string_view name = "Gate", domain = "app";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::elementwise;
    static constexpr bool composite = true;
};
template <>
struct gsub::decompose<app::ops::gate> { // inference and evaluation follow from it
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> operands) {
        return sink.add<gsub::ops::mul>(operands[0], sink.add<gsub::ops::sigmoid>(operands[1]));
    }
};
template <>
struct gsub::io::onnx_traits<app::ops::gate> {
    static constexpr std::int64_t since = 1;
};

namespace app {
using my_ops = gsub::standard_ops::with<ops::swish, ops::gate>;
using my_graph = gsub::basic_graph<my_ops>;
} // namespace app

namespace {

app::my_graph gated_swish() {
    app::my_graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(gsub::dtype::f32, {2, 3}, "x");
    auto const swish = [&] { return b.add<app::ops::swish>({.slope = 2}, {x}); };
    b.outputs({b.add<app::ops::gate>(swish(), swish())}, {"y"}); // twice the same
    return g;
}

void it_is_computed() {
    auto const x = gsub::tensor::from<float>({2, 3}, {-2, -1, 0, 1, 2, 3});
    auto const y = gsub::evaluate_graph(gated_swish(), std::array{x}).value().at(0);
    std::cout << y << '\n';
    for (std::size_t i = 0; i < 6; ++i) {
        auto const v = x.data<float>()[i];
        auto const swish = v / (1 + std::exp(-2 * v)), expected = swish / (1 + std::exp(-swish));
        require(std::abs(y.data<float>()[i] - expected) < 1e-6f, "an operator means what evaluate or decompose says");
    }
}

void it_is_optimized() {
    auto const better = gsub::optimize(gated_swish(), gsub::cost::roofline{}, {.verify = true}).value();
    require(better.report.nodes_before == 3 && better.report.nodes_after == 2, "equal nodes are computed once");
    require(better.report.verification.equal, "in the field an operator without arithmetic there is a function");
}

void it_is_saved_and_loaded() {
    auto const file = gsub::io::to_onnx(gated_swish()).value();
    auto const data = std::as_bytes(std::span{file});
    require(gsub::io::load_onnx<app::my_ops>(data).value() == gated_swish(), "the file says all that the graph says");

    // Who does not know the operators keeps them as they are, and can write them again.
    auto const stranger = gsub::io::load_onnx(data).value();
    require(!not_computable(stranger, gsub::table_of<gsub::eval_row, gsub::standard_ops>()).empty(), "it is opaque");
    auto const again = gsub::io::to_onnx(stranger).value();
    require(gsub::io::load_onnx<app::my_ops>(std::as_bytes(std::span{again})).value() == gated_swish(),
            "opaque nodes survive a round trip");
}

} // namespace

int main() {
    it_is_computed();
    it_is_optimized();
    it_is_saved_and_loaded();
}
