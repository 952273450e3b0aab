// weight_packer: packs weights in the order of their kernels.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/impl/kernel_graph_fields.ipp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gsub::detail {

// The order in which a kernel reads its weights. Fields of the shape that packing does not read have their defaults.
struct weight_order {
    kernels::descriptor shape; // a product or a convolution
    std::optional<kernels::winograd_config> tiles{};
    weight_packing how{};

    // Of a separable convolution the `second` weights are those of the pointwise one.
    static weight_order of(kernel_op const& op, bool second, weight_packing how) {
        auto const& d = std::get<kernels::descriptor>(op.computes);
        if (auto const* const s = std::get_if<kernels::matmul_shape>(&d))
            return {kernels::matmul_shape{.n = s->n, .k = s->k}, {}, std::move(how)};
        if (auto const* const w = std::get_if<kernels::winograd_shape>(&d)) {
            auto const knobs = kernels::winograd_knobs(*op.schedule, w->m);
            return {filters(w->conv), kernels::winograd_config{.m = w->m, .vectors = knobs.vectors}, std::move(how)};
        }
        if (auto const* const both = std::get_if<kernels::separable_shape>(&d))
            return {filters(second ? both->pointwise : both->depthwise), {}, std::move(how)};
        return {filters(std::get<kernels::conv2d_shape>(d)), {}, std::move(how)};
    }
    // The same for equal orders.
    GSUB_LAZY [[nodiscard]] std::string text() const {
        auto key = kernels::to_string(shape);
        if (tiles) kernels::print_value(key, *tiles);
        kernels::print_value(key, how);
        return key;
    }

private:
    static kernels::conv2d_shape filters(kernels::conv2d_shape const& s) {
        kernels::conv2d_shape only{.in_channels = s.in_channels, .out_channels = s.out_channels, .groups = s.groups};
        only.kernel = s.kernel, only.depth.kernel = s.depth.kernel, only.input = s.input;
        return only;
    }
};

// Packs weights in units of equal size (vectors of output channels), of which a recipe gives some from the first on.
template <class = void>
class weight_packer {
public:
    void add(std::int32_t value, weight_order order, tensor weights, isa const& isa) {
        if (auto const* const s = std::get_if<kernels::matmul_shape>(&order.shape))
            return add_matrix(value, *s, order.how, std::move(weights), isa);
        auto const s = std::get<kernels::conv2d_shape>(order.shape);
        add_conv(value, s, order.tiles, std::move(order.how), std::move(weights), isa);
    }
    // The largest first, so that what it was made of is gone when memory fills; all threads together on one that has
    // pieces, and each on one of the rest.
    void run(runtime::program& p, executor* threads) {
        inline_executor alone;
        auto& all = threads ? *threads : static_cast<executor&>(alone);
        std::stable_sort(packings_.begin(), packings_.end(),
                         [](packing const& a, packing const& b) { return a.elements > b.elements; });
        std::size_t i = 0;
        for (; i < packings_.size() && packings_[i].pieces() > 1; ++i) pack(p, packings_[i], all);
        all.parallel_for(packings_.size() - i, [&](std::size_t k) { pack(p, packings_[i + k], alone); });
    }

private:
    using pack_function = std::function<std::vector<float>(std::int64_t first, std::int64_t count)>;
    struct packing {
        std::int32_t value;
        std::int64_t elements, units, step; // elements before packing; units, those of a piece
        pack_function make;
        std::int64_t pieces() const noexcept { return (units + step - 1) / step; }
    };

