// Layers by oneDNN on one thread: its own layouts, weights reordered beforehand, bias and ReLU in the primitive.
#pragma once

#include "layers.hpp"

#include <dlfcn.h>
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>

namespace bench {

/// Layouts of the arrays that a convolution reads and writes.
enum class onednn_layout {
    preferred, ///< what oneDNN answers where it is free to choose
    blocked,   ///< blocks of channels, for kernels of its that are not its first choice
};

/// A layer as oneDNN computes it. Products stay row-major.
class onednn_layer {
public:
    /// Whether this process has told oneDNN to use one thread.
    [[nodiscard]] static bool alone() {
        auto const kind = dnnl_version()->cpu_runtime;
        if (kind == DNNL_RUNTIME_SEQ) return true;
        auto* const set = ::dlsym(RTLD_DEFAULT, "omp_set_num_threads");
        if (kind != DNNL_RUNTIME_OMP || !set) return false;
        reinterpret_cast<void (*)(int)>(set)(1);
        return true;
    }
    [[nodiscard]] static std::string version() {
        auto const* const v = dnnl_version();
        return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
    }

    onednn_layer(layer const& of, layer_operands const& from, onednn_layout layout, std::int32_t lanes)
        : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        if (of.kind == layer_kind::product) {
            make_product(of.product, from);
            return;
        }
        auto const wanted = layout == onednn_layout::preferred ? tag::any : lanes == 16 ? tag::aBcd16b : tag::aBcd8b;
        make_convolution(of.conv, from, of.conv.input == gsub::kernels::image_layout::planar ? tag::any : wanted,
                         wanted);
    }
    void run() {
        primitive_.execute(stream_, arguments_);
        stream_.wait();
    }
    /// What the last run has computed, stored plainly.
    [[nodiscard]] std::vector<float> output() {
        dnnl::memory plain{plain_output_, engine_};
        reorder(arguments_.at(DNNL_ARG_DST), plain);
        auto const* const at = static_cast<float const*>(plain.get_data_handle());
        return {at, at + plain_output_.get_size() / sizeof(float)};
    }
    [[nodiscard]] std::string const& implementation() const noexcept { return implementation_; }

private:
    using dims = dnnl::memory::dims;
    using tag = dnnl::memory::format_tag;

    [[nodiscard]] static dnnl::memory::desc desc(dims const& d, tag t) { return {d, dnnl::memory::data_type::f32, t}; }
    void reorder(dnnl::memory& from, dnnl::memory& to) {
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
    }
    // An operand in the layout that the primitive wants.
    void give(int argument, gsub::tensor const& from, dnnl::memory::desc const& plain,
              dnnl::memory::desc const& wanted) {
        dnnl::memory source{plain, engine_, const_cast<std::byte*>(from.raw().data())}, own{wanted, engine_};
        reorder(source, own);
        arguments_.insert_or_assign(argument, own);
    }
    [[nodiscard]] static dnnl::primitive_attr with_relu() {
        dnnl::post_ops after;
        after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
        dnnl::primitive_attr a;
        a.set_post_ops(after);
        return a;
    }
    template <class Description>
    void finish(Description const& d, layer_operands const& from, dnnl::memory::desc const& x,
                dnnl::memory::desc const& w, dnnl::memory::desc const& b, dnnl::memory::desc const& y) {
        give(DNNL_ARG_SRC, from.input, x, d.src_desc());
        give(DNNL_ARG_WEIGHTS, from.weights, w, d.weights_desc());
        give(DNNL_ARG_BIAS, from.bias, b, b);
        arguments_.insert_or_assign(DNNL_ARG_DST, dnnl::memory{d.dst_desc(), engine_});
        plain_output_ = y;
        implementation_ = d.impl_info_str();
    }

    void make_convolution(gsub::kernels::conv2d_shape const& s, layer_operands const& from, tag before, tag behind) {
        dims const x{1, s.in_channels, s.in[0], s.in[1]}, y{1, s.out_channels, s.out(0), s.out(1)}, b{s.out_channels};
        dims w{s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]};
        if (s.groups > 1) w = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel[0], s.kernel[1]};
        dnnl::convolution_forward::primitive_desc const d{
            {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, desc(x, before),
             desc(w, tag::any), desc(b, tag::a), desc(y, behind), dims{s.stride[0], s.stride[1]},
             dims{s.dilation[0] - 1, s.dilation[1] - 1}, dims{s.pads[0], s.pads[1]}, dims{s.pads[2], s.pads[3]}},
            with_relu(),
            engine_};
        primitive_ = dnnl::convolution_forward(d);
        finish(d, from, desc(x, tag::abcd), desc(w, s.groups > 1 ? tag::abcde : tag::abcd), desc(b, tag::a),
               desc(y, tag::abcd));
    }
    void make_product(gsub::kernels::matmul_shape const& s, layer_operands const& from) {
        auto const stack = s.constant ? std::int64_t{1} : s.batches();
        dims const x{stack, s.m, s.k}, w{stack, s.k, s.n}, b{1, 1, s.n}, y{stack, s.m, s.n};
        // An operand that is known only at run time comes as it is.
        auto const given = s.constant ? tag::any : tag::abc;
        dnnl::matmul::primitive_desc const d{
            {desc(x, tag::abc), desc(w, given), desc(b, tag::abc), desc(y, tag::abc)}, with_relu(), engine_};
        primitive_ = dnnl::matmul(d);
        finish(d, from, desc(x, tag::abc), desc(w, tag::abc), desc(b, tag::abc), desc(y, tag::abc));
    }

    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::primitive primitive_;
    std::unordered_map<int, dnnl::memory> arguments_;
    dnnl::memory::desc plain_output_;
    std::string implementation_;
};

} // namespace bench
