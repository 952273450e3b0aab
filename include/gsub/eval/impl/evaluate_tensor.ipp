#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate_tensor.hpp>

#include <cmath>
#include <cstring>

namespace gsub {

namespace detail {

template <class Op>
attributes_of<Op> const& typed_attributes(op_call_args const& args) {
    static attributes_of<Op> const defaults{};
    auto const* typed = static_cast<attributes_of<Op> const*>(args.attributes.typed());
    return typed ? *typed : defaults;
}

GSUB_INLINE ints setting(op_call_args const& args, std::size_t operand, ints const& attribute) {
    return operand < args.operands.size() && args.operands[operand] ? args.operands[operand]->to_ints() : attribute;
}

GSUB_INLINE std::size_t positive_axis(std::int64_t axis, std::size_t rank) {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

// A tensor as rows along an axis: `outer` times a run of `dims[axis]` pieces of `inner` bytes.
struct axis_rows {
    std::int64_t outer, inner;
    axis_rows(tensor const& t, std::size_t axis)
        : outer(product(t.dims().first(axis))),
          inner(product(t.dims().subspan(axis + 1)) * static_cast<std::int64_t>(byte_size(t.element()))) {}
};
// Copies `outer` rows of `length` bytes between places that are `from_step` and `to_step` bytes apart.
GSUB_INLINE void copy_rows(std::byte const* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                           std::int64_t length, std::int64_t outer) {
    for (std::int64_t o = 0; length > 0 && o < outer; ++o)
        std::memcpy(to + o * to_step, from + o * from_step, static_cast<std::size_t>(length));
}

// Calls `copy(from, to)` with the elements of both tensors as unsigned integers of their size.
template <class Copy>
void copy_items(tensor const& in, tensor& out, Copy&& copy) {
    auto const* const from = in.raw().data();
    auto* const to = out.mutable_raw().data();
    switch (byte_size(in.element())) {
    case 1:
        return copy(reinterpret_cast<std::uint8_t const*>(from), reinterpret_cast<std::uint8_t*>(to));
    case 2:
        return copy(reinterpret_cast<std::uint16_t const*>(from), reinterpret_cast<std::uint16_t*>(to));
    case 4:
        return copy(reinterpret_cast<std::uint32_t const*>(from), reinterpret_cast<std::uint32_t*>(to));
    default:
        return copy(reinterpret_cast<std::uint64_t const*>(from), reinterpret_cast<std::uint64_t*>(to));
    }
}

// out[position] = in[offset(position)] for each position of the result.
template <class Offset>
void gather_elements(tensor const& in, tensor& out, Offset&& offset) {
    if (out.elements() == 0) return;
    copy_items(in, out, [&]<class Item>(Item const* from, Item* to) {
        box_index at{out.dims()};
        do {
            auto const source = offset(at);
            if (source >= 0) *to = from[source];
            ++to;
        } while (at.next());
    });
}

GSUB_INLINE small_vector<std::int64_t, 6> row_major_strides(std::span<std::int64_t const> dims) {
    small_vector<std::int64_t, 6> strides(dims.size(), 1);
    for (auto i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
    return strides;
}

// Sets every element to a number, whatever the element type.
GSUB_INLINE void set_all(tensor& t, double real, std::int64_t integer) {
    if (t.element() == dtype::field61) {
        for (auto& x : t.mutable_data<field61>()) x = field61::from_real(real);
        return;
    }
    with_storage_type(t.element(), [&]<class T> {
        T value{};
        if constexpr (std::is_same_v<T, bool>)
            value = integer != 0;
        else if constexpr (std::is_integral_v<T>)
            value = static_cast<T>(integer);
        else
            value = tensor::scalar(real).converted_to(dtype_of<T>).template data<T>()[0];
        for (auto& x : t.mutable_data<T>()) x = value;
    });
}

} // namespace detail

GSUB_INLINE void evaluate<ops::concat>::move(op_call_args& args) {
    auto& whole = args.results[0];
    auto const axis = detail::positive_axis(detail::typed_attributes<ops::concat>(args).axis, whole.rank());
    detail::axis_rows const rows{whole, axis};
    if (whole.elements() == 0) return; // without memory there are no places to step between
    auto* const to = whole.mutable_raw().data();
    std::int64_t begin = 0;
    for (auto const* part : args.operands) {
        auto const length = part->dims()[axis] * rows.inner;
        detail::copy_rows(part->raw().data(), length, to + begin, whole.dims()[axis] * rows.inner, length, rows.outer);
        begin += length;
    }
}

GSUB_INLINE void evaluate<ops::split>::move(op_call_args& args) {
    auto const& whole = *args.operands[0];
    auto const axis = detail::positive_axis(detail::typed_attributes<ops::split>(args).axis, whole.rank());
    detail::axis_rows const rows{whole, axis};
    if (whole.elements() == 0) return;
    std::int64_t begin = 0;
    for (auto& part : args.results) {
        auto const length = part.dims()[axis] * rows.inner;
        detail::copy_rows(whole.raw().data() + begin, whole.dims()[axis] * rows.inner, part.mutable_raw().data(),
                          length, length, rows.outer);
        begin += length;
    }
}

GSUB_INLINE void evaluate<ops::slice>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::slice>(args);
    auto const& in = *args.operands[0];
    auto const starts = detail::setting(args, 1, a.starts), ends = detail::setting(args, 2, a.ends);
    ints axes = a.axes, steps = a.steps;
    if (args.operands.size() > 1) {
        axes.clear();
        for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
        steps = ints(starts.size(), 1);
        axes = detail::setting(args, 3, axes);
        steps = detail::setting(args, 4, steps);
    }
    auto const strides = detail::row_major_strides(in.dims());
    small_vector<std::int64_t, 6> step(in.rank(), 1);
    std::int64_t origin = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const axis = detail::positive_axis(axes[i], in.rank());
        auto const range = clamped_slice(starts[i], ends[i], steps[i], in.dims()[axis]);
        origin += range.start * strides[axis];
        step[axis] = range.step;
    }
    detail::gather_elements(in, args.results[0], [&](box_index const& at) {
        auto offset = origin;
        for (std::size_t i = 0; i < step.size(); ++i)
            if (at[i] != 0) offset += at[i] * step[i] * strides[i]; // a lone element may have any step
        return offset;
    });
}

GSUB_INLINE void evaluate<ops::pad>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::pad>(args);
    auto const& in = *args.operands[0];
    auto& out = args.results[0];
    ints axes;
    for (std::size_t i = 0; i < in.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    axes = detail::setting(args, 3, axes);
    auto const pads = detail::setting(args, 1, a.pads);
    small_vector<std::int64_t, 6> begin(in.rank(), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) begin[detail::positive_axis(axes[i], in.rank())] = pads[i];
    if (a.mode == "constant") {
        if (args.operands.size() > 2 && args.operands[2] && args.operands[2]->elements() > 0) {
            auto const value = args.operands[2]->reshaped(ints{args.operands[2]->elements()});
            detail::gather_elements(value, out, [](box_index const&) { return 0; });
        } else if (out.element() == dtype::field61) {
            detail::set_all(out, a.value, 0);
        } else {
            auto const value = tensor::scalar(a.value).converted_to(out.element());
            detail::gather_elements(value, out, [](box_index const&) { return 0; });
        }
    }
    auto const strides = detail::row_major_strides(in.dims());
    auto const edge = a.mode == "edge", reflect = a.mode == "reflect";
    detail::gather_elements(in, out, [&](box_index const& at) -> std::int64_t {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < begin.size(); ++i) {
            auto const size = in.dims()[i];
            auto x = at[i] - begin[i];
            if (edge) x = std::clamp<std::int64_t>(x, 0, size - 1);
            if (reflect && (x < 0 || x >= size)) x = x < 0 ? -x : 2 * (size - 1) - x;
            if (x < 0 || x >= size) return -1; // keeps the border's value
            offset += x * strides[i];
        }
        return offset;
    });
}

