#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/lowering.hpp>
#include <gsub/lower/lowering_rows.hpp>

#include <string>

namespace lowering_test::ops {
struct distances {}; ///< y[i, j] = sum over k of (a[i, k] - b[k, j])^2
} // namespace lowering_test::ops

template <>
struct gsub::op_traits<lowering_test::ops::distances> {
    static constexpr std::string_view name = "Distances", domain = "test";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::contraction;
};
template <>
struct gsub::infer_shape<lowering_test::ops::distances> {
    static void infer(infer_context& cx) {
        auto t = cx.type(0);
        t.dims[1] = cx.type(1).dims[1];
        cx.result(0, std::move(t));
    }
};
template <>
struct gsub::evaluate<lowering_test::ops::distances> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const m = k.dims(0)[0], inner = k.dims(0)[1], n = k.dims(1)[1];
        auto const a = k.in(0).data(), b = k.in(1).data();
        auto const y = k.out().data();
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

namespace lowering_test {

using namespace gsub;

// The kernel: a tensor expression, and a schedule with a knob.
struct distances_kernel {
    std::int64_t m, n, k;
    loop::config_space space(isa const& isa) const {
        loop::config_space s;
        s.choice("rows", {1, 2, 4});
        s.choice("vectors", {1, 2});
        s.constrain([registers = isa.registers](loop::configuration const& c) {
            return c.choice("rows").number() * c.choice("vectors").number() < registers &&
                   c.choice("rows").number() > 1;
        });
        return s;
    }
    loop::fused_nest nest(loop::configuration const& c, isa const& isa) const {
        loop::expression_builder e{"distances"};
        auto const i = e.spatial("i", m), j = e.spatial("j", n), p = e.reduction("k", k);
        auto const a = e.input("a", {m, k}), b = e.input("b", {k, n}), y = e.output("y", {m, n});
        auto const d = e.at(a, {i, p}) - e.at(b, {p, j});
        loop::schedule plan{e.store(y, {i, j}, e.sum(e.constant(0), d * d))};
        auto const [rows, row] = plan.split(plan.loop_of("i"), c.choice("rows").number());
        auto const [columns, of_columns] = plan.split(plan.loop_of("j"), c.choice("vectors").number() * isa.lanes());
        auto const [vector, lane] = plan.split(of_columns, isa.lanes());
        plan.reorder({rows, columns, plan.loop_of("k"), row, vector, lane});
        plan.parallel(rows), plan.unroll(row), plan.unroll(vector), plan.vectorize(lane);
        return plan.finish();
    }
};

} // namespace lowering_test

template <>
struct gsub::lowering<lowering_test::ops::distances> {
    static bool lower(kernel_builder& b, node_id n) {
        auto const x = b.graph().operand(n, 0), y = b.graph().operand(n, 1);
        auto const &left = b.type(x), &right = b.type(y);
        if (left.element != dtype::f32) return false; // the evaluator computes the others
        lowering_test::distances_kernel const how{left.dims[0].size(), right.dims[1].size(), left.dims[1].size()};
        custom_kernel own{.name = "distances", .operations = 3.0 * static_cast<double>(how.m * how.n * how.k)};
        own.space = [how](isa const& isa) { return how.space(isa); };
        own.nest = [how](loop::configuration const& c, isa const& isa) { return how.nest(c, isa); };
        b.add({&n, 1},
              {.computes = std::move(own), .operands = {b.whole(x), b.whole(y)}, .results = {b.result({n, 0})}});
        return true;
    }
};

namespace lowering_test {

using my_ops = standard_ops::with<ops::distances>;

basic_graph<my_ops> nearest(dtype element) {
    basic_graph<my_ops> g;
    graph_builder b{g};
    auto const x = b.input(element, {17, 9}, "x"), centres = b.input(element, {21, 9}, "centres");
    auto const turned = b.add<gsub::ops::transpose>({.perm = {1, 0}}, {centres}); // read row-major, so copied
    auto const d = b.add<ops::distances>(b.add<gsub::ops::relu>(x), turned);
    b.outputs({b.add<gsub::ops::sqrt>(d), b.add<gsub::ops::reduce_max>({.axes = {1}}, {d})}, {"y", "far"});
    return g;
}

} // namespace lowering_test

TEST_CASE("a row of the application makes a kernel of its own expression and schedule") {
    using namespace lowering_test;
    using namespace kernel_graphs;
    auto const& isa = isa_of(host());
    lowering_options options;
    options.rows = table_of<lowering_row, my_ops>();
    options.scalars = table_of<scalar_row, my_ops>();
    auto const of_mine = table_of<eval_row, my_ops>();
    for (auto const element : {dtype::f32, dtype::f64}) {
        auto const g = nearest(element);
        auto k = lower_graph(any_graph{g}, of_mine, isa, options).value();
        auto const found = std::find_if(k.ops.begin(), k.ops.end(), [](kernel_op const& op) {
            return !op.covers.empty() && op.covers[0].op == "Distances";
        });
        REQUIRE(found != k.ops.end());
        if (element == dtype::f32) {
            CHECK(kind_of(*found) == "distances");
            CHECK(found->schedule->choice("rows").number() == 2); // the first point that the space allows
            CHECK_THAT(to_text(k), Catch::Matchers::Contains(" = custom \"distances\" operations=9639 "));
            CHECK_THAT(to_text(k), Catch::Matchers::Contains("\n  schedule rows=2 vectors=1\n"));
        } else {
            CHECK(kind_of(*found) == "reference Distances");
        }
        auto const inputs = random_inputs(g, 4);
        auto const want = evaluate_graph(any_graph{g}, of_mine, inputs).value();
        auto const points = element == dtype::f32 ? found->space->size() : 1;
        for (std::uint64_t at = 0; at < points; ++at) {
            auto other = k;
            auto& op = other.ops[static_cast<std::size_t>(found - k.ops.begin())];
            if (element == dtype::f32) {
                if (!op.space->allows(op.space->at(at))) continue;
                op.schedule = op.space->at(at);
            }
            CHECK(difference_of(loaded(emit(std::move(other), isa).value()).run(inputs).value(), want) < 1e-5);
        }
    }
}

TEST_CASE("an operator without a row has none, and its graph is lowered all the same") {
    using namespace lowering_test;
    CHECK(gsub::lowering_row::of<gsub::ops::relu>().lower == nullptr);
    CHECK(gsub::lowering_row::of<gsub::ops::conv>().lower != nullptr);
    CHECK(gsub::lowering_row::of<lowering_test::ops::distances>().lower != nullptr);
    auto const g = nearest(dtype::f32);
    // Rows of gsub's own operators serve no graph with other ones: none are taken.
    auto const k = lower_graph(any_graph{g}, table_of<eval_row, my_ops>(), isa::avx512).value();
    CHECK_THAT(summary(k), Catch::Matchers::Contains("reference Distances"));
}
