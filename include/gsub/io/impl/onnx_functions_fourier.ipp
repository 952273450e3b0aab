// Fourier transforms as products with constant matrices.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace gsub::io::detail {

/// A transform of signals of some length: what of its operand and its result is complex, and what half of a spectrum.
struct fourier_form {
    std::int64_t length = 0; ///< of the signal
    bool inverse = false, onesided = false, complex = false;

    [[nodiscard]] std::int64_t half() const { return length / 2 + 1; }
    /// Complex numbers, or real ones, that the operand has and the result.
    [[nodiscard]] std::int64_t taken() const { return inverse && onesided ? half() : length; }
    [[nodiscard]] std::int64_t made() const { return !inverse && onesided ? half() : length; }
    [[nodiscard]] std::int64_t parts_taken() const { return complex ? 2 : 1; }
    [[nodiscard]] std::int64_t parts_made() const { return inverse && onesided ? 1 : 2; }
};

// Real and imaginary parts of a sum of turned numbers are products with this matrix: [taken * parts, made * parts].
GSUB_INLINE tensor fourier_matrix(fourier_form const& f) {
    auto const columns = f.made() * f.parts_made();
    auto t = tensor::zeros(dtype::f64, ints{f.taken() * f.parts_taken(), columns});
    auto const to = t.mutable_data<double>();
    auto const n = f.length;
    for (std::int64_t k = 0; k < f.taken(); ++k) {
        // A number of half a spectrum stands for its mirror image too, but the first one, and the last of an even
        // length.
        auto const twice = f.inverse && f.onesided && k != 0 && 2 * k != n;
        auto const scale = (f.inverse ? 1 / static_cast<double>(n) : 1) * (twice ? 2 : 1);
        for (std::int64_t i = 0; i < f.made(); ++i) {
            auto const angle = 2 * std::numbers::pi * static_cast<double>(k * i % n) / static_cast<double>(n);
            auto const c = scale * std::cos(angle), s = scale * (f.inverse ? 1 : -1) * std::sin(angle);
            auto const at = [&](std::int64_t taken, std::int64_t made) -> double& {
                return to[static_cast<std::size_t>((k * f.parts_taken() + taken) * columns + i * f.parts_made() +
                                                   made)];
            };
            at(0, 0) = c;
            if (f.parts_made() == 2) at(0, 1) = s;
            if (f.complex) at(1, 0) = -s;
            if (f.complex && f.parts_made() == 2) at(1, 1) = c;
        }
    }
    return t;
}

// The transform along the last dimension but one of [.., taken, parts], in the element type of the operand.
GSUB_INLINE value_id fourier_transform(function_writer const& to, value_id x, fourier_form const& f) {
    to.node().take_constant({f.taken(), f.parts_taken(), f.made(), f.parts_made()},
                            format_text("a transform of length {} as a product with a matrix", f.length));
    auto const rank = to.rank(x);
    ints flat, apart;
    for (std::size_t i = 0; i + 2 < rank; ++i) flat.push_back(to.size(x, i));
    apart = flat;
    flat.push_back(f.taken() * f.parts_taken());
    apart.push_back(f.made()), apart.push_back(f.parts_made());
    auto const matrix = to.node().builder().constant(fourier_matrix(f).converted_to(to.element(x)));
    return to.fixed(to.make<ops::mat_mul>(to.fixed(x, flat), matrix), apart);
}

// Cut to a number of elements along an axis, or filled up with zeros.
GSUB_INLINE value_id fitted(function_writer const& to, value_id x, std::size_t axis, std::int64_t count) {
    auto const size = to.size(x, axis);
    if (size > count)
        return to.make<ops::slice>(
            {.starts = {0}, .ends = {count}, .axes = {static_cast<std::int64_t>(axis)}, .steps = {1}}, {x});
    if (size == count) return x;
    auto const rank = to.rank(x);
    ints pads(2 * rank, 0);
    pads[rank + axis] = count - size;
    return to.make<ops::pad>({.pads = pads}, {x});
}

// A length that an operand tells, which is a constant.
GSUB_INLINE std::int64_t known_length(onnx_import_context& cx, std::size_t i, std::string_view what) {
    auto const given = cx.known_ints(i);
    if (!given || given->size() != 1) cx.unsupported(format_text("{} that is no constant", what));
    constexpr std::int64_t most = 1 << 30;
    if ((*given)[0] < 1 || (*given)[0] > most) cx.invalid(format_text("{} of {}", what, (*given)[0]));
    return (*given)[0];
}

// Whether the last dimension has real and imaginary parts, or real ones alone.
GSUB_INLINE bool has_imaginary_parts(function_writer const& to, value_id x) {
    auto const parts = to.size(x, to.rank(x) - 1);
    if (parts != 1 && parts != 2) to.node().invalid(format_text("operand {}", to_string(to.node().type(0))));
    return parts == 2;
}

// From operand set 20 on the axis is an operand.
GSUB_INLINE std::int64_t fourier_axis(onnx_import_context& cx) {
    if (cx.opset() < 20) return cx.integer("axis").value_or(1);
    if (!cx.has(2)) return -2;
    auto const given = cx.known_ints(2);
    if (!given || given->size() != 1) cx.unsupported("an axis that is no constant");
    return (*given)[0];
}

