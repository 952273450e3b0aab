#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/elementwise.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace vector_math_test {

using namespace gsub;
using gsub::isa;
using kernels::elementwise_op;
using loop::scalar_op;

struct function {
    scalar_op op;
    double bound;         ///< of the error, in ULP
    bool flushes = false; ///< results less than 2^-126 may be zero
};
// A square root's nearest float is within half a unit.
constexpr function functions[] = {{scalar_op::negate, 0},        {scalar_op::absolute, 0},
                                  {scalar_op::floor, 0},         {scalar_op::round, 0},
                                  {scalar_op::square_root, 0.5}, {scalar_op::exponential, 2, true},
                                  {scalar_op::logarithm, 2},     {scalar_op::sigmoid, 4, true},
                                  {scalar_op::tanh, 4},          {scalar_op::erf, 4}};
constexpr auto count = std::size(functions);
constexpr auto exact_functions = [] {
    std::array<scalar_op, count> out{};
    for (std::size_t i = 0; i < count; ++i) out[i] = functions[i].op;
    return out;
}();

constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr auto tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();

// What approximates with fewer terms.
constexpr scalar_op approximations[] = {scalar_op::fast_exponential, scalar_op::fast_tanh, scalar_op::fast_erf};

// Every function over n elements, in their order.
compiled_kernel::batch kernels_of(isa const& isa, std::int64_t n, runtime::compiler const& with,
                                  std::span<scalar_op const> of) {
    compiled_kernel::batch kernels{isa};
    for (auto const op : of) {
        elementwise_op const ops[] = {{op, 0}};
        kernels.add(codegen::lower(kernels::elementwise_nest(n, 1, ops, isa), "function").value());
    }
    kernels.compile({}, with);
    return kernels;
}
// The compiler of other tests, and clang++ where it is installed.
std::vector<runtime::compiler> compilers() {
    std::vector<runtime::compiler> out{runtime::find_compiler().value()};
    for (auto const* name : {"clang++-14", "clang++"})
        if (auto const found = runtime::find_compiler(name); found && out.size() == 1 && found->path != out[0].path)
            out.push_back(*found);
    return out;
}
std::vector<float> run(compiled_kernel::batch const& kernels, std::size_t i, std::vector<float>& x) {
    std::vector<float> y(x.size(), 12345);
    void* const buffers[] = {x.data(), y.data()};
    kernels.function(i)(buffers, 0, kernels[i].parallel_extent);
    return y;
}
bool same(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}
// Of the last place that an f32 near a value has.
double unit_of(double value) {
    return std::ldexp(1.0, std::max(std::isfinite(value) ? std::ilogb(value) : 0, -126) - 23);
}
double error_of(float got, double exact, double unit) {
    if (!std::isfinite(got) || !std::isfinite(exact)) return same(got, static_cast<float>(exact)) ? 0 : infinity;
    if (std::signbit(got) != std::signbit(exact)) return infinity;
    return std::abs(got - exact) / unit;
}

TEST_CASE("functions are as near to the exact value as stated, over all magnitudes") {
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits >> 32 == 0; bits += 1021)
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    REQUIRE(x.size() >= std::size_t{1} << 22);
    struct loaded {
        std::string name;
        compiled_kernel::batch kernels;
    };
    std::vector<loaded> all;
    for (auto const& with : compilers())
        for (auto const* isa : compiled_kernel::sets())
            all.push_back({with.path + " " + std::string{isa->name},
                           kernels_of(*isa, static_cast<std::int64_t>(x.size()), with, exact_functions)});
    for (std::size_t f = 0; f < count; ++f) {
        std::vector<double> exact(x.size()), unit(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            exact[i] = interpret::apply(functions[f].op, static_cast<double>(x[i]), 0);
            unit[i] = unit_of(exact[i]);
        }
        for (auto const& l : all) {
            auto const y = run(l.kernels, f, x);
            auto worst = 0.0;
            auto at = 0.0f, most = 0.0f;
            for (std::size_t i = 0; i < x.size(); ++i) {
                most = std::max(most, std::abs(y[i]));
                if (functions[f].flushes && y[i] == 0 && exact[i] < 0x1p-126) continue;
                if (auto const e = error_of(y[i], exact[i], unit[i]); e > worst) worst = e, at = x[i];
            }
            CAPTURE(l.name, to_string(functions[f].op), worst, at);
            CHECK(worst <= functions[f].bound);
            if (functions[f].op == scalar_op::tanh || functions[f].op == scalar_op::erf) CHECK(most == 1);
        }
    }
}

