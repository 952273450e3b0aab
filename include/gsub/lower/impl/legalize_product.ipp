// Legalization of contractions: in f32 where elements are halves, of operands without what no kernel takes, and of two
// operands at a time.
#pragma once

#include <gsub/lower/impl/fuse_einsum.ipp>
#include <gsub/lower/impl/legal_writer.hpp>
#include <gsub/lower/impl/row_filters.hpp>

#include <algorithm>
#include <vector>

namespace gsub::detail {

// A contraction of halves in f32, rounded once.
template <operation Op>
[[nodiscard]] legal_values in_f32(legal_writer& w) {
    small_vector<value_id, 4> operands;
    for (std::size_t i = 0; w.has(i) || w.has(i + 1); ++i)
        operands.push_back(w.has(i) ? w.widened(w.operand(i)) : value_id{});
    auto const y = w.make_again<Op>(std::span<value_id const>{operands.data(), operands.size()});
    return {w.cast(y, w.result_type().element)};
}

GSUB_LAZY_BODY legal_values legalize_mat_mul(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.operand(0), y = w.operand(1);
    if (is_half(w.element(x))) return in_f32<ops::mat_mul>(w);
    auto const left = w.sizes(x), right = w.sizes(y);
    if (w.element(x) == dtype::f32 || (left.size() > 1 && right.size() > 1)) return {};
    auto const a = left.size() > 1 ? x : w.reshaped(x, {1, left[0]}),
               b = right.size() > 1 ? y : w.reshaped(y, {right[0], 1});
    return {w.reshaped(w.make<ops::mat_mul>(a, b), w.result_type().sizes())};
}

GSUB_LAZY_BODY legal_values legalize_gemm(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const type = w.result_type().element;
    if (is_half(type)) return in_f32<ops::gemm>(w);
    auto const& a = w.attributes<ops::gemm>();
    if (type == dtype::f32 || (is_integer(type) && (a.alpha != 1 || a.beta != 1))) return {};
    auto const turned = [&](std::size_t i, bool turn) {
        return turn ? w.transposed(w.operand(i), {1, 0}) : w.operand(i);
    };
    auto const times = [&](value_id v, double factor) { return factor == 1 ? v : w.mul(v, w.number(factor, v)); };
    auto const y = times(w.make<ops::mat_mul>(turned(0, a.transpose_a), turned(1, a.transpose_b)), a.alpha);
    return {w.has(2) ? w.add(y, times(w.operand(2), a.beta)) : y};
}

// Row filters whose windows move on by several pixels, as filters of images with that many rows: in a row there is
// every such pixel, so that what lanes read lies side by side.
GSUB_LAZY [[nodiscard]] value_id filtered_by_steps(legal_writer& w, attributes_of<ops::conv> const& a) {
    auto const weights = w.operand(1);
    auto const sizes = w.sizes(w.operand(0));
    auto const step = a.strides.back(), taps = w.sizes(weights).back(), channels = sizes[1];
    auto const before = a.pads[sizes.size() - 3], after = a.pads.back();
    auto x = w.reshaped(w.operand(0), {sizes[0], channels, sizes.back()});
    if (before != 0 || after != 0) x = w.make<ops::pad>({.pads = {0, 0, before, 0, 0, after}}, {x});
    auto const whole = w.sizes(x)[2] / step; // no window reaches beyond
    x = w.reshaped(w.sliced(x, 2, 0, whole * step), {sizes[0], channels, whole, step});
    attributes_of<ops::conv> plain;
    plain.strides = plain.dilations = {1, 1}, plain.pads = {0, 0, 0, 0}, plain.group = a.group;
    auto const filters = w.transposed(w.reshaped(weights, {channels, 1, taps / step, step}), {0, 1, 3, 2});
    return w.reshaped(w.make<ops::conv>(plain, {w.transposed(x, {0, 1, 3, 2}), filters}), w.result_type().sizes());
}

// A convolution that is products, or whose bias is computed, has what follows it apart.
GSUB_LAZY_BODY legal_values legalize_conv(any_graph& g, node_id n) {
    legal_writer w{g, n};
    if (is_half(w.result_type().element)) return in_f32<ops::conv>(w);
    auto const known = [&](std::size_t i) { return !w.has(i) || g.constant(w.operand(i)); };
    auto const rank = w.result_type().rank();
    auto a = w.attributes<ops::conv>();
    auto const filters = filters_rows(g, n), by_steps = filters && a.strides.back() > 1;
    auto const by_products =
        filters || !known(1) || !known(2) || rank > 5; // kernels of convolutions have three directions
    if (rank < 3 || !by_products || (!w.has(2) && a.act == activation::none && !by_steps)) return {};
    auto const act = std::exchange(a.act, activation::none);
    auto y = by_steps ? filtered_by_steps(w, a) : w.make<ops::conv>(a, {w.operand(0), w.operand(1)});
    if (w.has(2)) y = w.add(y, w.along_axis(w.reshaped(w.operand(2), {w.elements(w.operand(2)), 1}), 1, rank));
    switch (act) {
    case activation::none:
        break;
    case activation::relu:
        y = w.make<ops::relu>(y);
        break;
    case activation::clip:
        y = w.make<ops::clip>({.min = a.act_min, .max = a.act_max}, {y});
        break;
    case activation::sigmoid:
        y = w.make<ops::sigmoid>(y);
        break;
    case activation::tanh:
        y = w.make<ops::tanh>(y);
        break;
    }
    return {y};
}

// ---- einsum

// Operand of a contraction under way: each dimension has a label of its own.
struct labelled_value {
    value_id v{};
    einsum_terms::labels labels{};
    [[nodiscard]] bool has(std::int32_t l) const { return std::find(labels.begin(), labels.end(), l) != labels.end(); }
};

// Brings einsums to products of matrices: first each operand to labels that stand once and that others read, then two
// operands to one, and at last the result's order.
template <class = void>
class einsum_legalizer {
public:
    einsum_legalizer(any_graph& g, node_id n) : w_(g, n), result_(w_.result_type()) {
        std::vector<std::size_t> ranks;
        for (std::size_t i = 0; w_.has(i); ++i) ranks.push_back(w_.sizes(w_.operand(i)).size());
        terms_ = read_einsum(w_.template attributes<ops::einsum>().equation, ranks);
        sizes_.resize(static_cast<std::size_t>(terms_.count), 1);
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            auto const dims = w_.sizes(w_.operand(i));
            for (std::size_t d = 0; d < dims.size(); ++d)
                if (dims[d] != 1) sizes_[label(terms_.operands[i][d])] = dims[d];
        }
        for (auto const l : terms_.result)
            if (sizes_[label(l)] != 1) out_.push_back(l);
    }

