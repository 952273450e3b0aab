#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/eval/scalar.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace typed_functions_test {

using namespace gsub;
using loop::scalar_op;

// Elements of a type at its ends, around powers of two, and at random.
tensor numbers(dtype t, std::int64_t count, std::uint64_t seed) {
    auto out = tensor::zeros(t, std::span<std::int64_t const>{&count, 1});
    random_stream r{seed};
    with_storage_type(t, [&]<class T>() {
        auto const data = out.mutable_data<T>();
        for (std::size_t i = 0; i < data.size(); ++i) {
            auto const bits = r();
            if constexpr (std::is_same_v<T, bool>) {
                data[i] = bits & 1;
            } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
                data[i].bits = static_cast<std::uint16_t>(bits);
            } else if constexpr (std::is_floating_point_v<T>) {
                auto const size = std::ldexp(1.0, static_cast<int>(r.below(140)) - 70);
                T const ends[] = {T(0),
                                  -T(0),
                                  std::numeric_limits<T>::infinity(),
                                  -std::numeric_limits<T>::infinity(),
                                  std::numeric_limits<T>::quiet_NaN(),
                                  std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::denorm_min(),
                                  T(65504),
                                  T(65519.996),
                                  T(65520),
                                  T(0x1p-24),
                                  T(0x1p-25)};
                data[i] = i < std::size(ends) ? ends[i]
                                              : static_cast<T>((static_cast<double>(bits >> 11) * 0x1p-52 - 1) * size);
            } else {
                T const ends[] = {T(0), T(1), static_cast<T>(-1), std::numeric_limits<T>::min(),
                                  std::numeric_limits<T>::max()};
                data[i] = i < std::size(ends) ? ends[i] : static_cast<T>(bits >> r.below(64));
            }
        }
    });
    return out;
}

// One kernel with an output for each function, run on arrays of `n` elements.
struct typed_kernel {
    loop::expression_builder e{"typed"};
    loop::affine i;
    std::vector<std::pair<std::int32_t, loop::value>> stores;
    std::int64_t n;

    explicit typed_kernel(std::int64_t count) : i(e.spatial("i", count)), n(count) {}
    void store(loop::value v) { stores.emplace_back(e.output("y", {n}, v.type()), v); }
    codegen::kernel lowered(std::int64_t lanes) {
        for (std::size_t s = 1; s < stores.size(); ++s) e.also_store(stores[s].first, {i}, stores[s].second);
        loop::schedule plan{e.store(stores[0].first, {i}, stores[0].second)};
        plan.vectorize(plan.split(plan.loop_of("i"), lanes).second);
        return codegen::lower(plan.finish(), "typed").value();
    }
};

std::vector<tensor> run(compiled_kernel::batch const& kernels, std::size_t number, std::vector<tensor> const& inputs) {
    std::vector<tensor> outputs;
    std::vector<void*> at;
    for (auto const& t : inputs) at.push_back(const_cast<std::byte*>(t.raw().data()));
    for (auto const& b : kernels[number].buffers)
        if (b.written) {
            std::int64_t const dims[] = {b.elements()};
            outputs.push_back(tensor::zeros(b.element, dims));
        }
    for (auto& t : outputs) at.push_back(t.mutable_raw().data());
    kernels.function(number)(at.data(), 0, 1);
    return outputs;
}

// The first element that differs, by more than some units of the last place; NaN is NaN whatever its bits.
std::string difference(tensor const& got, tensor const& wanted, double units = 0) {
    REQUIRE(got.element() == wanted.element());
    auto const size = byte_size(got.element());
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i) {
        auto const *a = got.raw().data() + i * size, *b = wanted.raw().data() + i * size;
        if (std::memcmp(a, b, size) == 0) continue;
        auto const x = interpret::get(got.element(), a), y = interpret::get(got.element(), b);
        if (x != x && y != y) continue;
        auto const digits = got.element() == dtype::f64 ? 52 : 23;
        auto const unit = y == 0 || std::isinf(y)
                              ? 0
                              : std::ldexp(1.0, std::max(std::ilogb(y), digits == 52 ? -1022 : -126) - digits);
        if (std::abs(x - y) <= units * unit && std::signbit(x) == std::signbit(y)) continue;
        return "element " + std::to_string(i) + " is " + std::to_string(x) + ", not " + std::to_string(y);
    }
    return {};
}

