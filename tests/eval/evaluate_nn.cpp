#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/integer_types.hpp"
#include <gsub/eval/evaluate_nn.hpp>

#include <limits>
#include <vector>

namespace evaluate_nn_test {

using namespace gsub;
using compute::f32;
using compute::near;
using compute::normal;
using compute::one;
using compute::same;

using conv = attributes_of<ops::conv>;
using max_pool = attributes_of<ops::max_pool>;
using average_pool = attributes_of<ops::average_pool>;

inline constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr auto inf = std::numeric_limits<float>::infinity();

std::int64_t draw(random_stream& r, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
}

// A convolution with its operands' dimensions, drawn so that it is well-typed.
struct drawn_conv {
    conv a;
    ints x, w;
};
drawn_conv draw_conv(random_stream& r, std::size_t spatial) {
    drawn_conv d;
    d.a.group = draw(r, 1, 3);
    auto const inputs = draw(r, 1, 2), outputs = draw(r, 1, 2);
    d.x = {draw(r, 1, 2), d.a.group * inputs}, d.w = {d.a.group * outputs, inputs};
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const kernel = draw(r, 1, 3), dilation = draw(r, 1, 2);
        d.a.strides.push_back(draw(r, 1, 3)), d.a.dilations.push_back(dilation);
        d.w.push_back(kernel), d.x.push_back(window_extent(kernel, dilation) + draw(r, 0, 3));
    }
    for (std::size_t i = 0; i < 2 * spatial; ++i) d.a.pads.push_back(draw(r, 0, 2));
    return d;
}

conv plain(std::size_t spatial) {
    conv a;
    a.strides = ints(spatial, 1), a.dilations = ints(spatial, 1), a.pads = ints(2 * spatial, 0);
    return a;
}

// By the definition: pad with zeros, then for each output sum over channels and taps.
tensor naive_conv(conv const& a, tensor const& x, tensor const& w) {
    auto const spatial = x.rank() - 2;
    ints pads{0, 0};
    for (std::size_t i = 0; i < spatial; ++i) pads.push_back(a.pads[i]);
    pads.push_back(0), pads.push_back(0);
    for (std::size_t i = 0; i < spatial; ++i) pads.push_back(a.pads[i + spatial]);
    auto const padded = one<ops::pad>({.pads = pads}, {x}).converted_to(dtype::f64);
    auto const weight = w.converted_to(dtype::f64);
    ints dims{x.dims()[0], w.dims()[0]};
    for (std::size_t i = 0; i < spatial; ++i)
        dims.push_back((padded.dims()[i + 2] - window_extent(w.dims()[i + 2], a.dilations[i])) / a.strides[i] + 1);
    auto y = tensor::zeros(dtype::f64, dims);
    auto const channels = w.dims()[1], outputs_of_group = w.dims()[0] / a.group;
    auto const at_offset = [](tensor const& t, std::span<std::int64_t const> at) {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < at.size(); ++i) offset = offset * t.dims()[i] + at[i];
        return static_cast<std::size_t>(offset);
    };
    box_index place{dims};
    auto* out = y.mutable_data<double>().data();
    do {
        for (std::int64_t c = 0; c < channels; ++c) {
            box_index tap{w.dims().subspan(2)};
            do {
                ints from{place[0], place[1] / outputs_of_group * channels + c}, of{place[1], c};
                for (std::size_t i = 0; i < spatial; ++i) {
                    from.push_back(place[i + 2] * a.strides[i] + tap[i] * a.dilations[i]);
                    of.push_back(tap[i]);
                }
                *out += padded.data<double>()[at_offset(padded, from)] * weight.data<double>()[at_offset(weight, of)];
            } while (tap.next());
        }
        ++out;
    } while (place.next());
    return y;
}

TEST_CASE("a convolution is the sum that its definition says, in one, two and three dimensions") {
    random_stream r{1};
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        auto const d = draw_conv(r, 1 + seed % 3);
        auto const x = normal(d.x, 2 * seed), w = normal(d.w, 2 * seed + 1);
        CAPTURE(seed, to_string(x.type()), to_string(w.type()), d.a.group);
        CHECK(near(one<ops::conv>(d.a, {x, w}, {.fast_kernels = false}), naive_conv(d.a, x, w)));
    }
}

