#pragma once

#include <gsub/rewrite/verify/sample.hpp>

#include <algorithm>
#include <numeric>

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

// A divisor of both numbers: 1, mostly, or 2 or 3.
GSUB_INLINE std::int64_t draw_group(chooser& choose, std::int64_t channels) {
    auto const g = choose.exhaustive() ? choose.pick<std::int64_t>({1, 2}) : choose.pick<std::int64_t>({1, 1, 2, 3});
    return channels % g == 0 ? g : 1;
}

} // namespace detail

GSUB_LAZY_BODY attributes_of<ops::conv> sample<ops::conv>::draw(sample_context& cx) {
    auto& choose = cx.choose();
    auto const box = choose.exhaustive();
    auto const* earlier = cx.earlier ? static_cast<attributes_of<ops::conv> const*>(cx.earlier->typed()) : nullptr;
    auto const before = [&](std::size_t i) -> tensor_type const* {
        return earlier && i < cx.earlier_types.size() && cx.earlier_types[i] ? &*cx.earlier_types[i] : nullptr;
    };
    // One spatial dimension in the box: dimensions do not meet in any law, so one shows what two would.
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.known(i) && cx.type(i).rank() < 3) cx.give_up();
    std::size_t const spatial = cx.known(0)   ? cx.type(0).rank() - 2
                                : cx.known(1) ? cx.type(1).rank() - 2
                                : box         ? 1
                                              : choose.pick<std::size_t>({1, 2, 2, 3});
    // The input of an earlier convolution with one dimension changed, or another one.
    if (!cx.known(0) && before(0) && before(0)->rank() == spatial + 2 && choose.below(2) == 0) {
        auto t = *before(0);
        t.dims[choose.below(box ? t.rank() : 2)] = dim{cx.size()};
        cx.set_type(0, t);
    }
    if (!cx.known(0)) {
        shape dims{dim{box ? 1 : choose.pick<std::int64_t>({1, 2})},
                   dim{box ? choose.pick<std::int64_t>({1, 2}) : choose.pick<std::int64_t>({1, 2, 3, 4, 6})}};
        for (std::size_t i = 0; i < spatial; ++i)
            dims.push_back(
                dim{box ? choose.pick<std::int64_t>({2, 3}) : choose.pick<std::int64_t>({1, 2, 3, 4, 5, 6})});
        cx.set_type(0, {dtype::f32, dims});
    }
    auto const channels = cx.type(0).dims[1].size();
    attributes_of<ops::conv> a;
    // A second convolution agrees with the first but for one thing, or not at all: the ways in which siblings differ.
    auto const change = earlier && earlier->strides.size() == spatial ? choose.below(box ? 9 : 12) : 9;
    auto const keep = [&](std::size_t thing) { return change != thing && change != 9; };
    // Or its window has a tap more or less at each side, which keeps the places of the output.
    auto const resized = change == 8 && !cx.known(1) && before(1) && before(1)->rank() == spatial + 2;
    // At random, every other convolution keeps the size of its input: laws that add something to it need that.
    auto const same_size = !box && !earlier && choose.below(2) == 0;
    auto const channels_kept = !box && choose.below(3) == 0;
    // Every other weight has the size of an earlier one, its inputs apart.
    auto const same_weight =
        !box && !cx.known(1) && before(1) && before(1)->rank() == spatial + 2 && choose.below(3) == 0;
    ints kernel;
    for (std::size_t i = 0; i < spatial; ++i) {
        a.strides.push_back(keep(1) ? earlier->strides[i] : same_size ? 1 : choose.pick<std::int64_t>({1, 2}));
        a.dilations.push_back(keep(2) ? earlier->dilations[i] : choose.pick<std::int64_t>({1, 2}));
        kernel.push_back(cx.known(1)              ? cx.type(1).dims[i + 2].size()
                         : same_weight || resized ? before(1)->dims[i + 2].size()
                         : box                    ? choose.pick<std::int64_t>({1, 2})
                                                  : choose.pick<std::int64_t>({1, 1, 2, 3, 5}));
    }
    for (std::size_t i = 0; i < spatial; ++i)
        a.pads.push_back(keep(3)     ? earlier->pads[i]
                         : same_size ? static_cast<std::int64_t>(choose.below(
                                           static_cast<std::size_t>(window_extent(kernel[i], a.dilations[i]))))
                         : box       ? choose.pick<std::int64_t>({0, 1})
                                     : choose.pick<std::int64_t>({0, 0, 1, 2}));
    for (std::size_t i = 0; i < spatial; ++i)
        a.pads.push_back(keep(4)     ? earlier->pads[i + spatial]
                         : same_size ? window_extent(kernel[i], a.dilations[i]) - 1 - a.pads[i]
                         : box       ? choose.pick<std::int64_t>({0, 1})
                                     : choose.pick<std::int64_t>({0, 0, 1, 2}));
    for (std::size_t side = 0; resized && side < 2 * spatial; ++side) {
        auto const taps = choose.pick<std::int64_t>({0, 1, -1});
        a.pads[side] += taps * a.dilations[side % spatial];
        kernel[side % spatial] += taps;
        if (a.pads[side] < 0) cx.give_up();
    }
    if (any_of(kernel, [](std::int64_t taps) { return taps < 1; })) cx.give_up();
    a.act = keep(5) ? earlier->act : choose.pick({activation::none, activation::relu});
    a.group = keep(6) && channels % earlier->group == 0 ? earlier->group : detail::draw_group(choose, channels);
    if (cx.known(1)) { // a shared weight says how many groups there are
        auto const inputs = cx.type(1).dims[1].size();
        if (channels % inputs != 0) cx.give_up();
        a.group = channels / inputs;
    } else {
        auto const outputs = same_weight && before(1)->dims[0].size() % a.group == 0 ? before(1)->dims[0].size()
                             : channels_kept                                         ? channels
                                             : a.group * (box ? choose.pick<std::int64_t>({1, 2})
                                                              : choose.pick<std::int64_t>({1, 2, 3}));
        shape dims{dim{outputs}, dim{channels / a.group}};
        for (auto k : kernel) dims.push_back(dim{k});
        cx.set_type(1, {dtype::f32, dims});
    }
    if (!cx.absent(2) && !cx.known(2)) cx.set_type(2, {dtype::f32, shape{cx.type(1).dims[0]}});
    return a;
}

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