constexpr std::int64_t count = 1003;

TEST_CASE("a cast between any two element types is that of tensors, bit by bit") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        for (auto const from : stored_dtypes) {
            typed_kernel k{count};
            auto const x = k.e.at(k.e.input("x", {count}, from), {k.i});
            for (auto const to : stored_dtypes) k.store(cast(x, to));
            kernels.add(k.lowered(isa->lanes(from == dtype::f64 ? 8 : 4)));
        }
        kernels.compile();
        for (std::size_t f = 0; f < std::size(stored_dtypes); ++f) {
            auto const input = numbers(stored_dtypes[f], count, 7 + f);
            auto const outputs = run(kernels, f, {input});
            for (std::size_t t = 0; t < std::size(stored_dtypes); ++t) {
                CAPTURE(isa->name, to_string(stored_dtypes[f]), to_string(stored_dtypes[t]));
                CHECK(difference(outputs[t], input.converted_to(stored_dtypes[t])) == "");
            }
        }
    }
}

template <class T>
T expected(scalar_op op, T a, T b) {
    switch (op) {
    case scalar_op::add:
        return math::add(a, b);
    case scalar_op::subtract:
        return math::sub(a, b);
    case scalar_op::multiply:
        return math::mul(a, b);
    case scalar_op::divide:
        return math::div(a, b);
    case scalar_op::power:
        return static_cast<T>(std::pow(a, b));
    case scalar_op::maximum:
        return a < b ? b : a;
    case scalar_op::minimum:
        return b < a ? b : a;
    case scalar_op::negate:
        if constexpr (std::is_floating_point_v<T>)
            return -a;
        else
            return math::sub(T{0}, a);
    case scalar_op::absolute:
        if constexpr (std::is_floating_point_v<T>)
            return std::abs(a);
        else
            return a < T{0} ? math::sub(T{0}, a) : a;
    case scalar_op::square_root:
        return static_cast<T>(std::sqrt(a));
    case scalar_op::floor:
        return static_cast<T>(std::floor(a));
    case scalar_op::round:
        return static_cast<T>(std::nearbyint(a));
    case scalar_op::fast_exponential:
    case scalar_op::exponential:
        return static_cast<T>(std::exp(a));
    case scalar_op::logarithm:
        return static_cast<T>(std::log(a));
    case scalar_op::fast_tanh:
    case scalar_op::tanh:
        return static_cast<T>(std::tanh(a));
    case scalar_op::fast_erf:
    case scalar_op::erf:
        return static_cast<T>(std::erf(a));
    case scalar_op::sigmoid:
        return static_cast<T>(T(1) / (T(1) + std::exp(-a)));
    case scalar_op::sin:
        return static_cast<T>(std::sin(a));
    case scalar_op::cos:
        return static_cast<T>(std::cos(a));
    case scalar_op::tan:
        return static_cast<T>(std::tan(a));
    case scalar_op::asin:
        return static_cast<T>(std::asin(a));
    case scalar_op::acos:
        return static_cast<T>(std::acos(a));
    case scalar_op::atan:
        return static_cast<T>(std::atan(a));
    case scalar_op::sinh:
        return static_cast<T>(std::sinh(a));
    case scalar_op::cosh:
        return static_cast<T>(std::cosh(a));
    case scalar_op::asinh:
        return static_cast<T>(std::asinh(a));
    case scalar_op::acosh:
        return static_cast<T>(std::acosh(a));
    case scalar_op::atanh:
        return static_cast<T>(std::atanh(a));
    case scalar_op::remainder:
        return static_cast<T>(std::fmod(a, b));
    case scalar_op::bitwise_and:
    case scalar_op::bitwise_or:
    case scalar_op::bitwise_xor:
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(op == scalar_op::bitwise_and ? a & b : op == scalar_op::bitwise_or ? a | b : a ^ b);
        [[fallthrough]];
    default:
        throw std::logic_error{"no function of numbers"};
    }
}
template <class T>
bool truth(scalar_op op, T a, T b) {
    return op == scalar_op::equal         ? a == b
           : op == scalar_op::less        ? a < b
           : op == scalar_op::less_equal  ? a <= b
           : op == scalar_op::logical_and ? (a != T(0)) && (b != T(0))
           : op == scalar_op::logical_or  ? (a != T(0)) || (b != T(0))
           : op == scalar_op::logical_xor ? (a != T(0)) != (b != T(0))
                                          : a == T(0);
}

