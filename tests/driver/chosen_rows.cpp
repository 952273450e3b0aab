// Gathers whose rows the kernels that read them choose, as parts of whole executables, against the evaluator.
#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <string>
#include <vector>

namespace chosen_rows_test {

using namespace gsub;
using namespace built_graph;

// A graph under construction, with the integers that choose among some entries as inputs or constants.
struct gathers {
    graph g;
    graph_builder b{g};
    random_stream r{1};
    std::vector<tensor> inputs;

    value_id input(ints const& dims, dtype type = dtype::f32) {
        auto t = tensor::zeros(type, dims);
        fill_random(t, r.split(inputs.size()));
        return given(std::move(t));
    }
    value_id given(tensor t) {
        inputs.push_back(std::move(t));
        auto const& type = inputs.back().type();
        return b.input(type.element, type.dims, "x" + std::to_string(inputs.size()));
    }
    tensor integers(ints const& dims, std::int64_t entries, dtype type = dtype::i64) {
        auto t = tensor::zeros(dtype::i64, dims);
        for (auto& i : t.mutable_data<std::int64_t>())
            i = static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(2 * entries))) - entries;
        return t.converted_to(type);
    }
    value_id rows(value_id x, std::int64_t axis, value_id at) { return b.add<ops::gather>({.axis = axis}, {x, at}); }

    // How many gathers are kernels of their own, where all is right; else -1.
    std::ptrdiff_t apart() {
        auto const e = built(g);
        auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
        for (std::size_t i = 0; i < want.size(); ++i) {
            auto const d = compare(got[i], want[i]).value();
            if (!d.same_specials || d.max_relative > 1e-5) return -1;
        }
        CHECK(count(e, "reference Gather") == 0);
        return count(e, "gather");
    }
};

} // namespace chosen_rows_test

TEST_CASE("embeddings are read by the normalisation behind them") {
    using namespace gsub;
    chosen_rows_test::gathers t;
    auto const words = t.rows(t.input({30, 48}), 0, t.given(t.integers({2, 7}, 30)));
    auto const places = t.rows(t.input({9, 48}), 0, t.b.constant(t.integers({7}, 9, dtype::i32)));
    auto const sum = t.b.add<ops::add>({}, {words, places});
    t.b.outputs({t.b.add<ops::layer_norm>({}, {sum, t.input({48}), t.input({48})})});
    CHECK(t.apart() == 0);
}

TEST_CASE("rows of any axis, repeated and in the order of a view, are read by what computes with them") {
    using namespace gsub;
    for (auto const type : {dtype::i32, dtype::i64})
        for (std::int64_t axis = 0; axis < 3; ++axis) {
            CAPTURE(axis, type);
            chosen_rows_test::gathers t;
            auto const x = t.input({5, 4, 6, 37});
            auto const turned = t.b.add<ops::transpose>({.perm = {1, 2, 0, 3}}, {x});
            ints dims{4, 6, 5, 37};
            auto const entries = dims[static_cast<std::size_t>(axis)];
            auto const low = t.rows(turned, axis, t.given(t.integers({11}, entries, type))),
                       high = t.rows(turned, axis, t.given(t.integers({11}, entries, type)));
            dims[static_cast<std::size_t>(axis)] = 11;
            ints weights(4 - static_cast<std::size_t>(axis), 1);
            weights[0] = 11;
            auto const y = t.b.add<ops::add>({}, {t.b.add<ops::mul>({}, {low, t.input(weights)}), high});
            // Two readers, one of which repeats the rows.
            auto const wide = t.b.add<ops::mul>({}, {t.input({2, 1, 1, 1, 1}), low});
            t.b.outputs({y, t.b.add<ops::reduce_sum>({.axes = {4}}, {wide})});
            CHECK(t.apart() == 0);
        }
}

TEST_CASE("one integer chooses for all rows, and rows of integers are read too") {
    using namespace gsub;
    chosen_rows_test::gathers t;
    auto const one = t.rows(t.input({3, 8, 32}), 1, t.given(t.integers({}, 8)));
    auto const whole = t.rows(t.input({7, 40}, dtype::i64), 0, t.given(t.integers({2, 2}, 7)));
    t.b.outputs({t.b.add<ops::exp>({}, {one}), t.b.add<ops::add>({}, {whole, t.input({40}, dtype::i64)})});
    CHECK(t.apart() == 0);
}

TEST_CASE("gathers that are outputs, elements, short rows, or read by other kernels are kernels") {
    using namespace gsub;
    chosen_rows_test::gathers t;
    auto const output = t.rows(t.input({9, 64}), 0, t.given(t.integers({5}, 9)));
    auto const elements = t.rows(t.input({5, 64}), 1, t.given(t.integers({33}, 64)));
    auto const few = t.rows(t.input({50, 3}), 0, t.given(t.integers({20}, 50)));
    auto const factor = t.rows(t.input({9, 64}), 0, t.given(t.integers({6}, 9)));
    auto const exp = [&](value_id v) { return t.b.add<ops::exp>({}, {v}); };
    t.b.outputs({output, exp(output), exp(elements), exp(few),
                 t.b.add<ops::mat_mul>({}, {exp(t.input({4, 6})), factor}), exp(factor)});
    CHECK(t.apart() == 4);
}

TEST_CASE("an integer that chooses no row ends the run with an error that names it") {
    using namespace gsub;
    chosen_rows_test::gathers t;
    auto const words = t.rows(t.input({30, 48}), 0, t.given(t.integers({7}, 30)));
    auto const table = t.input({9, 48});
    auto const places = t.rows(table, 0, t.given(t.integers({7}, 9)));
    t.b.outputs({t.b.add<ops::add>({}, {words, places})});
    CHECK(t.apart() == 0);
    auto const e = built_graph::built(t.g);
    t.inputs.back().mutable_data<std::int64_t>()[2] = -10;
    auto const got = e.run(t.inputs);
    REQUIRE_FALSE(got);
    CHECK(got.error().id() == errors::index_out_of_range);
    CHECK_THAT(got.error().message(), Catch::Matchers::Contains("index -10") && Catch::Matchers::Contains("9 entries"));
}
