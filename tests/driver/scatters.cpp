// Scatters as kernels of whole executables, against the evaluator.
#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace scatters_test {

using namespace gsub;

std::int64_t below(random_stream& r, std::int64_t n) {
    return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n)));
}
// Integers that choose entries, some of them twice and some from the end.
tensor chosen(random_stream& r, dtype type, ints const& dims, std::int64_t entries) {
    auto out = tensor::zeros(dtype::i64, dims);
    for (auto& i : out.mutable_data<std::int64_t>()) i = below(r, 2 * entries) - entries;
    return out.converted_to(type);
}
tensor numbers(random_stream& r, dtype type, ints const& dims) {
    auto out = tensor::zeros(dtype::f32, dims);
    for (auto& v : out.mutable_data<float>())
        v = r.below(20) == 0 && is_floating(type)
                ? std::numeric_limits<float>::quiet_NaN()
                : static_cast<float>(r.below(9)) - (info(type).is_signed ? 4.0f : 0.0f);
    return out.converted_to(type);
}

struct scatter {
    graph g;
    std::vector<tensor> inputs;
};
scatter made(dtype type, dtype integers, ints const& dims, ints const& at, ints const& updates, std::int64_t axis,
             bool by_rows, std::string const& mode, std::uint64_t seed) {
    scatter s;
    graph_builder b{s.g};
    auto const input = [&](dtype t, ints const& of, char const* name) {
        return b.input(t, tensor_type{t, of}.dims, name);
    };
    auto const x = input(type, dims, "x"), i = input(integers, at, "at"), u = input(type, updates, "updates");
    b.outputs({by_rows ? b.add<ops::scatter_nd>({.reduction = mode}, {x, i, u})
                       : b.add<ops::scatter_elements>({.axis = axis, .reduction = mode}, {x, i, u})});
    random_stream r{seed};
    auto const along = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
    s.inputs = {numbers(r, type, dims), chosen(r, integers, at, dims[along]), numbers(r, type, updates)};
    return s;
}
// Bit for bit, but for NaN, which may be any.
bool same(tensor const& a, tensor const& b) {
    auto const x = a.converted_to(dtype::f64), y = b.converted_to(dtype::f64);
    return std::ranges::equal(x.data<double>(), y.data<double>(),
                              [](double p, double q) { return p == q || (p != p && q != q); });
}
void check(scatter const& s, std::string_view kind) {
    auto const e = built_graph::built(s.g);
    REQUIRE(built_graph::kinds(e) == std::vector<std::string>{std::string{kind}});
    CHECK(same(e.run(s.inputs).value()[0], evaluate_graph(s.g, s.inputs).value()[0]));
}

} // namespace scatters_test

TEST_CASE("scatters of any shape, type and mode are kernels that compute what the evaluator does") {
    using namespace scatters_test;
    random_stream r{7};
    std::pair<std::string, std::vector<dtype>> const modes[] = {
        {"none", {dtype::f32, dtype::i64, dtype::u8, dtype::f16}},
        {"add", {dtype::f32, dtype::f16, dtype::i32}},
        {"mul", {dtype::f64, dtype::bf16, dtype::i8}},
        {"max", {dtype::f32, dtype::bf16, dtype::i64}},
        {"min", {dtype::f16, dtype::f64, dtype::u8}}};
    std::uint64_t seed = 0;
    for (auto const& [mode, types] : modes)
        for (auto const type : types) {
            ints dims;
            for (auto d = 1 + r.below(4); d-- > 0;) dims.push_back(1 + below(r, 7));
            auto const axis = r.below(dims.size());
            auto updates = dims;
            for (std::size_t d = 0; d < dims.size(); ++d)
                updates[d] = 1 + below(r, d == axis ? 12 : dims[d]); // no larger but along the axis
            auto const integers = r.below(2) ? dtype::i32 : dtype::i64;
            auto const from_end = static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(dims.size());
            CAPTURE(mode, to_string(type), dims, updates, axis);
            check(made(type, integers, dims, updates, updates, from_end, false, mode, ++seed), "scatter");
            ints const at{1 + below(r, 4), 1 + below(r, 4), 1};
            ints rows{at[0], at[1]};
            for (std::size_t d = 1; d < dims.size(); ++d) rows.push_back(dims[d]);
            check(made(type, dtype::i64, dims, at, rows, 0, true, mode, ++seed), "scatter");
        }
}