TEST_CASE("approximations of fewer terms are within their bounds, over all magnitudes") {
    struct approximation {
        scalar_op op;
        double absolute, relative; ///< bounds
    };
    constexpr approximation all[] = {{scalar_op::fast_exponential, 0x1p-126, 8e-6}, // as `approximations`
                                     {scalar_op::fast_tanh, 1.3e-5, 0},
                                     {scalar_op::fast_erf, 7e-6, 0}};
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits >> 32 == 0; bits += 4093)
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    auto const with = runtime::find_compiler().value();
    for (auto const* isa : compiled_kernel::sets()) {
        auto const kernels = kernels_of(*isa, static_cast<std::int64_t>(x.size()), with, approximations);
        for (std::size_t f = 0; f < std::size(all); ++f) {
            auto const y = run(kernels, f, x);
            auto worst = 0.0;
            auto at = 0.0f;
            for (std::size_t i = 0; i < x.size(); ++i) {
                auto const exact = interpret::apply(all[f].op, static_cast<double>(x[i]), 0);
                auto const bound = all[f].absolute + all[f].relative * std::abs(exact);
                auto e = std::abs(y[i] - exact) / bound;
                if (!std::isfinite(y[i]) || !std::isfinite(static_cast<float>(exact)))
                    e = same(y[i], static_cast<float>(exact)) || (y[i] == infinity && exact > 0.99999 * huge)
                            ? 0
                            : infinity;
                if (e > worst) worst = e, at = x[i];
            }
            CAPTURE(isa->name, to_string(all[f].op), worst, at);
            CHECK(worst <= 1);
        }
    }
}

TEST_CASE("limits, signed zeros, NaN and the ends of the range are those of the function") {
    struct special {
        scalar_op op;
        float x, y;
    };
    std::vector<special> cases;
    for (auto const& f : functions) cases.push_back({f.op, nan, nan}), cases.push_back({f.op, -nan, nan});
    for (auto op : {scalar_op::floor, scalar_op::round, scalar_op::tanh, scalar_op::erf, scalar_op::square_root})
        for (auto zero : {0.0f, -0.0f}) cases.push_back({op, zero, zero});
    for (auto op : {scalar_op::tanh, scalar_op::erf})
        for (auto sign : {1.0f, -1.0f})
            for (auto v : {infinity, huge, 1e20f, 40.0f, 9.5f}) cases.push_back({op, sign * v, sign});
    for (auto v : {0x1p23f, 0x1p23f + 1, 0x1p24f, 0x1p31f, 0x1p32f, 1e30f, huge, infinity})
        for (auto op : {scalar_op::floor, scalar_op::round}) cases.push_back({op, v, v}), cases.push_back({op, -v, -v});
    for (auto const& c : std::initializer_list<special>{{scalar_op::negate, 0.0f, -0.0f},
                                                        {scalar_op::negate, -0.0f, 0.0f},
                                                        {scalar_op::negate, infinity, -infinity},
                                                        {scalar_op::absolute, -0.0f, 0.0f},
                                                        {scalar_op::absolute, -infinity, infinity},
                                                        {scalar_op::floor, -tiny, -1.0f},
                                                        {scalar_op::floor, tiny, 0.0f},
                                                        {scalar_op::floor, 0x1p22f + 0.5f, 0x1p22f},
                                                        {scalar_op::floor, -0x1p22f - 0.5f, -0x1p22f - 1},
                                                        {scalar_op::round, 0.5f, 0.0f},
                                                        {scalar_op::round, -0.5f, -0.0f},
                                                        {scalar_op::round, 1.5f, 2.0f},
                                                        {scalar_op::round, -2.5f, -2.0f},
                                                        {scalar_op::round, tiny, 0.0f},
                                                        {scalar_op::round, -tiny, -0.0f},
                                                        {scalar_op::round, 0x1.fffffep-2f, 0.0f},
                                                        {scalar_op::round, 0x1p22f + 0.5f, 0x1p22f},
                                                        {scalar_op::round, 0x1p22f + 1.5f, 0x1p22f + 2},
                                                        {scalar_op::square_root, infinity, infinity},
                                                        {scalar_op::square_root, -1.0f, nan},
                                                        {scalar_op::exponential, 0.0f, 1.0f},
                                                        {scalar_op::exponential, -0.0f, 1.0f},
                                                        {scalar_op::exponential, infinity, infinity},
                                                        {scalar_op::exponential, 88.73f, infinity},
                                                        {scalar_op::exponential, huge, infinity},
                                                        {scalar_op::exponential, -infinity, 0.0f},
                                                        {scalar_op::exponential, -huge, 0.0f},
                                                        {scalar_op::logarithm, 0.0f, -infinity},
                                                        {scalar_op::logarithm, -0.0f, -infinity},
                                                        {scalar_op::logarithm, 1.0f, 0.0f},
                                                        {scalar_op::logarithm, infinity, infinity},
                                                        {scalar_op::logarithm, -tiny, nan},
                                                        {scalar_op::logarithm, -infinity, nan},
                                                        {scalar_op::sigmoid, 0.0f, 0.5f},
                                                        {scalar_op::sigmoid, -infinity, 0.0f},
                                                        {scalar_op::sigmoid, -huge, 0.0f},
                                                        {scalar_op::sigmoid, infinity, 1.0f},
                                                        {scalar_op::sigmoid, huge, 1.0f},
                                                        {scalar_op::tanh, tiny, tiny}})
        cases.push_back(c);
    for (std::size_t i = 0, exact = cases.size(); i < exact; ++i)
        for (auto fast : approximations)
            if (cases[i].op == gsub::loop::exact(fast) && cases[i].x != tiny)
                cases.push_back({fast, cases[i].x, cases[i].y});
    std::vector<scalar_op> all{exact_functions.begin(), exact_functions.end()};
    all.insert(all.end(), std::begin(approximations), std::end(approximations));
    std::vector<float> x;
    for (auto const& c : cases) x.push_back(c.x);
    for (auto const& with : compilers())
        for (auto const* isa : compiled_kernel::sets()) {
            auto const kernels = kernels_of(*isa, static_cast<std::int64_t>(x.size()), with, all);
            for (std::size_t f = 0; f < all.size(); ++f) {
                auto const y = run(kernels, f, x);
                for (std::size_t i = 0; i < x.size(); ++i) {
                    if (cases[i].op != all[f]) continue;
                    CAPTURE(with.path, isa->name, to_string(cases[i].op), x[i], y[i]);
                    CHECK(same(y[i], cases[i].y));
                }
            }
        }
}

