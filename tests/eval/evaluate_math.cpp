#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/integer_types.hpp"
#include <gsub/eval/evaluate_math.hpp>

#include <functional>
#include <limits>
#include <vector>

namespace evaluate_math_test {

using namespace gsub;
using compute::f32;
using compute::failure;
using compute::near;
using compute::normal;
using compute::one;
using compute::same;

inline constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr auto inf = std::numeric_limits<float>::infinity();

static_assert(detail::has_evaluate<ops::relu> && detail::has_evaluate<ops::cast> && detail::has_evaluate<ops::gemm>);
static_assert(!detail::has_evaluate<ops::hard_swish>, "a composite operator follows from its decomposition");
static_assert(detail::elementwise_unary<ops::sigmoid, double> && detail::elementwise_binary<ops::add, field61>);
static_assert(detail::instantiable<ops::add, field61>() && !detail::instantiable<ops::relu, field61>());
static_assert(detail::instantiable<ops::relu, std::int8_t>() && !detail::instantiable<ops::tanh, std::int8_t>());

// Element by element, by a function of doubles.
tensor mapped(tensor const& x, std::function<double(double)> const& f) {
    auto y = x.converted_to(dtype::f64);
    for (auto& v : y.mutable_data<double>()) v = f(v);
    return y;
}

template <class Op>
void check_unary(attributes_of<Op> const& a, std::function<double(double)> const& f) {
    CAPTURE(op_traits<Op>::name);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        auto const x = normal({3, 17}, seed);
        CHECK(near(one<Op>(a, {x}), mapped(x, f), 1e-6));
        CHECK(near(one<Op>(a, {x.converted_to(dtype::f64)}), mapped(x, f), 1e-14));
        auto const half = x.converted_to(dtype::f16), brain = x.converted_to(dtype::bf16);
        // 16-bit floats are computed in float and rounded once.
        CHECK(same(one<Op>(a, {half}), one<Op>(a, {half.converted_to(dtype::f32)}).converted_to(dtype::f16)));
        CHECK(same(one<Op>(a, {brain}), one<Op>(a, {brain.converted_to(dtype::f32)}).converted_to(dtype::bf16)));
    }
    CHECK(one<Op>(a, {tensor::zeros(dtype::f32, ints{2, 0})}).elements() == 0);
    CHECK(one<Op>(a, {tensor::scalar(0.5f)}).rank() == 0);
}

TEST_CASE("elementwise operators of one operand compute their formula, in every precision") {
    auto const hard = [](double alpha, double beta) {
        return [=](double x) { return std::min(std::max(alpha * x + beta, 0.0), 1.0); };
    };
    check_unary<ops::relu>({}, [](double x) { return std::max(x, 0.0); });
    check_unary<ops::clip>({.min = -0.5, .max = 0.25}, [](double x) { return std::min(std::max(x, -0.5), 0.25); });
    check_unary<ops::sigmoid>({}, [](double x) { return 1 / (1 + std::exp(-x)); });
    check_unary<ops::tanh>({}, [](double x) { return std::tanh(x); });
    check_unary<ops::sqrt>({}, [](double x) { return std::sqrt(x); });
    check_unary<ops::hard_sigmoid>({}, hard(0.2, 0.5));
    check_unary<ops::hard_sigmoid>({.alpha = 0.7, .beta = -0.1}, hard(0.7, -0.1));
    check_unary<ops::hard_swish>({}, [&](double x) { return x * hard(1.0 / 6, 0.5)(x); });
    check_unary<ops::sum>({}, [](double x) { return x; });
    check_unary<ops::exp>({}, [](double x) { return std::exp(x); });
    check_unary<ops::log>({}, [](double x) { return std::log(x); });
    check_unary<ops::erf>({}, [](double x) { return std::erf(x); });
    check_unary<ops::sin>({}, [](double x) { return std::sin(x); });
    check_unary<ops::cos>({}, [](double x) { return std::cos(x); });
    check_unary<ops::tan>({}, [](double x) { return std::tan(x); });
    check_unary<ops::asin>({}, [](double x) { return std::asin(x); });
    check_unary<ops::acos>({}, [](double x) { return std::acos(x); });
    check_unary<ops::atan>({}, [](double x) { return std::atan(x); });
    check_unary<ops::sinh>({}, [](double x) { return std::sinh(x); });
    check_unary<ops::cosh>({}, [](double x) { return std::cosh(x); });
    check_unary<ops::asinh>({}, [](double x) { return std::asinh(x); });
    check_unary<ops::acosh>({}, [](double x) { return std::acosh(x); });
    check_unary<ops::atanh>({}, [](double x) { return std::atanh(x); });
    check_unary<ops::neg>({}, [](double x) { return -x; });
    check_unary<ops::abs>({}, [](double x) { return std::abs(x); });
    check_unary<ops::reciprocal>({}, [](double x) { return 1 / x; });
    check_unary<ops::floor>({}, [](double x) { return std::floor(x); });
    check_unary<ops::ceil>({}, [](double x) { return std::ceil(x); });
    check_unary<ops::round>({}, [](double x) { return std::nearbyint(x); });
    check_unary<ops::softplus>({}, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
    check_unary<ops::softsign>({}, [](double x) { return x / (1 + std::abs(x)); });
    check_unary<ops::leaky_relu>({.alpha = 0.2}, [](double x) { return x < 0 ? 0.2 * x : x; });
    check_unary<ops::elu>({.alpha = 0.7}, [](double x) { return x < 0 ? 0.7 * (std::exp(x) - 1) : x; });
    check_unary<ops::gelu>({}, [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; });
    check_unary<ops::gelu>({.approximate = "tanh"}, [](double x) {
        return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x)));
    });
}

