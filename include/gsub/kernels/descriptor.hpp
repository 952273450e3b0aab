// descriptor: what a generated kernel computes, as a value: one variant of the templates' shapes.
#pragma once

#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/local_response_norm.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/kernels/pool2d.hpp>
#include <gsub/kernels/reduction.hpp>
#include <gsub/kernels/row_reduction.hpp>
#include <gsub/kernels/scatter.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/kernels/winograd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace gsub::kernels {

/// Shape of a Winograd convolution. The tile size belongs to the algorithm; it is no knob.
struct winograd_shape {
    conv2d_shape conv{};
    std::int32_t m = 4; ///< pixels of a tile in each direction: 2 or 4
};

/// Shape of an elementwise kernel: a chain over arrays that are stored alike, as `elementwise_nest` takes it.
struct elementwise_shape {
    std::int64_t elements = 1;
    std::int32_t arrays = 1;
    std::vector<elementwise_op> ops{};
};

/// Kernel descriptor: what a kernel computes and by which algorithm, without the knobs of its schedule. Tuners, cost
/// models and reports read it; a kernel call of a program has one.
using descriptor = std::variant<conv2d_shape, winograd_shape, separable_shape, matmul_shape, attention_shape,
                                pool2d_shape, elementwise_shape, row_reduction_shape, reduction_shape,
                                local_response_norm_shape, movement_shape, scatter_shape>;

/// Image operand and result of a convolution or pooling kernel.
template <class Layout>
struct image_ends {
    Layout *input, *result;
    std::int64_t in_channels, out_channels;
    bool alone; ///< the kernel reads no residual or array, which lie as the result
};
/// Images of a descriptor, which may be const; nothing for other kernels.
template <class Descriptor>
[[nodiscard]] auto images_of(Descriptor& d) {
    using layout = std::conditional_t<std::is_const_v<Descriptor>, image_layout const, image_layout>;
    using ends = std::optional<image_ends<layout>>;
    auto const between = [](auto& first, auto& last) -> ends {
        return {{&first.input, &last.result, first.in_channels, last.out_channels, !last.residual && last.arrays == 0}};
    };
    if (auto* const c = std::get_if<conv2d_shape>(&d)) return between(*c, *c);
    if (auto* const w = std::get_if<winograd_shape>(&d)) return between(w->conv, w->conv);
    if (auto* const s = std::get_if<separable_shape>(&d)) return between(s->depthwise, s->pointwise);
    if (auto* const p = std::get_if<pool2d_shape>(&d))
        return ends{{&p->input, &p->result, p->channels, p->channels, true}};
    return ends{};
}

/// Integers by which a kernel chooses entries at run time. It then tells, in a result behind the others, where one of
/// them is out of range.
struct chosen_operand {
    std::size_t operand = 0; ///< the integers
    dtype integers = dtype::i64;
    std::int64_t count = 0;   ///< of the integers
    std::int64_t entries = 1; ///< that they choose among
};
/// The integers of gathers, of a scatter, and of rows that are chosen; none for other kernels.
GSUB_LAZY [[nodiscard]] std::vector<chosen_operand> chosen_by(descriptor const& d);

/// Kind of a kernel in words for reports, e.g. `depthwise conv2d`, `winograd F4`; a row reduction that only moves
/// elements is a `copy`, as a movement may be. Nothing parses them.
GSUB_LAZY [[nodiscard]] std::string kind_of(descriptor const& d);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/descriptor.ipp>
#endif