// What functions on vectors of f64 may be off by, in units of the last place.
double allowed(scalar_op op, dtype type) {
    op = exact(op);
    if (op == scalar_op::power && type == dtype::f32) return 1;
    if (type != dtype::f64) return 0;
    return op == scalar_op::exponential ? 1 : op == scalar_op::tanh || op == scalar_op::sigmoid ? 3 : 0;
}

TEST_CASE("every scalar operation computes what it says in every type that it takes, but for f32's functions") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<std::vector<scalar_op>> functions;
        for (auto const type : stored_dtypes) {
            typed_kernel k{count};
            auto const a = k.e.at(k.e.input("a", {count}, type), {k.i}),
                       b = k.e.at(k.e.input("b", {count}, type), {k.i});
            auto const c = k.e.at(k.e.input("c", {count}, dtype::boolean), {k.i});
            auto& all = functions.emplace_back();
            for (std::size_t o = 0; o < loop::scalar_op_count; ++o) {
                auto const op = static_cast<scalar_op>(o);
                if (!computes(op, type) || op == scalar_op::cast) continue;
                if (type == dtype::f32 && is_unary(op)) continue; // tests/codegen/cpp/vector_math.cpp
                all.push_back(op);
                k.store(op == scalar_op::select ? select(c, a, b) : is_unary(op) ? apply(op, a) : apply(op, a, b));
            }
            kernels.add(k.lowered(isa->lanes(byte_size(type) == 8 ? 8 : 4)));
        }
        kernels.compile();
        for (std::size_t t = 0; t < std::size(stored_dtypes); ++t) {
            auto const type = stored_dtypes[t];
            auto const a = numbers(type, count, 3), b = numbers(type, count, t % 2 ? 4 : 3),
                       c = numbers(dtype::boolean, count, 5);
            auto const outputs = run(kernels, t, {a, b, c});
            for (std::size_t f = 0; f < functions[t].size(); ++f) {
                auto const op = functions[t][f];
                std::int64_t const dims[] = {count};
                auto wanted = tensor::zeros(outputs[f].element(), dims);
                with_storage_type(type, [&]<class T>() {
                    auto const x = a.data<T>(), y = b.data<T>();
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        if (op == scalar_op::select) {
                            wanted.mutable_data<T>()[i] = c.data<bool>()[i] ? x[i] : y[i];
                        } else if constexpr (!std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>) {
                            if (info(op).truth) {
                                wanted.mutable_data<bool>()[i] = truth(op, x[i], y[i]);
                            } else if constexpr (!std::is_same_v<T, bool>) {
                                wanted.mutable_data<T>()[i] = expected(op, x[i], y[i]);
                            }
                        }
                    }
                });
                CAPTURE(isa->name, to_string(type), to_string(op));
                CHECK(difference(outputs[f], wanted, allowed(op, type)) == "");
            }
        }
    }
}