TEST_CASE("NaN and infinities pass as IEEE 754 and ONNX Runtime have them") {
    auto const x = f32({5}, {nan, inf, -inf, -0.0f, -1});
    CHECK(near(one<ops::relu>({x}), f32({5}, {nan, inf, 0, 0, 0})));
    CHECK(near(one<ops::clip>({.min = -2, .max = 3}, {x}), f32({5}, {nan, 3, -2, 0, -1})));
    CHECK(near(one<ops::clip>({}, {x}), x)); // no bound
    CHECK(near(one<ops::sigmoid>({x}), f32({5}, {nan, 1, 0, 0.5f, 0.26894143f})));
    CHECK(near(one<ops::tanh>({x}), f32({5}, {nan, 1, -1, 0, -0.76159416f})));
    CHECK(near(one<ops::sqrt>({x}), f32({5}, {nan, inf, nan, 0, nan})));
    CHECK(near(one<ops::mul>({x, f32({1}, {0})}), f32({5}, {nan, nan, nan, 0, 0}))); // x * 0 is not 0
    CHECK(near(one<ops::sub>({x, x}), f32({5}, {nan, nan, nan, 0, 0})));             // x - x neither
    CHECK(near(one<ops::div>({f32({3}, {1, -1, 0}), f32({1}, {0})}), f32({3}, {inf, -inf, nan})));
    CHECK(near(one<ops::exp>({x}), f32({5}, {nan, inf, 0, 1, 0.36787944f})));
    CHECK(near(one<ops::log>({x}), f32({5}, {nan, inf, nan, -inf, nan})));
    CHECK(near(one<ops::erf>({x}), f32({5}, {nan, 1, -1, 0, -0.84270079f})));
    CHECK(near(one<ops::neg>({x}), f32({5}, {nan, -inf, inf, 0, 1})));
    CHECK_FALSE(std::signbit(one<ops::neg>({x}).data<float>()[3]));
    CHECK(near(one<ops::abs>({x}), f32({5}, {nan, inf, inf, 0, 1})));
    CHECK_FALSE(std::signbit(one<ops::abs>({x}).data<float>()[3]));
    CHECK(near(one<ops::reciprocal>({x}), f32({5}, {nan, 0, 0, -inf, -1})));
    CHECK(std::signbit(one<ops::reciprocal>({x}).data<float>()[2]));
    CHECK(near(one<ops::floor>({x}), x));
    CHECK(near(one<ops::ceil>({x}), x));
    CHECK(std::signbit(one<ops::floor>({x}).data<float>()[3]));
    CHECK(std::signbit(one<ops::ceil>({f32({1}, {-0.5f})}).data<float>()[0]));
    CHECK(near(one<ops::round>({x}), x));
    auto const halves = f32({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388607.5f});
    CHECK(same(one<ops::round>({halves}), f32({6}, {0, 2, 2, -0.0f, -2, 8388608})));
    CHECK(near(one<ops::softplus>({x}), f32({5}, {nan, inf, 0, 0.69314718f, 0.31326169f})));
    // Far below zero it is the power, and far above x.
    CHECK(near(one<ops::softplus>({f32({3}, {-20, -80, 80})}), f32({3}, {2.0611536e-9f, 1.8048513e-35f, 80}), 1e-6));
    CHECK(near(one<ops::softsign>({f32({3}, {nan, -1, 1e30f})}), f32({3}, {nan, -0.5f, 1})));
    CHECK(near(one<ops::pow>({x, f32({1}, {2})}), f32({5}, {nan, inf, inf, 0, 1})));
    CHECK(near(one<ops::pow>({x, f32({1}, {0})}), f32({5}, {1, 1, 1, 1, 1})));
    CHECK(near(one<ops::leaky_relu>({.alpha = 0.5}, {x}), f32({5}, {nan, inf, -inf, 0, -0.5f})));
    auto const huge = f32({2}, {1000, -1000});
    CHECK(near(one<ops::sigmoid>({huge}), f32({2}, {1, 0})));
    // Denormal numbers are numbers.
    auto const least = std::numeric_limits<float>::denorm_min();
    CHECK(one<ops::add>({tensor::scalar(least), tensor::scalar(least)}).data<float>()[0] == 2 * least);
}