TEST_CASE("a convolution is linear in its input and in its weight") {
    random_stream r{2};
    evaluate_options const how{.fast_kernels = false};
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const d = draw_conv(r, 2);
        auto const x = normal(d.x, 4 * seed, dtype::f64), other_x = normal(d.x, 4 * seed + 1, dtype::f64),
                   w = normal(d.w, 4 * seed + 2, dtype::f64), other_w = normal(d.w, 4 * seed + 3, dtype::f64);
        auto const apply = [&](tensor const& input, tensor const& weight) {
            return one<ops::conv>(d.a, {input, weight}, how);
        };
        auto const add = [&](tensor const& p, tensor const& q) { return one<ops::add>({}, {p, q}, how); };
        CHECK(near(apply(add(x, other_x), w), add(apply(x, w), apply(other_x, w)), 1e-12));
        CHECK(near(apply(x, add(w, other_w)), add(apply(x, w), apply(x, other_w)), 1e-12));
        auto const bias = normal({d.w[0]}, seed, dtype::f64);
        ints column(x.rank() - 1, 1);
        column[0] = d.w[0];
        CHECK(near(one<ops::conv>(d.a, {x, w, bias}, how), add(apply(x, w), bias.reshaped(column)), 1e-12));
    }
}

TEST_CASE("a convolution with the kernel of the identity gives its input back, in every grouping") {
    for (std::int64_t channels : {1, 2, 4, 6})
        for (std::int64_t group : {std::int64_t{1}, std::int64_t{2}, channels}) {
            if (channels % group) continue;
            CAPTURE(channels, group);
            for (std::int64_t position : {0, 1, 2}) {
                auto a = plain(2);
                a.group = group;
                a.pads = {position, 1, 2 - position, 1}; // so that the one meets the middle
                auto const kernel = one<ops::dirac>(
                    {.shape = {channels, channels / group, 3, 3}, .position = {position, 1}, .group = group}, {});
                auto const x = normal({2, channels, 4, 5}, static_cast<std::uint64_t>(channels));
                CHECK(same(one<ops::conv>(a, {x, kernel}), x));
            }
        }
}

TEST_CASE("a fused activation is the operator of its name behind the convolution") {
    auto const x = normal({1, 2, 5, 5}, 1), w = normal({3, 2, 3, 3}, 2), b = normal({3}, 3);
    auto a = plain(2);
    auto const y = one<ops::conv>(a, {x, w, b}, {.fast_kernels = false});
    auto const with = [&](activation act, precision p = precision::native) {
        a.act = act, a.act_min = -0.5, a.act_max = 0.75;
        return one<ops::conv>(a, {x, w, b}, {.compute = p, .fast_kernels = false});
    };
    CHECK(same(with(activation::none), y));
    CHECK(same(with(activation::relu), one<ops::relu>({y})));
    CHECK(same(with(activation::clip), one<ops::clip>({.min = -0.5, .max = 0.75}, {y})));
    CHECK(same(with(activation::sigmoid), one<ops::sigmoid>({y})));
    CHECK(same(with(activation::tanh), one<ops::tanh>({y})));
    // In a field as well, where both are the same unknown function.
    auto const exact = with(activation::none, precision::field);
    evaluate_options const field{.compute = precision::field};
    CHECK(same(with(activation::relu, precision::field), one<ops::relu>({}, {exact}, field)));
    CHECK(same(with(activation::clip, precision::field), one<ops::clip>({.min = -0.5, .max = 0.75}, {exact}, field)));
    CHECK(same(with(activation::sigmoid, precision::field), one<ops::sigmoid>({}, {exact}, field)));
    CHECK(same(with(activation::tanh, precision::field), one<ops::tanh>({}, {exact}, field)));
}

