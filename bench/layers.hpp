// The convolutions and matrix products of models, each distinct one once, and gsub's kernels for them.
#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/runtime/compiler/jit.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class layer_kind { convolution, depthwise, product, grouped };

/// A convolution of one image or a product of matrices, a bias and a ReLU behind it.
struct layer {
    std::string model, name; ///< the name has the sizes
    layer_kind kind = layer_kind::convolution;
    gsub::kernels::conv2d_shape conv{};
    gsub::kernels::matmul_shape product{};

    [[nodiscard]] double operations() const {
        return kind == layer_kind::product ? product.operations() : conv.operations();
    }
    // Numbers of elements. Arrays are plain: NCHW, OIHW, row-major.
    [[nodiscard]] std::int64_t input_size() const {
        return kind == layer_kind::product ? product.batches() * product.m * product.k
                                           : conv.in_channels * conv.in[0] * conv.in[1];
    }
    [[nodiscard]] std::int64_t weights_size() const {
        return kind == layer_kind::product
                   ? (product.constant ? 1 : product.batches()) * product.k * product.n
                   : conv.out_channels * (conv.in_channels / conv.groups) * conv.kernel[0] * conv.kernel[1];
    }
    [[nodiscard]] std::int64_t bias_size() const { return kind == layer_kind::product ? product.n : conv.out_channels; }
    [[nodiscard]] std::int64_t output_size() const {
        return kind == layer_kind::product ? product.batches() * product.m * product.n
                                           : conv.out_channels * conv.out(0) * conv.out(1);
    }
};

/// A convolution over images in a graph of batch one, with bias and ReLU; nothing where it has other dimensions.
[[nodiscard]] inline std::optional<gsub::kernels::conv2d_shape> conv2d_of(gsub::any_graph const& g, gsub::node_id n,
                                                                          std::int32_t lanes) {
    using namespace gsub;
    auto const &in = g.type(g.operand(n, 0)), &out = g.type({n, 0}), &w = g.type(g.operand(n, 1));
    if (in.rank() != 4) return std::nullopt;
    auto const& a = g.attributes<ops::conv>(n);
    kernels::conv2d_shape s;
    s.in_channels = in.dims[1].size(), s.out_channels = out.dims[1].size(), s.groups = a.group;
    for (std::size_t i = 0; i < 2; ++i) {
        s.in[i] = in.dims[i + 2].size(), s.kernel[i] = w.dims[i + 2].size();
        s.stride[i] = a.strides[i], s.dilation[i] = a.dilations[i];
        s.pads[i] = a.pads[i], s.pads[i + 2] = a.pads[i + 2];
    }
    if (s.groups == 1 && s.in_channels < lanes / 2) s.input = kernels::image_layout::planar;
    s.bias = true, s.low = 0;
    return s;
}

/// A product in a graph, its operands stored row-major, with bias and ReLU.
[[nodiscard]] inline gsub::kernels::matmul_shape matmul_of(gsub::any_graph const& g, gsub::node_id n) {
    using namespace gsub;
    auto const y = g.operand(n, 1);
    auto const left = g.type(g.operand(n, 0)).sizes(), out = g.type({n, 0}).sizes();
    auto const rank = out.size();
    kernels::matmul_shape s;
    s.m = out[rank - 2], s.n = out[rank - 1];
    s.k = g.is<ops::gemm>(n) && g.attributes<ops::gemm>(n).transpose_a ? left[left.size() - 2] : left.back();
    s.constant = g.type(y).rank() == 2;
    std::int64_t stack = 1;
    for (std::size_t d = 0; d + 2 < rank; ++d) stack *= out[d];
    if (s.constant)
        s.m *= stack; // one matrix for all: their rows are joined
    else
        s.batch = {stack};
    s.bias = true;
    s.epilogue = {{loop::scalar_op::maximum, 0, -1, 0}};
    return s;
}