TEST_CASE("clip is min(max(x, low), high), also where the bounds are crossed or operands") {
    auto const x = f32({4}, {-3, -1, 1, 3});
    CHECK(same(one<ops::clip>({.min = 2, .max = -2}, {x}), f32({4}, {-2, -2, -2, -2})));
    CHECK(same(one<ops::clip>({}, {x, tensor::scalar(-2.0f), tensor::scalar(2.0f)}), f32({4}, {-2, -1, 1, 2})));
    CHECK(same(one<ops::clip>({}, {x, {}, tensor::scalar(0.0f)}), f32({4}, {-3, -1, 0, 0})));
    CHECK(same(one<ops::clip>({}, {x, tensor::scalar(0.0f)}), f32({4}, {0, 0, 1, 3})));
    CHECK(same(one<ops::clip>({}, {x, f32({1}, {0.0f})}), f32({4}, {0, 0, 1, 3})));
    // Bounds of integers: infinite ones are none, real ones are truncated, NaN bounds nothing.
    auto const i = tensor::from<std::int32_t>({3}, {std::numeric_limits<std::int32_t>::min(), 0, 7});
    CHECK(same(one<ops::clip>({}, {i}), i));
    CHECK(same(one<ops::clip>({.min = nan, .max = nan}, {i}), i));
    CHECK(same(one<ops::clip>({.min = nan, .max = nan}, {x}), x));
    CHECK(same(one<ops::clip>({.min = -1e300, .max = 6.5}, {i}),
               tensor::from<std::int32_t>({3}, {std::numeric_limits<std::int32_t>::min(), 0, 6})));
    CHECK(same(one<ops::clip>({.min = 5}, {tensor::from<std::uint8_t>({2}, {0, 255})}),
               tensor::from<std::uint8_t>({2}, {5, 255})));
    CHECK(failure<ops::clip>({}, {x, tensor::scalar(std::int64_t{0})}).find("element types must be equal") !=
          std::string::npos);
}

TEST_CASE("a bound beyond the range of integers is the end of their range") {
    auto const ends = [](dtype t, double min, double max) {
        return one<ops::clip>({.min = min, .max = max}, {tensor::zeros(t, ints{1})}).to_ints()[0];
    };
    each_integer_type([&]<class T> {
        CHECK(ends(dtype_of<T>, 1e300, 1e300) == static_cast<std::int64_t>(std::numeric_limits<T>::max()));
        CHECK(ends(dtype_of<T>, -1e300, -1e300) == static_cast<std::int64_t>(std::numeric_limits<T>::min()));
    });
    CHECK(ends(dtype::i8, 300, 1e300) == 127);
    CHECK(ends(dtype::i8, -1e300, -300) == -128);
    CHECK(ends(dtype::u8, 300, 1e300) == 255);
    CHECK(ends(dtype::u8, -1e300, -300) == 0);
    CHECK(ends(dtype::i32, 1e10, 1e300) == 2147483647);
    CHECK(ends(dtype::i64, 1e300, 1e300) == std::numeric_limits<std::int64_t>::max());
}

__extension__ using wide_integer = __int128; // products of 64-bit numbers too

template <class Op, class T, class F>
void check_integers(std::vector<T> const& a, std::vector<T> const& b, F&& exact) {
    CAPTURE(op_traits<Op>::name, to_string(dtype_of<T>));
    ints const dims{static_cast<std::int64_t>(a.size())};
    auto const y = one<Op>({tensor::from<T>(dims, a), tensor::from<T>(dims, b)});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if constexpr (std::is_same_v<decltype(exact(wide_integer{}, wide_integer{})), bool>)
            wrong += y.template data<bool>()[i] != exact(wide_integer{a[i]}, wide_integer{b[i]});
        else
            wrong += y.template data<T>()[i] != static_cast<T>(exact(wide_integer{a[i]}, wide_integer{b[i]}));
    }
    CHECK(wrong == 0);
}
template <class Op, class T, class F>
void check_integer(std::vector<T> const& a, F&& exact) {
    CAPTURE(op_traits<Op>::name, to_string(dtype_of<T>));
    auto const y = one<Op>({tensor::from<T>(ints{static_cast<std::int64_t>(a.size())}, a)});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        wrong += y.template data<T>()[i] != static_cast<T>(exact(wide_integer{a[i]}));
    CHECK(wrong == 0);
}

// Pairs of random numbers, of those at the ends and of small ones.
template <class T>
std::pair<std::vector<T>, std::vector<T>> integer_pairs(std::uint64_t seed) {
    random_stream r{seed};
    constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    auto const draw = [&] {
        T const ends[] = {low,
                          static_cast<T>(low + 1),
                          T{0},
                          T{1},
                          T{2},
                          static_cast<T>(T{0} - T{1}),
                          high,
                          static_cast<T>(high - 1),
                          static_cast<T>(high / 2),
                          static_cast<T>(high / 2 + 1)};
        return r.below(2) ? ends[r.below(std::size(ends))] : static_cast<T>(r());
    };
    std::pair<std::vector<T>, std::vector<T>> out;
    for (int i = 0; i < 1000; ++i) out.first.push_back(draw()), out.second.push_back(draw());
    return out;
}