TEST_CASE("normalisation computes its formula and is an affine map a channel") {
    auto const x = normal({2, 3, 4}, 1), scale = normal({3}, 2), shift = normal({3}, 3), mean = normal({3}, 4);
    auto const variance = f32({3}, {0.5f, 1, 2});
    auto const y = one<ops::batch_norm>({.epsilon = 0.25}, {x, scale, shift, mean, variance});
    for (std::size_t i = 0; i < 24; ++i) {
        auto const c = i / 4 % 3;
        auto const expected = (double(x.data<float>()[i]) - mean.data<float>()[c]) /
                                  std::sqrt(variance.data<float>()[c] + 0.25) * scale.data<float>()[c] +
                              shift.data<float>()[c];
        CHECK(std::abs(y.data<float>()[i] - expected) < 1e-5);
    }
    // Statistics of zero mean, unit variance and no change are the identity.
    auto const zero = tensor::zeros(dtype::f32, ints{3}), unit = f32({3}, {1, 1, 1});
    CHECK(same(one<ops::batch_norm>({.epsilon = 0}, {x, unit, zero, zero, unit}), x));
    auto const half = one<ops::batch_norm>({}, {x.converted_to(dtype::f16), scale, shift, mean, variance});
    CHECK(half.element() == dtype::f16);
    CHECK(compute::failure<ops::batch_norm>({}, {x, unit, zero, zero, compute::i64({1, 1, 1})})
              .find("it takes floating types") != std::string::npos);
}

max_pool max_window(ints kernel, ints strides, ints pads, bool ceil_mode = false) {
    max_pool a;
    a.dilations = ints(kernel.size(), 1);
    a.kernel_shape = std::move(kernel), a.strides = std::move(strides), a.pads = std::move(pads);
    a.ceil_mode = ceil_mode;
    return a;
}
average_pool mean_window(ints kernel, ints strides, ints pads, bool ceil_mode = false, bool count_pads = false) {
    average_pool a;
    a.dilations = ints(kernel.size(), 1);
    a.kernel_shape = std::move(kernel), a.strides = std::move(strides), a.pads = std::move(pads);
    a.ceil_mode = ceil_mode, a.count_include_pad = count_pads;
    return a;
}

TEST_CASE("pooling with a window of one is the identity, and a mean of equal numbers is that number") {
    auto const x = normal({2, 3, 4, 5}, 1);
    CHECK(same(one<ops::max_pool>(max_window({1, 1}, {1, 1}, {0, 0, 0, 0}), {x}), x));
    each_integer_type([]<class T> { // the last window lies in the pads alone
        constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        CHECK(same(
            one<ops::max_pool>(max_window({1, 1}, {1, 1}, {0, 0, 0, 1}), {tensor::from<T>({1, 1, 1, 2}, {high, T{1}})}),
            tensor::from<T>({1, 1, 1, 3}, {high, T{1}, low})));
    });
    CHECK(same(one<ops::average_pool>(mean_window({1, 1}, {1, 1}, {0, 0, 0, 0}), {x}), x));
    auto const constant = one<ops::fill>({.shape = {1, 2, 5, 5}, .value = 0.75}, {});
    for (bool ceil_mode : {false, true}) {
        auto const y = one<ops::average_pool>(mean_window({3, 2}, {2, 2}, {1, 1, 1, 0}, ceil_mode), {constant});
        for (auto v : y.data<float>()) CHECK(v == 0.75f);
    }
}

TEST_CASE("the maximum of a window is the element at its index, row by row or column by column") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto x = normal({2, 2, 5, 4}, seed);
        if (seed % 3 == 0) x.mutable_data<float>()[seed] = nan;
        if (seed % 5 == 0) x.mutable_data<float>()[seed + 7] = -inf;
        for (bool columns : {false, true}) {
            auto a = max_window({2, 3}, {1, 2}, {0, 1, 1, 0});
            a.dilations = {2, 1};
            a.column_major_indices = columns;
            auto const r = compute::all<ops::max_pool>(a, {x}, 2).value();
            REQUIRE(r[1].element() == dtype::i64);
            for (std::size_t i = 0; i < static_cast<std::size_t>(r[0].elements()); ++i) {
                auto at = static_cast<std::size_t>(r[1].data<std::int64_t>()[i]);
                if (columns) at = at / 20 * 20 + at % 5 * 4 + at % 20 / 5; // within a plane of 5 x 4
                auto const found = x.data<float>()[at], y = r[0].data<float>()[i];
                CHECK((found == y || (std::isnan(found) && std::isnan(y))));
            }
            CHECK(near(r[0], one<ops::max_pool>(a, {x})));
        }
    }
}