/// The layers of 1 MFLOP and more of the optimized models, and all depthwise ones. *Errors* throws `error` for a model
/// that is not there.
[[nodiscard]] inline std::vector<layer> layers_of(std::vector<std::string> const& models, gsub::isa const& isa) {
    using namespace gsub;
    std::vector<layer> found;
    std::set<std::string> seen;
    for (auto const& model : models) {
        auto const* const entry = models::find_model(model);
        if (!entry) throw error{error_code::usage, fmt::format("no model {}", model)};
        auto const g = optimize(entry->build(1), cost::roofline{}, {.alpha = 1.05}).value();
        for (auto const n : g.order()) {
            layer of{model, {}, {}, {}, {}};
            if (g.is<ops::conv>(n)) {
                auto const shape = conv2d_of(g, n, isa.lanes());
                if (!shape) continue;
                auto const& s = of.conv = *shape;
                auto const depthwise = s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
                if (!kernels::conv2d_applies(s, isa)) continue;
                if (s.groups > 1) of.kind = depthwise ? layer_kind::depthwise : layer_kind::grouped;
                of.name =
                    fmt::format("{}x{}{} {}{} -> {}, {} x {}{}", s.kernel[0], s.kernel[1], s.stride[0] > 1 ? "/2" : "",
                                depthwise      ? "depthwise "
                                : s.groups > 1 ? fmt::format("in {} groups ", s.groups)
                                               : "",
                                s.in_channels, s.out_channels, s.out(0), s.out(1),
                                s.pads == std::array<std::int64_t, 4>{} && s.kernel[0] > 1 ? ", no pads" : "");
            } else if (g.is<ops::gemm>(n) || g.is<ops::mat_mul>(n)) {
                of.kind = layer_kind::product;
                auto const& s = of.product = matmul_of(g, n);
                of.name = fmt::format("{} x {} x {}", s.m, s.k, s.n);
                if (!s.constant) of.name += fmt::format(", {} of variable operands", s.batches());
            } else {
                continue;
            }
            if ((of.operations() >= 1e6 || of.kind == layer_kind::depthwise) && seen.insert(of.name).second)
                found.push_back(std::move(of));
        }
    }
    return found;
}

/// The grouped 3x3 convolutions of the goals: groups of so many channels, strides of 1 and 2 where kernels are to be
/// fast in both, images of stages in networks of such blocks.
[[nodiscard]] inline std::vector<layer> grouped_layers(gsub::isa const& isa) {
    using namespace gsub;
    struct stage {
        std::int64_t channels, size; // about as many channels; so many rows and columns
    };
    constexpr stage stages[] = {{128, 56}, {256, 28}, {512, 14}};
    std::vector<layer> found;
    for (std::int64_t const width : {4, 8, 16, 32, 3, 12, 24})
        for (std::int64_t const stride : {1, 2})
            for (auto const [channels, size] : stages) {
                if (stride == 2 && (width == 3 || width == 12 || width == 24)) continue;
                layer of{"goals", {}, layer_kind::grouped, {}, {}};
                auto& s = of.conv;
                s.groups = (channels + width - 1) / width;
                s.in_channels = s.out_channels = s.groups * width;
                s.in = {size, size}, s.kernel = {3, 3}, s.stride = {stride, stride}, s.pads = {1, 1, 1, 1};
                s.input = gsub::kernels::image_layout::blocked, s.bias = true, s.low = 0;
                if (!kernels::conv2d_applies(s, isa)) continue;
                of.name = fmt::format("3x3{} in {} groups of {}, {} x {} x {}", stride > 1 ? "/2" : "", s.groups, width,
                                      s.out_channels, s.out(0), s.out(1));
                found.push_back(std::move(of));
            }
    return found;
}

/// Normal numbers.
[[nodiscard]] inline gsub::tensor random_tensor(std::int64_t elements, std::uint64_t seed) {
    auto t = gsub::tensor::zeros(gsub::dtype::f32, gsub::ints{elements});
    gsub::fill_random(t, gsub::random_stream{seed});
    return t;
}

/// The operands of a layer.
struct layer_operands {
    gsub::tensor input, weights, bias;
    explicit layer_operands(layer const& of)
        : input(random_tensor(of.input_size(), 1)),
          weights(random_tensor(of.weights_size(), 2)),
          bias(random_tensor(of.bias_size(), 3)) {}
};