TEST_CASE("a scatter among other operators is one kernel, between theirs") {
    using namespace scatters_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {40, 33}, "x"), u = b.input(dtype::f32, {9, 33}, "u");
    random_stream r{3};
    auto const at = b.constant(chosen(r, dtype::i64, {9, 1}, 40), "at");
    auto const y = b.add<ops::scatter_nd>({.reduction = "add"}, {b.add<ops::relu>(x), at, b.add<ops::exp>(u)});
    b.outputs({b.add<ops::tanh>(y), b.add<ops::relu>(x)});
    auto const e = built_graph::built(g);
    CHECK(built_graph::error_of(g, e) < 1e-5);
    CHECK(built_graph::count(e, "scatter") == 1);
    for (auto const& kind : built_graph::kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
}

TEST_CASE("a scatter works in place where nothing reads the data otherwise, and on a copy elsewhere") {
    using namespace scatters_test;
    enum reader { none, output, later, updates, rows, reshaped, piece, first_of_two, count };
    for (int how = none; how < count; ++how) {
        CAPTURE(how);
        graph g;
        graph_builder b{g};
        random_stream r{5};
        auto const t = b.add<ops::exp>(b.input(dtype::f32, {12, 64}, "x"));
        auto const at = b.constant(chosen(r, dtype::i64, {12, 1}, 12), "at");
        auto const u =
            how == updates ? b.add<ops::reshape>({.shape = {12, 64}}, {t}) : b.input(dtype::f32, {12, 64}, "u");
        // Read before, which does not matter; and by a gather that is made behind the scatter.
        auto const before = b.add<ops::reduce_sum>({.axes = {1}}, {t});
        auto const row = b.add<ops::gather>({}, {t, b.constant(chosen(r, dtype::i64, {7}, 12), "rows")});
        auto const y = b.add<ops::scatter_nd>({}, {t, at, u});
        auto const z = b.add<ops::scatter_nd>({.reduction = "add"}, {y, at, b.input(dtype::f32, {12, 64}, "v")});
        std::vector<value_id> results{before, z};
        if (how == output) results.push_back(t);
        if (how == later) results.push_back(b.add<ops::mul>({}, {t, z}));
        if (how == rows)
            results.push_back(b.add<ops::mul>(
                {}, {row, b.add<ops::gather>({}, {z, b.constant(chosen(r, dtype::i64, {7}, 12), "r")})}));
        if (how == reshaped)
            results.push_back(b.add<ops::mul>(
                {}, {b.add<ops::reshape>({.shape = {768}}, {t}), b.add<ops::reshape>({.shape = {768}}, {z})}));
        if (how == piece) results.push_back(b.add<ops::concat>({.axis = 0}, {t, z, t}));
        if (how == first_of_two) results.push_back(b.add<ops::scatter_nd>({.reduction = "add"}, {t, at, z}));
        g.set_outputs(results, {});
        auto const e = built_graph::built(g);
        CHECK(built_graph::error_of(g, e) < 1e-5);
        std::ptrdiff_t in_place = 0;
        for (auto const& s : e.steps())
            if (auto const* const c = std::get_if<runtime::kernel_call>(&s.what))
                if (auto const* const d = std::get_if<kernels::scatter_shape>(&*c->computes)) in_place += d->in_place;
        CHECK(in_place == (how == none ? 2 : how == first_of_two ? 2 : 1));
    }
}