TEST_CASE("windows at the border see what is inside, and pads count only where they should") {
    auto const x = f32({1, 1, 3}, {1, 2, 6});
    CHECK(same(one<ops::max_pool>(max_window({2}, {1}, {1, 1}), {x}), f32({1, 1, 4}, {1, 2, 6, 6})));
    CHECK(same(one<ops::average_pool>(mean_window({2}, {1}, {1, 1}), {x}), f32({1, 1, 4}, {1, 1.5f, 4, 6})));
    CHECK(same(one<ops::average_pool>(mean_window({2}, {1}, {1, 1}, false, true), {x}),
               f32({1, 1, 4}, {0.5f, 1.5f, 4, 3})));
    // Ceil mode: the last window hangs over the end, which is no pad and never counts.
    CHECK(same(one<ops::max_pool>(max_window({2}, {2}, {0, 0}, true), {x}), f32({1, 1, 2}, {2, 6})));
    CHECK(same(one<ops::average_pool>(mean_window({2}, {2}, {0, 0}, true, true), {x}), f32({1, 1, 2}, {1.5f, 6})));
    auto const negative = f32({1, 1, 2}, {-3, -5});
    CHECK(same(one<ops::max_pool>(max_window({2}, {1}, {1, 1}), {negative}), f32({1, 1, 3}, {-3, -3, -5})));
    auto const bytes = tensor::from<std::int8_t>({1, 1, 3}, {-128, -127, 5});
    CHECK(same(one<ops::max_pool>(max_window({2}, {1}, {0, 0}), {bytes}),
               tensor::from<std::int8_t>({1, 1, 2}, {-127, 5})));
    CHECK(near(one<ops::max_pool>(max_window({2}, {1}, {0, 0}), {f32({1, 1, 3}, {1, nan, 0})}),
               f32({1, 1, 2}, {nan, nan})));
}

TEST_CASE("the global mean is the mean over windows of the whole plane") {
    auto const x = normal({2, 3, 4, 5}, 1);
    CHECK(near(one<ops::global_average_pool>({x}),
               one<ops::average_pool>(mean_window({4, 5}, {1, 1}, {0, 0, 0, 0}), {x})));
    CHECK(same(one<ops::global_average_pool>({normal({2, 3}, 2)}), normal({2, 3}, 2)));
    auto const y = one<ops::global_average_pool>({f32({1, 2, 2}, {1, 3, -2, 0})});
    CHECK(same(y, f32({1, 2, 1}, {2, -1})));
}

TEST_CASE("local response normalisation divides by the energy of neighbouring channels") {
    random_stream r{4};
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const channels = draw(r, 1, 6), size = draw(r, 1, 8);
        auto const x = normal({2, channels, 3}, seed, dtype::f64);
        auto const y = one<ops::lrn>({.size = size, .alpha = 0.3, .beta = 0.6, .bias = 1.5}, {x});
        for (std::int64_t n = 0; n < 2; ++n)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t i = 0; i < 3; ++i) {
                    auto const at = [&](std::int64_t k) {
                        return x.data<double>()[static_cast<std::size_t>((n * channels + k) * 3 + i)];
                    };
                    double energy = 0; // from floor((size - 1) / 2) channels before to ceil((size - 1) / 2) after
                    for (auto k = c - (size - 1) / 2; k <= c + size / 2; ++k)
                        if (k >= 0 && k < channels) energy += at(k) * at(k);
                    auto const expected = at(c) / std::pow(1.5 + 0.3 / double(size) * energy, 0.6);
                    CHECK(std::abs(y.data<double>()[static_cast<std::size_t>((n * channels + c) * 3 + i)] - expected) <
                          1e-12);
                }
    }
}

