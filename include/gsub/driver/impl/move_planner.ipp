#pragma once

#include <gsub/driver/impl/storage_planner.ipp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace gsub::detail {

// Plans operators that move elements: most become views of what is stored, or parts of it.
template <class = void>
class move_planner : protected storage_planner<> {
public:
    using storage_planner<>::storage_planner;

protected:
    std::size_t plan_join(node_id n) {
        value_id const whole{n, 0};
        auto const& t = g_.type(whole);
        auto const operands = g_.operands(n);
        if (joins_blocks(n) &&
            std::any_of(operands.begin(), operands.end(), [&](auto v) { return blocked_.contains(v); })) {
            if (!blocked_.contains(whole)) add_blocked(whole);
            std::size_t offset = 0;
            for (auto v : operands) {
                auto const from = blocked(v);
                auto const size = blocked_bytes(g_.type(v));
                auto part = part_of(blocked_[whole], offset, size);
                auto const& stored = made_.values[static_cast<std::size_t>(from)];
                if (stored.part_of != part.part_of || stored.offset != part.offset)
                    add_step(n, runtime::copy_of(size), {from, add_value(std::move(part))});
                offset += size;
            }
            return 1;
        }
        if (is_nothing(n)) return 1;
        auto const axis = along(g_.attributes<ops::concat>(n).axis, t);
        auto const all = t.sizes();
        auto const times = product(std::span{all}.first(axis));
        std::vector<value_id> parts;
        std::vector<std::size_t> sizes;
        auto scattered = false; // some are no rows, or rows of some bytes
        for (auto v : operands) {
            if (*g_.type(v).elements() == 0) continue;
            parts.push_back(v);
            sizes.push_back(bytes_of(g_.type(v)) / static_cast<std::size_t>(times));
            scattered = scattered || (!plain_.contains(v) && views_.contains(v)) || (times > 1 && sizes.back() < 256);
        }
        std::vector<std::int32_t> values;
        if (!scattered || parts.size() > 16) {
            for (auto v : parts) values.push_back(plain(v));
            values.push_back(new_plain(whole));
            add_step(n, runtime::join_of(times, sizes), std::move(values));
            return 1;
        }
        ints extents;
        std::vector<kernels::array_view> views;
        for (auto v : parts) {
            values.push_back(storage_of(v));
            views.push_back(*view_of(v));
            extents.push_back(g_.type(v).dims[axis].size());
        }
        values.push_back(new_plain(whole));
        add_movement(n, kernels::joined_views(t.element, all, axis, extents, views), std::move(values));
        return 1;
    }

