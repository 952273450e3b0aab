#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/weights.hpp>

#include <cmath>
#include <numeric>

namespace gsub::models {

GSUB_INLINE tensor weight_source::normal(std::string_view name, ints const& dims, double deviation) const {
    auto t = tensor::uninitialized(dtype::f32, dims);
    auto draws = stream(name);
    auto const values = t.mutable_data<float>();
    // Box and Muller's transform, both of the pair: large networks spend their time here.
    for (std::size_t i = 0; i < values.size(); i += 2) {
        auto const radius = deviation * std::sqrt(-2 * std::log(1 - draws.uniform()));
        auto const angle = 6.283185307179586 * draws.uniform();
        values[i] = static_cast<float>(radius * std::cos(angle));
        if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
    return t;
}

GSUB_INLINE tensor weight_source::uniform(std::string_view name, ints const& dims, double low, double high) const {
    auto t = tensor::uninitialized(dtype::f32, dims);
    auto draws = stream(name);
    for (auto& x : t.mutable_data<float>()) x = static_cast<float>(draws.uniform(low, high));
    return t;
}

GSUB_INLINE tensor weight_source::convolution(std::string_view name, ints const& dims) const {
    GSUB_ASSERT(dims.size() >= 2, "the kernel of a convolution has output and input channels");
    std::size_t fan_in = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) fan_in *= static_cast<std::size_t>(dims[i]);
    auto const count = static_cast<double>(fan_in);
    if (dims[1] == 1) return normal(name, dims, std::sqrt(2 / count));
    // A rectified normal value x has E[x]^2 = E[x^2] / pi. Of that, a kernel with half of its mean keeps a quarter, so
    // that 1 - 3 / (4 pi) of the second moment remains.
    auto t = normal(name, dims, std::sqrt(2 / (1 - 3 / (4 * 3.141592653589793)) / count));
    auto const values = t.mutable_data<float>();
    for (std::size_t first = 0; first < values.size(); first += fan_in) {
        auto const kernel = values.subspan(first, fan_in);
        auto const mean = std::accumulate(kernel.begin(), kernel.end(), 0.0) / count;
        for (auto& x : kernel) x -= static_cast<float>(mean / 2);
    }
    return t;
}

GSUB_INLINE tensor weight_source::linear(std::string_view name, std::int64_t outputs, std::int64_t inputs) const {
    return normal(name, {outputs, inputs}, 1 / std::sqrt(static_cast<double>(inputs)));
}

GSUB_INLINE tensor weight_source::bias(std::string_view name, std::int64_t count) const {
    return normal(name, {count}, 0.05);
}

GSUB_INLINE batch_norm_weights weight_source::batch_norm(std::string_view name, std::int64_t channels,
                                                         norm_place place) const {
    constexpr double low[] = {0.5, 0.2, 0.1}, high[] = {1.5, 0.6, 0.3};
    auto const at = static_cast<std::size_t>(place);
    return {uniform(format_text("{}.weight", name), {channels}, low[at], high[at]),
            normal(format_text("{}.bias", name), {channels}, 0.1),
            normal(format_text("{}.running_mean", name), {channels}, 0.1),
            uniform(format_text("{}.running_var", name), {channels}, 0.6, 1.8)};
}

} // namespace gsub::models
