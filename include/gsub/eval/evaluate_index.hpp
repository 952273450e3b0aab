// Evaluation of operators that read and write elements at places which an integer tensor names, or that tell such
// places. An index beyond its dimension is an error (`invalid_input`); negative ones count from the end.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace gsub {

namespace detail {

/// Places of the parts of a tensor that indices name, in elements, in the order of the indices; and how many elements a
/// part has.
struct indexed_parts {
    std::vector<std::int64_t> places;
    std::int64_t length = 1;
};
[[nodiscard]] indexed_parts parts_along(std::span<std::int64_t const> dims, tensor const& indices, std::size_t axis,
                                        std::string_view op);
[[nodiscard]] indexed_parts parts_by_rows(std::span<std::int64_t const> dims, tensor const& indices, std::size_t batch,
                                          std::string_view op);
void gather_parts(op_call_args& args, indexed_parts const& parts);

/// x with updates combined into it.
template <class T>
void scatter(op_call<T>& k, indexed_parts const& parts, std::string_view reduction) {
    auto const x = k.in(0), updates = k.in(2);
    auto const out = k.out();
    std::copy(x.begin(), x.end(), out.begin());
    GSUB_ASSERT(updates.size() == parts.places.size() * static_cast<std::size_t>(parts.length),
                "inference has found as many updates as places");
    auto const length = static_cast<std::size_t>(parts.length);
    auto const each = [&](auto combine) {
        auto from = updates.begin();
        for (auto const place : parts.places) {
            auto const to = out.begin() + place;
            std::transform(to, to + parts.length, from, to, combine);
            from += parts.length;
        }
    };
    switch (scatter_mode_named(reduction).value_or(scatter_mode::none)) {
    case scatter_mode::add:
        return each([](T a, T b) { return math::add(a, b); });
    case scatter_mode::mul:
        return each([](T a, T b) { return math::mul(a, b); });
    case scatter_mode::max:
        return each([](T a, T b) { return a > b || a != a ? a : b; }); // NaN stays
    case scatter_mode::min:
        return each([](T a, T b) { return a < b || a != a ? a : b; });
    case scatter_mode::none:
        break;
    }
    for (std::size_t i = 0; i < parts.places.size(); ++i)
        std::copy_n(updates.begin() + static_cast<std::ptrdiff_t>(i * length), length, out.begin() + parts.places[i]);
}

/// Whether a comes before b where the greatest, or the least, come first. NaN counts as the greatest.
template <class T>
[[nodiscard]] bool ranks_before(T a, T b, bool largest) {
    if constexpr (std::is_floating_point_v<T>)
        if (a != a || b != b) return largest ? a != a && b == b : a == a && b != b;
    return largest ? b < a : a < b;
}

} // namespace detail

template <>
struct evaluate<ops::gather_elements> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::gather_nd> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::scatter_elements> {
    static constexpr bool integers = true, booleans = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::scatter_elements>();
        auto const axis = *normalized_axis(a.axis, k.dims(0).size());
        detail::scatter(k, detail::parts_along(k.dims(0), k.operand(1), axis, "ScatterElements"), a.reduction);
    }
};
template <>
struct evaluate<ops::scatter_nd> {
    static constexpr bool integers = true, booleans = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::scatter_nd>();
        detail::scatter(k, detail::parts_by_rows(k.dims(0), k.operand(1), 0, "ScatterND"), a.reduction);
    }
};

template <>
struct evaluate<ops::non_zero> {
    static constexpr bool decides_sizes = true;
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::unique> {
    static constexpr bool decides_sizes = true;
    static void move(op_call_args& args);
};
/// In single precision, as the peers do; in double where the operands are f64. In the prime field, which has no order,
/// all operands together choose some boxes.
template <>
struct evaluate<ops::non_max_suppression> {
    static constexpr bool decides_sizes = true;
    static void move(op_call_args& args);
};

template <>
struct evaluate<ops::top_k> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::top_k>();
        auto const axis = *normalized_axis(a.axis, k.dims(0).size());
        auto const x = k.in(0);
        auto const y = k.out();
        if (y.empty()) return;
        auto const places = k.result(1).template mutable_data<std::int64_t>();
        auto const size = k.dims(0)[axis], kept = k.result_dims()[axis];
        std::int64_t inner = 1;
        for (auto d : k.dims(0).subspan(axis + 1)) inner *= d;
        auto const rows = static_cast<std::int64_t>(x.size()) / size;
        std::vector<ranked<T>> best;
        for (std::int64_t row = 0; row < rows; ++row) {
            auto const outer = row / inner, column = row % inner;
            auto const* const first = x.data() + outer * size * inner + column;
            rank(first, size, inner, kept, a.largest, best);
            for (std::int64_t i = 0; i < kept; ++i) {
                auto const to = static_cast<std::size_t>((outer * kept + i) * inner + column);
                y[to] = best[static_cast<std::size_t>(i)].value;
                places[to] = best[static_cast<std::size_t>(i)].place;
            }
        }
    }

private:
    template <class T>
    struct ranked {
        T value;
        std::int64_t place;
    };
    /// The first elements of a row in order; of equal ones that which stands first. Those that may be among them are
    /// gathered, and cut back to so many as are kept each time there are twice as many. *Complexity* O(size)
    /// comparisons, O(kept * log(kept)) for the order, and O(kept) for each cut, of which there are O(log(size / kept))
    /// where elements stand in no order.
    template <class T>
    static void rank(T const* x, std::int64_t size, std::int64_t stride, std::int64_t kept, bool largest,
                     std::vector<ranked<T>>& best) {
        auto const before = [largest](ranked<T> const& a, ranked<T> const& b) {
            if (detail::ranks_before(a.value, b.value, largest)) return true;
            return !detail::ranks_before(b.value, a.value, largest) && a.place < b.place;
        };
        auto const room = static_cast<std::size_t>(kept + std::max<std::int64_t>(kept, 256));
        best.clear();
        std::int64_t i = 0;
        for (; i < size && best.size() < room; ++i) best.push_back({x[i * stride], i});
        for (;;) {
            if (static_cast<std::int64_t>(best.size()) > kept) {
                std::nth_element(best.begin(), best.begin() + (kept - 1), best.end(), before);
                best.resize(static_cast<std::size_t>(kept));
            }
            if (i == size) break;
            auto const least = best.back().value;
            while (i < size && best.size() < room) {
                if (stride == 1 && none_may_rank(x + i, size - i, least, largest)) {
                    i += few;
                    continue;
                }
                for (auto const end = std::min(size, i + few); i < end; ++i)
                    if (detail::ranks_before(x[i * stride], least, largest)) best.push_back({x[i * stride], i});
            }
        }
        std::sort(best.begin(), best.end(), before);
    }
    static constexpr std::int64_t few = 16;
    /// Whether none of the next few elements comes before one: looked at side by side; false where there are fewer.
    template <class T>
    static bool none_may_rank(T const* x, std::int64_t count, T least, bool largest) {
        if constexpr (std::is_arithmetic_v<T>) {
            if (count < few) return false;
            auto may = false;
            if (largest)
                for (std::int64_t i = 0; i < few; ++i) may |= !(x[i] <= least);
            else
                for (std::int64_t i = 0; i < few; ++i) may |= !(x[i] >= least);
            return !may;
        } else {
            return false;
        }
    }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate_index.ipp>
#endif
