// Tutorial, step 4: an operator of the product's own, with a kernel.
#pragma once

#include <gsub/gsub.hpp>

#include <span>

namespace app::ops {
struct gate {}; ///< x where x >= threshold, else 0: a digit that is not sure is none
} // namespace app::ops

template <>
struct gsub::op_traits<app::ops::gate> { // ir: a name, operands, attributes
    static constexpr std::string_view name = "Gate", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    struct attributes {
        double threshold = 0;
        static constexpr field<attributes> fields[] = {{"threshold", &attributes::threshold}};
    };
};
template <>
struct gsub::infer_shape<app::ops::gate> : same_as_input<0> {};
template <>
struct gsub::evaluate<app::ops::gate> { // eval: its definition, that of the reference evaluator
    template <class T>
    static T scalar(op_traits<app::ops::gate>::attributes const& a, T x) {
        return x < math::constant<T>(a.threshold) ? T(0) : x;
    }
};
template <>
struct gsub::scalar_lowering<app::ops::gate> { // lower: its kernel, as an expression of an element
    static scalar lower(scalar_builder& b, op_traits<app::ops::gate>::attributes const& a, std::span<scalar const> x) {
        auto const unsure = apply(loop::scalar_op::less, x[0], b.number(a.threshold, x[0]));
        return select(unsure, b.number(0, x[0]), x[0]);
    }
};
template <>
struct gsub::io::onnx_traits<app::ops::gate> { // io: since which version of its domain
    static constexpr std::int64_t since = 1;
};

namespace app {

using my_ops = gsub::standard_ops::with<ops::gate>;

/// Puts a gate behind the last node of a model.
inline gsub::basic_graph<my_ops> gated(gsub::basic_graph<my_ops> g, double threshold) {
    gsub::graph_builder b{g};
    b.outputs({b.add<ops::gate>({.threshold = threshold}, {g.output(0)})}, {"scores"});
    return g;
}

} // namespace app