GSUB_INLINE value_id import_dft(onnx_import_context& cx) {
    function_writer const to{cx};
    fourier_form f{.inverse = cx.integer("inverse").value_or(0) != 0,
                   .onesided = cx.integer("onesided").value_or(0) != 0};
    auto const along = fourier_axis(cx);
    auto const given = to.floating(0);
    auto const rank = to.rank(given);
    if (rank < 2) cx.invalid(format_text("operand {}", to_string(cx.type(0))));
    f.complex = has_imaginary_parts(to, given);
    auto const axis = to.axis(along, rank);
    if (axis == rank - 1) cx.invalid("the axis of real and imaginary parts");
    if (f.onesided && f.complex != f.inverse)
        cx.invalid(f.inverse ? "one side of a spectrum of real numbers"
                             : "one side of the spectrum of complex numbers");
    auto const size = to.size(given, axis);
    constexpr std::int64_t most = 1 << 30;
    if (size > most) cx.unsupported(format_text("a transform of length {} as a product with a matrix", size));
    f.length = cx.has(1) ? known_length(cx, 1, "a length") : f.inverse && f.onesided ? 2 * (size - 1) : size;
    if (f.length < 1) cx.invalid(format_text("a transform of length {}", f.length));
    auto perm = function_writer::axes_from(0, rank);
    std::swap(perm[axis], perm[rank - 2]);
    auto const turned = [&](value_id v) { return axis == rank - 2 ? v : to.make<ops::transpose>({.perm = perm}, {v}); };
    auto const x = fitted(to, turned(to.widened(given)), rank - 2, f.taken());
    return to.cast(turned(fourier_transform(to, x, f)), to.element(given));
}

// Frames of a signal, each times a window, and their transforms.
GSUB_INLINE value_id import_stft(onnx_import_context& cx) {
    function_writer const to{cx};
    fourier_form f{.onesided = cx.integer("onesided").value_or(1) != 0};
    auto const given = to.floating(0);
    if (to.rank(given) != 3) cx.invalid(format_text("operand {}", to_string(cx.type(0))));
    f.complex = has_imaginary_parts(to, given);
    if (f.onesided && f.complex) cx.invalid("one side of the spectrum of complex numbers");
    auto const step = known_length(cx, 1, "a step");
    auto const window = cx.has(2) ? to.widened(to.floating(2)) : value_id{};
    if (window.valid() && to.rank(window) != 1) cx.invalid(format_text("a window {}", to_string(cx.type(2))));
    if (cx.has(3)) f.length = known_length(cx, 3, "a length");
    if (!cx.has(3)) f.length = window.valid() ? to.size(window, 0) : to.size(given, 1);
    if (window.valid() && to.size(window, 0) != f.length)
        cx.invalid(format_text("a window {} for frames of {}", to_string(cx.type(2)), f.length));
    auto const samples = to.size(given, 1);
    if (f.length < 1 || f.length > samples) cx.invalid(format_text("frames of {} in {} samples", f.length, samples));
    auto const frames = (samples - f.length) / step + 1;
    cx.take_constant({frames, f.length}, format_text("{} frames of {}", frames, f.length));
    auto places = tensor::uninitialized(dtype::i64, ints{frames, f.length});
    for (std::int64_t i = 0; i < frames * f.length; ++i)
        places.mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] = i / f.length * step + i % f.length;
    auto x = to.make<ops::gather>({.axis = 1}, {to.widened(given), cx.builder().constant(std::move(places))});
    if (window.valid()) x = to.mul(x, to.make<ops::unsqueeze>({.axes = {1}}, {window}));
    return to.cast(fourier_transform(to, x, f), to.element(given));
}

// Triangles over the lower half of a spectrum, whose corners have equal distances on the mel scale.
GSUB_INLINE value_id import_mel_weights(onnx_import_context& cx) {
    auto const type = dtype_of_onnx(cx.integer("output_datatype").value_or(1));
    if (!type) cx.unsupported("an element type that gsub does not compute with");
    double given[5];
    for (std::size_t i = 0; i < 5; ++i) {
        auto const number = cx.known_number(i);
        if (!number) cx.unsupported(format_text("operand {}, which is no constant", i));
        given[i] = *number;
    }
    auto const bands = given[0], length = given[1], rate = given[2], lowest = given[3], highest = given[4];
    constexpr double most = 1 << 16;
    if (!(std::isfinite(highest) && bands >= 0 && bands <= most && length >= 1 && length <= most && rate > 0 &&
          lowest >= 0 && highest >= lowest))
        cx.invalid("numbers of bands, samples and their frequencies");
    auto const columns = static_cast<std::int64_t>(bands), rows = static_cast<std::int64_t>(length) / 2 + 1;
    cx.take_constant({rows, columns}, format_text("a matrix of {} x {}", rows, columns));
    auto const mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    auto const from = mel(lowest), step = (mel(highest) - from) / (bands + 2);
    auto const corner = [&](std::int64_t i) { // a place in the spectrum
        auto const hertz = 700 * (std::pow(10, (from + step * static_cast<double>(i)) / 2595) - 1);
        return static_cast<std::int64_t>(std::min(std::floor((length + 1) * hertz / rate), static_cast<double>(rows)));
    };
    auto t = tensor::zeros(dtype::f64, ints{rows, columns});
    for (std::int64_t band = 0; band < columns; ++band) {
        auto const left = corner(band), peak = corner(band + 1), right = corner(band + 2);
        if (right > rows || peak >= rows) cx.unsupported("frequencies beyond half of the sample rate");
        auto const at = [&](std::int64_t row) -> double& {
            return t.mutable_data<double>()[static_cast<std::size_t>(row * columns + band)];
        };
        for (auto row = left; row < peak; ++row)
            at(row) = static_cast<double>(row - left) / static_cast<double>(peak - left);
        at(peak) = 1;
        for (auto row = peak + 1; row < right; ++row)
            at(row) = static_cast<double>(right - row) / static_cast<double>(right - peak);
    }
    return cx.builder().constant(t.converted_to(*type));
}

} // namespace gsub::io::detail
