#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor_type.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/kernels/scatter.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

namespace gsub::kernels {

namespace detail {

// Writes the loop nest of a scatter: a stage that copies the data, then one that stores the updates, both for a piece
// of the result. Pieces are of dimensions before the axis, and of entries, of which each looks at all integers; or of
// the elements of all entries.
template <class = void>
class scatter_writer {
public:
    scatter_writer(scatter_shape s, isa const& isa)
        : s_(std::move(s)), type_(s_.combined ? s_.element : bits_of_size(byte_size(s_.element))) {
        merge();
        choose_pieces(isa);
        loop::expression_builder e{"scatter"};
        data_ = e.input("data", {s_.elements()}, type_);
        indices_ = e.input("indices", {s_.at.elements}, s_.integers);
        updates_ = e.input("updates", {product(as_span(s_.updates))}, type_);
        result_ = e.output("y", {s_.elements()}, type_);
        status_ = e.output("status", {1}, dtype::i32);
        buffers_ = e.buffers();
    }

    loop::fused_nest run() {
        if (s_.in_place) return loop::fused_nest{store()};
        loop::fused_nest nest{copy()};
        nest.then(store(), 1);
        return nest;
    }

private:
    using index_list = small_vector<std::int64_t, 6>;
    static constexpr std::int64_t most_pieces = 16;
    static constexpr std::int64_t least_bytes = 1 << 14;  // of a piece of entries
    static constexpr std::int64_t compared_elements = 16; // that are moved while an integer is compared
    static constexpr std::int64_t least_columns = 64;     // of a piece of elements
    static constexpr std::int64_t row_bytes = 256;        // of a piece of entries that are chosen whole

    [[nodiscard]] std::size_t axis() const { return static_cast<std::size_t>(s_.axis); }
    [[nodiscard]] std::int64_t entries() const { return s_.dims[axis()]; }
    [[nodiscard]] bool smaller(std::size_t d) const { return s_.updates[d] != s_.dims[d]; }
    [[nodiscard]] static std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
    [[nodiscard]] std::int64_t most(std::int64_t pieces) const {
        return std::clamp<std::int64_t>(pieces, 1, std::max<std::int64_t>(1, most_pieces / outer_));
    }

