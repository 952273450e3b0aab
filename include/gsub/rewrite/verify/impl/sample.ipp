#pragma once

#include <gsub/rewrite/verify/sample.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

namespace gsub {

GSUB_INLINE std::size_t chooser::below(std::size_t count) {
    if (random_) return static_cast<std::size_t>(random_->below(count));
    if (at_ == decisions_.size()) decisions_.push_back({0, count});
    // The same decisions lead to the same questions, so the count is that of the run before.
    return decisions_[at_++].taken;
}

GSUB_INLINE bool chooser::next() {
    decisions_.resize(at_); // questions that the last run did not get to are void
    while (!decisions_.empty() && decisions_.back().taken + 1 == decisions_.back().count) decisions_.pop_back();
    at_ = 0;
    if (decisions_.empty()) return false;
    ++decisions_.back().taken;
    ++sequences_;
    return true;
}

GSUB_INLINE void sample_context::give_up() const {
    throw detail::give_up{};
}

GSUB_INLINE tensor_type sample_context::fresh(std::size_t rank) {
    if (like && like->rank() == rank) {
        auto t = *like;
        // One dimension may differ, so that a concat along it is legal; mostly the one that the operator works on.
        auto const axis = choose_->below(rank + 1);
        if (axis < rank) t.dims[axis] = dim{size()};
        return t;
    }
    shape dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(dim{size()});
    return {dtype::f32, dims};
}

namespace detail {

GSUB_INLINE void draw_alike(sample_context& cx) {
    std::optional<tensor_type> common;
    for (std::size_t i = 0; i < cx.operands(); ++i)
        if (cx.known(i)) common = cx.type(i);
    if (!common)
        common = cx.fresh(cx.like                    ? cx.like->rank()
                          : cx.choose().exhaustive() ? cx.choose().pick<std::size_t>({1, 2, 3})
                                                     : cx.choose().pick<std::size_t>({1, 2, 3, 4}));
    for (std::size_t i = 0; i < cx.operands(); ++i)
        if (!cx.known(i) && !cx.absent(i)) cx.set_type(i, *common);
}

} // namespace detail

GSUB_LAZY_BODY attributes_of<ops::batch_norm> sample<ops::batch_norm>::draw(sample_context& cx) {
    if (!cx.known(0)) cx.set_type(0, cx.fresh(cx.like ? cx.like->rank() : cx.choose().pick<std::size_t>({2, 3, 4})));
    if (cx.type(0).rank() < 2) cx.give_up();
    for (std::size_t i = 1; i < 5; ++i)
        if (!cx.known(i)) cx.set_type(i, {dtype::f32, shape{cx.type(0).dims[1]}});
    return {.epsilon = 0.125};
}

namespace detail {

// Windows that slide over an image [n, c, spatial...].
template <class Op>
attributes_of<Op> draw_pool(sample_context& cx) {
    auto& choose = cx.choose();
    auto const box = choose.exhaustive();
    if (!cx.known(0)) cx.set_type(0, cx.fresh(cx.like ? cx.like->rank() : box ? 3 : choose.pick<std::size_t>({3, 4})));
    if (cx.type(0).rank() < 3) cx.give_up();
    auto const spatial = cx.type(0).rank() - 2;
    // Mostly as a pooling before.
    if (cx.earlier && choose.below(3) != 2) {
        auto const& same = *static_cast<attributes_of<Op> const*>(cx.earlier->typed());
        if (same.kernel_shape.size() == spatial) return same;
    }
    attributes_of<Op> a;
    for (std::size_t i = 0; i < spatial; ++i) {
        a.kernel_shape.push_back(box ? choose.pick<std::int64_t>({1, 2}) : choose.pick<std::int64_t>({1, 2, 3}));
        a.strides.push_back(choose.pick<std::int64_t>({1, 2}));
        a.dilations.push_back(choose.pick<std::int64_t>({1, 2}));
    }
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < spatial; ++i)
            a.pads.push_back(static_cast<std::int64_t>(
                choose.below(static_cast<std::size_t>(std::min<std::int64_t>(a.kernel_shape[i], 2)))));
    a.ceil_mode = choose.below(2) == 1;
    return a;
}

} // namespace detail

GSUB_LAZY_BODY attributes_of<ops::max_pool> sample<ops::max_pool>::draw(sample_context& cx) {
    cx.results = 1 + cx.choose().below(2); // with the places of the maxima
    return detail::draw_pool<ops::max_pool>(cx);
}

GSUB_LAZY_BODY attributes_of<ops::average_pool> sample<ops::average_pool>::draw(sample_context& cx) {
    auto const earlier = cx.earlier;
    auto a = detail::draw_pool<ops::average_pool>(cx);
    if (!earlier || cx.choose().below(2) == 0) a.count_include_pad = cx.choose().below(2) == 1;
    return a;
}