TEST_CASE("integers of every type compute as whole numbers do, modulo two to the number of bits") {
    using wide = wide_integer;
    each_integer_type([]<class T> {
        auto const pairs = integer_pairs<T>(1 + static_cast<std::uint64_t>(dtype_of<T>));
        auto const &a = pairs.first, &b = pairs.second;
        check_integers<ops::add>(a, b, [](wide x, wide y) { return x + y; });
        check_integers<ops::sub>(a, b, [](wide x, wide y) { return x - y; });
        // The low half of a product is that of the low halves.
        check_integers<ops::mul>(
            a, b, [](wide x, wide y) { return static_cast<wide>(static_cast<uint128>(x) * static_cast<uint128>(y)); });
        check_integers<ops::div>(a, b, [](wide x, wide y) { return y == 0 ? wide{0} : x / y; });
        check_integers<ops::equal>(a, b, [](wide x, wide y) { return x == y; });
        check_integers<ops::less>(a, b, [](wide x, wide y) { return x < y; });
        check_integers<ops::less_or_equal>(a, b, [](wide x, wide y) { return x <= y; });
        check_integers<ops::greater>(a, b, [](wide x, wide y) { return x > y; });
        check_integers<ops::greater_or_equal>(a, b, [](wide x, wide y) { return x >= y; });
        check_integer<ops::relu>(a, [](wide x) { return x < 0 ? wide{0} : x; });
        check_integer<ops::abs>(a, [](wide x) { return x < 0 ? -x : x; });
        check_integer<ops::neg>(a, [](wide x) { return -x; });
        auto exponents = b;
        for (auto& e : exponents) e = static_cast<T>(e & T{31});
        check_integers<ops::pow>(a, exponents, [](wide x, wide y) {
            uint128 power = 1;
            for (; y > 0; --y) power *= static_cast<uint128>(x);
            return static_cast<wide>(power);
        });
        auto const x = tensor::from<T>(ints{1000}, a);
        auto const low = static_cast<T>(std::numeric_limits<T>::max() / 4),
                   high = static_cast<T>(std::numeric_limits<T>::max() / 4 * 3);
        auto const clipped = one<ops::clip>({}, {x, tensor::scalar(low), tensor::scalar(high)});
        bool same_bounds = true;
        for (std::size_t i = 0; i < a.size(); ++i)
            same_bounds = same_bounds && clipped.template data<T>()[i] == std::min(std::max(a[i], low), high);
        CHECK(same_bounds);
        CHECK(same(one<ops::clip>({}, {x}), x));
        // A product of matrices is sums of products.
        auto const column = x.reshaped(ints{1000, 1}), row = x.reshaped(ints{1, 1000});
        T sum{};
        for (auto v : a) sum = math::add(sum, math::mul(v, v));
        CHECK(one<ops::mat_mul>({row, column}).template data<T>()[0] == sum);
        CHECK(one<ops::gemm>({}, {row, column}).template data<T>()[0] == sum);
    });
}

TEST_CASE("integers add, subtract, multiply and divide modulo two to the number of bits") {
    auto const a = tensor::from<std::int8_t>({4}, {127, -128, -128, 7}),
               b = tensor::from<std::int8_t>({4}, {1, -1, 0, -2});
    CHECK(same(one<ops::add>({a, b}), tensor::from<std::int8_t>({4}, {-128, 127, -128, 5})));
    CHECK(same(one<ops::sub>({a, b}), tensor::from<std::int8_t>({4}, {126, -127, -128, 9})));
    CHECK(same(one<ops::mul>({a, b}), tensor::from<std::int8_t>({4}, {127, -128, 0, -14})));
    CHECK(same(one<ops::div>({a, b}), tensor::from<std::int8_t>({4}, {127, -128, 0, -3})));
    CHECK(same(one<ops::sum>({}, {a, b, a}), tensor::from<std::int8_t>({4}, {-1, -1, 0, 12})));
    auto const wide = compute::i64({std::numeric_limits<std::int64_t>::min(), 5});
    CHECK(same(one<ops::div>({wide, compute::i64({-1, 0})}),
               compute::i64({std::numeric_limits<std::int64_t>::min(), 0})));
    CHECK(same(one<ops::sub>({tensor::from<std::uint8_t>({1}, {1}), tensor::from<std::uint8_t>({1}, {2})}),
               tensor::from<std::uint8_t>({1}, {255})));
    CHECK(same(one<ops::relu>({tensor::from<std::int16_t>({2}, {-5, 5})}), tensor::from<std::int16_t>({2}, {0, 5})));
    CHECK(same(one<ops::neg>({b}), tensor::from<std::int8_t>({4}, {-1, 1, 0, 2})));
    CHECK(same(one<ops::abs>({a}), tensor::from<std::int8_t>({4}, {127, -128, -128, 7})));
}

TEST_CASE("a power of integers is a product modulo two to the number of bits, an inverse truncates") {
    auto const power = [](ints const& a, ints const& b) { return one<ops::pow>({compute::i64(a), compute::i64(b)}); };
    CHECK(same(power({3, -2, 0, 0, 7}, {4, 3, 0, 5, 1}), compute::i64({81, -8, 1, 0, 7})));
    CHECK(same(power({2, 1, -1, -1, 0}, {-1, -5, -5, -4, -1}), compute::i64({0, 1, -1, 1, 0})));
    CHECK(same(power({2, 3}, {63, 64}), compute::i64({std::numeric_limits<std::int64_t>::min(), 8733086111712066817})));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const x = normal({3, 5}, seed);
        CHECK(near(one<ops::pow>({x, tensor::scalar(2.0f)}), one<ops::mul>({x, x}), 1e-6));
        CHECK(near(one<ops::pow>({one<ops::abs>({x}), tensor::scalar(0.5f)}), one<ops::sqrt>({one<ops::abs>({x})}),
                   1e-6));
    }
}

