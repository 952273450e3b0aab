// Network builder: builds networks layer by layer; each layer brings its weights and carries a name.
#pragma once

#include <gsub/ir/builder.hpp>
#include <gsub/models/weights.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace gsub::models {

/// Spatial extent: rows, then columns.
using extent = std::array<std::int64_t, 2>;

/// Convolution layer over images. `pad` stands at both ends of its dimension.
struct conv_layer {
    std::int64_t outputs = 0; ///< channels of the result
    extent kernel{1, 1}, stride{1, 1}, pad{0, 0};
    std::int64_t group = 1;
    bool bias = false;
};

/// Pooling layer over images.
struct pool_layer {
    extent kernel{1, 1}, stride{1, 1}, pad{0, 0};
    bool ceil_mode = false;
    bool count_include_pad = false; ///< of the mean: whether the divisor counts the border
};

/// Batch normalisation layer.
struct norm_layer {
    double epsilon = 1e-5; ///< rounded to f32
    norm_place place = norm_place::chain;
};

/// Network builder: a `graph_builder` with layers. The name of a layer becomes the source of its node and the name of
/// its result; its weights are named as PyTorch does: `<name>.weight`, `<name>.bias`, `<name>.running_mean`,
/// `<name>.running_var`. Images are `[n, c, h, w]`. *Errors* an ill-typed layer throws `error` (`invalid_input`).
class network_builder : public graph_builder {
public:
    /// Builds into `g`, which must outlive the builder.
    network_builder(any_graph& g, weight_source weights) noexcept : graph_builder(g), weights_(weights) {}

    /// `add<Op>` with a name.
    template <operation Op>
    value_id apply(std::string_view name, std::initializer_list<value_id> operands,
                   attributes_of<Op> const& attributes = {}) {
        return named(name, add<Op>(attributes, operands));
    }
    template <operation Op>
    value_id apply(std::string_view name, std::span<value_id const> operands,
                   attributes_of<Op> const& attributes = {}) {
        return named(name, add<Op>(attributes, operands));
    }

    /// Convolution over all channels of x.
    value_id conv(std::string_view name, value_id x, conv_layer const& layer);
    value_id batch_norm(std::string_view name, value_id x, norm_layer const& layer = {});
    value_id max_pool(std::string_view name, value_id x, pool_layer const& layer);
    value_id average_pool(std::string_view name, value_id x, pool_layer const& layer);
    /// Matrix product with a bias. *Shapes* `[n, i]` to `[n, outputs]`.
    value_id linear(std::string_view name, value_id x, std::int64_t outputs);

    value_id relu(std::string_view name, value_id x) { return apply<ops::relu>(name, {x}); }
    /// ReLU6: the activation of mobile networks.
    value_id relu6(std::string_view name, value_id x) { return apply<ops::clip>(name, {x}, {.min = 0, .max = 6}); }
    value_id sum(std::string_view name, value_id a, value_id b) { return apply<ops::add>(name, {a, b}); }
    /// Concatenation along the channels.
    value_id concat(std::string_view name, std::initializer_list<value_id> parts) {
        return apply<ops::concat>(name, parts, {.axis = 1});
    }
    /// Global average pool, `avgpool` and `flatten`: the mean of each channel. *Shapes* `[n, c, *]` to `[n, c]`.
    value_id pooled_features(value_id x) {
        return apply<ops::flatten>("flatten", {apply<ops::global_average_pool>("avgpool", {x})}, {.axis = 1});
    }

    /// Number of channels. *Requires* rank 2 or more and a fixed size.
    [[nodiscard]] std::int64_t channels(value_id x) const;
    [[nodiscard]] weight_source const& weights() const noexcept { return weights_; }

    /// Declares the only result of the graph and names it.
    void output(value_id v, std::string_view name);

private:
    value_id named(std::string_view name, value_id v);

    weight_source weights_;
};

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/network_builder.ipp>
#endif
