#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/integer_types.hpp"
#include <gsub/eval/evaluate_reduce.hpp>

#include <functional>
#include <limits>
#include <vector>

namespace evaluate_reduce_test {

using namespace gsub;
using compute::f32;
using compute::i64;
using compute::near;
using compute::normal;
using compute::one;
using compute::same;

static_assert(detail::has_evaluate<ops::reduce_sum> && detail::instantiable<ops::reduce_mean, field61>());

// Each result by its definition: a function of the elements whose positions agree with it in the dimensions that stay.
tensor by_definition(tensor const& x, ints const& axes, std::function<double(std::vector<double> const&)> const& f) {
    auto const reduced = reduced_dims(axes, false, x.rank());
    ints dims(x.dims().begin(), x.dims().end());
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (reduced[i]) dims[i] = 1;
    auto y = tensor::uninitialized(dtype::f64, dims);
    std::vector<std::vector<double>> elements(static_cast<std::size_t>(y.elements()));
    auto const wide = x.converted_to(dtype::f64);
    if (x.elements() > 0) {
        box_index at{x.dims()};
        std::size_t from = 0;
        do {
            std::int64_t to = 0;
            for (std::size_t i = 0; i < dims.size(); ++i) to = to * dims[i] + (reduced[i] ? 0 : at[i]);
            elements[static_cast<std::size_t>(to)].push_back(wide.data<double>()[from++]);
        } while (at.next());
    }
    for (std::size_t i = 0; i < elements.size(); ++i) y.mutable_data<double>()[i] = f(elements[i]);
    return y;
}

double total(std::vector<double> const& v) {
    double sum = 0;
    for (auto x : v) sum += x;
    return sum;
}

struct drawn {
    tensor x;
    ints axes;
};
drawn draw(random_stream& r, std::int64_t least) {
    ints dims, axes;
    for (auto rank = r.below(5); rank-- > 0;) dims.push_back(least + static_cast<std::int64_t>(r.below(4)));
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (r.below(2)) axes.push_back(static_cast<std::int64_t>(i) - (r.below(2) ? std::int64_t(dims.size()) : 0));
    return {normal(dims, r()), axes};
}

TEST_CASE("reductions along any dimensions are those of the definition, in every precision") {
    random_stream r{17};
    for (int n = 0; n < 150; ++n) {
        auto const [x, axes] = draw(r, 1);
        auto const sum = by_definition(x, axes, total);
        auto const mean = by_definition(x, axes, [](auto const& v) { return total(v) / double(v.size()); });
        auto const most = by_definition(x, axes, [](auto const& v) { return *std::max_element(v.begin(), v.end()); });
        CHECK(near(one<ops::reduce_sum>({.axes = axes}, {x}), sum, 1e-5));
        CHECK(near(one<ops::reduce_mean>({.axes = axes}, {x}), mean, 1e-5));
        CHECK(near(one<ops::reduce_max>({.axes = axes}, {x}), most, 0));
        auto const wide = x.converted_to(dtype::f64);
        CHECK(near(one<ops::reduce_mean>({.axes = axes}, {wide}), mean, 1e-13));
        // The dimensions alone make the difference between the two forms of the result.
        auto const flat = one<ops::reduce_sum>({.axes = axes, .keepdims = false}, {x});
        CHECK(same(flat.reshaped(sum.dims()), one<ops::reduce_sum>({.axes = axes}, {x})));
        // So does the place where the axes are written.
        if (!axes.empty())
            CHECK(same(one<ops::reduce_max>({}, {x, i64(axes)}), one<ops::reduce_max>({.axes = axes}, {x})));
    }
}

TEST_CASE("a reduction along no dimensions at all is the identity only where that is asked for") {
    auto const x = normal({2, 3}, 5);
    CHECK(same(one<ops::reduce_sum>({.noop_with_empty_axes = true}, {x, i64(ints{})}), x));
    CHECK(one<ops::reduce_sum>({.keepdims = false}, {x, i64(ints{})}).rank() == 0);
    CHECK(one<ops::reduce_sum>({}, {x}).elements() == 1);
    CHECK(same(one<ops::reduce_mean>({}, {tensor::scalar(3.0f)}), tensor::scalar(3.0f)));
}

TEST_CASE("the sum of nothing is zero, the maximum of nothing the least value, the mean of nothing no number") {
    auto const none = tensor::zeros(dtype::f32, ints{2, 0});
    CHECK(same(one<ops::reduce_sum>({.axes = {1}}, {none}), f32({2, 1}, {0, 0})));
    CHECK(one<ops::reduce_max>({.axes = {1}}, {none}).data<float>()[0] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(one<ops::reduce_mean>({.axes = {1}}, {none}).data<float>()[1]));
    CHECK(one<ops::reduce_sum>({.axes = {0}}, {none}).elements() == 0);
    auto const bytes = tensor::zeros(dtype::i8, ints{0});
    CHECK(one<ops::reduce_max>({}, {bytes}).to_ints() == ints{-128});
    CHECK(one<ops::reduce_mean>({}, {bytes}).to_ints() == ints{0});
}

TEST_CASE("reductions of integers of every type are those of whole numbers, modulo two to the number of bits") {
    each_integer_type([]<class T> {
        constexpr auto element = dtype_of<T>;
        CAPTURE(to_string(element));
        constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        auto const x = tensor::from<T>({4}, {high, low, static_cast<T>(high - 1), T{1}});
        CHECK(one<ops::reduce_max>({}, {x}).template data<T>()[0] == high);
        CHECK(one<ops::reduce_max>({}, {tensor::zeros(element, ints{0})}).template data<T>()[0] == low);
        CHECK(one<ops::reduce_sum>({}, {x}).template data<T>()[0] ==
              math::add(math::add(high, low), math::add(static_cast<T>(high - 1), T{1})));
        auto const pair = tensor::from<T>({2}, {static_cast<T>(high / 2), static_cast<T>(high / 2 - 1)});
        CHECK(one<ops::reduce_mean>({}, {pair}).template data<T>()[0] == static_cast<T>(high / 2 - 1));
        CHECK(one<ops::reduce_mean>({}, {tensor::zeros(element, ints{0})}).template data<T>()[0] == 0);
    });
}

TEST_CASE("integers are added modulo two to the number of bits, their means truncate, and NaN is a maximum") {
    auto const bytes = tensor::from<std::int8_t>({4}, {100, 100, -3, 2});
    CHECK(one<ops::reduce_sum>({}, {bytes}).to_ints() == ints{-57});
    CHECK(one<ops::reduce_mean>({}, {bytes}).to_ints() == ints{49});
    CHECK(one<ops::reduce_mean>({}, {i64({-1, -2, 0})}).to_ints() == ints{-1});
    CHECK(one<ops::reduce_max>({}, {bytes}).to_ints() == ints{100});
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(one<ops::reduce_max>({}, {f32({3}, {1, nan, 2})}).data<float>()[0]));
}

