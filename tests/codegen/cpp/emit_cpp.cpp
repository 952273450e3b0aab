#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "loop/random_schedule.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace emit_cpp_test {

using namespace gsub;
using codegen::lower;
using gsub::isa;
using loop::affine;

constexpr auto infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("any legal schedule becomes code that computes the expression, within its buffers") {
    for (auto const* isa : compiled_kernel::sets()) {
        CAPTURE(isa->name);
        compiled_kernel::batch kernels{*isa};
        std::vector<loop::tensor_expression> expressions;
        for (std::uint64_t seed = 0; seed < 70; ++seed) {
            random_stream r{seed + 1000};
            auto const& what = expressions.emplace_back(random_schedule::computation(r, isa->lanes()));
            auto const nest = random_schedule::nest(what, r, {.lanes = isa->lanes()});
            kernels.add(lower(nest, "k", {.max_ranges = static_cast<std::int32_t>(1 + r.below(8))}).value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            CAPTURE(i, to_string(kernels[i]));
            CHECK(kernels.difference(i, expressions[i], i) == "");
        }
    }
}

TEST_CASE("generated code does nothing that the language leaves undefined") {
    auto const& isa = *compiled_kernel::sets().back();
    compiled_kernel::batch kernels{isa};
    std::vector<loop::tensor_expression> expressions;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        random_stream r{seed + 5000};
        auto const& what = expressions.emplace_back(random_schedule::computation(r, isa.lanes()));
        kernels.add(lower(random_schedule::nest(what, r, {.lanes = isa.lanes()}), "k").value());
    }
    // What the sanitizer finds ends the process.
    kernels.compile({"-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"});
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        CAPTURE(i, to_string(kernels[i]));
        CHECK(kernels.difference(i, expressions[i], i) == "");
    }
}

// A product of rows whose names are the caller's.
codegen::kernel product(isa const& isa, std::string const& prefix) {
    loop::expression_builder e{prefix + "product"};
    auto const i = e.spatial(prefix + "i", 5), x = e.spatial(prefix + "x", 21), k = e.reduction(prefix + "k", 6);
    auto const a = e.input(prefix + "a", {5, 6}), w = e.input(prefix + "w", {6, 21}),
               y = e.output(prefix + "y", {5, 21});
    loop::schedule plan{e.store(y, {i, x}, e.sum(e.constant(0), e.at(a, {i, k}) * e.at(w, {k, x})))};
    auto const [blocks, lane] = plan.split(plan.loop_of(prefix + "x"), isa.lanes());
    auto const rows = plan.loop_of(prefix + "i"), steps = plan.loop_of(prefix + "k");
    plan.reorder({blocks, rows, steps, lane});
    plan.parallel(plan.fuse(blocks, rows));
    plan.vectorize(lane);
    return lower(plan.finish(), prefix + "kernel").value();
}

TEST_CASE("equal computations have equal texts, whatever they are called") {
    for (auto const* isa : {&isa::baseline, &isa::sse42, &isa::avx2, &isa::avx512, &isa::neon}) {
        auto const text = codegen::emit_cpp(product(*isa, "zebra\"*/_"), "product");
        CHECK(text == codegen::emit_cpp(product(*isa, "b"), "product"));
        CHECK(text.find("zebra") == std::string::npos);
        CHECK(text != codegen::emit_cpp(product(*isa, "b"), "other"));
    }
}

TEST_CASE("the text includes nothing and defines one function with C linkage") {
    auto const text = codegen::emit_cpp(product(isa::avx2, ""), "product_7");
    CHECK(text.find('#') == std::string::npos);
    CHECK(text.find("extern \"C\"") == text.rfind("extern \"C\""));
    CHECK(text.find(" product_7(void* const* b, long begin, long end) {") != std::string::npos);
    CHECK(text.find("vector_size(32)") != std::string::npos);
}

TEST_CASE("the parallel range may be cut anywhere") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        kernels.add(product(*isa, ""));
        kernels.compile({}); // as kernels are compiled for use
        random_stream r{5};
        interpret::arrays data{std::vector<double>(30), std::vector<double>(126), std::vector<double>(105, -1)};
        for (auto* a : {&data[0], &data[1]})
            for (auto& v : *a) v = static_cast<double>(static_cast<float>(r.normal()));
        auto whole = data;
        auto const last = kernels[0].parallel_extent;
        kernels.run(0, whole, compiled_kernel::guarded::side::end, {0, last});
        for (std::int64_t cut = 0; cut <= last; ++cut) {
            auto pieces = data;
            kernels.run(0, pieces, compiled_kernel::guarded::side::end, {0, cut, cut, last});
            CHECK(pieces == whole);
        }
        // A piece stores its own positions alone.
        auto part = data;
        kernels.run(0, part, compiled_kernel::guarded::side::begin, {1, 2});
        for (std::size_t i = 0; i < 105; ++i) {
            auto const own = i / 21 == 1 && i % 21 < static_cast<std::size_t>(isa->lanes());
            CHECK(part[2][i] == (own ? whole[2][i] : -1));
        }
    }
}

