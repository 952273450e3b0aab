#include "catch.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <bit>

namespace evaluate_fast_test {

using namespace gsub;

// Calls f with f32 numbers of all sizes and both signs, subnormals, zeros and infinities among them.
template <class F>
void for_each_number(F&& f) {
    for (std::uint64_t bits = 0; bits <= 0x7f800000u; bits += 997) {
        auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        f(x), f(-x);
    }
}
constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto nan_number = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("fast_exp is within 2.5e-7 of the result, and of the right limit where there is none") {
    double worst = 0, wrong = 0;
    for_each_number([&](float x) {
        auto const exact = std::exp(static_cast<double>(x));
        auto const y = math::fast_exp(x);
        if (static_cast<float>(exact) == infinity)
            wrong += y != infinity;
        else if (exact < static_cast<double>(std::numeric_limits<float>::min()))
            wrong += y != 0;
        else
            worst = std::max(worst, std::abs(static_cast<double>(y) - exact) / exact);
    });
    CHECK(wrong == 0);
    CHECK(worst <= 2.5e-7);
    CHECK(math::fast_exp(0.f) == 1);
    CHECK(math::fast_exp(infinity) == infinity);
    CHECK(math::fast_exp(-infinity) == 0);
    CHECK(std::isnan(math::fast_exp(nan_number)));
}

TEST_CASE("fast_tanh and fast_erf are within 5e-7, within -1 and 1, and of the sign of x") {
    auto const check = [](auto fast, auto exact) {
        double worst = 0, outside = 0, sign = 0;
        for_each_number([&](float x) {
            auto const y = fast(x);
            worst = std::max(worst, std::abs(static_cast<double>(y) - exact(static_cast<double>(x))));
            outside += std::abs(y) > 1;
            sign += std::signbit(y) != std::signbit(x);
        });
        CHECK(worst <= 5e-7);
        CHECK(outside == 0);
        CHECK(sign == 0);
        CHECK(std::isnan(fast(nan_number)));
    };
    check([](float x) { return math::fast_tanh(x); }, [](double x) { return std::tanh(x); });
    check([](float x) { return math::fast_erf(x); }, [](double x) { return std::erf(x); });
}

template <class Op>
tensor of(tensor const& x, attributes_of<Op> const& a = {}) {
    graph g;
    graph_builder b{g};
    auto const v = b.input(x.element(), shape(x.type().dims), "x");
    b.outputs({b.add<Op>(a, {v})});
    return evaluate_graph(g, std::vector{x}).value()[0];
}

TEST_CASE("the operators compute these functions of f32 and the exact ones of f64") {
    auto const narrow = tensor::from<float>({4}, {-2, -0.5f, 0.25f, 3}), wide = narrow.converted_to(dtype::f64);
    for (std::size_t i = 0; i < 4; ++i) {
        auto const x = narrow.data<float>()[i];
        CHECK(of<ops::fast_exp>(narrow).data<float>()[i] == math::fast_exp(x));
        CHECK(of<ops::fast_tanh>(narrow).data<float>()[i] == math::fast_tanh(x));
        CHECK(of<ops::fast_erf>(narrow).data<float>()[i] == math::fast_erf(x));
    }
    CHECK(of<ops::fast_exp>(wide).hash() == of<ops::exp>(wide).hash());
    CHECK(of<ops::fast_tanh>(wide).hash() == of<ops::tanh>(wide).hash());
    CHECK(of<ops::fast_erf>(wide).hash() == of<ops::erf>(wide).hash());
    CHECK(of<ops::fast_softmax>(wide).hash() == of<ops::softmax>(wide).hash());
}

TEST_CASE("fast_softmax is within 1e-6 of softmax along any axis, and flattened") {
    auto x = tensor::uninitialized(dtype::f32, ints{3, 5, 7});
    fill_random(x, random_stream{1});
    for (std::int64_t axis = -3; axis < 3; ++axis)
        for (bool flatten : {false, true}) {
            auto const y = of<ops::fast_softmax>(x, {axis, flatten}), z = of<ops::softmax>(x, {axis, flatten});
            for (std::size_t i = 0; i < 105; ++i) CHECK(std::abs(y.data<float>()[i] - z.data<float>()[i]) <= 1e-6f);
        }
}

} // namespace evaluate_fast_test
