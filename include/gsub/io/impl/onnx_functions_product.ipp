// Products along axes, pools of powers, and determinants.
#pragma once

#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions_reduce.ipp>
#include <gsub/io/impl/onnx_window.ipp>

#include <algorithm>

namespace gsub::io::detail {

/// One axis of a value of known sizes, cut and joined.
class axis_parts {
public:
    axis_parts(function_writer const& to, value_id x, std::size_t axis) : to_(to), like_(x), axis_(axis) {
        for (std::size_t i = 0; i < to.rank(x); ++i) dims_.push_back(to.size(x, i));
    }
    [[nodiscard]] std::int64_t size() const noexcept { return dims_[axis_]; }
    [[nodiscard]] value_id part(value_id v, std::int64_t first, std::int64_t last) const {
        return to_.make<ops::slice>({.starts = {first}, .ends = {last}, .axes = {axis()}, .steps = {1}}, {v});
    }
    [[nodiscard]] value_id joined(value_id a, value_id b) const {
        return to_.make<ops::concat>({.axis = axis()}, {a, b});
    }
    [[nodiscard]] value_id ones(std::int64_t count) const {
        auto dims = dims_;
        dims[axis_] = count;
        return to_.make<ops::expand>({.shape = dims}, {to_.number(1, like_)});
    }

private:
    [[nodiscard]] std::int64_t axis() const noexcept { return static_cast<std::int64_t>(axis_); }
    function_writer const& to_;
    value_id like_;
    std::size_t axis_;
    ints dims_;
};

// The product along an axis, which keeps size 1: halves are multiplied until one element is left.
GSUB_INLINE value_id product_along(function_writer const& to, value_id x, std::size_t axis) {
    axis_parts const along{to, x, axis};
    auto size = along.size();
    if (size == 0) return along.ones(1);
    while (size > 1) {
        auto const half = size / 2;
        auto const product = to.mul(along.part(x, 0, half), along.part(x, half, 2 * half));
        x = size % 2 == 0 ? product : along.joined(product, along.part(x, 2 * half, size));
        size = half + size % 2;
    }
    return x;
}

GSUB_INLINE value_id import_reduce_prod(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.typed(0);
    auto const how = read_reduction(cx);
    if (!how) return to.make<ops::identity>(given);
    if (reduction_operands(cx).size() > 1) cx.unsupported("axes that are no constant");
    auto const rank = to.rank(given);
    ints axes;
    for (auto axis : how->axes.empty() ? function_writer::axes_from(0, rank) : how->axes)
        axes.push_back(static_cast<std::int64_t>(to.axis(axis, rank)));
    auto y = to.widened(given);
    for (auto axis : axes) y = product_along(to, y, static_cast<std::size_t>(axis));
    if (!how->keepdims && !axes.empty()) y = to.make<ops::squeeze>({.axes = axes}, {y});
    return to.cast(y, to.element(given));
}

// Products of all elements up to each: each step takes in as many again as there are.
GSUB_INLINE value_id import_cum_prod(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const exclusive = cx.integer("exclusive").value_or(0) != 0, reverse = cx.integer("reverse").value_or(0) != 0;
    auto const given = to.typed(0);
    auto const axis = cx.known_ints(1);
    if (!axis || axis->size() != 1) cx.unsupported("an axis that is no constant");
    auto x = to.widened(given);
    axis_parts const along{to, x, to.axis((*axis)[0], to.rank(x))};
    auto const size = along.size();
    auto const shifted = [&](value_id v, std::int64_t by) {
        return reverse ? along.joined(along.part(v, by, size), along.ones(by))
                       : along.joined(along.ones(by), along.part(v, 0, size - by));
    };
    for (std::int64_t by = 1; by < size; by *= 2) x = to.mul(x, shifted(x, by));
    if (exclusive && size > 0) x = shifted(x, 1);
    return to.cast(x, to.element(given));
}

// Norms of the elements under windows: sums of powers are convolutions with ones, a channel at a time.
GSUB_INLINE value_id import_lp_pool(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.floating(0), wide = to.widened(given);
    auto const p = cx.integer("p").value_or(2);
    if (p < 1) cx.invalid(format_text("p = {}", p));
    auto const kernel = cx.integer_list("kernel_shape");
    auto const rank = to.rank(given);
    if (!kernel || rank < 3 || kernel->size() != rank - 2)
        cx.invalid(format_text("a window for operand {}", to_string(cx.type(0))));
    attributes_of<ops::conv> how;
    static_cast<window_attributes&>(how) = read_window(cx, *kernel);
    auto const ceil = cx.integer("ceil_mode").value_or(0) != 0;
    ints apart{to.size(wide, 0) * to.size(wide, 1), 1}, weights{1, 1};
    for (std::size_t i = 0; i < kernel->size(); ++i) {
        auto const size = to.size(wide, i + 2), begin = how.pads[i];
        auto& end = how.pads[i + kernel->size()];
        auto const extent = window_extent((*kernel)[i], how.dilations[i]), stride = how.strides[i];
        apart.push_back(size), weights.push_back((*kernel)[i]);
        if (!ceil || size + begin + end < extent) continue;
        auto more = (size + begin + end - extent + stride - 1) / stride; // steps of the window; it begins on elements
        if (more * stride >= size + begin) --more;
        end = std::max(end, more * stride + extent - size - begin);
    }
    auto const size = to.make<ops::abs>(wide), order = to.number(static_cast<double>(p), wide);
    auto const powers = p == 1 ? size : p == 2 ? to.mul(wide, wide) : to.make<ops::pow>(size, order);
    auto const ones = to.make<ops::expand>({.shape = weights}, {to.number(1, wide)});
    auto const sums = to.make<ops::conv>(how, {to.fixed(powers, apart), ones});
    auto const pooled = p == 1   ? sums
                        : p == 2 ? to.make<ops::sqrt>(sums)
                                 : to.make<ops::pow>(sums, to.number(1 / static_cast<double>(p), wide));
    ints dims{to.size(wide, 0), to.size(wide, 1)};
    for (std::size_t i = 2; i < rank; ++i) dims.push_back(to.size(pooled, i));
    return to.cast(to.fixed(pooled, dims), to.element(given));
}

// The middle of a tensor, or the tensor in the middle of zeros.
GSUB_INLINE value_id import_center_crop_pad(onnx_import_context& cx) {
    function_writer const to{cx};
    auto x = to.typed(0);
    auto const rank = to.rank(x);
    auto const sizes = cx.known_ints(1);
    if (!sizes) cx.unsupported("a shape that is no constant");
    auto const axes = cx.integer_list("axes").value_or(function_writer::axes_from(0, rank));
    if (axes.size() != sizes->size()) cx.invalid(format_text("{} sizes for {} axes", sizes->size(), axes.size()));
    attributes_of<ops::slice> cut;
    attributes_of<ops::pad> around;
    around.pads.resize(2 * rank);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const axis = to.axis(axes[i], rank);
        auto const size = to.size(x, axis), wanted = (*sizes)[i];
        if (wanted < 0) cx.invalid(format_text("a size of {}", wanted));
        auto const before = (std::max(size, wanted) - std::min(size, wanted)) / 2;
        if (wanted < size) {
            cut.axes.push_back(static_cast<std::int64_t>(axis)), cut.steps.push_back(1);
            cut.starts.push_back(before), cut.ends.push_back(before + wanted);
        } else {
            around.pads[axis] = before, around.pads[rank + axis] = wanted - size - before;
        }
    }
    if (!cut.axes.empty()) x = to.make<ops::slice>(cut, {x});
    if (std::ranges::any_of(around.pads, [](auto n) { return n != 0; })) x = to.make<ops::pad>(around, {x});
    return to.make<ops::identity>(x);
}