TEST_CASE("what is defined on real numbers only refuses integers, and truth values are no numbers") {
    auto const i = tensor::from<std::int32_t>({1}, {1});
    CHECK(failure<ops::sigmoid>({}, {i}).find("not supported: Sigmoid: element type i32 is not supported") !=
          std::string::npos);
    CHECK(failure<ops::tanh>({}, {i}).find("element type i32 is not supported") != std::string::npos);
    CHECK(failure<ops::hard_swish>({}, {i}).find("it takes floating types") != std::string::npos);
    CHECK(failure<ops::add>({}, {tensor::scalar(true), tensor::scalar(true)}).find("element type bool") !=
          std::string::npos);
}

TEST_CASE("addition and multiplication commute, and distribute up to rounding") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const a = normal({2, 3, 4}, 3 * seed), b = normal({3, 1}, 3 * seed + 1), c = normal({4}, 3 * seed + 2);
        CHECK(same(one<ops::add>({a, b}), one<ops::add>({b, a})));
        CHECK(same(one<ops::mul>({a, b}), one<ops::mul>({b, a})));
        CHECK(near(one<ops::mul>({a, one<ops::add>({b, c})}),
                   one<ops::add>({one<ops::mul>({a, b}), one<ops::mul>({a, c})})));
        CHECK(near(one<ops::mul>({one<ops::div>({a, b}), b}), one<ops::add>({a, one<ops::sub>({b, b})})));
        CHECK(near(one<ops::sum>({}, {a, b, c}), one<ops::add>({one<ops::add>({a, b}), c})));
        CHECK(same(one<ops::sum>({}, {a}), a));
    }
}

TEST_CASE("a cast rounds, truncates and saturates as a conversion of the tensor does") {
    auto const x = f32({6}, {1.5f, -1.5f, 300, -1e10f, nan, 0});
    for (auto to : stored_dtypes) CHECK(same(one<ops::cast>({.to = to}, {x}), x.converted_to(to)));
    CHECK(same(one<ops::cast>({.to = dtype::i32}, {f32({3}, {2.9f, -2.9f, inf})}),
               tensor::from<std::int32_t>({3}, {2, -2, std::numeric_limits<std::int32_t>::max()})));
    CHECK(same(one<ops::cast>({.to = dtype::f32}, {tensor::from<bool>({2}, {true, false})}), f32({2}, {1, 0})));
}

// numpy's matmul on stacks of matrices, by its definition.
tensor naive_product(tensor const& a, tensor const& b) {
    auto const x = a.converted_to(dtype::f64), y = b.converted_to(dtype::f64);
    auto const m = a.dims()[a.rank() - 2], k = a.dims()[a.rank() - 1], n = b.dims()[b.rank() - 1];
    auto const batch =
        broadcast(shape(a.dims().begin(), a.dims().end() - 2), shape(b.dims().begin(), b.dims().end() - 2));
    REQUIRE(batch);
    ints dims;
    for (auto d : *batch) dims.push_back(d.size());
    auto const stacks = dims;
    dims.push_back(m), dims.push_back(n);
    auto z = tensor::zeros(dtype::f64, dims);
    if (z.elements() == 0) return z;
    auto const start = [&](tensor const& t, box_index const& at) {
        std::int64_t offset = 0;
        auto const own = t.dims().first(t.rank() - 2);
        for (std::size_t i = 0; i < own.size(); ++i)
            offset = offset * own[i] + (own[i] == 1 ? 0 : at[stacks.size() - own.size() + i]);
        return offset * t.dims()[t.rank() - 2] * t.dims()[t.rank() - 1];
    };
    box_index at{stacks};
    auto* out = z.mutable_data<double>().data();
    do
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j, ++out)
                for (std::int64_t p = 0; p < k; ++p)
                    *out += x.data<double>()[static_cast<std::size_t>(start(a, at) + i * k + p)] *
                            y.data<double>()[static_cast<std::size_t>(start(b, at) + p * n + j)];
    while (at.next());
    return z;
}

TEST_CASE("matrix products of broadcast stacks are those of the definition") {
    random_stream r{5};
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        auto const draw = [&] { return static_cast<std::int64_t>(r.below(6)); };
        auto const m = draw(), k = draw(), n = draw();
        ints a{m, k}, b{k, n};
        for (auto rank = r.below(3); rank-- > 0;) {
            auto const d = static_cast<std::int64_t>(1 + r.below(3));
            a.insert(0, r.below(3) ? d : 1);
            if (r.below(4)) b.insert(0, r.below(3) ? d : 1);
            if (b.size() < a.size() && r.below(2) && b.size() > 2) b.erase(0);
        }
        if (b.size() < a.size() && b.size() > 2) b = {k, n};
        auto const x = normal(a, 2 * seed), y = normal(b, 2 * seed + 1);
        CAPTURE(to_string(x.type()), to_string(y.type()));
        auto const expected = naive_product(x, y);
        CHECK(near(one<ops::mat_mul>({}, {x, y}, {.fast_kernels = false}), expected));
        CHECK(near(one<ops::mat_mul>({}, {x, y}), expected));
        // Vectors on either side lose their dimension.
        if (m == 1 && x.rank() == 2)
            CHECK(near(one<ops::mat_mul>({x.reshaped(ints{k}), y}), expected.reshaped([&] {
                ints d(expected.dims().begin(), expected.dims().end());
                d.erase(d.size() - 2);
                return d;
            }())));
        if (n == 1 && y.rank() == 2)
            CHECK(near(one<ops::mat_mul>({x, y.reshaped(ints{k})}),
                       expected.reshaped(expected.dims().first(expected.rank() - 1))));
    }
    auto const v = f32({3}, {1, 2, 3});
    CHECK(same(one<ops::mat_mul>({v, v}), tensor::scalar(14.0f)));
    auto const a = tensor::from<std::int32_t>({1, 2}, {3, 4}), b = tensor::from<std::int32_t>({2, 1}, {5, 6});
    CHECK(same(one<ops::mat_mul>({a, b}), tensor::from<std::int32_t>({1, 1}, {39})));
}

