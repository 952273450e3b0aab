// Weights for networks without a trained checkpoint: seeded, and scaled so that activations neither die nor explode.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::models {

/// Weights of a batch normalisation, one entry a channel each.
struct batch_norm_weights {
    tensor scale, shift, mean, variance;
};

/// Place of a batch normalisation. The last one of a residual branch gets small scales, so that a long chain of sums
/// does not grow, and smaller ones where more than 20 branches follow each other.
enum class norm_place { chain, branch_end, long_chain_branch_end };

/// Weight source: makes weights out of a seed. A tensor depends on seed, name and dimensions alone, never on earlier
/// requests, so a layer keeps its weights when another one is added in front of it. All tensors are f32.
class weight_source {
public:
    constexpr explicit weight_source(std::uint64_t seed) noexcept : root_(seed) {}
    constexpr explicit weight_source(random_stream stream) noexcept : root_(stream) {}

    /// Normal values with mean 0.
    [[nodiscard]] tensor normal(std::string_view name, ints const& dims, double deviation) const;
    /// Values uniform in [low, high).
    [[nodiscard]] tensor uniform(std::string_view name, ints const& dims, double low, double high) const;

    /// Kernel of a convolution: normal, scaled so that convolution and rectifier keep the second moment. *Shapes*
    /// `[o, c/g, *]`; fan_in is the product of all but the first. One input channel (depthwise): deviation
    /// sqrt(2 / fan_in). More: half of the kernel's mean is taken off, and the deviation is sqrt(2.63 / fan_in) to make
    /// up for that. Rectified values share a positive mean, which plain kernels hand on until the logits hardly depend
    /// on the input (1 % of their range in Inception v3). With half of that mean they move by 6 %; without any of it,
    /// rounding errors would grow tenfold. *Source* He et al., "Delving deep into rectifiers", 2015, equation 10.
    [[nodiscard]] tensor convolution(std::string_view name, ints const& dims) const;
    /// Matrix of a linear layer: normal with deviation 1 / sqrt(inputs). *Shapes* `[outputs, inputs]`.
    [[nodiscard]] tensor linear(std::string_view name, std::int64_t outputs, std::int64_t inputs) const;
    /// Normal with deviation 0.05: small against activations of about 1, yet visible to every check.
    [[nodiscard]] tensor bias(std::string_view name, std::int64_t count) const;

    /// Batch normalisation with statistics that no rule can mistake for those of an untrained layer. The four tensors
    /// are those named `<name>.weight`, `.bias`, `.running_mean` and `.running_var`: scale uniform in [0.5, 1.5), or
    /// [0.2, 0.6) at the end of a residual branch, [0.1, 0.3) at that of one in a long chain; shift and mean normal
    /// with deviation 0.1; variance uniform in [0.6, 1.8), which makes the mean of scale^2 / variance one: a He-scaled
    /// convolution, this and a rectifier keep the second moment.
    [[nodiscard]] batch_norm_weights batch_norm(std::string_view name, std::int64_t channels,
                                                norm_place place = norm_place::chain) const;

private:
    [[nodiscard]] random_stream stream(std::string_view name) const noexcept { return root_.split(hash_name(name)); }
    random_stream root_;
};

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/weights.ipp>
#endif