namespace detail {

/// Draws the nodes of one pattern.
template <class = void>
class instance_builder {
public:
    instance_builder(pattern_instance& out, std::span<sample_row const> table, rule_program const& rule,
                     chooser& choose)
        : out_(out), g_(out.graph), table_(table), rule_(rule), choose_(choose) {}

    void run() {
        std::vector<value_id> outputs;
        for (auto number : rule_.roots) {
            auto const& n = at(number);
            context_ = n.context;
            if (n.kind == pattern::node_kind::every_part) {
                auto const split = build(kid(n, 0), 0);
                for (std::uint32_t port = 0; port < g_.result_count(split.node); ++port) {
                    part_ = {split.node, port};
                    outputs.push_back(build(kid(n, 1), port));
                    out_.bindings.add_root(outputs.back());
                }
                continue;
            }
            auto const v = build(number, 0);
            for (std::uint32_t port = 0; port < g_.result_count(v.node); ++port) {
                outputs.push_back({v.node, port});
                if (!n.context) out_.bindings.add_root(outputs.back());
            }
        }
        g_.set_outputs(outputs);
    }

private:
    pattern::node const& at(std::uint16_t number) const { return rule_.match_nodes[number]; }
    std::uint16_t kid(pattern::node const& n, std::size_t i) const { return rule_.match_links[n.first_link + i]; }
    static bool is_variable(pattern::node const& n) {
        return n.kind == pattern::node_kind::variable || n.kind == pattern::node_kind::optional;
    }

    // Other terms between the two of a sum: each makes one of them a sum of the type of the whole.
    void add_terms(std::vector<value_id>& operands) {
        auto const count = choose_.exhaustive() ? choose_.below(2) : choose_.pick<std::size_t>({0, 0, 1, 2, 3});
        if (count == 0) return;
        auto const dims = broadcast(g_.type(operands[0]).dims, g_.type(operands[1]).dims);
        if (!dims) throw give_up{};
        auto whole = g_.type(operands[0]);
        whole.dims = *dims;
        for (std::size_t i = 0; i < count; ++i) {
            auto& term = operands[choose_.exhaustive() ? 0 : choose_.below(2)];
            auto type = whole;
            if (!choose_.exhaustive() && g_.type(term) == whole && type.rank() > 0 && choose_.below(2) == 1)
                type.dims[choose_.below(type.rank())] = dim{1};
            auto const other = g_.add_input(type, "other");
            term = g_.add<ops::add>(term, other);
            out_.bindings.cover(term.node);
            out_.bindings.add_addend(other);
        }
    }

    // An operand of an application: a number of the pattern, and which operand of an `each` it is.
    struct slot {
        std::uint16_t number;
        std::uint32_t index;
        std::optional<value_id> fixed; // instead of a number
    };

