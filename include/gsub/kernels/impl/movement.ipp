#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor_type.hpp>
#include <gsub/kernels/movement.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gsub::kernels {

namespace detail {

// The unsigned integers that have the size of a type.
GSUB_INLINE dtype bits_of_size(std::size_t bytes) {
    return bytes == 1 ? dtype::u8 : bytes == 2 ? dtype::u16 : bytes == 4 ? dtype::u32 : dtype::u64;
}

template <class = void>
class movement_writer {
public:
    movement_writer(movement_shape s, isa const& isa)
        : s_(std::move(s)),
          bytes_(static_cast<std::int32_t>(byte_size(s_.element))),
          bits_(bits_of_size(byte_size(s_.element))) {
        present_.assign(s_.boxes.size(), -1);
        merge();
        choose_lanes(isa);
        declare();
    }

    loop::fused_nest run() {
        for (std::size_t b = 0; b < s_.boxes.size(); ++b) {
            auto const extent = s_.boxes[b].extent.back();
            auto const tail = tiled_ || !contiguous(s_.boxes[b]) || in_pieces_ || extent < lanes_ ? 0 : extent % lanes_;
            if (tail == 0) {
                add_stage(b, 0, extent);
            } else { // the last vector ends where the box does
                add_stage(b, 0, extent - tail);
                add_stage(b, extent - lanes_, lanes_);
            }
        }
        return std::move(*made_);
    }

private:
    using index_list = small_vector<std::int64_t, 6>;

    [[nodiscard]] std::size_t last() const { return s_.dims.size() - 1; }
    [[nodiscard]] bool whole(moved_box const& b, std::size_t d) const { return b.extent[d] == s_.dims[d]; }
    static bool contiguous(moved_box const& b) { return b.array < 0 || b.strides.back() == 0 || b.strides.back() == 1; }

    // ---- dimensions

