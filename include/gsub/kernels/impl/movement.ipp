#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor_type.hpp>
#include <gsub/kernels/impl/movement_writer.ipp>
#include <gsub/kernels/movement.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gsub::kernels {

namespace detail {

// A box of all positions but along one dimension.
GSUB_LAZY moved_box box_along(std::span<std::int64_t const> dims, std::size_t axis, std::int64_t first,
                              std::int64_t extent) {
    moved_box b;
    b.first.resize(dims.size(), 0);
    b.extent = small_vector<std::int64_t, 6>(dims);
    b.strides.resize(dims.size(), 0);
    if (axis < dims.size()) b.first[axis] = first, b.extent[axis] = extent;
    return b;
}

// Neighbouring positions of a padded dimension, of which one stride takes to the next: `from` -1 is the border.
struct border_run {
    std::int64_t first = 0, extent = 1, from = -1, step = 0;
};
GSUB_LAZY std::vector<border_run> border_runs(std::int64_t size, std::int64_t before, std::int64_t after,
                                              padding_mode kind) {
    auto const place = [&](std::int64_t at) {
        auto x = at - before;
        if (kind == padding_mode::edge) x = std::clamp<std::int64_t>(x, 0, size - 1);
        if (kind == padding_mode::reflect && (x < 0 || x >= size)) x = x < 0 ? -x : 2 * (size - 1) - x;
        return x < 0 || x >= size ? -1 : x;
    };
    std::vector<border_run> out;
    auto const count = before + size + after;
    // Places go on evenly up to the end of the border or of the inside: a run that meets the last of them has all.
    auto const last_beside = [&](std::int64_t at) {
        return (at < before          ? std::min(before, count)
                : at < before + size ? std::min(before + size, count)
                                     : count) -
               1;
    };
    for (std::int64_t at = 0; at < count; ++at) {
        if (!out.empty() && (out.back().from < 0 || out.back().extent > 1)) {
            auto& run = out.back();
            auto const last = last_beside(at);
            auto const meets = [&](std::int64_t p) {
                return place(p) == (run.from < 0 ? -1 : run.from + (p - run.first) * run.step);
            };
            if (meets(at) && meets(last)) {
                run.extent += last + 1 - at;
                at = last;
                continue;
            }
        }
        auto const x = place(at);
        if (!out.empty()) {
            auto& run = out.back();
            auto const step = run.extent == 1 ? x - run.from : run.step;
            auto const joins = run.from < 0 || x < 0 ? run.from < 0 && x < 0
                                                     : (step >= -1 && step <= 1 && x == run.from + run.extent * step);
            if (joins) {
                run.step = run.from < 0 ? 0 : step;
                ++run.extent;
                continue;
            }
        }
        out.push_back({at, 1, x, 0});
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest movement_nest(movement_shape s, isa const& isa) {
    return detail::movement_writer{std::move(s), isa}.run();
}

GSUB_LAZY_BODY std::string_view to_string(movement_kind k) noexcept {
    constexpr std::string_view names[] = {
        "copy", "concat", "pad", "gather", "layout transform to blocks", "layout transform from blocks"};
    return names[static_cast<std::size_t>(k)];
}

GSUB_LAZY_BODY movement_shape empty_movement(dtype element, std::span<std::int64_t const> dims) {
    movement_shape s;
    s.element = element;
    s.dims = small_vector<std::int64_t, 6>(dims);
    s.target = array_view::contiguous(dims);
    if (dims.empty()) s.dims.push_back(1), s.target.strides.push_back(1);
    return s;
}

GSUB_LAZY_BODY movement_shape copied_view(dtype element, std::span<std::int64_t const> dims, array_view const& from) {
    auto s = empty_movement(element, dims);
    s.kind = movement_kind::copy;
    s.arrays = {from.elements};
    auto box = detail::box_along(s.dims, s.dims.size(), 0, 0);
    box.array = 0;
    box.offset = from.offset;
    if (!dims.empty()) box.strides = from.strides;
    s.boxes.push_back(std::move(box));
    return s;
}

namespace detail {
// Blocks of channels are seen as batch, blocks, channels of a block and pixels; what changes their order is the target.
GSUB_LAZY movement_shape blocking(dtype element, std::span<std::int64_t const> dims, std::int64_t lanes,
                                  bool to_blocks) {
    GSUB_ASSERT(dims.size() >= 2, "blocks of channels need a batch and a channel dimension");
    auto const area = product(dims.subspan(2)), channels = dims[1], blocks = (channels + lanes - 1) / lanes;
    movement_shape s;
    s.kind = to_blocks ? movement_kind::to_blocked : movement_kind::from_blocked;
    s.element = element;
    array_view plain, blocked;
    plain.elements = dims[0] * channels * area, blocked.elements = dims[0] * blocks * lanes * area;
    plain.strides = {channels * area, lanes * area, area, 1};
    blocked.strides = {blocks * lanes * area, lanes * area, 1, lanes};
    s.dims = {dims[0], blocks, lanes, area};
    if (to_blocks) {
        std::swap(s.dims[2], s.dims[3]);
        for (auto* v : {&plain, &blocked}) std::swap(v->strides[2], v->strides[3]);
    }
    auto const& from = to_blocks ? plain : blocked;
    s.target = to_blocks ? blocked : plain;
    s.arrays = {from.elements};
    auto const channel = to_blocks ? std::size_t{3} : std::size_t{2};
    auto const add = [&](std::int64_t first, std::int64_t extent, std::int64_t present) {
        auto box = box_along(s.dims, 1, first, extent);
        box.extent[channel] = present;
        box.array = 0;
        box.offset = first * from.strides[1];
        box.strides = from.strides;
        s.boxes.push_back(box);
        if (!to_blocks || present == lanes) return;
        box.first[channel] = present, box.extent[channel] = lanes - present;
        box.array = -1;
        s.boxes.push_back(std::move(box));
    };
    if (channels / lanes > 0) add(0, channels / lanes, lanes);
    if (channels % lanes > 0) add(channels / lanes, 1, channels % lanes);
    return s;
}
} // namespace detail

GSUB_LAZY_BODY movement_shape to_blocked_layout(dtype element, std::span<std::int64_t const> dims, std::int64_t lanes) {
    return detail::blocking(element, dims, lanes, true);
}
GSUB_LAZY_BODY movement_shape from_blocked_layout(dtype element, std::span<std::int64_t const> dims,
                                                  std::int64_t lanes) {
    return detail::blocking(element, dims, lanes, false);
}

GSUB_LAZY_BODY movement_shape concatenated_views(dtype element, std::span<std::int64_t const> dims, std::size_t axis,
                                                 std::span<std::int64_t const> sizes,
                                                 std::span<array_view const> from) {
    auto s = empty_movement(element, dims);
    s.kind = movement_kind::concat;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        s.arrays.push_back(from[i].elements);
        if (sizes[i] == 0) continue;
        auto box = detail::box_along(s.dims, axis, first, sizes[i]);
        box.array = static_cast<std::int32_t>(i);
        box.offset = from[i].offset;
        box.strides = from[i].strides;
        s.boxes.push_back(std::move(box));
        first += sizes[i];
    }
    return s;
}

GSUB_LAZY_BODY movement_shape gathered_entries(dtype element, std::span<std::int64_t const> dims, std::size_t axis,
                                               std::int64_t count, dtype integers) {
    auto const outer = product(dims.first(axis)), inner = product(dims.subspan(axis + 1));
    std::int64_t const all[] = {outer, count, inner};
    auto s = empty_movement(element, all);
    s.kind = movement_kind::gather;
    s.arrays = {outer * dims[axis] * inner};
    auto box = detail::box_along(s.dims, 3, 0, 0);
    box.array = 0;
    box.strides = {dims[axis] * inner, 0, 1};
    s.boxes.push_back(std::move(box));
    chosen_entries c;
    c.integers = integers;
    c.at.elements = count;
    c.at.strides = {0, 1, 0};
    c.entries = dims[axis];
    c.stride = inner;
    s.chosen = std::move(c);
    return s;
}

GSUB_LAZY_BODY movement_shape gathered_elements(dtype element, std::span<std::int64_t const> dims,
                                                std::span<std::int64_t const> chosen, std::size_t axis,
                                                dtype integers) {
    auto const from = array_view::contiguous(dims);
    auto s = empty_movement(element, chosen);
    s.kind = movement_kind::gather;
    s.arrays = {from.elements};
    auto box = detail::box_along(s.dims, chosen.size(), 0, 0);
    box.array = 0;
    box.strides = from.strides;
    box.strides[axis] = 0;
    s.boxes.push_back(std::move(box));
    s.chosen = chosen_entries{integers, array_view::contiguous(chosen), dims[axis], from.strides[axis]};
    return s;
}

GSUB_LAZY_BODY movement_shape padded_view(dtype element, std::span<std::int64_t const> dims, array_view const& from,
                                          std::span<std::int64_t const> before, std::span<std::int64_t const> after,
                                          padding_mode kind, std::uint64_t fill, std::optional<array_view> filling) {
    ints sizes(dims);
    for (std::size_t d = 0; d < dims.size(); ++d) sizes[d] += before[d] + after[d];
    auto s = empty_movement(element, sizes);
    s.kind = movement_kind::pad;
    s.arrays = {from.elements};
    if (filling) s.arrays.push_back(filling->elements);
    moved_box inside = detail::box_along(s.dims, s.dims.size(), 0, 0);
    inside.offset = from.offset;
    // A border along a dimension is one box, whatever the dimensions behind it are.
    auto const add = [&](auto const& self, std::size_t d, moved_box box) -> void {
        if (d == dims.size()) {
            box.array = 0;
            s.boxes.push_back(std::move(box));
            return;
        }
        for (auto const& run : detail::border_runs(dims[d], before[d], after[d], kind)) {
            auto next = box;
            next.first[d] = run.first, next.extent[d] = run.extent;
            if (run.from >= 0) {
                next.offset += run.from * from.strides[d];
                next.strides[d] = run.step * from.strides[d];
                self(self, d + 1, std::move(next));
                continue;
            }
            next.array = filling ? 1 : -1;
            next.offset = filling ? filling->offset : 0;
            next.strides.assign(next.strides.size(), 0);
            next.fill = fill;
            s.boxes.push_back(std::move(next));
        }
    };
    add(add, 0, std::move(inside));
    return s;
}

} // namespace gsub::kernels