TEST_CASE("a gemm is alpha times a product plus beta times the addend, transposed as its flags say") {
    random_stream r{6};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto const m = static_cast<std::int64_t>(r.below(5)), k = static_cast<std::int64_t>(r.below(5)),
                   n = static_cast<std::int64_t>(r.below(5));
        bool const ta = r.below(2), tb = r.below(2);
        auto const a = normal({m, k}, 3 * seed), b = normal({k, n}, 3 * seed + 1);
        auto const flip = [](tensor const& t) { return one<ops::transpose>({.perm = {1, 0}}, {t}); };
        attributes_of<ops::gemm> const flags{.alpha = 0.5, .beta = -2, .transpose_a = ta, .transpose_b = tb};
        auto const x = ta ? flip(a) : a, y = tb ? flip(b) : b;
        CAPTURE(m, k, n, ta, tb);
        auto const half = one<ops::mul>({one<ops::mat_mul>({a, b}), tensor::scalar(0.5f)});
        for (bool fast : {false, true}) {
            evaluate_options const how{.fast_kernels = fast};
            CHECK(near(one<ops::gemm>(flags, {x, y}, how), half));
            for (auto const& dims : {ints{m, n}, ints{n}, ints{m, 1}, ints{1, n}, ints{}, ints{1}}) {
                auto const c = normal(dims, 3 * seed + 2);
                auto const expected = one<ops::sub>({half, one<ops::mul>({c, tensor::scalar(2.0f)})});
                CHECK(near(one<ops::gemm>(flags, {x, y, c}, how), expected));
            }
        }
    }
    auto const i = tensor::from<std::int32_t>({1, 1}, {7});
    CHECK(same(one<ops::gemm>({.beta = 1e300}, {i, i, tensor::from<std::int32_t>({1}, {0})}),
               tensor::from<std::int32_t>({1, 1}, {49})));
}

TEST_CASE("an einsum is the sum of products that its equation says") {
    auto const sums = [](char const* equation, std::vector<tensor> const& x) {
        return one<ops::einsum>({.equation = equation}, x);
    };
    auto const turned = [](tensor const& t, ints perm) { return one<ops::transpose>({.perm = std::move(perm)}, {t}); };
    auto const a = normal({4, 2, 3}, 1), b = normal({4, 3, 5}, 2), m = normal({3, 3}, 3);
    auto const product = one<ops::mat_mul>({a, b});
    CHECK(near(sums("bij,bjk->bik", {a, b}), product));
    CHECK(near(sums("...ij,...jk", {a, b}), product));
    CHECK(near(sums("bij,bjk->kbi", {a, b}), turned(product, {2, 0, 1})));
    CHECK(near(sums("bji,bkj", {turned(a, {0, 2, 1}), turned(b, {0, 2, 1})}),
               one<ops::reduce_sum>({.axes = {0}, .keepdims = false}, {product})));
    CHECK(near(sums("...ij,jk", {a, m}), one<ops::mat_mul>({a, m})));
    CHECK(near(sums("bij,bij->b", {a, a}),
               one<ops::reduce_sum>({.axes = {1, 2}, .keepdims = false}, {one<ops::mul>({a, a})})));
    CHECK(same(sums("bij->jbi", {a}), turned(a, {2, 0, 1})));
    CHECK(near(sums("bij->", {a}), one<ops::reduce_sum>({.keepdims = false}, {a})));
    CHECK(same(sums("ii->i", {f32({2, 2}, {1, 2, 3, 4})}), f32({2}, {1, 4})));
    CHECK(same(sums("ii", {f32({2, 2}, {1, 2, 3, 4})}), tensor::scalar(5.0f)));
    CHECK(same(sums("i,j,i->ji", {f32({2}, {1, 2}), f32({3}, {1, 10, 100}), f32({2}, {3, 5})}),
               f32({3, 2}, {3, 10, 30, 100, 300, 1000})));
    // One element is repeated; a sum of nothing is zero.
    CHECK(same(sums("ij,ij->ij", {f32({2, 1}, {2, 3}), f32({1, 2}, {5, 7})}), f32({2, 2}, {10, 14, 15, 21})));
    CHECK(same(sums("ij,jk->ik", {f32({1, 0}, {}), f32({0, 2}, {})}), f32({1, 2}, {0, 0})));
    auto const i = tensor::from<std::int8_t>({2}, {100, 2});
    CHECK(same(sums("i,i", {i, i}), tensor::from<std::int8_t>({}, {20})));
    // In the field it is the product, exactly.
    auto const x = to_precision(a, precision::field), y = to_precision(b, precision::field);
    evaluate_options const field{.compute = precision::field};
    CHECK(same(one<ops::einsum>({.equation = "bij,bjk->bik"}, {x, y}, field), one<ops::mat_mul>({}, {x, y}, field)));
}