    void add(std::int32_t value, std::int64_t elements, std::int64_t units, pack_function make) {
        constexpr std::int64_t piece = std::int64_t{1} << 14; // elements that a thread packs at a time
        auto const step = std::clamp<std::int64_t>(units * piece / std::max<std::int64_t>(elements, 1), 1, units);
        packings_.push_back({value, elements, units, step, std::move(make)});
    }
    void add_conv(std::int32_t value, kernels::conv2d_shape const& s,
                  std::optional<kernels::winograd_config> const& tiles, weight_packing how, tensor weights,
                  isa const& isa) {
        auto const elements = weights.elements();
        auto const unit = s.groups > 1 ? s.out_channels : std::int64_t{isa.lanes()} * (tiles ? tiles->vectors : 1);
        auto pack = [s, tiles, unit, isa, per_channel = elements / s.out_channels, weights = std::move(weights),
                     scale = std::move(how.scale)](std::int64_t first, std::int64_t count) mutable {
            auto const begin = first * unit;
            auto part = s;
            if (s.groups == 1) part.out_channels = std::min(count * unit, s.out_channels - begin);
            auto from =
                weights.template data<float>().subspan(static_cast<std::size_t>(begin * per_channel),
                                                       static_cast<std::size_t>(part.out_channels * per_channel));
            std::vector<float> scaled;
            if (!scale.empty()) {
                scaled.assign(from.begin(), from.end());
                for (std::size_t i = 0; i < scaled.size(); ++i)
                    scaled[i] *= scale[static_cast<std::size_t>(begin) + i / static_cast<std::size_t>(per_channel)];
                from = scaled;
            }
            auto packed = tiles ? kernels::pack_winograd_weights(part, *tiles, from, isa)
                                : kernels::pack_conv2d_weights(part, from, isa);
            weights.discard(begin * per_channel, part.out_channels * per_channel);
            return packed;
        };
        add(value, elements, (s.out_channels + unit - 1) / unit, std::move(pack));
    }
    // The right operand of a product, `[k, n]` or transposed, in vectors of columns.
    void add_matrix(std::int32_t value, kernels::matmul_shape const& s, weight_packing const& how, tensor weights,
                    isa const& isa) {
        auto const l = std::int64_t{isa.lanes()};
        auto const elements = weights.elements();
        auto pack = [n = s.n, k = s.k, l, alpha = how.alpha, transposed = how.transposed, isa,
                     weights = std::move(weights)](std::int64_t first, std::int64_t count) mutable {
            kernels::matmul_shape of;
            of.n = std::min(count * l, n - first * l), of.k = k;
            auto from = weights.template data<float>();
            std::vector<float> columns;
            if (transposed) {
                from = from.subspan(static_cast<std::size_t>(first * l * k), static_cast<std::size_t>(of.n * k));
            } else if (of.n < n) {
                columns.reserve(static_cast<std::size_t>(of.n * k));
                for (std::int64_t row = 0; row < k; ++row) {
                    auto const of_row =
                        from.subspan(static_cast<std::size_t>(row * n + first * l), static_cast<std::size_t>(of.n));
                    columns.insert(columns.end(), of_row.begin(), of_row.end());
                }
                from = columns;
            }
            auto packed = kernels::pack_matmul_weights(of, from, transposed, isa);
            if (alpha != 1)
                for (auto& v : packed) v *= static_cast<float>(alpha);
            if (transposed) weights.discard(first * l * k, of.n * k);
            return packed;
        };
        add(value, elements, (s.n + l - 1) / l, std::move(pack));
    }
    static void pack(runtime::program& in, packing& p, executor& threads) {
        auto const first = p.make(0, p.step);
        auto const unit = static_cast<std::int64_t>(first.size()) / p.step;
        std::int64_t const dims[] = {unit * p.units};
        auto& value = in.values[static_cast<std::size_t>(p.value)];
        value.data = tensor::in_pages(dtype::f32, dims, true);
        value.size = value.data.size_bytes();
        auto* const to = value.data.template mutable_data<float>().data();
        std::copy(first.begin(), first.end(), to);
        threads.parallel_for(static_cast<std::size_t>(p.pieces() - 1), [&](std::size_t i) {
            auto const begin = (static_cast<std::int64_t>(i) + 1) * p.step;
            auto const made = p.make(begin, std::min(p.step, p.units - begin));
            std::copy(made.begin(), made.end(), to + begin * unit);
        });
        p.make = nullptr; // frees what it was made of
    }
    std::vector<packing> packings_;
};

} // namespace gsub::detail