TEST_CASE("functions of constants and of what all lanes share are functions of vectors") {
    for (auto const* isa : compiled_kernel::sets()) {
        loop::expression_builder e{"scales"};
        auto const i = e.spatial("i", 3), x = e.spatial("x", 21);
        auto const a = e.input("a", {3}), y = e.output("y", {3, 21});
        auto const v = e.at(a, {i});
        auto const what = e.store(y, {i, x}, -exp(v) + floor(v) * tanh(e.constant(0.5)) + abs(-v));
        loop::schedule plan{what};
        plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
        compiled_kernel::batch kernels{*isa};
        kernels.add(codegen::lower(plan.finish(), "scales").value());
        kernels.compile();
        CAPTURE(isa->name);
        CHECK(kernels.difference(0, what, 1) == "");
    }
}

TEST_CASE("a text defines the functions that it calls, and nothing for kernels without") {
    CHECK(codegen::vector_math_text(8, {}) == "");
    for (auto op : {scalar_op::add, scalar_op::square_root, scalar_op::negate}) {
        CHECK(codegen::vector_function(op) == "");
        CHECK(codegen::vector_math_text(8, {&op, 1}) == "");
    }
    scalar_op const all[] = {
        scalar_op::absolute,  scalar_op::floor,   scalar_op::exponential, scalar_op::logarithm,
        scalar_op::tanh,      scalar_op::erf,     scalar_op::sigmoid,     scalar_op::fast_exponential,
        scalar_op::fast_tanh, scalar_op::fast_erf};
    auto const defines = [](std::string const& text, loop::scalar_op op) {
        return text.find("vf " + std::string{codegen::vector_function(op)} + "(") != std::string::npos;
    };
    for (auto op : all) {
        auto const text = codegen::vector_math_text(8, {&op, 1});
        for (auto other : all) {
            auto const called = (op == scalar_op::floor && other == scalar_op::absolute) ||
                                (op == scalar_op::sigmoid && other == scalar_op::exponential);
            CHECK(defines(text, other) == (op == other || called));
        }
        CHECK(text.find("#include") == std::string::npos);
        CHECK(defines(codegen::vector_math_text(8, all), op));
    }
}

} // namespace vector_math_test