TEST_CASE("in the prime field sums, products and quotients are exact") {
    evaluate_options const field{.compute = precision::field};
    auto const a = normal({2, 3}, 1), b = normal({3}, 2), c = normal({2, 1}, 3);
    auto const run = [&]<class Op>(std::type_identity<Op>, tensor const& x, tensor const& y) {
        return one<Op>({}, {x, y}, field);
    };
    auto const add = [&](tensor const& x, tensor const& y) { return run(std::type_identity<ops::add>{}, x, y); };
    auto const mul = [&](tensor const& x, tensor const& y) { return run(std::type_identity<ops::mul>{}, x, y); };
    auto const div = [&](tensor const& x, tensor const& y) { return run(std::type_identity<ops::div>{}, x, y); };
    auto const in_field = to_precision(a, precision::field);
    CHECK(in_field.element() == dtype::field61);
    CHECK(same(mul(a, add(b, c)), add(mul(a, b), mul(a, c))));
    CHECK(same(mul(div(a, b), b), in_field));
    CHECK(same(one<ops::relu>({}, {a}, field), one<ops::relu>({}, {a}, field)));
    CHECK_FALSE(same(one<ops::relu>({}, {a}, field), in_field));
    auto const top = (std::uint64_t{1} << 63) + 5; // integers of every type are in the field
    CHECK(one<ops::cast>({.to = dtype::f32}, {tensor::scalar(top)}, field).data<field61>()[0] ==
          field61{std::int64_t{1} << 62} + field61{(std::int64_t{1} << 62) + 5});
    for (auto t : stored_dtypes)
        if (is_integer(t))
            CHECK(
                one<ops::cast>({.to = dtype::f32}, {tensor::scalar(100.0).converted_to(t)}, field).data<field61>()[0] ==
                field61{100});
    CHECK(same(one<ops::mat_mul>({}, {a, one<ops::transpose>({.perm = {1, 0}}, {a}, {})}, field),
               one<ops::gemm>({.transpose_b = true}, {a, a}, field)));
}

TEST_CASE("a comparison is that of numbers in every element type, and false with NaN") {
    auto const check = [](auto op, tensor const& a, tensor const& b, auto&& holds) {
        using Op = typename decltype(op)::type;
        auto const y = one<Op>({a, b});
        REQUIRE(y.element() == dtype::boolean);
        auto const x = a.converted_to(dtype::f64), z = b.converted_to(dtype::f64);
        REQUIRE(y.elements() == 12); // [3,4] of [3,1] and [4]
        for (std::size_t i = 0; i < 12; ++i)
            CHECK(y.template data<bool>()[i] ==
                  holds(x.template data<double>()[i / 4], z.template data<double>()[i % 4]));
    };
    for (std::uint64_t seed = 0; seed < 10; ++seed)
        for (auto const element : stored_dtypes) {
            if (element == dtype::boolean) continue;
            CAPTURE(seed, to_string(element));
            random_stream r{seed};
            auto const few = [&](std::initializer_list<std::int64_t> dims, std::size_t count) {
                std::vector<double> values;
                for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(r.below(4)));
                if (is_floating(element) && r.below(2)) values[0] = static_cast<double>(seed % 2 ? nan : inf);
                return tensor::from<double>(dims, values).converted_to(element);
            };
            auto const a = few({3, 1}, 3), b = few({4}, 4);
            check(std::type_identity<ops::equal>{}, a, b, [](double x, double y) { return x == y; });
            check(std::type_identity<ops::less>{}, a, b, [](double x, double y) { return x < y; });
            check(std::type_identity<ops::less_or_equal>{}, a, b, [](double x, double y) { return x <= y; });
            check(std::type_identity<ops::greater>{}, a, b, [](double x, double y) { return x > y; });
            check(std::type_identity<ops::greater_or_equal>{}, a, b, [](double x, double y) { return x >= y; });
        }
    auto const top = std::uint64_t{1} << 63; // no i64
    CHECK(one<ops::less>({tensor::scalar(top - 1), tensor::scalar(top)}).data<bool>()[0]);
    auto const large = std::int64_t{1} << 62; // a double cannot tell these apart
    CHECK(one<ops::less>({compute::i64({large}), compute::i64({large + 1})}).data<bool>()[0]);
}

TEST_CASE("integers combine bit by bit, in every type") {
    for (auto const type : stored_dtypes) {
        if (!is_integer(type)) continue;
        CAPTURE(to_string(type));
        auto const of = [&](ints const& v) { return compute::i64(v).converted_to(type); };
        auto const a = of({12, 0, -1, 127, -128}), b = of({10, 5, 6, -1, -128});
        CHECK(same(one<ops::bitwise_and>({a, b}), of({8, 0, 6, 127, -128})));
        CHECK(same(one<ops::bitwise_or>({a, b}), of({14, 5, -1, -1, -128})));
        CHECK(same(one<ops::bitwise_xor>({a, b}), of({6, 5, -7, -128, 0})));
    }
    auto const top = std::uint64_t{1} << 63; // no i64
    CHECK(one<ops::bitwise_xor>({tensor::scalar(top), tensor::scalar(top | 1)}).data<std::uint64_t>()[0] == 1);
}