TEST_CASE("a scatter of nothing is what it is scattered into") {
    using namespace scatters_test;
    for (auto const by_rows : {false, true}) {
        auto const s =
            made(dtype::f32, dtype::i64, {4, 3}, by_rows ? ints{0, 1} : ints{0, 3}, {0, 3}, 0, by_rows, "add", 1);
        auto const e = built_graph::built(s.g);
        for (auto const& kind : built_graph::kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
        CHECK(same(e.run(s.inputs).value()[0], s.inputs[0]));
    }
}

TEST_CASE("an index that a scatter does not have is an error of the run with its name") {
    using namespace scatters_test;
    for (auto const by_rows : {false, true})
        for (auto const wrong : {std::int64_t{4}, std::int64_t{-5}}) {
            auto s =
                made(dtype::f32, dtype::i64, {4, 3}, by_rows ? ints{2, 1} : ints{2, 3}, {2, 3}, 0, by_rows, "none", 1);
            s.inputs[1].mutable_data<std::int64_t>()[1] = wrong;
            auto const got = built_graph::built(s.g).run(s.inputs);
            REQUIRE_FALSE(got);
            CHECK(got.error().id() == errors::index_out_of_range);
            INFO(got.error().message());
            CHECK(got.error().message().find("index " + std::to_string(wrong) +
                                             " of a scatter is out of range for 4 entries") != std::string::npos);
            s.inputs[1].mutable_data<std::int64_t>()[1] = 0;
            CHECK(built_graph::built(s.g).run(s.inputs));
        }
}

TEST_CASE("a scatter into many bytes works on a copy of them, an output and a value between kernels alike") {
    using namespace scatters_test;
    for (auto const* const mode : {"none", "add"}) {
        auto const s = made(dtype::f32, dtype::i64, {5000, 64}, {300, 1}, {300, 64}, 0, true, mode, 1);
        auto const e = built_graph::built(s.g);
        CHECK(built_graph::kinds(e) == std::vector<std::string>{"copy", "scatter"});
        CHECK(same(e.run(s.inputs).value()[0], evaluate_graph(s.g, s.inputs).value()[0]));
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {5000, 64}, "x");
        random_stream r{3};
        auto const at = b.constant(chosen(r, dtype::i64, {9, 1}, 5000), "at");
        auto const before = b.add<ops::relu>(x);
        auto const y = b.add<ops::scatter_nd>({.reduction = mode}, {before, at, b.input(dtype::f32, {9, 64}, "u")});
        b.outputs({b.add<ops::tanh>(y), before}); // what is scattered into is read elsewhere too
        CHECK(built_graph::error_of(g, built_graph::built(g)) < 1e-5);
    }
}

TEST_CASE("a scatter into a constant that repeats keeps one row of it") {
    using namespace scatters_test;
    enum content { zeros, rows, two_rows, all_but_one };
    auto const built = [](content what, std::int64_t count, std::int64_t width) {
        auto into = tensor::zeros(dtype::f32, ints{count, width});
        auto const numbers = into.mutable_data<float>();
        auto const row = static_cast<std::size_t>(width) * (what == two_rows ? 2 : 1);
        if (what == rows || what == two_rows)
            for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % row);
        if (what == all_but_one) numbers.back() = 1;
        graph g;
        graph_builder b{g};
        random_stream r{7};
        auto const at = b.constant(chosen(r, dtype::i64, {9, 1}, count), "at");
        auto const u = b.input(dtype::f32, tensor_type{dtype::f32, ints{9, width}}.dims, "u");
        auto const data = b.constant(std::move(into), "data");
        auto const scattered = [&](char const* mode) {
            return b.add<ops::scatter_nd>({.reduction = mode}, {data, at, u});
        };
        b.outputs({scattered("none"), scattered("add")}); // both begin with the constant
        auto e = built_graph::built(g);
        CHECK(built_graph::kinds(e) == std::vector<std::string>{"copy", "scatter", "copy", "scatter"});
        CHECK(built_graph::error_of(g, e) < 1e-5);
        return e.constant_bytes();
    };
    for (auto const what : {zeros, rows, two_rows}) CHECK(built(what, 5000, 64) < 10'000);
    CHECK(built(all_but_one, 5000, 64) >= 1'280'000);
    CHECK(built(zeros, 300'007, 1) >= 1'200'028); // a prime: no rows
}