GSUB_LAZY_BODY attributes_of<ops::clip> sample<ops::clip>::draw(sample_context& cx) {
    detail::draw_alike(cx);
    return {.min = 0, .max = cx.choose().pick({6.0, 1.0})};
}

GSUB_LAZY_BODY no_attributes sample<ops::add>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    if (!cx.known(0) && !cx.known(1))
        cx.set_type(0, cx.fresh(cx.like               ? cx.like->rank()
                                : choose.exhaustive() ? choose.pick<std::size_t>({1, 2})
                                                      : choose.pick<std::size_t>({1, 2, 3, 4})));
    for (std::size_t i = 0; i < 2; ++i) {
        if (cx.known(i)) continue;
        auto const& other = cx.type(1 - i);
        if (cx.like) { // a part's addend: of the shape of the addends before, cut like the part
            auto t = *cx.like;
            for (std::size_t d = 0; d < t.rank(); ++d) // dimensions are aligned at the last
                if (!(t.dims[d] == dim{1}) && d + other.rank() >= t.rank())
                    t.dims[d] = other.dims[d + other.rank() - t.rank()];
            cx.set_type(i, t);
            continue;
        }
        // The same type; one number a channel; one along one dimension; fewer dimensions; one number; more dimensions.
        auto t = other;
        switch (choose.below(7)) {
        case 1:
            for (std::size_t d = 0; d < t.rank(); ++d)
                if (d != 1) t.dims[d] = dim{1};
            break;
        case 2:
            if (t.rank() > 0) t.dims[choose.below(t.rank())] = dim{1};
            break;
        case 3:
            if (t.rank() > 0) t.dims.erase(0);
            break;
        case 4:
            t.dims.clear();
            break;
        case 5:
            t.dims.insert(0, dim{cx.size()});
            break;
        case 6:
            while (t.rank() > 1) t.dims.erase(0);
            break;
        default:
            break;
        }
        cx.set_type(i, t);
    }
    return {};
}

GSUB_LAZY_BODY attributes_of<ops::concat> sample<ops::concat>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    std::optional<tensor_type> first;
    for (std::size_t i = 0; i < cx.operands(); ++i)
        if (cx.known(i) && !first) first = cx.type(i);
    if (!first)
        first = cx.fresh(choose.exhaustive() ? choose.pick<std::size_t>({1, 2, 3})
                                             : choose.pick<std::size_t>({1, 2, 3, 4}));
    if (first->rank() == 0) cx.give_up();
    // Along the dimension in which the operands differ, if they do.
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < cx.operands(); ++i)
        for (std::size_t d = 0; cx.known(i) && cx.type(i).rank() == first->rank() && d < first->rank(); ++d)
            if (!(cx.type(i).dims[d] == first->dims[d])) axis = d;
    auto const rank = first->rank();
    auto const* earlier = cx.earlier ? static_cast<attributes_of<ops::concat> const*>(cx.earlier->typed()) : nullptr;
    if (!axis && earlier && choose.below(2) == 0) axis = normalized_axis(earlier->axis, rank);
    // In the box that of channels first, of which most laws speak.
    if (!axis) axis = choose.exhaustive() ? (1 + choose.below(rank)) % rank : choose.below(rank);
    for (std::size_t i = 0; i < cx.operands(); ++i) {
        if (cx.known(i)) continue;
        auto t = *first;
        t.dims[*axis] = dim{cx.size()};
        cx.set_type(i, t);
    }
    auto const signed_axis = static_cast<std::int64_t>(*axis);
    return {.axis = choose.below(2) ? signed_axis : signed_axis - static_cast<std::int64_t>(rank)};
}

GSUB_LAZY_BODY attributes_of<ops::split> sample<ops::split>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    cx.results = choose.exhaustive() ? 2 : choose.pick<std::size_t>({1, 2, 2, 3});
    if (!cx.known(0)) {
        auto t = cx.fresh(choose.exhaustive() ? choose.pick<std::size_t>({1, 2, 3})
                                              : choose.pick<std::size_t>({1, 2, 3, 4}));
        t.dims[choose.below(t.rank())] = dim{choose.exhaustive() ? 3 : choose.pick<std::int64_t>({3, 4, 5, 6})};
        cx.set_type(0, t);
    }
    auto const& x = cx.type(0);
    if (x.rank() == 0) cx.give_up();
    auto const axis = choose.below(x.rank());
    auto left = x.dims[axis].size();
    attributes_of<ops::split> a;
    a.axis = choose.below(2) ? static_cast<std::int64_t>(axis)
                             : static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(x.rank());
    for (std::size_t i = 0; i < cx.results; ++i) {
        auto const parts_left = static_cast<std::int64_t>(cx.results - i);
        if (left < parts_left) cx.give_up();
        auto const part =
            parts_left == 1
                ? left
                : 1 + static_cast<std::int64_t>(choose.below(static_cast<std::size_t>(left - parts_left + 1)));
        a.sizes.push_back(part);
        left -= part;
    }
    return a;
}