    legal_values run() {
        if (terms_.count > 52) return {};
        for (std::size_t i = 0; i < terms_.operands.size(); ++i) rest_.push_back(first_form(i));
        for (auto& o : rest_) o = summed(o);
        while (rest_.size() > 1) {
            auto const a = rest_[0], b = rest_[1];
            rest_.erase(rest_.begin(), rest_.begin() + 2);
            rest_.insert(rest_.begin(), product_of(a, b));
        }
        return {w_.cast(w_.reshaped(ordered(rest_[0], out_), result_.sizes()), result_.element)};
    }

private:
    using labels = einsum_terms::labels;
    static std::size_t label(std::int32_t l) { return static_cast<std::size_t>(l); }
    static bool contains(labels const& all, std::int32_t l) {
        return std::find(all.begin(), all.end(), l) != all.end();
    }

    // Without dimensions of one element, and the diagonal of those that share a label.
    labelled_value first_form(std::size_t i) {
        labelled_value o{w_.widened(w_.operand(i)), {}};
        ints kept;
        auto const dims = w_.sizes(o.v);
        for (std::size_t d = 0; d < dims.size(); ++d)
            if (dims[d] != 1) kept.push_back(dims[d]), o.labels.push_back(terms_.operands[i][d]);
        o.v = w_.reshaped(o.v, kept);
        for (std::size_t d = 0; d < o.labels.size(); ++d)
            for (auto e = o.labels.size(); e-- > d + 1;)
                if (o.labels[e] == o.labels[d]) o = diagonal(o, d, e);
        return o;
    }
    labelled_value diagonal(labelled_value const& o, std::size_t d, std::size_t e) {
        labelled_value out;
        ints perm, sizes;
        for (std::size_t k = 0; k < o.labels.size(); ++k)
            if (k != d && k != e) {
                perm.push_back(static_cast<std::int64_t>(k));
                sizes.push_back(sizes_[label(o.labels[k])]);
                out.labels.push_back(o.labels[k]);
            }
        perm.push_back(static_cast<std::int64_t>(d)), perm.push_back(static_cast<std::int64_t>(e));
        auto const n = sizes_[label(o.labels[d])];
        sizes.push_back(n * n);
        auto const square = w_.reshaped(w_.transposed(o.v, perm), sizes);
        out.v = w_.sliced(square, sizes.size() - 1, 0, n * n, n + 1);
        out.labels.push_back(o.labels[d]);
        // At its place again, so that what is left is found in order.
        labels order;
        for (std::size_t k = 0; k < o.labels.size(); ++k)
            if (k != e) order.push_back(o.labels[k]);
        return {ordered(out, order), order};
    }
    // Summed over labels that only this operand has.
    labelled_value summed(labelled_value const& o) {
        ints axes;
        labels left;
        for (std::size_t d = 0; d < o.labels.size(); ++d) {
            auto const l = o.labels[d];
            auto const holders =
                std::count_if(rest_.begin(), rest_.end(), [&](auto const& other) { return other.has(l); });
            if (holders > 1 || contains(out_, l))
                left.push_back(l);
            else
                axes.push_back(static_cast<std::int64_t>(d));
        }
        if (axes.empty()) return o;
        return {w_.template make<ops::reduce_sum>({.axes = axes, .keepdims = false}, {o.v}), left};
    }
    value_id ordered(labelled_value const& o, labels const& order) {
        ints perm;
        for (auto const l : order) perm.push_back(std::find(o.labels.begin(), o.labels.end(), l) - o.labels.begin());
        return w_.transposed(o.v, std::move(perm));
    }
    [[nodiscard]] ints sizes_of(labels const& all) const {
        ints out;
        for (auto const l : all) out.push_back(sizes_[label(l)]);
        return out;
    }