    // Dimensions on one side of the axis that lie alike in all arrays become one.
    void merge() {
        auto const erase = [&](std::size_t d) {
            for (auto* v : {&s_.dims, &s_.updates, &s_.at.strides}) {
                index_list rest;
                for (std::size_t k = 0; k < v->size(); ++k)
                    if (k != d) rest.push_back((*v)[k]);
                *v = rest;
            }
            if (d < axis()) --s_.axis;
        };
        for (auto d = s_.dims.size(); d-- > 0;)
            if (d != axis() && s_.dims[d] == 1) erase(d);
        for (auto d = s_.dims.size(); d-- > 1;) {
            auto const alike = s_.at.strides[d - 1] == s_.at.strides[d] * s_.updates[d];
            if (d == axis() || d - 1 == axis() || smaller(d) || !alike) continue;
            s_.dims[d] *= s_.dims[d - 1], s_.updates[d] *= s_.updates[d - 1];
            erase(d - 1);
        }
        std::span const dims = as_span(s_.dims);
        outer_ = product(dims.first(axis())), inner_ = product(dims.subspan(axis() + 1));
        auto const& strides = s_.at.strides;
        rows_ = inner_ > 1 && std::all_of(strides.begin() + s_.axis + 1, strides.end(), [](auto n) { return n == 0; });
    }
    void choose_pieces(isa const& isa) {
        auto const computed = s_.combined ? loop::computed_in(type_) : type_;
        auto const whole = entries() * inner_; // of a position before the axis
        lanes_ = isa.lanes(static_cast<std::int32_t>(byte_size(computed)));
        if (!s_.combined) // vectors that are only moved are no longer than what is
            lanes_ = std::min(
                lanes_, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows_ ? inner_ : whole))));
        // Pieces of entries pay off where what is moved takes longer than what each of them compares.
        auto const updates = product(as_span(s_.updates).subspan(axis()));
        auto const integers = rows_ ? s_.updates[axis()] : updates; // which each piece compares
        auto const bytes = whole * static_cast<std::int64_t>(byte_size(type_));
        auto const moved = s_.in_place ? updates / 2 : whole + updates; // what is written here and there waits less
        pieces_ = most(std::min(moved / (compared_elements * integers), bytes / least_bytes));
        auto const step = lanes_ / std::gcd(inner_, lanes_); // entries that are whole vectors
        entries_ = std::min(entries(), up(up(entries(), pieces_), step) * step);
        pieces_ = up(entries(), entries_);
        if (s_.dims.size() != axis() + 2 || (rows_ && !s_.in_place)) return;
        // What chooses for a whole entry is compared by no piece of columns: a processor cannot foresee what it gives.
        auto const of_row =
            rows_ ? std::max<std::int64_t>(row_bytes / static_cast<std::int64_t>(byte_size(type_)), 1) : least_columns;
        auto const columns = most(inner_ / of_row);
        if (columns <= (rows_ ? 1 : pieces_)) return;
        columns_ = up(up(inner_, columns), lanes_) * lanes_;
        pieces_ = 1, entries_ = entries();
    }

    // Row-major strides of dimensions.
    static index_list strides_of(index_list const& dims) {
        return array_view::contiguous(std::span{dims.data(), dims.size()}).strides;
    }

    loop::loop_nest copy() const {
        loop::expression_builder e{"copy", buffers_};
        auto const o = e.spatial("outer", outer_);
        auto at = o * (entries() * inner_);
        if (columns_ > 0) at += e.spatial("entry", entries()) * inner_;
        at += e.spatial("x", columns_ > 0 ? inner_ : entries() * inner_);
        loop::schedule plan{e.store(result_, {at}, e.at(data_, {at}))};
        auto const [pieces, piece] = plan.split(plan.loop_of("x"), columns_ > 0 ? columns_ : entries_ * inner_);
        auto const [vectors, lane] = plan.split(piece, lanes_);
        if (columns_ > 0) plan.reorder({plan.loop_of("outer"), pieces, plan.loop_of("entry"), vectors, lane});
        plan.parallel(plan.fuse(plan.loop_of("outer"), pieces));
        plan.vectorize(lane);
        return std::move(plan).finish();
    }

    loop::loop_nest store() const {
        loop::expression_builder e{"scatter", buffers_};
        auto const in_data = strides_of(s_.dims), in_updates = strides_of(s_.updates);
        loop::affine to, from, choice{s_.at.offset}, piece, lane;
        std::vector<std::pair<loop::affine, std::size_t>> axes;
        for (std::size_t d = 0; d < s_.dims.size(); ++d) {
            if (d == axis()) piece = e.spatial("piece", pieces_);
            auto const here = e.spatial(format_text("d{}", d), d == axis() ? s_.updates[d] : s_.dims[d]);
            from += here * in_updates[d], choice += here * s_.at.strides[d];
            if (d != axis()) to += here * in_data[d];
            if (d != axis() && smaller(d)) axes.emplace_back(here, d);
        }
        if (!rows_) lane = e.spatial("lane", 1);
        for (auto const& [here, d] : axes) e.restrict_domain({here, s_.updates[d]});
        auto const entry = e.choose(indices_, {choice}, entries(), status_);
        if (pieces_ > 1) e.restrict_domain({entry - piece * entries_, entries_});
        to += entry * inner_;
        auto const update = e.at(updates_, {from});
        auto const v = s_.combined ? combined(e.at(result_, {to}), update) : update;
        return scheduled(loop::schedule{e.store(result_, {to + lane}, v)});
    }
    [[nodiscard]] loop::value combined(loop::value there, loop::value update) const {
        using loop::scalar_op;
        auto const in = loop::computed_in(type_);
        auto const a = cast(there, in), b = cast(update, in);
        auto const extreme = *s_.combined == scalar_op::maximum || *s_.combined == scalar_op::minimum;
        if (!extreme || !is_floating(in)) return cast(apply(*s_.combined, a, b), type_);
        auto const beyond =
            *s_.combined == scalar_op::maximum ? apply(scalar_op::less, b, a) : apply(scalar_op::less, a, b);
        auto const is_nan = apply(scalar_op::logical_not, apply(scalar_op::equal, a, a));
        return select(apply(scalar_op::logical_or, beyond, is_nan), there, update);
    }
    [[nodiscard]] loop::loop_nest scheduled(loop::schedule plan) const {
        auto const dimension = [&](std::size_t d) { return plan.loop_of(format_text("d{}", d)); };
        std::vector<loop::variable> outside, order;
        for (std::size_t d = 0; d < axis(); ++d) outside.push_back(dimension(d));
        outside.push_back(plan.loop_of("piece"));
        std::vector<loop::variable> within{dimension(axis())};
        auto const last = s_.dims.size() - 1;
        auto row = rows_ ? loop::variable{} : plan.loop_of("lane");
        for (auto d = axis() + 1; d < s_.dims.size(); ++d) {
            auto here = dimension(d);
            if (columns_ > 0) {
                auto const [pieces, piece] = plan.split(here, columns_);
                outside.push_back(pieces), here = piece;
            }
            if (rows_ && d == last)
                row = here;
            else
                within.push_back(here);
        }
        auto const [vectors, lane] = plan.split(row, lanes_);
        order = outside;
        order.insert(order.end(), within.begin(), within.end());
        order.insert(order.end(), {vectors, lane});
        plan.reorder(order);
        auto fused = outside[0];
        for (std::size_t i = 1; i < outside.size(); ++i) fused = plan.fuse(fused, outside[i]);
        plan.parallel(fused);
        plan.vectorize(lane);
        return std::move(plan).finish();
    }

    scatter_shape s_;
    dtype type_;
    std::int64_t outer_ = 1, inner_ = 1; // positions before the axis, elements of an entry
    bool rows_ = false;                  // an integer chooses for all elements of an entry
    std::int64_t lanes_ = 1;
    std::int64_t pieces_ = 1, entries_ = 1; // pieces of the entries, and how many a piece has
    std::int64_t columns_ = 0;              // elements of a piece of all entries; 0: pieces are of entries
    std::int32_t data_ = -1, indices_ = -1, updates_ = -1, result_ = -1, status_ = -1;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY std::int64_t scatter_shape::elements() const noexcept {
    return product(as_span(dims));
}
GSUB_LAZY_BODY double scatter_shape::operations() const noexcept {
    return combined ? static_cast<double>(product(as_span(updates))) : 0;
}

GSUB_LAZY_BODY loop::fused_nest scatter_nest(scatter_shape s, isa const& isa) {
    return detail::scatter_writer{std::move(s), isa}.run();
}

GSUB_LAZY_BODY scatter_shape scattered_elements(dtype element, std::span<std::int64_t const> dims,
                                                std::span<std::int64_t const> updates, std::size_t axis, dtype integers,
                                                std::optional<loop::scalar_op> combined) {
    return {element,
            integers,
            small_vector<std::int64_t, 6>(dims),
            small_vector<std::int64_t, 6>(updates),
            static_cast<std::int32_t>(axis),
            array_view::contiguous(updates),
            combined,
            false};
}

GSUB_LAZY_BODY scatter_shape scattered_entries(dtype element, std::span<std::int64_t const> dims, std::int64_t count,
                                               dtype integers, std::optional<loop::scalar_op> combined) {
    std::int64_t const all[] = {dims[0], product(dims.subspan(1))}, some[] = {count, all[1]};
    auto s = scattered_elements(element, all, some, 0, integers, combined);
    s.at = {count, 0, {1, 0}};
    return s;
}

} // namespace gsub::kernels