// y[x] = f(x), compiled for one set and run on what is given.
template <class F>
std::vector<double> mapped(isa const& isa, std::vector<double> const& inputs, F&& f) {
    auto const n = static_cast<std::int64_t>(inputs.size());
    loop::expression_builder e{"map"};
    auto const x = e.spatial("x", n);
    auto const a = e.input("a", {n}), y = e.output("y", {n});
    auto what = e.store(y, {x}, f(e, e.at(a, {x})));
    loop::schedule plan{std::move(what)};
    plan.vectorize(plan.split(plan.loop_of("x"), isa.lanes()).second);
    compiled_kernel::batch kernels{isa};
    kernels.add(lower(plan.finish(), "map").value());
    kernels.compile({});
    interpret::arrays data{inputs, std::vector<double>(inputs.size())};
    kernels.run(0, data, compiled_kernel::guarded::side::end, {0, 1});
    return data[1];
}
bool same(double a, double b) {
    return (a != a && b != b) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

TEST_CASE("a clip keeps NaN, and cuts infinities") {
    std::vector<double> const in{nan, infinity, -infinity, 0, -1, 1, 7, 6, 3, nan, -0.5, 5.5, 100, -100, nan, 2, nan};
    for (auto const* isa : compiled_kernel::sets()) {
        CAPTURE(isa->name);
        auto const out = mapped(*isa, in, [](auto& e, auto v) { return min(max(v, e.constant(0)), e.constant(6)); });
        for (std::size_t i = 0; i < in.size(); ++i)
            CHECK(same(out[i], in[i] != in[i] ? nan : std::min(std::max(in[i], 0.0), 6.0)));
    }
}

TEST_CASE("a maximum that begins with a constant passes NaN over") {
    auto const out = mapped(isa::baseline, {nan, -1, 2}, [](auto& e, auto v) { return max(e.constant(0), v); });
    CHECK(out == std::vector<double>{0, 0, 2});
}

TEST_CASE("constants are exact") {
    double const constants[] = {0.0,   -0.0,     0.1,       -1.5,   1e-40,   0x1p-149, 3.4028234663852886e38,
                                1e10,  16777216, 0x1p62,    0x1p64, 0x1p66,  -0x1p70,  1e30,
                                1e300, infinity, -infinity, nan,    1.0 / 3, -7,       123456789};
    compiled_kernel::batch kernels{isa::baseline};
    for (auto c : constants) {
        loop::expression_builder e{"constant"};
        auto const x = e.spatial("x", 4);
        auto const y = e.output("y", {4});
        loop::schedule plan{e.store(y, {x}, e.constant(c))};
        plan.vectorize(plan.loop_of("x"));
        kernels.add(lower(plan.finish(), "constant").value());
    }
    kernels.compile({});
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        CAPTURE(constants[i]);
        interpret::arrays data{std::vector<double>(4)};
        kernels.run(i, data, compiled_kernel::guarded::side::end, {0, 1});
        for (auto v : data[0]) CHECK(same(v, static_cast<double>(static_cast<float>(constants[i]))));
    }
}

TEST_CASE("zeros of both signs are two constants") {
    auto const out = mapped(isa::baseline, {1, 2, 3, 4}, [](auto& e, auto v) {
        return v / e.constant(0.0) + v / e.constant(-0.0); // infinity less infinity
    });
    for (auto v : out) CHECK(v != v);
}

TEST_CASE("square roots are those of the machine") {
    auto const n = 11;
    for (auto const* isa : compiled_kernel::sets()) {
        loop::expression_builder e{"roots"};
        auto const x = e.spatial("x", n);
        auto const a = e.input("a", {n}), y = e.output("y", {n});
        loop::schedule plan{e.store(y, {x}, sqrt(e.at(a, {x})))};
        plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
        compiled_kernel::batch kernels{*isa};
        kernels.add(lower(plan.finish(), "roots").value());
        kernels.compile({});
        interpret::arrays data{{0, 1, 2, 3, 4, 1e30, infinity, nan, -1, 0.25, 9}, std::vector<double>(n)};
        kernels.run(0, data, compiled_kernel::guarded::side::begin, {0, 1});
        for (std::size_t i = 0; i < data[0].size(); ++i) {
            auto const exact = std::sqrt(data[0][i]);
            CHECK((same(data[1][i], exact) || std::abs(data[1][i] - exact) <= 1e-6 * exact));
        }
    }
}

TEST_CASE("lanes that look their places up find what is there") {
    for (auto const* isa : compiled_kernel::sets())
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            CAPTURE(isa->name, seed);
            random_stream r{seed};
            std::int64_t const l = isa->lanes(), width = 4 * l + (seed % 3 == 0); // whole vectors, or not
            std::vector<std::int64_t> table;
            for (std::int64_t i = 0; i < l; ++i)
                table.push_back(static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(l) * (1 + seed % 4))));
            loop::expression_builder e{"picked"};
            auto const row = e.spatial("row", 3), lane = e.spatial("lane", l);
            auto const x = e.input("x", {3, width}), y = e.output("y", {3, l});
            loop::schedule plan{e.store(y, {row, lane}, e.at(x, {row, 0}, {lane, table}))};
            plan.vectorize(plan.loop_of("lane"));
            compiled_kernel::batch kernels{*isa};
            kernels.add(lower(plan.finish(), "picked").value());
            kernels.compile({});
            interpret::arrays data{std::vector<double>(static_cast<std::size_t>(3 * width)),
                                   std::vector<double>(static_cast<std::size_t>(3 * l))};
            for (auto& v : data[0]) v = static_cast<double>(r.below(99));
            kernels.run(0, data, compiled_kernel::guarded::side::end, {0, 1});
            for (std::int64_t i = 0; i < 3 * l; ++i)
                CHECK(data[1][static_cast<std::size_t>(i)] ==
                      data[0][static_cast<std::size_t>(i / l * width + table[static_cast<std::size_t>(i % l)])]);
        }
}

} // namespace emit_cpp_test