TEST_CASE("softmax sums to one along its axis and does not see a constant added to it") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const x = normal({3, 4, 5}, seed, dtype::f64);
        for (std::int64_t axis = -3; axis < 3; ++axis) {
            auto const y = one<ops::softmax>({.axis = axis}, {x});
            auto const moved = one<ops::add>({x, tensor::scalar(1000.0)});
            CHECK(near(one<ops::softmax>({.axis = axis}, {moved}), y, 1e-9));
            // Sum by a product with ones along the axis, brought to the end.
            ints perm{0, 1, 2};
            std::swap(perm[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)], perm[2]);
            auto const last = one<ops::transpose>({.perm = perm}, {y});
            auto const ones = one<ops::fill>({.shape = {last.dims()[2]}, .element = dtype::f64, .value = 1}, {});
            auto const totals = one<ops::mat_mul>({last, ones});
            for (auto total : totals.data<double>()) CHECK(std::abs(total - 1) < 1e-12);
        }
        // Flattened from an axis on, it is softmax over the reshaped tensor.
        for (std::int64_t axis = 0; axis <= 3; ++axis) {
            std::int64_t rows = 1;
            for (std::int64_t i = 0; i < axis; ++i) rows *= x.dims()[static_cast<std::size_t>(i)];
            auto const flat = one<ops::softmax>({.axis = 1}, {x.reshaped(ints{rows, 60 / rows})});
            CHECK(same(one<ops::softmax>({.axis = axis, .flatten = true}, {x}), flat.reshaped(x.dims())));
        }
    }
    auto const extreme = one<ops::softmax>({}, {f32({3}, {1000, -1000, -inf})});
    CHECK(same(extreme, f32({3}, {1, 0, 0})));
    CHECK(std::isnan(one<ops::softmax>({}, {f32({2}, {1, nan})}).data<float>()[0]));
    CHECK(one<ops::softmax>({.axis = 0}, {tensor::zeros(dtype::f32, ints{0, 3})}).elements() == 0);
}

TEST_CASE("a layer normalisation leaves mean zero and variance one before scale and shift") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const x = normal({4, 3, 5}, seed, dtype::f64);
        for (std::int64_t axis : {-1, 2, -2, 1, 0, -3}) {
            ints dims(x.dims().begin() + (axis < 0 ? axis + 3 : axis), x.dims().end());
            auto const one_each = one<ops::fill>({.shape = dims, .element = dtype::f64, .value = 1}, {});
            auto const y = one<ops::layer_norm>({.axis = axis, .epsilon = 0}, {x, one_each});
            ints const rows{x.elements() / one_each.elements(), one_each.elements()};
            auto const flat = y.reshaped(rows);
            auto const mean = one<ops::reduce_mean>({.axes = {1}}, {flat});
            auto const second = one<ops::reduce_mean>({.axes = {1}}, {one<ops::mul>({flat, flat})});
            for (auto v : mean.data<double>()) CHECK(std::abs(v) < 1e-12);
            for (auto v : second.data<double>()) CHECK(std::abs(v - 1) < 1e-12);
            auto const scale = normal(dims, seed + 100, dtype::f64), shift = normal(dims, seed + 200, dtype::f64);
            CHECK(near(one<ops::layer_norm>({.axis = axis, .epsilon = 0}, {x, scale, shift}),
                       one<ops::add>({one<ops::mul>({y, scale}), shift}), 1e-12));
        }
    }
}

