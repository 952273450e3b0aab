// movement_writer: loop nests of movements: a stage for each box.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor_type.hpp>
#include <gsub/kernels/movement.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gsub::kernels::detail {

template <class = void>
class movement_writer {
public:
    movement_writer(movement_shape s, isa const& isa)
        : s_(std::move(s)),
          bytes_(static_cast<std::int32_t>(byte_size(s_.element))),
          bits_(bits_of_size(byte_size(s_.element))) {
        present_.assign(s_.boxes.size(), -1);
        merge();
        repeat(isa);
        choose_lanes(isa);
        declare();
    }

    loop::fused_nest run() {
        for (std::size_t b = 0; b < s_.boxes.size(); ++b) {
            auto const extent = s_.boxes[b].extent.back();
            auto const as_it_is = tiled_ || !contiguous(s_.boxes[b]) || (in_pieces_ && times_ == 1);
            auto const tail = as_it_is || extent < lanes_ ? 0 : extent % lanes_;
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

    // Elements that stand two or four times one behind the other are one dimension with them: a vector holds each of
    // its elements so often, which a table of its lanes tells.
    void repeat(isa const& isa) {
        auto const d = last();
        if (bytes_ != 4 || s_.boxes.size() != 1 || s_.chosen || d < 1) return;
        auto& box = s_.boxes.front();
        auto const times = s_.dims[d], all = times * s_.dims[d - 1];
        if ((times != 2 && times != 4) || !whole(box, d) || !whole(box, d - 1)) return;
        if (all < isa.lanes(bytes_) || isa.lanes(bytes_) % times != 0) return;
        if (box.array < 0 || box.strides[d] != 0 || box.strides[d - 1] != 1) return;
        if (s_.target.strides[d] != 1 || s_.target.strides[d - 1] != times) return;
        times_ = times;
        s_.dims[d] = box.extent[d] = all;
        erase(d - 1);
    }

    // Vectors are no longer than what is moved. Where they are exchanged in registers, there are as many of them as
    // they have elements.
    void choose_lanes(isa const& isa) {
        auto const unsigned_of = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
        std::int64_t longest = 1;
        for (auto const& b : s_.boxes) longest = std::max(longest, b.extent.back());
        auto const most = static_cast<std::int64_t>(isa.lanes(bytes_));
        lanes_ = std::min(most, static_cast<std::int64_t>(std::bit_floor(unsigned_of(longest))));
        if (times_ > 1) return;
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
            auto const at = e.spatial(format_text("r{}", d), s_.dims[d]);
            auto const inside = at - loop::affine{box.first[d]};
            if (!whole(box, d)) within.push_back({inside, box.extent[d]});
            to += at * s_.target.strides[d];
            if (box.array >= 0) from += inside * box.strides[d];
            if (s_.chosen) chosen += at * s_.chosen->at.strides[d];
        }
        if (last() == 0) static_cast<void>(e.spatial("r0", 1));
        if (times_ > 1) return add_repeated(std::move(e), std::move(to), std::move(from), begin, extent);
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

    // The same of elements that stand several times, in whole vectors.
    void add_repeated(loop::expression_builder e, loop::affine to, loop::affine from, std::int64_t begin,
                      std::int64_t extent) {
        auto const vectors = e.spatial("vectors", extent / lanes_), x = e.spatial("x", lanes_);
        std::vector<std::int64_t> places;
        for (std::int64_t l = 0; l < lanes_; ++l) places.push_back(l / times_);
        auto const v = e.at(arrays_[0], {from + begin / times_ + vectors * (lanes_ / times_)}, {x, std::move(places)});
        end(e.store(target_, {to + vectors * lanes_ + x}, v), extent);
    }

    // Rows are parallel, several inner dimensions of them in one piece where there are enough others; else pieces of
    // rows too.
    void end(loop::tensor_expression what, std::int64_t extent) {
        loop::schedule plan{std::move(what)};
        auto const outer = tiled_ ? last() - 1 : last();
        auto const split =
            times_ > 1 ? std::pair{plan.loop_of("vectors"), plan.loop_of("x")} : plan.split(plan.loop_of("x"), lanes_);
        auto const [blocks, lane] = split;
        std::vector<loop::variable> rows;
        for (std::size_t d = 0; d < outer; ++d) rows.push_back(plan.loop_of(format_text("r{}", d)));
        if (last() == 0) rows.push_back(plan.loop_of("r0"));
        std::optional<loop::variable> within;
        if (tiled_) {
            auto const [strips, row] = plan.split(plan.loop_of(format_text("r{}", outer)), lanes_);
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
            made_->then(std::move(plan).finish(), shared);
        else
            made_.emplace(std::move(plan).finish());
    }

    movement_shape s_;
    std::int32_t bytes_;
    dtype bits_;
    std::vector<std::int64_t> present_;  // elements of a box behind which it has zeros; -1: all
    std::int64_t lanes_ = 1, times_ = 1; // how often an element stands
    bool tiled_ = false;                 // vectors are exchanged in registers
    bool in_pieces_ = false;             // rows are cut
    std::vector<std::int32_t> arrays_;
    std::int32_t chosen_ = -1, target_ = -1, status_ = -1;
    std::vector<loop::buffer> buffers_;
    std::optional<loop::fused_nest> made_;
};

} // namespace gsub::kernels::detail