GSUB_LAZY_BODY no_attributes sample<ops::mat_mul>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    auto const rank = [&] {
        return choose.exhaustive() ? choose.pick<std::size_t>({2, 3, 1}) : choose.pick<std::size_t>({2, 2, 3, 1, 4});
    };
    if (!cx.known(0) && !cx.known(1)) cx.set_type(0, cx.fresh(rank()));
    for (std::size_t i = 0; i < 2; ++i) {
        if (cx.known(i)) continue;
        auto const& other = cx.type(1 - i);
        if (other.rank() == 0) cx.give_up();
        // x [.., m, k] and w [.., k, n]: the inner size comes from the other side, batch sizes too or are left out or
        // one.
        auto const inner = other.rank() == 1 ? other.dims[0] : other.dims[other.rank() - (i == 1 ? 1 : 2)];
        tensor_type t{dtype::f32, shape{}};
        auto const r = rank();
        if (r > 2 && other.rank() > 2) {
            for (std::size_t d = 0; d + 2 < other.rank(); ++d)
                t.dims.push_back(choose.below(3) == 2 ? dim{1} : other.dims[d]);
        } else if (r > 2) {
            t.dims.push_back(dim{cx.size()});
        }
        if (r == 1)
            t.dims.push_back(inner);
        else if (i == 1)
            t.dims.push_back(inner), t.dims.push_back(dim{cx.size()});
        else
            t.dims.push_back(dim{cx.size()}), t.dims.push_back(inner);
        cx.set_type(i, t);
    }
    return {};
}

GSUB_LAZY_BODY attributes_of<ops::gemm> sample<ops::gemm>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    auto const* earlier = cx.earlier ? static_cast<attributes_of<ops::gemm> const*>(cx.earlier->typed()) : nullptr;
    attributes_of<ops::gemm> a;
    if (earlier && choose.below(2) == 0) {
        a = *earlier;
    } else {
        a.alpha = choose.pick({1.0, 0.5});
        a.beta = choose.pick({1.0, 2.0});
        a.transpose_a = choose.below(2) == 1;
        a.transpose_b = choose.below(2) == 1;
    }
    if (!cx.known(0) && !cx.known(1)) cx.set_type(0, cx.fresh(2));
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.known(i) && cx.type(i).rank() != 2) cx.give_up();
    if (!cx.known(1)) {
        auto const inner = cx.type(0).dims[a.transpose_a ? 0 : 1];
        cx.set_type(1, {dtype::f32, a.transpose_b ? shape{dim{cx.size()}, inner} : shape{inner, dim{cx.size()}}});
    }
    if (!cx.known(0)) {
        auto const inner = cx.type(1).dims[a.transpose_b ? 1 : 0];
        cx.set_type(0, {dtype::f32, a.transpose_a ? shape{inner, dim{cx.size()}} : shape{dim{cx.size()}, inner}});
    }
    if (!cx.absent(2) && !cx.known(2)) {
        auto const rows = cx.type(0).dims[a.transpose_a ? 1 : 0], columns = cx.type(1).dims[a.transpose_b ? 0 : 1];
        switch (choose.below(4)) {
        case 0:
            cx.set_type(2, {dtype::f32, shape{columns}});
            break;
        case 1:
            cx.set_type(2, {dtype::f32, shape{rows, columns}});
            break;
        case 2:
            cx.set_type(2, {dtype::f32, shape{dim{1}}});
            break;
        default:
            cx.set_type(2, {dtype::f32, shape{rows, dim{1}}});
            break;
        }
    }
    return a;
}

GSUB_LAZY_BODY attributes_of<ops::transpose> sample<ops::transpose>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    if (!cx.known(0))
        cx.set_type(0, cx.fresh(choose.exhaustive() ? choose.pick<std::size_t>({2, 3})
                                                    : choose.pick<std::size_t>({1, 2, 2, 3, 4})));
    ints left(cx.type(0).rank());
    std::iota(left.begin(), left.end(), 0);
    attributes_of<ops::transpose> a;
    while (!left.empty()) {
        auto const i = choose.below(left.size());
        a.perm.push_back(left[i]);
        left.erase(i);
    }
    return a;
}

GSUB_LAZY_BODY attributes_of<ops::reshape> sample<ops::reshape>::draw(sample_context& cx) {
    if (!cx.known(0)) cx.set_type(0, cx.fresh(cx.choose().pick<std::size_t>({1, 2, 3})));
    auto const sizes = cx.type(0).sizes();
    switch (cx.choose().below(4)) {
    case 0:
        return {.shape = {-1}};
    case 1:
        return {.shape = {product(sizes), 1}};
    case 2:
        return {.shape = {0, -1}};
    default:
        return {.shape = sizes};
    }
}

} // namespace gsub
