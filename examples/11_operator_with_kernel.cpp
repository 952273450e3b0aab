// Operators of one's own with generated kernels. One row each: what an elementwise operator computes of an element; or
// the tensor expression of a contraction, and its schedule.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>
#include <span>

namespace app::ops {
struct swish {};    ///< x / (1 + exp(-slope x))
struct distance {}; ///< y[i, j] = sum over k of (a[i, k] - b[k, j])^2
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

template <>
struct gsub::op_traits<app::ops::distance> {
    static constexpr std::string_view name = "Distance", domain = "app";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::contraction;
};
template <>
struct gsub::infer_shape<app::ops::distance> {
    static void infer(infer_context& cx) {
        auto t = cx.type(0);
        t.dims[1] = cx.type(1).dims[1];
        cx.result(0, std::move(t));
    }
};
template <>
struct gsub::evaluate<app::ops::distance> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const m = k.dims(0)[0], inner = k.dims(0)[1], n = k.dims(1)[1];
        auto const *const a = k.in(0).data(), *const b = k.in(1).data();
        auto* const y = k.out().data();
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                T sum{};
                for (std::int64_t p = 0; p < inner; ++p) {
                    auto const d = math::sub(a[i * inner + p], b[p * n + j]);
                    sum = math::add(sum, math::mul(d, d));
                }
                y[i * n + j] = sum;
            }
    }
};
template <>
struct gsub::lowering<app::ops::distance> { // the row: a tensor expression, and a schedule with one knob
    static bool lower(kernel_builder& b, node_id node) {
        auto const x = b.graph().operand(node, 0), y = b.graph().operand(node, 1);
        if (b.type(x).element != dtype::f32) return false; // the evaluator computes the others
        auto const m = b.type(x).dims[0].size(), k = b.type(x).dims[1].size(), n = b.type(y).dims[1].size();
        custom_kernel own{.name = "distance", .operations = 3.0 * static_cast<double>(m * n * k)};
        own.space = [](isa const&) {
            loop::config_space s;
            s.choice("rows", {4, 2, 1});
            return s;
        };
        own.nest = [m, n, k](loop::configuration const& knobs, isa const& isa) -> loop::fused_nest {
            loop::expression_builder e{"distance"};
            auto const i = e.spatial("i", m), j = e.spatial("j", n), p = e.reduction("k", k);
            auto const a = e.input("a", {m, k}), c = e.input("b", {k, n}), out = e.output("y", {m, n});
            auto const d = e.at(a, {i, p}) - e.at(c, {p, j});
            loop::schedule plan{e.store(out, {i, j}, e.sum(e.constant(0), d * d))};
            auto const [rows, row] = plan.split(plan.loop_of("i"), knobs.choice("rows").number());
            auto const [columns, lane] = plan.split(plan.loop_of("j"), isa.lanes());
            plan.reorder({rows, columns, plan.loop_of("k"), row, lane});
            plan.parallel(rows), plan.unroll(row), plan.vectorize(lane);
            return plan.finish();
        };
        b.add({&node, 1}, {.computes = own, .operands = {b.whole(x), b.whole(y)}, .results = {b.result({node, 0})}});
        return true;
    }
};

namespace {

using my_graph = gsub::basic_graph<gsub::standard_ops::with<app::ops::swish, app::ops::distance>>;

// relu(swish(x)) * scale
my_graph gated(gsub::dtype element) {
    my_graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(element, {64, 100}, "x"), scale = b.input(element, {100}, "scale");
    auto const swish = b.add<app::ops::swish>({.slope = 1.5}, {x});
    b.outputs({b.add<gsub::ops::mul>(b.add<gsub::ops::relu>(swish), scale)}, {"y"});
    return g;
}

void contraction() {
    my_graph g;
    gsub::graph_builder b{g};
    auto const points = b.input(gsub::dtype::f32, {50, 8}, "points"), centres = b.input(gsub::dtype::f32, {8, 20}, "c");
    b.outputs({b.add<app::ops::distance>(points, centres)}, {"squares"});
    auto const program = gsub::build(g).value();
    require(std::holds_alternative<gsub::runtime::kernel_call>(program.steps()[0].what), "it is a generated kernel");
    auto const inputs = gsub::random_inputs(g, 1);
    auto const y = program.run(inputs).value().at(0), expected = gsub::evaluate_graph(g, inputs).value().at(0);
    require(gsub::compare(y, expected).value().max_relative < 1e-5, "the kernel computes what evaluate says");
    std::cout << "contraction: " << program.steps()[0].name << '\n';
}

} // namespace

int main() {
    contraction();
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