    static void erase(index_list& v, std::size_t d) {
        index_list rest;
        for (std::size_t k = 0; k < v.size(); ++k)
            if (k != d) rest.push_back(v[k]);
        v = rest;
    }
    void erase(std::size_t d) {
        erase(s_.dims, d), erase(s_.target.strides, d);
        if (s_.chosen) erase(s_.chosen->at.strides, d);
        for (auto& b : s_.boxes) erase(b.first, d), erase(b.extent, d), erase(b.strides, d);
    }
    static void rotate(index_list& v, std::size_t from, std::size_t to) {
        std::rotate(v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                    v.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    }
    // Whether all elements stand alike along two neighbours.
    [[nodiscard]] bool alike(std::size_t d) const {
        auto const n = s_.dims[d + 1];
        auto const one = [&](index_list const& strides) { return strides[d] == strides[d + 1] * n; };
        return one(s_.target.strides) && (!s_.chosen || one(s_.chosen->at.strides)) &&
               std::all_of(s_.boxes.begin(), s_.boxes.end(),
                           [&](auto& b) { return whole(b, d + 1) && (b.array < 0 || one(b.strides)); });
    }
    void merge_neighbours() {
        for (auto d = s_.dims.size(); d-- > 0;)
            if (s_.dims[d] == 1 && s_.dims.size() > 1 && (d != last() || s_.target.strides[d - 1] == 1)) erase(d);
        for (auto d = s_.dims.size() - 1; d-- > 0;) {
            if (!alike(d)) continue;
            auto const n = s_.dims[d + 1];
            s_.dims[d + 1] *= s_.dims[d];
            for (auto& b : s_.boxes) b.first[d + 1] = b.first[d] * n, b.extent[d + 1] = b.extent[d] * n;
            erase(d);
        }
    }
    // A dimension along which every array is contiguous, as none is along the last one.
    [[nodiscard]] std::optional<std::size_t> rows_of_source() const {
        if (s_.chosen) return std::nullopt;
        auto const moves = [](moved_box const& b) { return b.array >= 0; };
        if (std::none_of(s_.boxes.begin(), s_.boxes.end(), moves)) return std::nullopt;
        for (std::size_t d = 0; d < last(); ++d)
            if (std::all_of(s_.boxes.begin(), s_.boxes.end(), [&](auto& b) {
                    return whole(b, d) && (!moves(b) || (b.strides[d] == 1 && !contiguous(b)));
                }))
                return d;
        return std::nullopt;
    }
    void merge() {
        merge_neighbours();
        auto const rows = rows_of_source();
        if (!rows || *rows + 1 == last()) return;
        rotate(s_.dims, *rows, last() - 1), rotate(s_.target.strides, *rows, last() - 1);
        for (auto& b : s_.boxes)
            for (auto* v : {&b.first, &b.extent, &b.strides}) rotate(*v, *rows, last() - 1);
        merge_neighbours();
    }

    // Vectors are no longer than what is moved. Where they are exchanged in registers, there are as many of them as
    // they have elements.
    void choose_lanes(isa const& isa) {
        auto const unsigned_of = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
        std::int64_t longest = 1;
        for (auto const& b : s_.boxes) longest = std::max(longest, b.extent.back());
        auto const most = static_cast<std::int64_t>(isa.lanes(bytes_));
        lanes_ = std::min(most, static_cast<std::int64_t>(std::bit_floor(unsigned_of(longest))));
        auto const rows = rows_of_source();
        if (!rows || *rows + 1 != last()) return;
        auto const tile = std::min(most, std::int64_t{16});
        auto const short_row = s_.dims.back() <= tile;
        auto const size =
            std::min(tile, static_cast<std::int64_t>(std::bit_ceil(unsigned_of(short_row ? s_.dims.back() : longest))));
        if (size < 2 || s_.dims[last() - 1] < size) return;
        tiled_ = true;
        lanes_ = size;
        if (short_row) fill_up();
    }
    // Zeros behind a box become a part of it, so that vectors are stored whole.
    void fill_up() {
        auto const behind = [&](moved_box const& zeros, moved_box const& box) {
            auto same = box.array >= 0 && zeros.array < 0 && zeros.fill == 0 &&
                        zeros.first.back() == box.first.back() + box.extent.back();
            for (std::size_t d = 0; d < last(); ++d)
                same = same && box.first[d] == zeros.first[d] && box.extent[d] == zeros.extent[d];
            return same;
        };
        for (auto a = s_.boxes.size(); a-- > 0;)
            for (auto z = s_.boxes.size(); z-- > a + 1;) {
                if (present_[a] >= 0 || !behind(s_.boxes[z], s_.boxes[a])) continue;
                present_[a] = s_.boxes[a].extent.back();
                s_.boxes[a].extent.back() += s_.boxes[z].extent.back();
                s_.boxes.erase(s_.boxes.begin() + static_cast<std::ptrdiff_t>(z));
                present_.erase(present_.begin() + static_cast<std::ptrdiff_t>(z));
            }
    }

    // ---- stages

    [[nodiscard]] std::int64_t positions(std::size_t dims) const {
        std::int64_t n = 1;
        for (std::size_t d = 0; d < dims; ++d) n *= s_.dims[d];
        return n;
    }
    void declare() {
        auto const all = std::all_of(s_.boxes.begin(), s_.boxes.end(), [&](auto& b) { return whole(b, last()); });
        in_pieces_ = !tiled_ && all && positions(last()) < 16;
        loop::expression_builder e{"movement"};
        for (auto n : s_.arrays) arrays_.push_back(e.input("x", {std::max<std::int64_t>(n, 1)}, bits_));
        if (s_.chosen) chosen_ = e.input("chosen", {s_.chosen->at.elements}, s_.chosen->integers);
        target_ = e.output("y", {s_.target.elements}, bits_);
        if (s_.chosen) status_ = e.output("status", {1}, dtype::i32);
        buffers_ = e.buffers();
    }

    // Positions of a box from the `begin`-th of its last dimension on.
    void add_stage(std::size_t number, std::int64_t begin, std::int64_t extent) {
        auto const& box = s_.boxes[number];
        loop::expression_builder e{"movement", buffers_};
        loop::affine to = s_.target.offset + box.first.back() + begin, from = box.offset, chosen;
        if (s_.chosen) chosen = s_.chosen->at.offset + s_.chosen->at.strides.back() * (box.first.back() + begin);
        std::vector<loop::bound> within;
        for (std::size_t d = 0; d < last(); ++d) {
            auto const at = e.spatial(fmt::format("r{}", d), s_.dims[d]);
            auto const inside = at - loop::affine{box.first[d]};
            if (!whole(box, d)) within.push_back({inside, box.extent[d]});
            to += at * s_.target.strides[d];
            if (box.array >= 0) from += inside * box.strides[d];
            if (s_.chosen) chosen += at * s_.chosen->at.strides[d];
        }
        if (last() == 0) static_cast<void>(e.spatial("r0", 1));
        auto const x = e.spatial("x", extent);
        to += x;
        if (box.array >= 0) from += loop::affine{begin * box.strides.back()} + x * box.strides.back();
        if (s_.chosen) chosen += x * s_.chosen->at.strides.back();
        auto const zero = e.integer(0, bits_);
        auto const moved = [&] {
            if (box.array < 0) return e.integer(static_cast<std::int64_t>(box.fill), bits_);
            auto const array = arrays_[static_cast<std::size_t>(box.array)];
            if (s_.chosen)
                return e.at(array, {from}, e.at(chosen_, {chosen}), s_.chosen->entries, s_.chosen->stride, status_);
            auto bounds = within;
            if (present_[number] >= 0) bounds.push_back({x, present_[number]});
            return e.at(array, {from}, std::move(bounds), zero);
        };
        auto const v = moved();
        end(e.store(target_, {to}, v, within), extent);
    }

    // Rows are parallel, several inner dimensions of them in one piece where there are enough others; else pieces of
    // rows too.
    void end(loop::tensor_expression what, std::int64_t extent) {
        loop::schedule plan{std::move(what)};
        auto const outer = tiled_ ? last() - 1 : last();
        auto const [blocks, lane] = plan.split(plan.loop_of("x"), lanes_);
        std::vector<loop::variable> rows;
        for (std::size_t d = 0; d < outer; ++d) rows.push_back(plan.loop_of(fmt::format("r{}", d)));
        if (last() == 0) rows.push_back(plan.loop_of("r0"));
        std::optional<loop::variable> within;
        if (tiled_) {
            auto const [strips, row] = plan.split(plan.loop_of(fmt::format("r{}", outer)), lanes_);
            rows.push_back(strips);
            within = row;
            auto order = rows;
            order.insert(order.end(), {blocks, row, lane});
            plan.reorder(order);
            plan.unroll(row);
        }
        auto outside = rows[0];
        std::size_t fused = 1;
        for (auto n = last() == 0 ? std::int64_t{1} : s_.dims[0]; fused < rows.size() && n < 16; ++fused) {
            if (fused < s_.dims.size()) n *= s_.dims[fused];
            outside = plan.fuse(outside, rows[fused]);
        }
        if (in_pieces_) {
            auto const count = (extent + lanes_ - 1) / lanes_;
            outside = plan.fuse(outside, plan.split(blocks, std::min<std::int64_t>(count, 64)).first);
        }
        plan.parallel(outside);
        plan.vectorize(lane);
        auto const shared = 1 + rows.size() - fused;
        if (made_)
            made_->then(plan.finish(), shared);
        else
            made_.emplace(plan.finish());
    }

    movement_shape s_;
    std::int32_t bytes_;
    dtype bits_;
    std::vector<std::int64_t> present_; // elements of a box behind which it has zeros; -1: all
    std::int64_t lanes_ = 1;
    bool tiled_ = false;     // vectors are exchanged in registers
    bool in_pieces_ = false; // rows are cut
    std::vector<std::int32_t> arrays_;
    std::int32_t chosen_ = -1, target_ = -1, status_ = -1;
    std::vector<loop::buffer> buffers_;
    std::optional<loop::fused_nest> made_;
};

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
    for (std::int64_t at = 0; at < count; ++at) {
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