GSUB_INLINE void evaluate<ops::gather>::move(op_call_args& args) {
    auto const &in = *args.operands[0], &indices = *args.operands[1];
    auto& out = args.results[0];
    auto const axis = detail::positive_axis(detail::typed_attributes<ops::gather>(args).axis, in.rank());
    auto const size = in.dims()[axis];
    auto const inner = static_cast<std::size_t>(product(in.dims().subspan(axis + 1))) * byte_size(in.element());
    auto const outer = product(in.dims().first(axis));
    auto const wanted = indices.converted_to(dtype::i64);
    auto const at = wanted.data<std::int64_t>();
    if (out.size_bytes() == 0) return;
    auto* to = out.mutable_raw().data();
    for (std::int64_t o = 0; o < outer; ++o)
        for (auto i : at) {
            if (i < -size || i >= size)
                throw error{problem{errors::index_out_of_range,
                                    {},
                                    "Gather",
                                    format_text("index {} for a dimension of size {}", i, size),
                                    {}}};
            auto const from = static_cast<std::size_t>(o * size + (i < 0 ? i + size : i));
            std::memcpy(to, in.raw().data() + from * inner, inner);
            to += inner;
        }
}

GSUB_INLINE void evaluate<ops::transpose>::move(op_call_args& args) {
    auto const& in = *args.operands[0];
    auto& out = args.results[0];
    if (out.elements() == 0) return;
    if (in.rank() == 0) return detail::gather_elements(in, out, [](box_index const&) { return 0; });
    auto const& perm = detail::typed_attributes<ops::transpose>(args).perm;
    auto const strides = detail::row_major_strides(in.dims()), places = detail::row_major_strides(out.dims());
    small_vector<std::int64_t, 6> step;
    auto const last = out.rank() - 1;
    auto row = last; // of the result's dimensions, the one along which the source is contiguous
    for (std::size_t i = 0; i <= last; ++i) {
        step.push_back(strides[static_cast<std::size_t>(perm[i])]);
        if (static_cast<std::size_t>(perm[i]) == last) row = i;
    }
    // Over these two dimensions the source is a matrix, and the result that matrix transposed.
    small_vector<std::int64_t, 6> outer{out.dims().begin(), out.dims().end()};
    auto const columns = row == last ? 1 : out.dims()[row];
    auto const rows = out.dims()[last];
    outer[row] = outer[last] = 1;
    detail::copy_items(in, out, [&]<class Item>(Item const* from, Item* to) {
        box_index at{{outer.data(), outer.size()}};
        do {
            std::int64_t source = 0, place = 0;
            for (std::size_t i = 0; i < outer.size(); ++i) source += at[i] * step[i], place += at[i] * places[i];
            if (row == last)
                std::memcpy(to + place, from + source, static_cast<std::size_t>(rows) * sizeof(Item));
            else
                detail::transpose_matrix(from + source, step[last], to + place, places[row], rows, columns);
        } while (at.next());
    });
}