    // Pieces are views of what is split, or where that is in blocks of channels of one image, whole blocks of it.
    std::size_t plan_split(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& t = g_.type(x);
        auto const axis = along(g_.attributes<ops::split>(n).axis, t);
        auto in_blocks = blocked_.contains(x) && t.dims[0].size() == 1 && axis == 1;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i)
            in_blocks = in_blocks && g_.type({n, i}).dims[1].size() % set_.lanes() == 0;
        if (!in_blocks) {
            if (is_nothing(n)) return 1;
            auto const from = storage_of(x);
            auto made = *view_of(x);
            for (std::uint32_t i = 0; i < g_.result_count(n); ++i) {
                value_id const y{n, i};
                if (*g_.type(y).elements() == 0) {
                    new_plain(y);
                    continue;
                }
                add_view(y, from, made);
                made.offset += g_.type(y).dims[axis].size() * made.strides[axis];
            }
            return 1;
        }
        std::size_t offset = 0;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i) {
            auto const size = blocked_bytes(g_.type({n, i}));
            blocked_[{n, i}] = add_value(part_of(blocked_[x], offset, size));
            offset += size;
        }
        return 1;
    }

    // Nothing is moved: the result is another view of what is stored.
    bool is_view(node_id n) const {
        return g_.is<ops::transpose>(n) || g_.is<ops::slice>(n) || g_.is<ops::expand>(n) ||
               (g_.op(n).free_view && g_.result_count(n) == 1 && !g_.is<ops::shape>(n));
    }
    // Whether a node has results without elements alone, which are there then.
    bool is_nothing(node_id n) {
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i)
            if (*g_.type({n, i}).elements() != 0) return false;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i) new_plain({n, i});
        return true;
    }
    // The integers of an operand that is a setting; those of an attribute where it is not given. Nothing: they are not
    // constant.
    std::optional<ints> setting(node_id n, std::size_t operand, ints const& otherwise) const {
        if (g_.operand_count(n) <= operand || !g_.operand(n, operand).valid()) return otherwise;
        auto const t = constant_of(g_.operand(n, operand));
        if (!t) return std::nullopt;
        return t->to_ints();
    }
    static ints all_axes(std::size_t count) {
        ints all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<std::int64_t>(i));
        return all;
    }

    // Whether a value is there already, or as views of one that is.
    bool reach(value_id v) {
        if (exists(v)) return true;
        auto const n = v.node;
        if (planned_[n.index] || !is_view(n) || !reach(g_.operand(n, 0)) || plan_view(n) == 0) return false;
        planned_[n.index] = 1;
        return true;
    }
    std::size_t plan_view(node_id n) {
        auto const x = g_.operand(n, 0);
        value_id const y{n, 0};
        auto const &in = g_.type(x), &out = g_.type(y);
        if (g_.op(n).free_view && bytes_of(in) != bytes_of(out)) return 0;
        if (is_nothing(n)) return 1;
        auto const from = storage_of(x);
        auto const how = *view_of(x);
        auto made = how;
        if (g_.is<ops::transpose>(n)) {
            auto const& perm = g_.attributes<ops::transpose>(n).perm;
            for (std::size_t d = 0; d < perm.size(); ++d)
                made.strides[d] = how.strides[static_cast<std::size_t>(perm[d])];
        } else if (g_.is<ops::slice>(n)) {
            auto const& a = g_.attributes<ops::slice>(n);
            auto const starts = setting(n, 1, a.starts), ends = setting(n, 2, a.ends);
            if (!starts || !ends) return 0;
            auto const given = g_.operand_count(n) > 1;
            auto const axes = setting(n, 3, given || a.axes.empty() ? all_axes(starts->size()) : a.axes);
            auto const steps = setting(n, 4, given || a.steps.empty() ? ints(starts->size(), 1) : a.steps);
            if (!axes || !steps) return 0;
            for (std::size_t i = 0; i < axes->size(); ++i) {
                auto const d = along((*axes)[i], in);
                auto const range = clamped_slice((*starts)[i], (*ends)[i], (*steps)[i], in.dims[d].size());
                made.offset += range.start * how.strides[d];
                if (out.dims[d].size() != 1) made.strides[d] = how.strides[d] * range.step; // one may have any step
            }
        } else if (g_.is<ops::expand>(n)) {
            made.strides.assign(out.rank(), 0);
            auto const before = out.rank() - in.rank();
            for (std::size_t d = 0; d < in.rank(); ++d)
                if (in.dims[d].size() != 1) made.strides[before + d] = how.strides[d];
        } else if (auto const reshaped = reshape(how, in.sizes(), out.sizes())) {
            made = *reshaped;
        } else { // elements in another order than they are stored
            plain_[y] = plain(x);
            return 1;
        }
        add_view(y, from, std::move(made));
        return 1;
    }
    // The same elements over other dimensions, where no copy is needed for that.
    static std::optional<kernels::array_view> reshape(kernels::array_view const& v, ints const& from, ints const& to) {
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

    // Rows chosen by an integer tensor.
    std::size_t plan_gather(node_id n) {
        auto const x = g_.operand(n, 0), index = g_.operand(n, 1);
        value_id const y{n, 0};
        auto const &in = g_.type(x), &at = g_.type(index);
        if (is_nothing(n)) return 1;
        if (*in.elements() == 0 || (at.element != dtype::i32 && at.element != dtype::i64)) return 0;
        auto const axis = along(g_.attributes<ops::gather>(n).axis, in);
        std::vector<std::int32_t> values{plain(x), plain(index)};
        values.push_back(new_plain(y));
        add_movement(n, kernels::gathered_entries(in.element, in.sizes(), axis, *at.elements(), at.element),
                     std::move(values));
        return 1;
    }

    std::size_t plan_pad(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto const& a = g_.attributes<ops::pad>(n);
        auto const axes = setting(n, 3, all_axes(in.rank())), pads = setting(n, 1, a.pads);
        if (!axes || !pads) return 0;
        if (is_nothing(n)) return 1;
        if (in.rank() == 0) {
            plain_[{n, 0}] = plain(x);
            return 1;
        }
        auto const constant = a.mode == "constant";
        if (*in.elements() == 0 && !constant) return 0;
        ints before(in.rank(), 0), after(in.rank(), 0);
        for (std::size_t i = 0; i < axes->size(); ++i) {
            auto const d = along((*axes)[i], in);
            before[d] = (*pads)[i];
            after[d] = out.dims[d].size() - in.dims[d].size() - before[d];
        }
        auto border = tensor::zeros(in.element, ints{1});
        std::optional<value_id> given;
        if (constant) {
            border = tensor::scalar(a.value).converted_to(in.element);
            auto const v = g_.operand_count(n) > 2 ? g_.operand(n, 2) : value_id{};
            if (v.valid() && *g_.type(v).elements() > 0) {
                if (auto t = constant_of(v))
                    border = *t;
                else
                    given = v;
            }
        }
        std::uint64_t fill = 0;
        std::memcpy(&fill, border.raw().data(), byte_size(in.element));
        auto const kind = constant           ? kernels::border::constant
                          : a.mode == "edge" ? kernels::border::edge
                                             : kernels::border::reflect;
        // Boxes of a border that is made of elements are as many as the products of its pieces: few dimensions at a
        // time.
        auto from = storage_of(x);
        auto view = *view_of(x);
        auto sizes = in.sizes();
        for (std::size_t d = 0; d < in.rank();) {
            ints now_before(in.rank(), 0), now_after(in.rank(), 0);
            auto next = sizes;
            for (int some = 0; d < in.rank() && (constant || some < 2); ++d) {
                if (before[d] == 0 && after[d] == 0) continue;
                now_before[d] = before[d], now_after[d] = after[d];
                next[d] += before[d] + after[d];
                ++some;
            }
            auto last = true;
            for (auto rest = d; rest < in.rank(); ++rest) last = last && before[rest] == 0 && after[rest] == 0;
            std::vector<std::int32_t> values{from};
            std::optional<kernels::array_view> filling;
            if (given) {
                values.push_back(storage_of(*given));
                filling = *view_of(*given);
                filling->strides.assign(in.rank(), 0);
            }
            from = last ? new_plain({n, 0})
                        : add_temporary(static_cast<std::size_t>(product(next)) * byte_size(in.element));
            values.push_back(from);
            add_movement(n, kernels::padded_view(in.element, sizes, view, now_before, now_after, kind, fill, filling),
                         std::move(values));
            if (last) break;
            sizes = next;
            view = kernels::array_view::contiguous(sizes);
        }
        return 1;
    }

    // What the types alone say: one number everywhere, and dimensions.
    std::size_t plan_known(node_id n) {
        value_id const y{n, 0};
        auto const& t = g_.type(y);
        if (is_nothing(n)) return 1;
        if (g_.is<ops::fill>(n)) {
            auto const& a = g_.attributes<ops::fill>(n);
            auto const one = is_floating(t.element) ? tensor::scalar(a.value) : tensor::scalar(a.integer);
            kernels::array_view everywhere{1, 0, {}};
            everywhere.strides.resize(t.rank(), 0);
            add_view(y, add_constant(one.converted_to(t.element)), std::move(everywhere));
            return 1;
        }
        auto const dims = g_.type(g_.operand(n, 0)).sizes();
        auto const rank = static_cast<std::int64_t>(dims.size());
        auto const start = g_.attributes<ops::shape>(n).start;
        auto const first = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
        std::span const part =
            std::span{dims}.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(*t.elements()));
        plain_[y] = add_constant(tensor::from(t.sizes(), std::span<std::int64_t const>{part}));
        return 1;
    }
};

} // namespace gsub::detail
