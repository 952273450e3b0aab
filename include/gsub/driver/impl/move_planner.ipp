#pragma once

#include <gsub/driver/impl/storage_planner.ipp>

#include <algorithm>
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
        if (*t.elements() == 0) return 0;
        auto const axis = along(g_.attributes<ops::concat>(n).axis, t);
        auto const all = t.sizes();
        auto const times = product(std::span{all}.first(axis));
        std::vector<std::size_t> sizes;
        std::vector<std::int32_t> values;
        for (auto v : operands) {
            sizes.push_back(bytes_of(g_.type(v)) / static_cast<std::size_t>(times));
            values.push_back(plain(v));
        }
        values.push_back(new_plain(whole));
        add_step(n, runtime::join_of(times, sizes), std::move(values));
        return 1;
    }

    // Whole blocks of the channels of one image are pieces of what is split.
    std::size_t plan_split(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& t = g_.type(x);
        if (!blocked_.contains(x) || t.dims[0].size() != 1 || along(g_.attributes<ops::split>(n).axis, t) != 1)
            return 0;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i)
            if (g_.type({n, i}).dims[1].size() % set_.lanes() != 0) return 0;
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
        return g_.is<ops::transpose>(n) || g_.is<ops::slice>(n) ||
               (g_.op(n).free_view && g_.result_count(n) == 1 && !g_.is<ops::shape>(n));
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
        if (!computes_f32(in)) {
            if (!g_.op(n).free_view || bytes_of(in) != bytes_of(out)) return 0;
            plain_[y] = plain(x);
            return 1;
        }
        if (*in.elements() == 0 || *out.elements() == 0) return 0;
        auto const from = storage_of(x);
        auto const how = *view_of(x);
        auto made = how;
        if (g_.is<ops::transpose>(n)) {
            auto const& perm = g_.attributes<ops::transpose>(n).perm;
            for (std::size_t d = 0; d < perm.size(); ++d)
                made.strides[d] = how.strides[static_cast<std::size_t>(perm[d])];
        } else if (g_.is<ops::slice>(n)) {
            if (g_.operand_count(n) != 1) return 0;
            auto const& a = g_.attributes<ops::slice>(n);
            for (std::size_t i = 0; i < a.starts.size(); ++i) {
                auto const d = along(i < a.axes.size() ? a.axes[i] : static_cast<std::int64_t>(i), in);
                auto const size = in.dims[d].size(), step = i < a.steps.size() ? a.steps[i] : 1;
                auto const start = a.starts[i] < 0 ? a.starts[i] + size : a.starts[i];
                made.offset += std::clamp<std::int64_t>(start, 0, step < 0 ? size - 1 : size) * how.strides[d];
                made.strides[d] = how.strides[d] * step;
            }
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
        if (*g_.type(y).elements() == 0 || (at.element != dtype::i32 && at.element != dtype::i64)) return 0;
        auto const axis = along(g_.attributes<ops::gather>(n).axis, in);
        auto const dims = in.sizes();
        auto step = runtime::make_gather_step(
            static_cast<std::size_t>(product(std::span{dims}.first(axis))), dims[axis],
            static_cast<std::size_t>(product(std::span{dims}.subspan(axis + 1))) * byte_size(in.element),
            static_cast<std::size_t>(*at.elements()), at.element);
        std::vector<std::int32_t> values{plain(x), plain(index)};
        values.push_back(new_plain(y));
        add_step(n, runtime::host_call{runtime::host_work::gather, std::move(step)}, std::move(values));
        return 1;
    }
};

} // namespace gsub::detail