// Numbers of a type between two, of all magnitudes down to the least.
tensor spread(dtype t, std::int64_t n, double low, double high, std::uint64_t seed) {
    auto out = tensor::zeros(t, std::span<std::int64_t const>{&n, 1});
    random_stream r{seed};
    with_storage_type(t, [&]<class T>() {
        if constexpr (std::is_floating_point_v<T>)
            for (auto& v : out.mutable_data<T>()) {
                auto const at = static_cast<double>(r() >> 11) * 0x1p-53,
                           size = std::ldexp(1.0, -2 * static_cast<int>(r.below(30)));
                v = static_cast<T>((low + at * (high - low)) * (r.below(2) ? size : 1));
            }
    });
    return out;
}

TEST_CASE("functions on vectors of f64 are as near to the exact value as stated") {
    constexpr std::int64_t n = 1 << 18;
    struct range {
        scalar_op op;
        dtype type;
        double low, high, least, most; // of the second operand of powers
    };
    range const ranges[] = {
        {scalar_op::exponential, dtype::f64, -746, 710.5, 0, 0}, {scalar_op::tanh, dtype::f64, -25, 25, 0, 0},
        {scalar_op::sigmoid, dtype::f64, -709, 50, 0, 0},        {scalar_op::power, dtype::f32, 1e-6, 30, -30, 30},
        {scalar_op::power, dtype::f32, 1e-30, 3e38, -4, 4},      {scalar_op::power, dtype::f32, 0.9, 1.1, -900, 900}};
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        for (auto const& f : ranges) {
            typed_kernel k{n};
            auto const a = k.e.at(k.e.input("a", {n}, f.type), {k.i}), b = k.e.at(k.e.input("b", {n}, f.type), {k.i});
            k.store(f.op == scalar_op::power ? apply(f.op, a, b) : apply(f.op, a));
            kernels.add(k.lowered(isa->lanes(static_cast<std::int32_t>(byte_size(f.type)))));
        }
        kernels.compile();
        for (std::size_t f = 0; f < std::size(ranges); ++f) {
            auto const op = ranges[f].op;
            auto const type = ranges[f].type;
            auto const a = spread(type, n, ranges[f].low, ranges[f].high, f),
                       b = spread(type, n, ranges[f].least, ranges[f].most, f + 50);
            auto const got = run(kernels, f, {a, b})[0];
            std::int64_t const dims[] = {n};
            auto wanted = tensor::zeros(type, dims);
            with_storage_type(type, [&]<class T>() {
                if constexpr (std::is_floating_point_v<T>)
                    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                        auto const x = static_cast<long double>(a.data<T>()[i]);
                        wanted.mutable_data<T>()[i] = static_cast<T>(
                            op == scalar_op::exponential ? std::exp(x)
                            : op == scalar_op::tanh      ? std::tanh(x)
                            : op == scalar_op::sigmoid   ? 1 / (1 + std::exp(-x))
                                                         : std::pow(x, static_cast<long double>(b.data<T>()[i])));
                    }
            });
            CAPTURE(isa->name, to_string(op));
            CHECK(difference(got, wanted, allowed(op, type)) == "");
        }
    }
}

