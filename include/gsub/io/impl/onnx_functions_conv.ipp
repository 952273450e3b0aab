// ConvTranspose, as a convolution that makes all phases of its stride at once, or as one for each phase.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gsub::io::detail {

/// A transposed convolution along one spatial axis. Result m - `begin`, where m = q * stride + r, is the sum over j of
/// x[q - j] * w[r + j * stride]: for each phase r a plain convolution with every stride-th tap.
struct transposed_axis {
    std::int64_t size = 0, kernel = 0; // of x, and of the weight with the zeros of its dilation
    std::int64_t stride = 1, dilation = 1, taps = 1;
    std::int64_t begin = 0, result = 0;                                           // what is cut off, and what stays
    [[nodiscard]] std::int64_t steps() const noexcept { return size + taps - 1; } // of a phase
};

GSUB_INLINE std::vector<transposed_axis> read_transposed_axes(onnx_import_context& cx, function_writer const& to,
                                                              value_id x, value_id weight) {
    auto const spatial = to.rank(x) - 2;
    auto const list = [&](std::string_view name, std::size_t length, std::int64_t otherwise) {
        auto const given = cx.integer_list(name).value_or(ints(length, otherwise));
        if (given.size() != length) cx.invalid(format_text("{} {} for {}", given.size(), name, length));
        return given;
    };
    auto const strides = list("strides", spatial, 1), dilations = list("dilations", spatial, 1);
    auto const pads = list("pads", 2 * spatial, 0), more = list("output_padding", spatial, 0);
    auto const declared = cx.integer_list("kernel_shape");
    auto const wanted = cx.integer_list("output_shape");
    if (wanted && wanted->size() != spatial) cx.invalid(format_text("output_shape for {} axes", wanted->size()));
    auto const mode = cx.text("auto_pad").value_or("NOTSET");
    if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
        cx.invalid(format_text("auto_pad {}", quoted{mode}));
    auto const same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    std::vector<transposed_axis> axes;
    for (std::size_t i = 0; i < spatial; ++i) {
        transposed_axis a;
        auto const kernel = to.size(weight, i + 2);
        a.size = to.size(x, i + 2), a.stride = strides[i], a.dilation = dilations[i];
        if (declared && (declared->size() != spatial || (*declared)[i] != kernel))
            cx.invalid(format_text("kernel_shape {} for weight {}", to_string(attribute_value{*declared}),
                                   to_string(cx.type(1))));
        constexpr std::int64_t most = 1 << 20;
        for (auto const v : {kernel, a.stride, a.dilation})
            if (v < 1 || v > most) cx.invalid("kernel, strides and dilations must be in [1, 2^20]");
        if (a.size < 1 || a.size > most) cx.unsupported(format_text("{} pixels along an axis", a.size));
        a.kernel = (kernel - 1) * a.dilation + 1;
        a.taps = (a.kernel + a.stride - 1) / a.stride;
        if (more[i] < 0 || more[i] > most || pads[i] < -most || pads[i] > most || pads[i + spatial] < -most ||
            pads[i + spatial] > most)
            cx.invalid("pads and output_padding must be in [-2^20, 2^20]");
        auto const whole = a.stride * (a.size - 1) + more[i] + a.kernel;
        a.begin = mode == "VALID" ? 0 : pads[i];
        a.result = whole - a.begin - (mode == "VALID" ? 0 : pads[i + spatial]);
        if (wanted || same) {
            a.result = wanted ? (*wanted)[i] : a.size * a.stride;
            auto const cut = std::max<std::int64_t>(whole - a.result, 0); // more than there is are zeros at the end
            a.begin = mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
        }
        if (a.result < 0 || a.result > most * most) cx.invalid(format_text("a result of size {}", a.result));
        axes.push_back(a);
    }
    return axes;
}

// A tensor with dimensions behind the first ones; zeros fill an axis up to a size.
GSUB_INLINE value_id filled_up(function_writer const& to, value_id x, std::size_t axis, std::int64_t from,
                               std::int64_t size) {
    if (size == from) return x;
    auto const rank = to.rank(x);
    ints pads(2 * rank, 0);
    pads[rank + axis] = size - from;
    return to.make<ops::pad>({.pads = pads}, {x});
}

