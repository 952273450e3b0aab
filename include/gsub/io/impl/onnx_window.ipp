#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_window.hpp>

#include <algorithm>

namespace gsub::io::detail {

// Pads of ONNX's SAME modes, which depend on the input's size unless the stride is one.
GSUB_INLINE ints same_pads(onnx_import_context& cx, ints const& kernel, window_attributes const& w, bool upper) {
    auto const spatial = kernel.size();
    ints pads(2 * spatial, 0);
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const extent = window_extent(kernel[i], w.dilations[i]);
        auto total = extent - 1;
        if (w.strides[i] != 1) {
            if (!cx.type(0).ranked || cx.type(0).rank() != spatial + 2 || !cx.type(0).dims[i + 2].fixed())
                cx.unsupported("auto_pad SAME with a stride and an unknown size",
                               "give the model fixed spatial dimensions");
            auto const size = cx.type(0).dims[i + 2].size();
            auto const outputs = (size + w.strides[i] - 1) / w.strides[i];
            total = std::max<std::int64_t>((outputs - 1) * w.strides[i] + extent - size, 0);
        }
        pads[i] = upper ? total / 2 : total - total / 2;
        pads[i + spatial] = total - pads[i];
    }
    return pads;
}

GSUB_INLINE window_attributes read_window(onnx_import_context& cx, ints const& kernel) {
    auto const spatial = kernel.size();
    window_attributes w;
    w.strides = cx.integer_list("strides").value_or(ints(spatial, 1));
    w.dilations = cx.integer_list("dilations").value_or(ints(spatial, 1));
    w.pads = cx.integer_list("pads").value_or(ints(2 * spatial, 0));
    auto const mode = cx.text("auto_pad").value_or("NOTSET");
    if (mode == "NOTSET") return w;
    if (mode == "VALID")
        w.pads = ints(2 * spatial, 0);
    else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
        if (w.strides.size() != spatial || w.dilations.size() != spatial)
            cx.invalid("strides or dilations of another length than the kernel");
        for (std::size_t i = 0; i < spatial; ++i)
            if (kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 || kernel[i] > (1 << 30) ||
                w.dilations[i] > (1 << 30) || w.strides[i] > (1 << 30))
                cx.invalid("kernel, strides and dilations must be in [1, 2^30]");
        w.pads = same_pads(cx, kernel, w, mode == "SAME_UPPER");
    } else {
        cx.invalid(format_text("auto_pad \"{}\"", mode));
    }
    return w;
}

GSUB_INLINE ints read_kernel(onnx_import_context& cx, std::size_t i) {
    auto const declared = cx.integer_list("kernel_shape");
    if (!cx.has(i)) cx.invalid("no weight");
    auto const& w = cx.type(i);
    // The file need not say the kernel's size, and without it no pads or strides have a meaning.
    if (!w.ranked) cx.unsupported("a weight of unknown shape");
    if (w.rank() < 3) cx.invalid(format_text("weight {}; it takes rank 3 and more", to_string(w)));
    ints kernel;
    for (std::size_t d = 2; d < w.rank(); ++d) {
        if (!w.dims[d].fixed()) cx.unsupported("a kernel of unknown size");
        kernel.push_back(w.dims[d].size());
    }
    if (declared && *declared != kernel)
        cx.invalid(
            format_text("kernel_shape {} with a weight {}", to_string(attribute_value{*declared}), to_string(w)));
    return kernel;
}

GSUB_INLINE void write_convolution(onnx_attribute_writer& w, window_attributes const& window, std::int64_t group) {
    w.integer_list("strides", window.strides);
    w.integer_list("pads", window.pads);
    w.integer_list("dilations", window.dilations);
    w.integer("group", group);
}

} // namespace gsub::io::detail