    value_id build(std::uint16_t number, std::uint32_t index) {
        auto const& n = at(number);
        if (n.kind == pattern::node_kind::part) return part_;
        std::vector<slot> slots;
        for (std::size_t i = 0; i < n.links; ++i) {
            auto const& child = at(kid(n, i));
            if (child.kind == pattern::node_kind::each) {
                auto const count = each_count();
                for (std::uint32_t k = 0; k < count; ++k) slots.push_back({kid(child, 0), k, std::nullopt});
            } else if (child.kind == pattern::node_kind::all_parts) {
                auto const split = build(kid(child, 0), index);
                std::vector<std::uint32_t> left(g_.result_count(split.node));
                std::iota(left.begin(), left.end(), 0u);
                while (!left.empty()) {
                    auto const which = static_cast<std::ptrdiff_t>(choose_.below(left.size()));
                    slots.push_back({0, 0, value_id{split.node, left[static_cast<std::size_t>(which)]}});
                    left.erase(left.begin() + which);
                }
            } else {
                slots.push_back({kid(n, i), index, std::nullopt});
            }
        }
        // Operators first: variables take their types from what stands beside them.
        sample_context cx{choose_, slots.size()};
        std::vector<value_id> operands(slots.size());
        for (std::size_t i = 0; i < slots.size(); ++i) {
            auto const& s = slots[i];
            if (s.fixed)
                operands[i] = *s.fixed;
            else if (at(s.number).kind == pattern::node_kind::some)
                operands[i] = one_of(out_.bindings.values(at(s.number).name));
            else if (!is_variable(at(s.number)))
                operands[i] = build(s.number, s.index);
            else
                operands[i] = out_.bindings.value(at(s.number).name, s.index);
            if (operands[i].valid())
                cx.set_type(i, g_.type(operands[i]));
            else if (at(s.number).kind == pattern::node_kind::optional && choose_.below(2) == 1)
                cx.set_absent(i);
            if (!operands[i].valid() && !s.fixed && s.index > 0)
                if (auto const before = out_.bindings.value(at(s.number).name, 0); before.valid()) {
                    cx.like = g_.type(before);
                    // Parts may share a value: weights do.
                    if (!cx.absent(i) && choose_.below(choose_.exhaustive() ? 2 : 3) == 1) {
                        operands[i] = before;
                        out_.bindings.bind(at(s.number).name, before, s.index);
                        cx.set_type(i, *cx.like);
                    }
                }
        }
        auto const row = choose_operator(n, slots.size(), index);
        auto const same_kind = drawn_.find(g_.operators().ops[row].id);
        if (same_kind != drawn_.end())
            cx.earlier = &same_kind->second.attributes, cx.earlier_types = same_kind->second.types;
        auto const attributes = table_[row].draw(cx);
        drawn_[g_.operators().ops[row].id] = {attributes, {cx.types().begin(), cx.types().end()}};
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (operands[i].valid() || cx.absent(i)) continue;
            // A variable that the term has twice is one value.
            operands[i] = out_.bindings.value(at(slots[i].number).name, slots[i].index);
            if (operands[i].valid()) {
                if (!(g_.type(operands[i]) == cx.type(i))) throw give_up{};
                continue;
            }
            operands[i] = g_.add_input(cx.type(i), at(slots[i].number).text);
            out_.bindings.bind(at(slots[i].number).name, operands[i], slots[i].index);
        }
        while (!operands.empty() && !operands.back().valid()) operands.pop_back();
        if (n.apart) add_terms(operands);
        auto const results = g_.operators().ops[row].results == variadic ? cx.results : 1;
        auto const made = g_.emit(row, attributes, operands, results); // throws where it is ill-typed
        if (n.name) out_.bindings.bind(n.name, {made.node, 0}, index);
        if (!context_) out_.bindings.cover(made.node);
        return made;
    }

    value_id one_of(small_vector<value_id, 6> const& values) {
        if (values.empty()) throw give_up{};
        return values[choose_.below(values.size())];
    }
    std::uint32_t each_count() {
        if (!each_count_)
            each_count_ =
                choose_.exhaustive() ? choose_.pick<std::uint32_t>({2, 1}) : choose_.pick<std::uint32_t>({1, 2, 2, 3});
        return *each_count_;
    }

    // An operator for a node of the pattern: its own, or one of its category; the same one for a label drawn before,
    // mostly.
    std::uint16_t choose_operator(pattern::node const& n, std::size_t operands, std::uint32_t index) {
        auto const table = g_.operators().ops;
        if (n.kind == pattern::node_kind::operation) {
            auto const row = find_row(table, n.op);
            if (!row) throw give_up{};
            return *row;
        }
        if (index > 0)
            if (auto const before = out_.bindings.value(n.name, 0); before.valid() && choose_.below(3) != 2)
                return g_.row(before.node);
        small_vector<std::uint16_t, 16> candidates;
        for (std::uint16_t row = structural_rows; row < table.size(); ++row)
            if (table[row].is_plain(n.category, operands) && table[row].max_inputs != variadic)
                candidates.push_back(row);
        if (candidates.empty()) throw give_up{};
        // The box takes a few: what the law needs of an operator is its category.
        return candidates[choose_.below(choose_.exhaustive() ? std::min<std::size_t>(candidates.size(), 3)
                                                             : candidates.size())];
    }

    pattern_instance& out_;
    any_graph& g_;
    std::span<sample_row const> table_;
    rule_program const& rule_;
    chooser& choose_;
    struct application {
        attributes_id attributes;
        std::vector<std::optional<tensor_type>> types; // of the operands
    };
    std::map<op_id, application> drawn_;
    std::optional<std::uint32_t> each_count_;
    value_id part_;
    bool context_ = false;
};

} // namespace detail

GSUB_LAZY_BODY std::unique_ptr<pattern_instance> draw_instance(dialect const& d, std::span<sample_row const> table,
                                                               rule_program const& rule, chooser& choose) {
    auto out = std::make_unique<pattern_instance>(d, rule);
    try {
        detail::instance_builder<>{*out, table, rule, choose}.run();
    } catch (detail::give_up const&) { return nullptr; } catch (error const&) {
        return nullptr;
    }
    return out;
}

} // namespace gsub