// The weight, [C, M / group, k...], as that of the phases' convolution: [M, stride..., C / group, taps...] as a matrix.
GSUB_INLINE value_id weight_of_phases(function_writer const& to, value_id weight,
                                      std::vector<transposed_axis> const& axes, std::int64_t group) {
    auto const channels = to.size(weight, 0), made = to.size(weight, 1);
    auto const spatial = axes.size();
    auto w = weight;
    ints sizes{channels, made};
    for (std::size_t i = 0; i < spatial; ++i) sizes.push_back(to.size(weight, i + 2));
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const& a = axes[i];
        auto& size = sizes[i + 2];
        if (a.dilation > 1) { // zeros between the taps
            ints apart = sizes;
            apart.insert(i + 3, 1);
            w = filled_up(to, to.reshaped(w, apart), i + 3, 1, a.dilation);
            size *= a.dilation;
            w = to.reshaped(w, sizes);
            auto const axis = static_cast<std::int64_t>(i + 2);
            w = to.make<ops::slice>({.starts = {0}, .ends = {a.kernel}, .axes = {axis}, .steps = {1}}, {w});
            size = a.kernel;
        }
        w = filled_up(to, w, i + 2, size, a.taps * a.stride);
        size = a.taps * a.stride;
    }
    // Tap r + j * stride is tap j of phase r; taps run backwards.
    ints apart{group, channels / group, made}, order{0, 2}, reversed, ends, which, steps;
    for (auto const& a : axes) apart.push_back(a.taps), apart.push_back(a.stride);
    w = to.reshaped(w, apart);
    for (std::size_t i = 0; i < spatial; ++i) {
        which.push_back(static_cast<std::int64_t>(3 + 2 * i)), reversed.push_back(-1), steps.push_back(-1);
        ends.push_back(std::numeric_limits<std::int64_t>::min());
    }
    w = to.make<ops::slice>({.starts = reversed, .ends = ends, .axes = which, .steps = steps}, {w});
    for (std::size_t i = 0; i < spatial; ++i) order.push_back(static_cast<std::int64_t>(4 + 2 * i));
    order.push_back(1);
    for (auto const axis : which) order.push_back(axis);
    ints as_weight{group * made, channels / group};
    for (auto const& a : axes) as_weight[0] *= a.stride, as_weight.push_back(a.taps);
    return to.reshaped(to.make<ops::transpose>({.perm = order}, {w}), as_weight);
}

/// Phase of a transposed convolution along an axis: results p, p + stride, ... are a convolution with some of the taps.
struct transposed_phase {
    std::int64_t first = 0, taps = 0;   // of the weight, every stride-th one
    std::int64_t before = 0, after = 0; // pads
};
// A phase for each result within a stride; nothing where one has no tap, or takes less than all of x.
GSUB_INLINE std::optional<std::vector<transposed_phase>> phases_of(transposed_axis const& a) {
    if (a.dilation != 1 || a.begin < 0 || a.result < 1) return std::nullopt;
    auto const results = (a.result + a.stride - 1) / a.stride;
    std::vector<transposed_phase> out;
    for (std::int64_t p = 0; p < a.stride; ++p) {
        transposed_phase f;
        f.first = (p + a.begin) % a.stride;
        auto const later = (p + a.begin) / a.stride; // elements of x that the first result is behind
        f.taps = (a.kernel - f.first + a.stride - 1) / a.stride;
        f.before = f.taps - 1 - later, f.after = results - a.size + later;
        if (f.first >= a.kernel || f.before < 0 || f.after < 0) return std::nullopt;
        out.push_back(f);
    }
    return out;
}
// Where phases have different numbers of taps, or begin apart, one convolution of all would have zeros for taps, and
// results that are cut off: then each has its own, if there are few of them.
GSUB_INLINE bool are_apart(std::vector<transposed_axis> const& axes) {
    auto apart = false;
    std::int64_t phases = 1;
    for (auto const& a : axes) {
        apart = apart || a.kernel % a.stride != 0 || a.begin != 0;
        phases *= std::min<std::int64_t>(a.stride, 64);
        if (phases > 16 || !phases_of(a)) return false;
    }
    return apart && phases > 1;
}
GSUB_INLINE value_id made_by_phases(function_writer const& to, value_id x, value_id weight, value_id bias,
                                    std::vector<transposed_axis> const& axes, std::int64_t group) {
    auto const spatial = axes.size();
    auto const channels = to.size(weight, 0), per_group = to.size(weight, 1), made = group * per_group;
    std::vector<std::vector<transposed_phase>> of;
    for (auto const& a : axes) of.push_back(*phases_of(a));
    std::vector<value_id> parts;
    std::vector<std::size_t> at(spatial, 0); // the phase along each axis
    for (auto more = true; more;) {
        attributes_of<ops::conv> how;
        how.group = group;
        attributes_of<ops::slice> taps;
        ints apart{group, channels / group, per_group}, order{0, 2, 1}, sizes{made, channels / group};
        for (std::size_t i = 0; i < spatial; ++i) {
            auto const& f = of[i][at[i]];
            how.strides.push_back(1), how.dilations.push_back(1), how.pads.push_back(f.before);
            taps.starts.push_back(f.first + (f.taps - 1) * axes[i].stride); // they run backwards
            taps.ends.push_back(std::numeric_limits<std::int64_t>::min());
            taps.axes.push_back(static_cast<std::int64_t>(2 + i)), taps.steps.push_back(-axes[i].stride);
            apart.push_back(f.taps), sizes.push_back(f.taps), order.push_back(static_cast<std::int64_t>(3 + i));
        }
        for (std::size_t i = 0; i < spatial; ++i) how.pads.push_back(of[i][at[i]].after);
        auto const chosen = to.reshaped(to.make<ops::slice>(taps, {weight}), apart);
        std::vector<value_id> operands{x, to.reshaped(to.make<ops::transpose>({.perm = order}, {chosen}), sizes)};
        if (bias.valid()) operands.push_back(bias);
        parts.push_back(to.node().builder().add<ops::conv>(how, std::span<value_id const>{operands}));
        more = false;
        for (auto i = spatial; i-- > 0 && !more;) {
            more = ++at[i] < of[i].size();
            if (!more) at[i] = 0;
        }
    }
    auto y = to.node().builder().add<ops::concat>({.axis = 1}, std::span<value_id const>{parts});
    ints apart{0}, order{0, static_cast<std::int64_t>(1 + spatial)}, whole{0, made};
    for (auto const& a : axes) apart.push_back(a.stride);
    apart.push_back(made);
    attributes_of<ops::slice> wanted;
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const& a = axes[i];
        auto const results = (a.result + a.stride - 1) / a.stride;
        apart.push_back(results), whole.push_back(results * a.stride);
        order.push_back(static_cast<std::int64_t>(2 + spatial + i)), order.push_back(static_cast<std::int64_t>(1 + i));
        if (whole.back() == a.result) continue;
        wanted.starts.push_back(0), wanted.ends.push_back(a.result);
        wanted.axes.push_back(static_cast<std::int64_t>(2 + i)), wanted.steps.push_back(1);
    }
    y = to.reshaped(to.make<ops::transpose>({.perm = order}, {to.reshaped(y, apart)}), whole);
    return wanted.axes.empty() ? y : to.make<ops::slice>(wanted, {y});
}