GSUB_INLINE void evaluate<ops::shape>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::shape>(args);
    auto const dims = args.operands[0]->dims();
    auto const rank = static_cast<std::int64_t>(dims.size());
    auto const start = std::clamp<std::int64_t>(a.start < 0 ? a.start + rank : a.start, 0, rank);
    auto const out = args.results[0].mutable_data<std::int64_t>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = dims[static_cast<std::size_t>(start) + i];
}

GSUB_INLINE void evaluate<ops::expand>::move(op_call_args& args) {
    auto const& in = *args.operands[0];
    auto& out = args.results[0];
    auto const own = detail::row_major_strides(in.dims());
    small_vector<std::int64_t, 6> step(out.rank(), 0);
    for (std::size_t i = 0; i < in.rank(); ++i)
        if (in.dims()[i] != 1) step[out.rank() - in.rank() + i] = own[i];
    detail::gather_elements(in, out, [&](box_index const& at) {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < step.size(); ++i) offset += at[i] * step[i];
        return offset;
    });
}

GSUB_INLINE std::optional<ints> evaluate<ops::range>::result_dims(std::span<tensor const* const> operands) {
    for (auto const* x : operands)
        if (x->elements() != 1) return std::nullopt;
    if (is_integer(operands[0]->element())) {
        auto const start = operands[0]->to_ints()[0], limit = operands[1]->to_ints()[0],
                   delta = operands[2]->to_ints()[0];
        auto const count = operands[0]->element() == dtype::u64
                               ? range_length(static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(limit),
                                              static_cast<std::uint64_t>(delta))
                               : range_length(start, limit, delta);
        return count ? std::optional{ints{*count}} : std::nullopt;
    }
    if (!is_floating(operands[0]->element())) return std::nullopt;
    double numbers[3];
    for (std::size_t i = 0; i < 3; ++i) numbers[i] = operands[i]->converted_to(dtype::f64).data<double>()[0];
    auto const steps = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
    if (!(steps < 0x1p62)) return std::nullopt; // nor what is no number
    return ints{steps > 0 ? static_cast<std::int64_t>(steps) : 0};
}

GSUB_INLINE void evaluate<ops::range>::move(op_call_args& args) {
    auto& out = args.results[0];
    auto const count = static_cast<std::size_t>(out.elements());
    auto const fill_from = [&]<class T>(dtype wide, auto&& number) {
        auto const start = args.operands[0]->converted_to(wide), delta = args.operands[2]->converted_to(wide);
        auto filled = tensor::uninitialized(wide, out.dims());
        auto const to = filled.mutable_data<T>();
        for (std::size_t i = 0; i < count; ++i)
            to[i] = math::add(start.data<T>()[0], math::mul(number(i), delta.data<T>()[0]));
        out = filled.converted_to(out.element());
    };
    if (out.element() == dtype::field61)
        fill_from.template operator()<field61>(dtype::field61,
                                               [](std::size_t i) { return field61{static_cast<std::int64_t>(i)}; });
    else if (is_floating(out.element()))
        fill_from.template operator()<double>(dtype::f64, [](std::size_t i) { return static_cast<double>(i); });
    else
        fill_from.template operator()<std::int64_t>(dtype::i64,
                                                    [](std::size_t i) { return static_cast<std::int64_t>(i); });
}

GSUB_INLINE void evaluate<ops::fill>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::fill>(args);
    detail::set_all(args.results[0], a.value, a.integer);
}

GSUB_INLINE void evaluate<ops::dirac>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::dirac>(args);
    auto& out = args.results[0];
    detail::set_all(out, 0, 0);
    auto one = tensor::uninitialized(out.element(), ints{1});
    detail::set_all(one, 1, 1);
    auto const outputs = a.shape[0], inputs = a.shape[1], per_group = std::max<std::int64_t>(1, outputs / a.group);
    auto const area = product(std::span<std::int64_t const>(a.shape).subspan(2));
    std::int64_t tap = 0;
    for (std::size_t i = 0; i < a.position.size(); ++i) tap = tap * a.shape[i + 2] + a.position[i];
    auto const item = byte_size(out.element());
    for (std::int64_t o = 0; o < outputs; ++o) {
        auto const input = o % per_group; // the channel within the group
        if (input >= inputs) continue;
        std::memcpy(out.mutable_raw().data() + static_cast<std::size_t>((o * inputs + input) * area + tap) * item,
                    one.raw().data(), item);
    }
}

} // namespace gsub