// ---- determinants

/// Determinants of matrices, the last two dimensions: elimination, row by row, each time by the greatest number of the
/// column. Halves are computed in f32.
class determinant_writer {
public:
    explicit determinant_writer(function_writer const& to) : to_(to) {}

    [[nodiscard]] value_id of(value_id x) const {
        ints outer;
        auto const rank = to_.rank(x);
        for (std::size_t i = 0; i + 2 < rank; ++i) outer.push_back(to_.size(x, i));
        auto batch = to_.product(as_span(outer));
        auto left = to_.fixed(x, {batch, to_.size(x, rank - 2), to_.size(x, rank - 1)});
        auto result = to_.fixed(to_.make<ops::expand>({.shape = {batch}}, {to_.number(1, x)}), {batch, 1, 1});
        for (auto n = to_.size(x, rank - 1); n > 1; --n) step(left, result, batch, n);
        if (to_.size(x, rank - 1) > 0) result = to_.mul(result, left);
        return to_.fixed(result, outer);
    }

private:
    [[nodiscard]] value_id part(value_id v, std::int64_t axis, std::int64_t first, std::int64_t end) const {
        return to_.make<ops::slice>({.starts = {first}, .ends = {end}, .axes = {axis}, .steps = {1}}, {v});
    }
    // Brings the pivot's row to the top and takes it from all others, which stay without their first column.
    void step(value_id& left, value_id& result, std::int64_t batch, std::int64_t n) const {
        auto const sizes = to_.make<ops::abs>(part(left, 2, 0, 1));
        auto const best = place_of_extreme(to_, sizes, 1, true, false, true); // [batch, 1, 1]
        auto const row = to_.fixed(to_.counted(n, 0, 1), {1, n, 1});
        auto const zero = to_.integer(0, dtype::i64);
        auto const at_top = to_.make<ops::equal>(row, zero), at_best = to_.make<ops::equal>(row, best);
        auto const from = to_.select(at_top, best, to_.select(at_best, zero, row));
        auto const rows = to_.make<ops::expand>({.shape = {batch, n, n}}, {from});
        auto const sorted = to_.make<ops::gather_elements>({.axis = 1}, {left, rows});
        auto const top = part(sorted, 1, 0, 1), below = part(sorted, 1, 1, n);
        auto const pivot = part(top, 2, 0, 1);
        auto const one = to_.number(1, pivot), none = to_.make<ops::equal>(pivot, to_.number(0, pivot));
        auto const factors = to_.div(part(below, 2, 0, 1), to_.select(none, one, pivot));
        left = to_.sub(part(below, 2, 1, n), to_.mul(factors, part(top, 2, 1, n)));
        auto const stays = to_.make<ops::equal>(best, zero);
        result = to_.mul(result, to_.select(stays, pivot, to_.make<ops::neg>(pivot)));
    }
    function_writer const& to_;
};

GSUB_INLINE value_id import_det(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.floating(0), x = to.widened(given);
    auto const rank = to.rank(x);
    if (rank < 2 || to.size(x, rank - 2) != to.size(x, rank - 1))
        cx.invalid(format_text("operand {}; it takes square matrices", to_string(cx.type(0))));
    constexpr std::int64_t most = 64;
    if (to.size(x, rank - 1) > most)
        cx.unsupported(
            format_text("a matrix of {} rows; at most {} are written one by one", to.size(x, rank - 1), most));
    return to.cast(determinant_writer{to}.of(x), to.element(given));
}

} // namespace gsub::io::detail