TEST_CASE("normalisation in training uses the batch's own statistics and moves the running ones") {
    auto const x = compute::normal({3, 2, 4, 5}, 71);
    auto const scale = compute::normal({2}, 72), shift = compute::normal({2}, 73);
    auto const mean = compute::normal({2}, 74), variance = compute::normal({2}, 75);
    auto const r = compute::all<ops::batch_norm_training>({.epsilon = 0.25, .momentum = 0.75},
                                                          {x, scale, shift, mean, variance}, 3)
                       .value();
    REQUIRE(r.size() == 3);
    auto own_mean = compute::normal({2}, 0), own_variance = own_mean;
    for (std::size_t c = 0; c < 2; ++c) {
        double sum = 0, squares = 0;
        auto const each = [&](auto&& f) {
            for (std::size_t n = 0; n < 3; ++n)
                for (std::size_t i = 0; i < 20; ++i) f(static_cast<double>(x.data<float>()[(n * 2 + c) * 20 + i]));
        };
        each([&](double v) { sum += v; });
        each([&](double v) { squares += (v - sum / 60) * (v - sum / 60); });
        own_mean.mutable_data<float>()[c] = static_cast<float>(sum / 60);
        own_variance.mutable_data<float>()[c] = static_cast<float>(squares / 60);
        CHECK(r[1].data<float>()[c] == Approx(0.75 * static_cast<double>(mean.data<float>()[c]) + 0.25 * sum / 60));
        CHECK(r[2].data<float>()[c] ==
              Approx(0.75 * static_cast<double>(variance.data<float>()[c]) + 0.25 * squares / 60));
    }
    // With these statistics it is the form for inference.
    auto const y = one<ops::batch_norm>({.epsilon = 0.25}, {x, scale, shift, own_mean, own_variance});
    CHECK(compare(r[0], y).value().max_relative < 1e-5);
}

TEST_CASE("dropout whose mode is an operand does nothing unless it would be random") {
    auto const x = compute::normal({2, 3}, 1);
    auto const ratio = [](float v) { return tensor::scalar(v); };
    auto const mode = [](bool v) { return tensor::scalar(v); };
    CHECK(same(one<ops::dropout>({}, {x, ratio(0.5f), mode(false)}), x));
    CHECK(same(one<ops::dropout>({}, {x, ratio(0), mode(true)}), x));
    CHECK(compute::failure<ops::dropout>({}, {x, ratio(0.5f), mode(true)}).find("random") != std::string::npos);
    CHECK(compute::all<ops::dropout>({}, {x, ratio(0.5f), mode(true)}, 1).error().id() == errors::operator_form);
}

TEST_CASE("dropout does nothing, and its mask keeps everything") {
    auto const x = normal({2, 3}, 1);
    auto const r = compute::all<ops::dropout>({}, {x}, 2).value();
    CHECK(same(r[0], x));
    CHECK(same(r[1], one<ops::fill>({.shape = {2, 3}, .element = dtype::boolean, .integer = 1}, {})));
}

TEST_CASE("tensors without elements have results without elements") {
    auto const empty_batch = tensor::zeros(dtype::f32, ints{0, 2, 4, 4});
    for (bool fast : {false, true}) {
        evaluate_options const how{.fast_kernels = fast};
        CHECK(one<ops::conv>(plain(2), {empty_batch, normal({3, 2, 3, 3}, 1)}, how).dims()[0] == 0);
        // No channels: the sum over nothing is zero, with a bias it is the bias.
        auto const no_channels = tensor::zeros(dtype::f32, ints{1, 0, 3, 3});
        auto const no_weights = tensor::zeros(dtype::f32, ints{2, 0, 2, 2});
        CHECK(same(one<ops::conv>(plain(2), {no_channels, no_weights}, how),
                   tensor::zeros(dtype::f32, ints{1, 2, 2, 2})));
        auto const biased = one<ops::conv>(plain(2), {no_channels, no_weights, f32({2}, {1, 2})}, how);
        CHECK(biased.data<float>()[0] == 1);
        CHECK(biased.data<float>()[7] == 2);
    }
    CHECK(one<ops::max_pool>(max_window({2, 2}, {1, 1}, {0, 0, 0, 0}), {empty_batch}).elements() == 0);
    CHECK(one<ops::average_pool>(mean_window({2, 2}, {1, 1}, {0, 0, 0, 0}), {empty_batch}).elements() == 0);
    CHECK(one<ops::global_average_pool>({empty_batch}).elements() == 0);
}

} // namespace evaluate_nn_test