/// gsub's direct kernel of a layer with the knobs that counting chooses, and memory for it.
class generated_layer {
public:
    generated_layer(layer const& of, gsub::isa const& isa) : of_(of), lanes_(isa.lanes()) {
        using namespace gsub;
        kernel_ = of.kind == layer_kind::product
                      ? codegen::lower(kernels::matmul_nest(of.product, kernels::default_config(of.product, isa), isa),
                                       "product")
                            .value()
                      : codegen::lower(kernels::conv2d_nest(of.conv, kernels::default_config(of.conv, isa), isa),
                                       "convolution")
                            .value();
        flags_ = isa.flags;
        text_ = codegen::emit_cpp(kernel_, "layer");
    }
    [[nodiscard]] gsub::runtime::kernel_source source() const { return {text_, "layer", flags_}; }

    void prepare(gsub::runtime::loaded_kernel loaded, layer_operands const& from, gsub::isa const& isa) {
        using namespace gsub;
        loaded_ = std::move(loaded);
        call_ = reinterpret_cast<codegen::kernel_function>(loaded_.function());
        auto const product = of_.kind == layer_kind::product;
        auto const x = from.input.data<float>(), w = from.weights.data<float>(), b = from.bias.data<float>();
        std::vector<float> bias(b.begin(), b.end());
        bias.resize(static_cast<std::size_t>(rounded(of_.bias_size())));
        memory_.push_back(product || of_.conv.input == kernels::image_layout::planar
                              ? from.input
                              : filled(blocked(x, of_.conv.in_channels, of_.conv.in[0] * of_.conv.in[1])));
        memory_.push_back(!product               ? filled(kernels::pack_conv2d_weights(of_.conv, w, isa))
                          : of_.product.constant ? filled(kernels::pack_matmul_weights(of_.product, w, false, isa))
                                                 : from.weights);
        memory_.push_back(filled(bias));
        memory_.push_back(tensor::zeros(
            dtype::f32,
            ints{product ? of_.output_size() : rounded(of_.conv.out_channels) * of_.conv.out(0) * of_.conv.out(1)}));
        if (auto const own = codegen::workspace_bytes(kernel_))
            memory_.push_back(tensor::zeros(dtype::f32, ints{static_cast<std::int64_t>((own + 3) / 4)}));
        for (auto& m : memory_) addresses_.push_back(m.mutable_raw().data());
    }
    void run() { call_(addresses_.data(), 0, kernel_.parallel_extent); }

    /// What the last run has computed, stored plainly.
    [[nodiscard]] std::vector<float> output() const {
        auto const y = memory_[3].data<float>();
        if (of_.kind == layer_kind::product) return {y.begin(), y.end()};
        auto const pixels = of_.conv.out(0) * of_.conv.out(1);
        std::vector<float> plain;
        for (std::int64_t c = 0; c < of_.conv.out_channels; ++c)
            for (std::int64_t p = 0; p < pixels; ++p)
                plain.push_back(y[static_cast<std::size_t>((c / lanes_ * pixels + p) * lanes_ + c % lanes_)]);
        return plain;
    }

private:
    [[nodiscard]] std::int64_t rounded(std::int64_t channels) const {
        return (channels + lanes_ - 1) / lanes_ * lanes_;
    }
    [[nodiscard]] static gsub::tensor filled(std::vector<float> const& from) {
        auto t = gsub::tensor::zeros(gsub::dtype::f32, gsub::ints{static_cast<std::int64_t>(from.size())});
        std::copy(from.begin(), from.end(), t.mutable_data<float>().begin());
        return t;
    }
    [[nodiscard]] std::vector<float> blocked(std::span<float const> plain, std::int64_t channels,
                                             std::int64_t pixels) const {
        std::vector<float> out(static_cast<std::size_t>(rounded(channels) * pixels));
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t p = 0; p < pixels; ++p)
                out[static_cast<std::size_t>((c / lanes_ * pixels + p) * lanes_ + c % lanes_)] =
                    plain[static_cast<std::size_t>(c * pixels + p)];
        return out;
    }

    layer of_;
    std::int64_t lanes_;
    std::string text_;
    std::string flags_;
    gsub::codegen::kernel kernel_;
    gsub::runtime::loaded_kernel loaded_;
    gsub::codegen::kernel_function call_ = nullptr;
    std::vector<gsub::tensor> memory_; // input, weights, bias, output, scratch
    std::vector<void*> addresses_;
};

} // namespace bench
