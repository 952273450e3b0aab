// Images read at places between pixels: grids of them, regions, deformed convolutions.
#pragma once

#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions_index.ipp>
#include <gsub/io/impl/onnx_window.ipp>

#include <utility>
#include <vector>

namespace gsub::io::detail {

// Places between -1 and 1 along each dimension, the last one first, and 1: [pixels, dimensions + 1].
GSUB_INLINE tensor grid_of_places(ints const& sizes, std::int64_t pixels, bool corners) {
    auto const columns = static_cast<std::int64_t>(sizes.size()) + 1;
    auto t = tensor::uninitialized(dtype::f64, ints{pixels, columns});
    auto const out = t.mutable_data<double>();
    for (std::int64_t i = 0; i < pixels; ++i) {
        auto rest = i;
        for (std::size_t d = sizes.size(); d-- > 0;) {
            auto const at = static_cast<double>(rest % sizes[d]), size = static_cast<double>(sizes[d]);
            auto const column = static_cast<std::int64_t>(sizes.size() - 1 - d);
            out[static_cast<std::size_t>(i * columns + column)] =
                corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
            rest /= sizes[d];
        }
        out[static_cast<std::size_t>(i * columns + columns - 1)] = 1;
    }
    return t;
}

GSUB_INLINE value_id import_affine_grid(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const corners = cx.integer("align_corners").value_or(0) != 0;
    auto const given = to.floating(0), theta = to.widened(given);
    auto const told = cx.known_ints(1);
    if (!told) cx.unsupported("a size that is no constant");
    if (told->size() != 4 && told->size() != 5) cx.invalid(format_text("{} sizes of images", told->size()));
    ints const sizes(told->begin() + 2, told->end());
    auto const dimensions = static_cast<std::int64_t>(sizes.size());
    if (to.rank(theta) != 3 || to.size(theta, 0) != (*told)[0] || to.size(theta, 1) != dimensions ||
        to.size(theta, 2) != dimensions + 1)
        cx.invalid(format_text("matrices {} for images of {} dimensions", to_string(cx.type(0)), dimensions));
    auto const pixels = to.product(as_span(sizes));
    for (auto const size : sizes)
        if (corners && size == 1) cx.unsupported("one pixel between two corners");
    cx.take_constant({pixels, dimensions + 1}, format_text("{} places", pixels));
    auto const grid = cx.builder().constant(grid_of_places(sizes, pixels, corners).converted_to(to.element(theta)));
    auto const y = to.make<ops::mat_mul>(grid, to.make<ops::transpose>({.perm = {0, 2, 1}}, {theta}));
    ints result{(*told)[0]};
    for (auto const size : sizes) result.push_back(size);
    result.push_back(dimensions);
    return to.cast(to.make<ops::reshape>(attributes_of<ops::reshape>::to(result), {y}), to.element(given));
}

/// Two pixels beside a place along an axis, and their weights.
struct pixel_pair {
    value_id index[2]; ///< whole numbers, inside of the image
    value_id weight[2];
    value_id inside[2]; ///< whether each is there; not valid where both are
};

/// Regions of images, each as a number of cells in which the images are sampled. Halves are computed in f32.
class region_reader {
public:
    explicit region_reader(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          rows_(cx.integer("output_height").value_or(1)),
          columns_(cx.integer("output_width").value_or(1)),
          samples_(cx.integer("sampling_ratio").value_or(0)),
          scale_(cx.real("spatial_scale").value_or(1)) {
        auto const mode = cx.text("mode").value_or("avg");
        if (mode != "avg" && mode != "max") cx.invalid(format_text("mode {}", quoted{mode}));
        greatest_ = mode == "max";
        auto const older = cx.opset() < 16;
        auto const place =
            cx.text("coordinate_transformation_mode").value_or(older ? "output_half_pixel" : "half_pixel");
        if (place != "half_pixel" && place != "output_half_pixel")
            cx.invalid(format_text("coordinate_transformation_mode {}", quoted{place}));
        shifted_ = place == "half_pixel";
        constexpr std::int64_t most = 1 << 12;
        if (rows_ < 1 || columns_ < 1 || rows_ > most || columns_ > most)
            cx.invalid(format_text("{} x {} cells", rows_, columns_));
        if (samples_ == 0) cx.unsupported("as many samples as a region has pixels");
        if (samples_ < 0 || samples_ > most) cx.invalid(format_text("sampling_ratio {}", samples_));
    }
    value_id run() {
        auto const given = to_.floating(0), x = to_.widened(given);
        regions_ = to_.cast(to_.floating(1), to_.element(x));
        auto const images = to_.cast(to_.typed(2), dtype::i64);
        if (to_.rank(x) != 4 || to_.rank(regions_) != 2 || to_.size(regions_, 1) != 4 || to_.rank(images) != 1)
            cx_.invalid(format_text("regions {} of operand {}", to_string(cx_.type(1)), to_string(cx_.type(0))));
        auto const channels = to_.size(x, 1), height = to_.size(x, 2), width = to_.size(x, 3);
        count_ = to_.size(regions_, 0);
        if (height < 1 || width < 1) cx_.invalid(format_text("operand {}", to_string(cx_.type(0))));
        auto const flat = to_.fixed(to_.make<ops::transpose>({.perm = {0, 2, 3, 1}}, {x}),
                                    {to_.product({to_.size(x, 0), height, width}), channels});
        auto const down = pair_along(1, rows_, height), across = pair_along(0, columns_, width);
        auto const first =
            to_.mul(to_.make<ops::unsqueeze>({.axes = {1, 2}}, {images}), whole(to_.product({height, width})));
        value_id y;
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 2; ++j) {
                auto const row = to_.add(first, to_.mul(as_row(down.index[i]), whole(width)));
                auto const pixel = to_.make<ops::gather>(flat, to_.add(row, as_column(across.index[j])));
                auto const weight = to_.mul(as_row(down.weight[i]), as_column(across.weight[j]));
                auto const tap = to_.mul(pixel, to_.make<ops::unsqueeze>({.axes = {3}}, {weight}));
                y = !y.valid() ? tap : greatest_ ? to_.select(to_.make<ops::less>(y, tap), tap, y) : to_.add(y, tap);
            }
        auto const there = to_.make<ops::logical_and>(as_row(down.inside[0]), as_column(across.inside[0]));
        y = to_.select(to_.make<ops::unsqueeze>({.axes = {3}}, {there}), y, number(0));
        auto const cells = to_.fixed(y, {count_, rows_, samples_, columns_, samples_, channels});
        auto const pooled = greatest_ ? to_.reduced<ops::reduce_max>(cells, {2, 4}, false)
                                      : to_.reduced<ops::reduce_mean>(cells, {2, 4}, false);
        return to_.cast(to_.make<ops::transpose>({.perm = {0, 3, 1, 2}}, {pooled}), to_.element(given));
    }

private:
    [[nodiscard]] value_id number(double v) const { return to_.number(v, regions_); }
    [[nodiscard]] value_id whole(std::int64_t v) const { return to_.integer(v, dtype::i64); }
    [[nodiscard]] value_id as_row(value_id v) const { return to_.make<ops::unsqueeze>({.axes = {2}}, {v}); }
    [[nodiscard]] value_id as_column(value_id v) const { return to_.make<ops::unsqueeze>({.axes = {1}}, {v}); }
    // A coordinate of each region, [regions, 1].
    [[nodiscard]] value_id corner(std::int64_t i) const {
        auto const part = to_.make<ops::slice>({.starts = {i}, .ends = {i + 1}, .axes = {1}, .steps = {1}}, {regions_});
        auto const scaled = to_.mul(part, number(scale_));
        return shifted_ ? to_.sub(scaled, number(0.5)) : scaled;
    }
    // Samples along an axis, [regions, cells * samples]: where they lie between pixels, and whether inside of the
    // image.
    [[nodiscard]] pixel_pair pair_along(std::int64_t coordinate, std::int64_t cells, std::int64_t size) const {
        auto const begin = corner(coordinate);
        auto length = to_.sub(corner(coordinate + 2), begin);
        if (!shifted_) length = to_.make<ops::clip>({.min = 1}, {length}); // a region has one pixel at least
        auto const cell = to_.div(length, number(static_cast<double>(cells)));
        cx_.take_constant({cells, samples_}, format_text("{} cells of {} samples", cells, samples_));
        auto parts = tensor::uninitialized(dtype::f64, ints{1, cells * samples_}); // in cells
        for (std::int64_t i = 0; i < cells * samples_; ++i)
            parts.mutable_data<double>()[static_cast<std::size_t>(i)] =
                (static_cast<double>(i) + 0.5) / static_cast<double>(samples_);
        auto const steps = cx_.builder().constant(parts.converted_to(to_.element(regions_)));
        auto const at = to_.add(begin, to_.mul(cell, steps));
        auto const last = static_cast<double>(size - 1);
        pixel_pair p;
        auto const beyond = to_.make<ops::logical_or>(to_.make<ops::less>(at, number(-1)),
                                                      to_.make<ops::greater>(at, number(last + 1)));
        p.inside[0] = to_.make<ops::logical_not>(beyond);
        auto const held = to_.make<ops::clip>({.min = 0, .max = last}, {at});
        auto const low = to_.make<ops::floor>(held);
        p.weight[1] = to_.sub(held, low);
        p.weight[0] = to_.sub(number(1), p.weight[1]);
        p.index[0] = to_.cast(low, dtype::i64);
        p.index[1] = to_.cast(to_.make<ops::clip>({.max = last}, {to_.add(low, number(1))}), dtype::i64);
        return p;
    }