    // The product of two operands, summed over labels that nothing reads any more.
    labelled_value product_of(labelled_value const& a, labelled_value const& b) {
        labels batch, rows, columns, inner;
        auto const wanted = [&](std::int32_t l) {
            return contains(out_, l) ||
                   std::any_of(rest_.begin(), rest_.end(), [&](auto const& o) { return o.has(l); });
        };
        for (auto const l : a.labels) (!b.has(l) ? rows : wanted(l) ? batch : inner).push_back(l);
        for (auto const l : b.labels)
            if (!a.has(l)) columns.push_back(l);
        auto const matrix = [&](labelled_value const& o, labels const& first, labels const& second) {
            labels order = batch;
            for (auto const l : first) order.push_back(l);
            for (auto const l : second) order.push_back(l);
            auto dims = sizes_of(batch);
            dims.push_back(product(std::span<std::int64_t const>{sizes_of(first)}));
            dims.push_back(product(std::span<std::int64_t const>{sizes_of(second)}));
            return w_.reshaped(ordered(o, order), dims);
        };
        auto const y = w_.template make<ops::mat_mul>(matrix(a, rows, inner), matrix(b, inner, columns));
        labels all = batch;
        for (auto const l : rows) all.push_back(l);
        for (auto const l : columns) all.push_back(l);
        return {w_.reshaped(y, sizes_of(all)), all};
    }

    legal_writer w_;
    tensor_type result_;
    einsum_terms terms_;
    ints sizes_; // of labels
    labels out_; // of the result, where it has several elements
    std::vector<labelled_value> rest_;
};

GSUB_LAZY_BODY legal_values legalize_einsum(any_graph& g, node_id n) {
    if (*g.type({n, 0}).elements() == 0 || read_einsum_product(g, n)) return {};
    for (auto v : g.operands(n))
        if (*g.type(v).elements() == 0) return {};
    return einsum_legalizer<>{g, n}.run();
}

} // namespace gsub::detail
