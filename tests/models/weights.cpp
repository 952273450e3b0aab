#include "catch.hpp"
#include <gsub/models/weights.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weights_test {

using namespace gsub;
using models::norm_place;
using models::weight_source;

struct moments {
    double mean = 0, deviation = 0;
};

moments moments_of(std::span<float const> values) {
    double sum = 0, squares = 0;
    for (auto x : values) sum += double(x), squares += double(x) * double(x);
    auto const n = static_cast<double>(values.size());
    return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

bool near(double found, double wanted, double relative = 0.02) {
    return std::abs(found - wanted) <= relative * std::abs(wanted);
}

std::pair<float, float> range(tensor const& t) {
    auto const [low, high] = std::minmax_element(t.data<float>().begin(), t.data<float>().end());
    return {*low, *high};
}

} // namespace weights_test

TEST_CASE("a weight depends on seed, name and dimensions, not on what was asked for before") {
    using namespace weights_test;
    weight_source const one{3}, same{3}, other{4};
    auto const first = one.convolution("a.weight", {8, 4, 3, 3});
    [[maybe_unused]] auto const between = same.linear("b.weight", 10, 5);
    CHECK(first.hash() == same.convolution("a.weight", {8, 4, 3, 3}).hash());
    CHECK(first.hash() == one.convolution("a.weight", {8, 4, 3, 3}).hash());
    CHECK_FALSE(first.hash() == one.convolution("b.weight", {8, 4, 3, 3}).hash());
    CHECK_FALSE(first.hash() == other.convolution("a.weight", {8, 4, 3, 3}).hash());
    CHECK(first.hash() == weight_source{random_stream{3}}.convolution("a.weight", {8, 4, 3, 3}).hash());
}

TEST_CASE("two tensors of one layer share no values") {
    using namespace weights_test;
    auto const w = weight_source{1}.batch_norm("bn", 64);
    CHECK_FALSE(w.shift.hash() == w.mean.hash());
    auto const shift = w.shift.data<float>(), mean = w.mean.data<float>();
    CHECK(std::inner_product(shift.begin(), shift.end(), mean.begin(), 0, std::plus{}, std::equal_to{}) == 0);
}

TEST_CASE("normal weights have the deviation asked for") {
    using namespace weights_test;
    weight_source const w{7};
    CHECK(near(moments_of(w.normal("n", {100, 1000}, 3).data<float>()).deviation, 3));
    CHECK(near(moments_of(w.linear("l", 400, 256).data<float>()).deviation, 1.0 / 16));
    CHECK(near(moments_of(w.convolution("d", {4096, 1, 5, 5}).data<float>()).deviation, std::sqrt(2.0 / 25)));
    CHECK(near(moments_of(w.convolution("c", {256, 64, 3, 3}).data<float>()).deviation, std::sqrt(2.627 / 576)));
    CHECK(near(moments_of(w.bias("b", 50'000).data<float>()).deviation, 0.05));
}

TEST_CASE("a convolution keeps the second moment of rectified values") {
    using namespace weights_test;
    // Many kernels over one patch of rectified normal values: E[y^2] = 2 E[x^2], of which a rectifier keeps half.
    auto const kernels = weight_source{5}.convolution("c", {4000, 50, 3, 3});
    auto x = tensor::uninitialized(dtype::f32, ints{450});
    fill_random(x, random_stream{6});
    double before = 0, after = 0;
    for (auto& value : x.mutable_data<float>()) value = std::max(value, 0.0f), before += double(value) * double(value);
    for (std::size_t o = 0; o < 4000; ++o) {
        auto const kernel = kernels.data<float>().subspan(450 * o, 450);
        auto const y = std::inner_product(kernel.begin(), kernel.end(), x.data<float>().begin(), 0.0);
        after += y * y / 4000;
    }
    CHECK(near(after, 2 * before / 450, 0.1));
}

TEST_CASE("statistics of a normalisation are not trivial and lie in the stated ranges") {
    using namespace weights_test;
    auto const chain = weight_source{1}.batch_norm("bn", 5000);
    auto const end = weight_source{1}.batch_norm("bn", 5000, norm_place::branch_end);
    auto const inside = [](tensor const& t, float low, float high) {
        auto const [least, most] = range(t);
        auto const slack = 0.01f * (high - low); // both ends are nearly reached
        return least >= low && most <= high && least < low + slack && most > high - slack;
    };
    CHECK(inside(chain.scale, 0.5f, 1.5f));
    CHECK(inside(end.scale, 0.2f, 0.6f));
    CHECK(inside(chain.variance, 0.6f, 1.8f));
    for (auto const* t : {&chain.shift, &chain.mean, &end.shift}) {
        auto const m = moments_of(t->data<float>());
        CHECK(std::abs(m.mean) < 0.01);
        CHECK(near(m.deviation, 0.1, 0.05));
    }
    // What the last norm of a branch differs in is its scale alone.
    CHECK(chain.variance.hash() == end.variance.hash());
    CHECK(chain.mean.hash() == end.mean.hash());
}

TEST_CASE("a normalisation keeps the second moment on average") {
    using namespace weights_test;
    auto const w = weight_source{2}.batch_norm("bn", 100'000);
    double sum = 0;
    for (std::size_t i = 0; i < 100'000; ++i) {
        auto const scale = double(w.scale.data<float>()[i]);
        sum += scale * scale / double(w.variance.data<float>()[i]);
    }
    CHECK(near(sum / 100'000, 1, 0.02));
}
