// movement_placement: how what only moves elements is resolved, in storage: views, concatenations, paddings.
#pragma once

#include <gsub/kernels/movement.hpp>
#include <gsub/lower/impl/value_storage.ipp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// The same elements over other dimensions, where no copy is needed for that.
GSUB_LAZY std::optional<kernels::array_view> reshaped_view(kernels::array_view const& v, ints const& from,
                                                           ints const& to) {
    auto out = v;
    out.strides.resize(0);
    out.strides.resize(to.size(), 0);
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        // Groups of dimensions with one product.
        auto const first = i, begin = j;
        std::int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
        while (a != b)
            if (a < b)
                a *= from[i++];
            else
                b *= to[j++];
        std::int64_t stride = 0, extent = 1;
        for (auto d = i; d-- > first;) {
            if (from[d] == 1) continue;
            if (extent == 1)
                stride = v.strides[d];
            else if (v.strides[d] != stride * extent)
                return std::nullopt;
            extent *= from[d];
        }
        for (auto d = j; d-- > begin;) {
            out.strides[d] = stride;
            stride *= to[d];
        }
    }
    return out;
}
template <class = void>
class movement_placement {
public:
    explicit movement_placement(value_storage<>& s) : s_(s) {}

    void place(kernel_op const& op, view_shape const& v) {
        auto const x = op.operands[0].value, y = op.results[0];
        if (v.reshape && s_.belongs_in_blocks(x) && s_.belongs_in_blocks(y) && s_.type(x) == s_.type(y)) {
            s_.set_blocked(y, s_.blocked(x));
            return;
        }
        if (s_.belongs_in_blocks(y) && v.in_blocks)
            if (auto const first = slices_blocks(v, s_.type(x), s_.type(y), s_.isa.lanes())) {
                auto before = s_.type(x);
                before.dims[1] = dim{*first};
                auto const offset = *first == 0 ? 0 : s_.blocked_bytes(before);
                s_.set_blocked(y, s_.add_value(s_.part_of(y, s_.blocked(x), offset)));
                return;
            }
        auto const from = s_.storage_of(x);
        auto const how = s_.view_of(x);
        auto made = how;
        if (v.reshape) {
            auto reshaped = reshaped_view(how, s_.type(x).sizes(), s_.type(y).sizes());
            if (!reshaped) { // elements in another order than they are stored
                s_.set_plain(y, s_.plain(x));
                return;
            }
            made = std::move(*reshaped);
        } else {
            made.strides.resize(0);
            for (std::size_t d = 0; d < v.start.size(); ++d) made.offset += v.start[d] * how.strides[d];
            for (std::size_t d = 0; d < v.from.size(); ++d)
                made.strides.push_back(v.from[d] < 0 ? 0
                                                     : how.strides[static_cast<std::size_t>(v.from[d])] * v.step[d]);
        }
        s_.set_view(y, from, std::move(made));
    }
    void place(kernel_op const& op, concat_shape const& c) {
        auto const whole = op.results[0];
        auto const& t = s_.type(whole);
        if (s_.joins(op)) {
            if (!s_.in_blocks(whole)) s_.add_blocked(whole);
            std::size_t offset = 0;
            for (auto const& o : op.operands) {
                auto const from = s_.blocked(o.value);
                auto part = s_.part_of(o.value, s_.blocked(whole), offset);
                auto const size = part.bytes;
                auto const& stored = s_.out.values[s_.index(from)];
                if (stored.part_of != part.part_of || stored.offset != part.offset)
                    s_.add_op(op, runtime::copy_of(size), {from}, {s_.add_value(std::move(part))});
                offset += size;
            }
            return;
        }
        auto const axis = static_cast<std::size_t>(c.axis);
        auto const all = t.sizes();
        auto const times = product(std::span{all}.first(axis));
        std::vector<std::size_t> sizes;
        auto scattered = false; // some are no rows, or rows of some bytes
        for (auto const& o : op.operands) {
            auto const v = o.value;
            sizes.push_back(s_.bytes_of(s_.type(v)) / static_cast<std::size_t>(times));
            auto const viewed = s_.is_view(v);
            scattered = scattered || viewed || (times > 1 && sizes.back() < 256);
        }
        std::vector<kernel_value_id> from;
        if (!scattered || op.operands.size() > 16) {
            for (auto const& o : op.operands) from.push_back(s_.plain(o.value));
            s_.add_op(op, runtime::concat_of(times, sizes), from, {s_.new_plain(whole)});
            return;
        }
        ints extents;
        std::vector<kernels::array_view> views;
        for (auto const& o : op.operands) {
            from.push_back(s_.storage_of(o.value));
            views.push_back(s_.view_of(o.value));
            extents.push_back(s_.type(o.value).dims[axis].size());
        }
        s_.add_op(op, kernels::concatenated_views(t.element, all, axis, extents, views), from, {s_.new_plain(whole)});
    }

    void place(kernel_op const& op, pad_shape const& p) {
        auto const x = op.operands[0].value, y = op.results[0];
        auto const& in = s_.type(x);
        auto const rank = in.rank();
        auto const moved = [&](std::size_t d) { return p.before[d] != 0 || p.after[d] != 0; };
        auto rest = static_cast<std::size_t>(0);
        for (std::size_t d = 0; d < rank; ++d) rest += moved(d);
        auto from = s_.storage_of(x);
        auto view = s_.view_of(x);
        if (rest == 0) return s_.set_view(y, from, std::move(view));
        // Boxes of a border that is made of elements are as many as the products of its pieces: few dimensions at a
        // time.
        auto const constant = p.kind == kernels::padding_mode::constant;
        auto sizes = in.sizes();
        for (std::size_t d = 0; d < rank && rest > 0;) {
            ints before(rank, 0), after(rank, 0);
            auto next = sizes;
            for (int some = 0; d < rank && (constant || some < 2); ++d) {
                if (!moved(d)) continue;
                before[d] = p.before[d], after[d] = p.after[d];
                next[d] += before[d] + after[d];
                ++some, --rest;
            }
            std::vector<kernel_value_id> operands{from};
            std::optional<kernels::array_view> filling;
            if (op.operands.size() > 1) {
                operands.push_back(s_.storage_of(op.operands[1].value));
                filling = s_.view_of(op.operands[1].value);
                filling->strides.assign(rank, 0);
            }
            if (rest == 0) {
                from = s_.new_plain(y);
            } else { // some borders are there
                kernel_value part{.name = s_.in.values[s_.index(y)].name, .type = tensor_type{in.element, next}};
                part.bytes = s_.bytes_of(part.type);
                from = s_.add_value(std::move(part));
            }
            s_.add_op(op, kernels::padded_view(in.element, sizes, view, before, after, p.kind, p.fill, filling),
                      operands, {from});
            sizes = next;
            view = kernels::array_view::contiguous(sizes);
            view.element = in.element;
        }
    }

private:
    value_storage<>& s_;
};

} // namespace gsub::detail