TEST_CASE("in the field a mean times the count is the sum, and a maximum does not see the order") {
    evaluate_options const field{.compute = precision::field};
    random_stream r{23};
    for (int n = 0; n < 40; ++n) {
        auto const [x, axes] = draw(r, 1);
        auto const sum = one<ops::reduce_sum>({.axes = axes}, {x}, field);
        auto const mean = one<ops::reduce_mean>({.axes = axes}, {x}, field);
        auto const count = x.elements() / sum.elements();
        for (std::size_t i = 0; i < static_cast<std::size_t>(sum.elements()); ++i)
            CHECK(mean.data<field61>()[i] * field61{count} == sum.data<field61>()[i]);
        auto const flat = x.reshaped(ints{x.elements()});
        auto const turned = one<ops::slice>({.starts = {-1}, .ends = {-100000}, .axes = {0}, .steps = {-1}}, {flat});
        CHECK(same(one<ops::reduce_max>({}, {flat}, field), one<ops::reduce_max>({}, {turned}, field)));
    }
}

TEST_CASE("the sum of a million floats is right to six digits") {
    auto const x = tensor::from<float>(ints{1 << 20}, std::vector<float>(1 << 20, 0.1f));
    CHECK(near(one<ops::reduce_mean>({}, {x}), tensor::from<float>(ints{1}, std::vector{0.1f}), 1e-6));
}

} // namespace evaluate_reduce_test