GSUB_INLINE value_id import_conv_transpose(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0), weight = to.typed(1);
    auto const rank = to.rank(x);
    if (rank < 3 || to.rank(weight) != rank)
        cx.invalid(format_text("weight {} for operand {}", to_string(cx.type(1)), to_string(cx.type(0))));
    auto const group = cx.integer("group").value_or(1);
    auto const channels = to.size(weight, 0), per_group = to.size(weight, 1);
    if (group < 1 || channels % group != 0 || to.size(x, 1) != channels)
        cx.invalid(
            format_text("{} groups, weight {}, operand {}", group, to_string(cx.type(1)), to_string(cx.type(0))));
    auto const axes = read_transposed_axes(cx, to, x, weight);
    if (are_apart(axes)) return made_by_phases(to, x, weight, cx.has(2) ? to.typed(2) : value_id{}, axes, group);
    auto const made = group * per_group;
    std::int64_t phases = 1;
    auto extends = false;
    attributes_of<ops::conv> how;
    ints cut(2 * rank, 0), apart{0, made}, order{0, 1}, sizes{0, made};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const& a = axes[i];
        how.strides.push_back(1), how.dilations.push_back(1);
        cut[2 + i] = -a.begin, cut[rank + 2 + i] = a.result - (a.steps() * a.stride - a.begin);
        extends = extends || cut[2 + i] > 0 || cut[rank + 2 + i] > 0;
        phases *= a.stride;
        if (phases > (1 << 20)) cx.unsupported("strides as large as these");
    }
    for (int twice = 0; twice < 2; ++twice)
        for (auto const& a : axes) how.pads.push_back(a.taps - 1);
    how.group = group;
    // A bias is part of the convolution, but where the result goes beyond it.
    auto const bias = cx.has(2) ? to.typed(2) : value_id{};
    std::vector<value_id> operands{x, weight_of_phases(to, weight, axes, group)};
    if (bias.valid() && !extends)
        operands.push_back(
            phases == 1
                ? bias
                : to.reshaped(to.make<ops::expand>({.shape = {made, phases}}, {to.reshaped(bias, {made, 1})}), {-1}));
    auto y = cx.builder().add<ops::conv>(how, std::span<value_id const>{operands});
    if (phases > 1) {
        for (auto const& a : axes) apart.push_back(a.stride), sizes.push_back(a.steps() * a.stride);
        for (auto const& a : axes) apart.push_back(a.steps());
        for (std::size_t i = 0; i < axes.size(); ++i)
            order.push_back(static_cast<std::int64_t>(2 + axes.size() + i)),
                order.push_back(static_cast<std::int64_t>(2 + i));
        y = to.reshaped(to.make<ops::transpose>({.perm = order}, {to.reshaped(y, apart)}), sizes);
    }
    if (!all_equal(cut, 0)) y = to.make<ops::pad>({.pads = cut}, {y});
    if (!bias.valid() || !extends) return y;
    ints beside(rank - 1, 1);
    beside[0] = -1;
    return to.add(y, to.reshaped(bias, beside));
}

} // namespace gsub::io::detail