TEST_CASE("reductions of every type add and take maxima, over lanes too") {
    constexpr std::int64_t rows = 3, n = 37;
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        struct reduction {
            dtype type;
            bool adds, lanes;
        };
        std::vector<reduction> all;
        for (auto const type : stored_dtypes) {
            if (!computes(scalar_op::add, type)) continue;
            for (auto const adds : {true, false})
                for (auto const over_lanes : {true, false}) {
                    loop::expression_builder e{"reduction"};
                    auto const i = e.spatial("i", over_lanes ? rows : n), k = e.reduction("k", over_lanes ? n : rows);
                    auto const x = e.input("x", {rows, n}, type), y = e.output("y", {over_lanes ? rows : n}, type);
                    auto const v = over_lanes ? e.at(x, {i, k}) : e.at(x, {k, i});
                    auto const start = e.number(1, 1, type);
                    loop::schedule plan{e.store(y, {i}, adds ? e.sum(start, v) : e.maximum(start, v))};
                    auto const [outer, lane] = plan.split(plan.loop_of(over_lanes ? "k" : "i"), isa->lanes());
                    if (over_lanes)
                        plan.reorder({plan.loop_of("i"), outer, lane});
                    else
                        plan.reorder({outer, plan.loop_of("k"), lane});
                    plan.vectorize(lane);
                    kernels.add(codegen::lower(plan.finish(), "reduction").value());
                    all.push_back({type, adds, over_lanes});
                }
        }
        kernels.compile();
        for (std::size_t f = 0; f < all.size(); ++f) {
            auto const& r = all[f];
            CAPTURE(isa->name, to_string(r.type), r.adds, r.lanes);
            auto x = numbers(dtype::i8, rows * n, 9).converted_to(r.type); // exact in every order
            auto const y = run(kernels, f, {x})[0];
            std::int64_t const dims[] = {r.lanes ? rows : n};
            auto wanted = tensor::zeros(r.type, dims);
            with_storage_type(r.type, [&]<class T>() {
                if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
                    for (std::int64_t i = 0; i < dims[0]; ++i) {
                        T v{1};
                        for (std::int64_t k = 0; k < (r.lanes ? n : rows); ++k) {
                            auto const e = x.data<T>()[static_cast<std::size_t>(r.lanes ? i * n + k : k * n + i)];
                            v = r.adds ? math::add(v, e) : v < e ? e : v;
                        }
                        wanted.mutable_data<T>()[static_cast<std::size_t>(i)] = v;
                    }
            });
            CHECK(difference(y, wanted) == "");
        }
    }
}

TEST_CASE("outside of its bounds a load is a number of its type") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        for (auto const type : stored_dtypes) {
            loop::expression_builder e{"pad"};
            auto const i = e.spatial("i", 4), x = e.spatial("x", 5);
            auto const from = e.input("x", {2, 5}, type), to = e.output("y", {4, 5}, type);
            auto const v = e.at(from, {i - 1, x}, std::vector<loop::bound>{{i - 1, 2}}, e.number(1.5, 1, type));
            loop::schedule plan{e.store(to, {i, x}, v)};
            plan.vectorize(plan.split(plan.loop_of("x"), 4).second);
            kernels.add(codegen::lower(plan.finish(), "pad").value());
        }
        kernels.compile();
        for (std::size_t t = 0; t < std::size(stored_dtypes); ++t) {
            auto const type = stored_dtypes[t];
            CAPTURE(isa->name, to_string(type));
            auto const y = run(kernels, t, {numbers(type, 10, 1)})[0];
            for (std::int64_t e : {0, 4, 15, 19})
                CHECK(interpret::get(type, y.raw().data() + static_cast<std::size_t>(e) * byte_size(type)) ==
                      (is_floating(type) ? 1.5 : 1));
        }
    }
}

TEST_CASE("a function is defined once, after those that it calls") {
    codegen::typed_functions f{8};
    auto const name = f.cast(dtype::f64, dtype::bf16);
    CHECK(f.cast(dtype::f64, dtype::bf16) == name);
    auto const text = f.text();
    CHECK(text.find(name + "(") == text.rfind(name + "("));
    CHECK(text.find("cast_f32_bf16(vf") < text.find(name + "("));
    CHECK(codegen::literal(0.1, 0, dtype::f32) == "(float)0.10000000149011612");
    CHECK(codegen::literal(0, std::numeric_limits<std::int64_t>::min(), dtype::i64) == "(-9223372036854775807L - 1)");
    CHECK(codegen::literal(0, -1, dtype::u64) == "18446744073709551615UL");
}

} // namespace typed_functions_test
