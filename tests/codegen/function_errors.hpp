// Which errors functions of f32 may have, and what they give at the ends of their range: the same for text and machine
// code.
#pragma once

#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/elementwise.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace function_errors {

using namespace gsub;
using gsub::isa;
using loop::scalar_op;

struct function {
    scalar_op op;
    double bound;         ///< of the error, in ULP
    bool flushes = false; ///< results less than 2^-126 may be zero
};
// A square root's nearest float is within half a unit.
inline constexpr function functions[] = {{scalar_op::negate, 0},        {scalar_op::absolute, 0},
                                         {scalar_op::floor, 0},         {scalar_op::round, 0},
                                         {scalar_op::square_root, 0.5}, {scalar_op::exponential, 2, true},
                                         {scalar_op::logarithm, 2},     {scalar_op::sigmoid, 4, true},
                                         {scalar_op::tanh, 4},          {scalar_op::erf, 4}};
inline constexpr auto count = std::size(functions);
inline constexpr auto exact_functions = [] {
    std::array<scalar_op, count> out{};
    for (std::size_t i = 0; i < count; ++i) out[i] = functions[i].op;
    return out;
}();

inline constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr auto tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();

// What approximates with fewer terms.
inline constexpr scalar_op approximations[] = {scalar_op::fast_exponential, scalar_op::fast_tanh, scalar_op::fast_erf};

inline constexpr auto all_functions = [] {
    std::array<scalar_op, count + std::size(approximations)> out{};
    std::copy(std::begin(approximations), std::end(approximations),
              std::copy(exact_functions.begin(), exact_functions.end(), out.begin()));
    return out;
}();

/// The kernel of a function over n elements.
inline codegen::kernel kernel_of(scalar_op op, std::int64_t n, isa const& isa) {
    kernels::elementwise_op const ops[] = {{op, 0}};
    return codegen::lower(kernels::elementwise_nest(n, 1, ops, isa), "function").value();
}

inline std::vector<float> run(codegen::kernel_function f, codegen::kernel const& k, std::vector<float>& x) {
    std::vector<float> y(x.size(), 12345);
    void* const buffers[] = {x.data(), y.data()};
    f(buffers, 0, k.parallel_extent);
    return y;
}

/// How functions are computed.
struct evaluator {
    std::string name;
    std::function<std::vector<float>(scalar_op, std::vector<float>&)> run;
};

/// Floats of all magnitudes: each of so many.
inline std::vector<float> every(std::uint64_t step) {
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits >> 32 == 0; bits += step)
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    return x;
}

inline bool same(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}
/// Of the last place that an f32 near a value has.
inline double unit_of(double value) {
    return std::ldexp(1.0, std::max(std::isfinite(value) ? std::ilogb(value) : 0, -126) - 23);
}
inline double error_of(float got, double exact, double unit) {
    if (!std::isfinite(got) || !std::isfinite(exact)) return same(got, static_cast<float>(exact)) ? 0 : infinity;
    if (std::signbit(got) != std::signbit(exact)) return infinity;
    return std::abs(got - exact) / unit;
}

/// Checks that functions are as near to the exact value as stated.
inline void check_bounds(std::span<evaluator const> all, std::vector<float> x) {
    for (std::size_t f = 0; f < count; ++f) {
        std::vector<double> exact(x.size()), unit(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            exact[i] = interpret::apply(functions[f].op, static_cast<double>(x[i]), 0);
            unit[i] = unit_of(exact[i]);
        }
        for (auto const& e : all) {
            auto const y = e.run(functions[f].op, x);
            auto worst = 0.0;
            auto at = 0.0f, most = 0.0f;
            for (std::size_t i = 0; i < x.size(); ++i) {
                most = std::max(most, std::abs(y[i]));
                if (functions[f].flushes && y[i] == 0 && exact[i] < 0x1p-126) continue;
                if (auto const by = error_of(y[i], exact[i], unit[i]); by > worst) worst = by, at = x[i];
            }
            CAPTURE(e.name, to_string(functions[f].op), worst, at);
            CHECK(worst <= functions[f].bound);
            if (functions[f].op == scalar_op::tanh || functions[f].op == scalar_op::erf) CHECK(most == 1);
        }
    }
}

/// Checks that approximations of fewer terms are within their bounds.
inline void check_approximations(std::span<evaluator const> all, std::vector<float> x) {
    struct approximation {
        scalar_op op;
        double absolute, relative; ///< bounds
    };
    constexpr approximation bounds[] = {{scalar_op::fast_exponential, 0x1p-126, 8e-6}, // as `approximations`
                                        {scalar_op::fast_tanh, 1.3e-5, 0},
                                        {scalar_op::fast_erf, 7e-6, 0}};
    for (auto const& of : all)
        for (std::size_t f = 0; f < std::size(bounds); ++f) {
            auto const y = of.run(bounds[f].op, x);
            auto worst = 0.0;
            auto at = 0.0f;
            for (std::size_t i = 0; i < x.size(); ++i) {
                auto const exact = interpret::apply(bounds[f].op, static_cast<double>(x[i]), 0);
                auto const bound = bounds[f].absolute + bounds[f].relative * std::abs(exact);
                auto e = std::abs(y[i] - exact) / bound;
                if (!std::isfinite(y[i]) || !std::isfinite(static_cast<float>(exact)))
                    e = same(y[i], static_cast<float>(exact)) || (y[i] == infinity && exact > 0.99999 * huge)
                            ? 0
                            : infinity;
                if (e > worst) worst = e, at = x[i];
            }
            CAPTURE(of.name, to_string(bounds[f].op), worst, at);
            CHECK(worst <= 1);
        }
}

/// What a function gives at a limit, a zero, NaN or an end of its range.
struct special {
    scalar_op op;
    float x, y;
};
inline std::vector<special> limits() {
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
    return cases;
}
/// Checks `limits`, which are all computed at once.
inline void check_limits(std::span<evaluator const> all) {
    auto const cases = limits();
    std::vector<float> x;
    for (auto const& c : cases) x.push_back(c.x);
    for (auto const& e : all)
        for (auto const op : all_functions) {
            auto const y = e.run(op, x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                if (cases[i].op != op) continue;
                CAPTURE(e.name, to_string(op), x[i], y[i]);
                CHECK(same(y[i], cases[i].y));
            }
        }
}

} // namespace function_errors