    onnx_import_context& cx_;
    function_writer to_;
    std::int64_t rows_, columns_, samples_;
    double scale_;
    bool greatest_ = false, shifted_ = false;
    std::int64_t count_ = 0;
    value_id regions_{};
};

GSUB_INLINE value_id import_roi_align(onnx_import_context& cx) {
    return region_reader{cx}.run();
}

/// Convolution of images whose taps are moved by an operand: pixels around each tap are gathered, and a product with
/// the weight sums them. Halves are computed in f32.
class deformed_convolution {
public:
    explicit deformed_convolution(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          kernel_(read_kernel(cx, 1)),
          window_(read_window(cx, kernel_)),
          groups_(cx.integer("group").value_or(1)),
          moved_(cx.integer("offset_group").value_or(1)) {
        if (kernel_.size() != 2) cx.unsupported(format_text("images of {} dimensions", kernel_.size()));
        if (window_.strides.size() != 2 || window_.dilations.size() != 2 || window_.pads.size() != 4)
            cx.invalid("strides, dilations or pads of another length than the kernel");
        constexpr std::int64_t most = 1 << 20;
        for (auto const* list : {&kernel_, &window_.strides, &window_.dilations})
            for (auto const v : *list)
                if (v < 1 || v > most) cx.invalid(format_text("a kernel, stride or dilation of {}", v));
        for (auto const v : window_.pads)
            if (v < -most || v > most) cx.invalid(format_text("a pad of {}", v));
    }
    value_id run() {
        auto const given = to_.floating(0), x = to_.widened(given), w = to_.cast(to_.floating(1), to_.element(x));
        if (to_.rank(x) != 4 || to_.rank(w) != 4)
            cx_.invalid(format_text("weight {} for operand {}", to_string(cx_.type(1)), to_string(cx_.type(0))));
        read_sizes(x, w);
        source_ = to_.make<ops::transpose>({.perm = {0, 1, 3, 2}}, {to_.fixed(x, {batch_, moved_, channels_ / moved_,
                                                                                  to_.product({size_[0], size_[1]})})});
        auto pixels = sampled();
        if (cx_.has(4)) {
            auto const mask =
                to_.fixed(to_.cast(to_.floating(4), to_.element(x)), {batch_, moved_, taps_ * places_, 1});
            pixels = to_.mul(pixels, mask);
        }
        auto const apart = to_.fixed(pixels, {batch_, moved_, taps_, places_, channels_ / moved_});
        auto const columns = to_.fixed(to_.make<ops::transpose>({.perm = {0, 1, 4, 2, 3}}, {apart}),
                                       {batch_, groups_, to_.product({channels_ / groups_, taps_}), places_});
        auto const rows = to_.fixed(w, {groups_, made_ / groups_, to_.product({channels_ / groups_, taps_})});
        auto y = to_.fixed(to_.make<ops::mat_mul>(rows, columns), {batch_, made_, result_[0], result_[1]});
        if (cx_.has(3)) y = to_.add(y, to_.fixed(to_.cast(to_.floating(3), to_.element(x)), {made_, 1, 1}));
        return to_.cast(y, to_.element(given));
    }

private:
    [[nodiscard]] value_id number(double v) const { return to_.number(v, source_); }

    void read_sizes(value_id x, value_id w) {
        batch_ = to_.size(x, 0), channels_ = to_.size(x, 1), made_ = to_.size(w, 0);
        size_[0] = to_.size(x, 2), size_[1] = to_.size(x, 3);
        auto const offsets = to_.floating(2);
        constexpr std::int64_t most_groups = 1 << 20;
        if (groups_ < 1 || moved_ < 1 || moved_ > most_groups || channels_ % groups_ != 0 || made_ % groups_ != 0 ||
            channels_ % moved_ != 0 || to_.size(w, 1) != channels_ / groups_ || size_[0] < 1 || size_[1] < 1)
            cx_.invalid(format_text("{} groups, {} of offsets, weight {}, operand {}", groups_, moved_,
                                    to_string(cx_.type(1)), to_string(cx_.type(0))));
        taps_ = kernel_[0] * kernel_[1];
        for (std::size_t i = 0; i < 2; ++i) {
            auto const room =
                size_[i] + window_.pads[i] + window_.pads[2 + i] - (kernel_[i] - 1) * window_.dilations[i];
            result_[i] = room < 1 ? 0 : (room - 1) / window_.strides[i] + 1;
        }
        places_ = to_.product({result_[0], result_[1]});
        cx_.take_constant({taps_, places_}, format_text("{} taps", taps_));
        auto const& t = cx_.type(2);
        if (to_.rank(offsets) != 4 || to_.size(offsets, 0) != batch_ || to_.size(offsets, 1) != moved_ * taps_ * 2 ||
            to_.size(offsets, 2) != result_[0] || to_.size(offsets, 3) != result_[1])
            cx_.invalid(format_text("offsets {} for {} taps at {} places", to_string(t), taps_, places_));
    }
    // Where each tap lies for each place without its offset, along an axis: [taps, places].
    [[nodiscard]] value_id regular(std::size_t axis) const {
        auto t = tensor::uninitialized(dtype::f64, ints{taps_, places_});
        for (std::int64_t tap = 0; tap < taps_; ++tap)
            for (std::int64_t place = 0; place < places_; ++place) {
                auto const k = axis == 0 ? tap / kernel_[1] : tap % kernel_[1];
                auto const p = axis == 0 ? place / result_[1] : place % result_[1];
                t.mutable_data<double>()[static_cast<std::size_t>(tap * places_ + place)] =
                    static_cast<double>(p * window_.strides[axis] + k * window_.dilations[axis] - window_.pads[axis]);
            }
        return cx_.builder().constant(t.converted_to(to_.element(source_)));
    }
    // The pixels beside each tap along an axis, [batch, groups of offsets, taps * places, 1].
    [[nodiscard]] pixel_pair pair_along(std::size_t axis) const {
        auto const all =
            to_.fixed(to_.cast(to_.floating(2), to_.element(source_)), {batch_, moved_, taps_, 2, places_});
        auto const i = static_cast<std::int64_t>(axis);
        auto const own = to_.make<ops::slice>({.starts = {i}, .ends = {i + 1}, .axes = {3}, .steps = {1}}, {all});
        auto const at = to_.fixed(to_.add(to_.make<ops::squeeze>({.axes = {3}}, {own}), regular(axis)),
                                  {batch_, moved_, taps_ * places_, 1});
        auto const last = static_cast<double>(size_[axis] - 1);
        auto const low = to_.make<ops::floor>(at);
        pixel_pair p;
        p.weight[1] = to_.sub(at, low);
        p.weight[0] = to_.sub(number(1), p.weight[1]);
        for (std::size_t j = 0; j < 2; ++j) {
            auto const pixel = j == 0 ? low : to_.add(low, number(1));
            auto const held = to_.make<ops::clip>({.min = 0, .max = last}, {pixel});
            p.inside[j] = to_.make<ops::equal>(pixel, held);
            p.index[j] = to_.cast(held, dtype::i64);
        }
        return p;
    }
    // [batch, groups of offsets, taps * places, channels of a group]
    [[nodiscard]] value_id sampled() const {
        auto const down = pair_along(0), across = pair_along(1);
        value_id sum;
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 2; ++j) {
                auto const row = to_.mul(down.index[i], to_.integer(size_[1], dtype::i64));
                auto const pixel =
                    to_.make<ops::gather_nd>({.batch_dims = 2}, {source_, to_.add(row, across.index[j])});
                auto const there = to_.make<ops::logical_and>(down.inside[i], across.inside[j]);
                auto const tap =
                    to_.mul(to_.select(there, pixel, number(0)), to_.mul(down.weight[i], across.weight[j]));
                sum = sum.valid() ? to_.add(sum, tap) : tap;
            }
        return sum;
    }

    onnx_import_context& cx_;
    function_writer to_;
    ints kernel_;
    window_attributes window_;
    std::int64_t groups_, moved_;
    std::int64_t batch_ = 0, channels_ = 0, made_ = 0, taps_ = 0, places_ = 0;
    std::int64_t size_[2] = {}, result_[2] = {};
    value_id source_{}; // [batch, groups of offsets, pixels, channels of a group]
};

GSUB_INLINE value_id import_deform_conv(onnx_import_context& cx) {
    return deformed_convolution{cx}.run();
}

} // namespace gsub::io::detail