TEST_CASE("what a division leaves is exact, and has the sign of what is divided") {
    auto const x = f32({8}, {5.5f, -5.5f, 5.5f, 1e30f, inf, 3, -0.0f, nan});
    auto const y = f32({8}, {2, 2, -2, 3, 2, inf, 1, 2});
    auto const exact = static_cast<float>(std::fmod(static_cast<double>(1e30f), 3.0));
    CHECK(near(one<ops::remainder>({x, y}), f32({8}, {1.5f, -1.5f, 1.5f, exact, nan, 3, -0.0f, nan})));
    CHECK(near(one<ops::remainder>({f32({1}, {1}), f32({1}, {0})}), f32({1}, {nan})));
}

TEST_CASE("bits are the same as elements of another type") {
    auto const x = f32({3}, {1, -2, 0});
    auto const bits = one<ops::bit_cast>({.to = dtype::u32}, {x});
    CHECK(same(bits, tensor::from<std::uint32_t>({3}, {0x3F800000, 0xC0000000, 0})));
    CHECK(same(one<ops::bit_cast>({.to = dtype::f32}, {bits}), x));
    CHECK(same(one<ops::bit_cast>({.to = dtype::boolean}, {tensor::from<std::uint8_t>({3}, {0, 1, 255})}),
               tensor::from<bool>({3}, {false, true, true})));
}

TEST_CASE("truth values combine by their tables, and equality is theirs too") {
    auto const t = tensor::from<bool>({2, 1}, {false, true}), u = tensor::from<bool>({2}, {false, true});
    auto const is = [](tensor const& y, std::initializer_list<bool> expected) {
        return same(y, tensor::from<bool>({2, 2}, expected));
    };
    CHECK(is(one<ops::logical_and>({t, u}), {false, false, false, true}));
    CHECK(is(one<ops::logical_or>({t, u}), {false, true, true, true}));
    CHECK(is(one<ops::logical_xor>({t, u}), {false, true, true, false}));
    CHECK(is(one<ops::equal>({t, u}), {true, false, false, true}));
    CHECK(same(one<ops::logical_not>({u}), tensor::from<bool>({2}, {true, false})));
}

TEST_CASE("special values are told apart") {
    auto const x = f32({4}, {nan, inf, -inf, 1});
    for (auto const element : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
        auto const y = x.converted_to(element);
        CHECK(same(one<ops::is_nan>({y}), tensor::from<bool>({4}, {true, false, false, false})));
        CHECK(same(one<ops::is_inf>({y}), tensor::from<bool>({4}, {false, true, true, false})));
        CHECK(same(one<ops::is_inf>({.positive = false}, {y}), tensor::from<bool>({4}, {false, false, true, false})));
        CHECK(same(one<ops::is_inf>({.negative = false}, {y}), tensor::from<bool>({4}, {false, true, false, false})));
    }
}

TEST_CASE("a choice takes each element as it is from where the condition says") {
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        for (auto const element : stored_dtypes) {
            random_stream r{seed};
            auto const draw = [&](ints const& dims, dtype type) {
                auto t = tensor::uninitialized(type, dims);
                for (auto& b : t.mutable_raw()) b = static_cast<std::byte>(type == dtype::boolean ? r() & 1 : r());
                return t;
            };
            auto const c = draw({3, 1}, dtype::boolean), a = draw({4}, element), b = draw({3, 4}, element);
            auto const y = one<ops::where>({c, a, b});
            auto const size = byte_size(element);
            for (std::size_t i = 0; i < 12; ++i) {
                auto const from =
                    c.data<bool>()[i / 4] ? a.raw().subspan(i % 4 * size, size) : b.raw().subspan(i * size, size);
                CHECK(std::equal(from.begin(), from.end(), y.raw().subspan(i * size, size).begin()));
            }
        }
    CHECK(one<ops::where>({tensor::zeros(dtype::boolean, ints{0, 1}), f32({2}, {1, 2}), f32({1}, {3})}).elements() ==
          0);
}

TEST_CASE("in the prime field an order is a function of the operands of which nothing else is known") {
    evaluate_options const field{.compute = precision::field};
    auto const a = normal({2, 64}, 1), b = normal({64}, 2);
    CHECK(same(one<ops::less>({}, {a, b}, field), one<ops::less>({}, {a, b}, field)));
    CHECK_FALSE(same(one<ops::less>({}, {a, b}, field), one<ops::less>({}, {b, a}, field)));
    // Equality means what it means, and integers keep their order.
    auto const twice = one<ops::add>({}, {a, a}, field), product = one<ops::mul>({}, {a, tensor::scalar(2.0f)}, field);
    auto const equal = one<ops::equal>({}, {twice, product}, field);
    CHECK(std::all_of(equal.data<bool>().begin(), equal.data<bool>().end(), [](bool v) { return v; }));
    CHECK(one<ops::less>({}, {compute::i64({1}), compute::i64({2})}, field).data<bool>()[0]);
    CHECK(same(one<ops::where>({}, {tensor::scalar(true), a, b}, field), to_precision(a, precision::field)));
}

} // namespace evaluate_math_test
