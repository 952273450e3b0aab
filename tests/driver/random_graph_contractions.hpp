// Sums of many elements in random graphs: reductions, normalisations, products, convolutions.
#pragma once

#include "random_graph.hpp"

namespace random_program {

inline void generator::reduce() {
    auto x = arithmetic();
    reduce_attributes a;
    double count = 1;
    for (std::size_t i = 0; i < rank(x); ++i)
        if (chance(2))
            a.axes.push_back(static_cast<std::int64_t>(i) - (chance(2) ? static_cast<std::int64_t>(rank(x)) : 0)),
                count *= static_cast<double>(dims(x)[i]);
    if (a.axes.empty()) count = static_cast<double>(elements(x));
    a.keepdims = chance(2);
    auto const t = type(x);
    auto const which = r.below(3);
    if (which < 2) x = tame(x);
    auto const k = of(x);
    auto const nothing = k.specials || count == 0;
    // Sums of halves are sums of f32, rounded in the end.
    auto const inner = is_half(t) ? 0x1p-24 : unit(t);
    auto const sum = [&](double times) {
        bound y{k.size * count * times, k.error * count * times, k.fraction, nothing};
        auto const alike =
            k.error == 0 && (!is_floating(t) || holds(is_half(t) ? dtype::f32 : t, k.size * count, k.fraction));
        if (!alike) y.error += inner * count * k.size * count * times, y.fraction = -1;
        auto const exact = y.error == 0 && is_half(t) && times == 1;
        y = rounded(t, y);
        if (exact) y.error = 0;
        return y;
    };
    switch (which) {
    case 0:
        if (t == dtype::f16 && k.size * count > 30000) return;
        return void(keep(b.add<ops::reduce_sum>(a, {x}), sum(1)));
    case 1: {
        auto y = is_floating(t) ? sum(1 / std::max(count, 1.0)) : bound{greatest(t), 0, 0, false};
        if (is_floating(t)) y = rounded(t, {y.size, y.error + inner * y.size, -1, y.specials});
        return void(keep(b.add<ops::reduce_mean>(a, {x}), y));
    }
    default: {
        auto y = k;
        y.specials = nothing;
        if (!is_floating(t) && count == 0) y.size = greatest(t);
        return void(keep(b.add<ops::reduce_max>(a, {x}), y));
    }
    }
}

inline void generator::normal() {
    auto x = floating();
    if (rank(x) == 0) return;
    auto const t = type(x);
    auto const last = static_cast<std::int64_t>(rank(x)) - 1;
    auto const axis = below(last + 1);
    auto const way = r.below(5);
    double count = 1;
    for (auto d : dims(x)) count *= static_cast<double>(std::max<std::int64_t>(d, 1));
    auto const far = is_half(t) ? 8 : 8 + 4 * count; // roundings of halves count once, behind sums
    if (way < 2) {
        x = tame(x, 4);
        auto const k = bound{1, 2 * of(x).error, -1, of(x).specials};
        auto const flatten = chance(4);
        if (chance(4))
            return void(keep(b.add<ops::fast_softmax>({.axis = axis, .flatten = flatten}, {x}),
                             rounded(t, approximated(k, 2e-5), far + 32)));
        auto const from = axis - (chance(2) && !flatten ? last + 1 : 0);
        return void(keep(b.add<ops::softmax>({.axis = from, .flatten = flatten}, {x}), rounded(t, k, far + 32)));
    }
    x = tame(x, 1);
    auto const k = of(x);
    auto const d = dims(x);
    if (way == 2) {
        ints inner(std::span<std::int64_t const>{d}.subspan(static_cast<std::size_t>(axis)));
        auto const scale = weights(t, chance(2) ? inner : ints{d.back()}, 1);
        auto const y = mapped(t, k, 5, 24, far + 40);
        return void(keep(chance(2) ? b.add<ops::layer_norm>({.axis = axis, .epsilon = 0.5}, {x, scale})
                                   : b.add<ops::layer_norm>({.axis = axis - last - 1, .epsilon = 0.5},
                                                            {x, scale, weights(t, {d.back()}, 1)}),
                         y));
    }
    if (way == 3 && last > 0)
        return void(
            keep(b.add<ops::lrn>({.size = pick(1, 5), .alpha = 0.25, .beta = chance(2) ? 0.5 : 0.75, .bias = 2}, {x}),
                 mapped(t, k, k.size, 2, is_half(t) ? 4 : 30)));
    if (last < 1) return;
    // A normalisation of f32, by constants or by the statistics of the batch.
    auto const image = chance(6) ? x : clipped(f32_of_rank(2 + r.below(3)), 1);
    auto const e = type(image);
    auto const c = dims(image)[1];
    auto const times = is_half(e) ? 16.0 : 16.0 + 4 * static_cast<double>(elements(image));
    if (chance(6))
        return void(
            keep(b.add<ops::batch_norm_training>({.epsilon = 0.5}, {image, weights(e, {c}, 1), weights(e, {c}, 1),
                                                                    weights(e, {c}, 1), weights(e, {c}, 1, 0)}),
                 mapped(e, {of(image).size, of(image).error, -1, true}, 5, 24, times)));
    keep(b.add<ops::batch_norm>({.epsilon = 0.5}, {image, weights(e, {c}, 1), weights(e, {c}, 1), weights(e, {c}, 1),
                                                   weights(e, {c}, 2, 0)}),
         mapped(e, of(image), 4, 1.5, 16));
}

inline void generator::multiply() {
    auto const t = chance(12) ? any_number_type() : dtype::f32;
    auto x = such([&](v y) { return type(y) == t && rank(y) > 0; }, t, 1 + r.below(4));
    if (chance(3) && t == dtype::f32) x = f32_of_rank(2 + r.below(3));
    if (rank(x) == 0) return;
    x = tame(x);
    if (is_half(t) && of(x).error > 0) return;
    auto d = dims(x);
    auto const product_of = [&](v p, v q, double k) {
        auto const &m = of(p), &n = of(q);
        bound y{m.size * n.size * k, k * (m.error * n.size + n.error * m.size + m.error * n.error),
                m.fraction < 0 || n.fraction < 0 ? -1 : m.fraction + n.fraction, m.specials || n.specials};
        if (!is_floating(t)) y.size = greatest(t);
        return rounded(t, y, k + 4);
    };
    if (rank(x) == 2 && chance(2)) {
        attributes_of<ops::gemm> a;
        a.transpose_a = chance(2), a.transpose_b = chance(2);
        a.alpha = chance(2) ? 1 : 0.5, a.beta = chance(2) ? 1 : 2;
        auto const m = d[a.transpose_a ? 1 : 0], k = d[a.transpose_a ? 0 : 1],
                   n = chance(3) ? pick(17, 40) : pick(1, 9);
        ints const other = a.transpose_b ? ints{n, k} : ints{k, n};
        auto const w = !is_floating(t) || chance(3) ? tame(fresh(t, other)) : weights(t, other, 1);
        auto y = product_of(x, w, static_cast<double>(k));
        y.size = y.size * a.alpha, y.error = y.error * a.alpha + unit(t) * y.size, y.fraction = -1;
        if (!is_floating(t)) y = {greatest(t), 0, 0, false}, a.alpha = a.beta = 1;
        if (chance(2)) return void(tame(keep(b.add<ops::gemm>(a, {x, w}), y)));
        ints const rows[] = {{n}, {1, n}, {m, n}, {m, 1}, {}, {1}};
        auto const c = tame(fresh(t, rows[chance(3) ? r.below(6) : 0]));
        y = rounded(t, {y.size + 2 * of(c).size, y.error + 2 * of(c).error, -1, y.specials || of(c).specials}, 3);
        return void(tame(keep(b.add<ops::gemm>(a, {x, w, c}), y)));
    }
    // A product with a constant, with something else, with itself transposed.
    auto const k = d.back();
    v other{};
    if (chance(4) && rank(x) > 1) {
        ints perm;
        for (std::size_t i = 0; i < rank(x); ++i) perm.push_back(static_cast<std::int64_t>(i));
        std::swap(perm[rank(x) - 1], perm[rank(x) - 2]);
        other = keep(b.add<ops::transpose>({.perm = perm}, {x}), of(x));
    } else {
        ints to;
        if (chance(3) && rank(x) > 2) to = ints(std::span<std::int64_t const>{d}.first(rank(x) - 2));
        for (auto& n : to)
            if (chance(3)) n = 1;
        to.push_back(k);
        if (to.size() > 1 || !chance(4)) to.push_back(chance(3) ? pick(17, 40) : pick(1, 9));
        if (product(to) > 4000) return;
        other = !is_floating(t) || chance(3) ? tame(fresh(t, to)) : weights(t, to, 1);
    }
    tame(keep(b.add<ops::mat_mul>(x, other), product_of(x, other, static_cast<double>(k))));
}

inline window_attributes generator::window(std::span<std::int64_t const> pixels, ints& kernel) {
    window_attributes w;
    ints ends;
    for (auto size : pixels) {
        auto k = chance(3) ? 1 : chance(6) ? pick(4, 7) : pick(2, 3);
        auto const dilation = chance(4) ? 2 : 1;
        auto const before = pick(0, (k - 1) * dilation / 2 + (chance(4) ? 1 : 0)),
                   after = pick(0, (k - 1) * dilation / 2);
        while (window_extent(k, dilation) > size + before + after) --k;
        kernel.push_back(k);
        w.dilations.push_back(dilation), w.strides.push_back(chance(2) ? 1 : pick(1, 3));
        w.pads.push_back(before), ends.push_back(after);
    }
    w.pads.append(ends);
    return w;
}

inline void generator::convolve() {
    v x{};
    auto const spatial = chance(4) ? 1u : 2u;
    if (chance(3)) { // an image of many channels
        ints d{chance(4) ? 2 : 1, chance(2) ? 8 * pick(1, 6) : pick(1, 40), pick(1, 14)};
        if (spatial == 2) d.push_back(pick(1, 14));
        auto [data, k] = numbers(dtype::f32, d);
        x = input(std::move(data), k);
    } else {
        x = f32_of_rank(2 + spatial);
    }
    if (chance(20))
        x = cast(
            tame(such([&](v y) { return rank(y) == 4 && elements(y) > 0 && is_floating(type(y)); }, dtype::f64, 4)),
            dtype::f64);
    auto const t = type(x);
    if (elements(x) == 0 || rank(x) < 3) return;
    auto const d = dims(x);
    attributes_of<ops::conv> a;
    ints kernel;
    static_cast<window_attributes&>(a) = window(std::span<std::int64_t const>{d}.subspan(2), kernel);
    ints groups{1, 1};
    for (std::int64_t n = 2; n <= d[1]; ++n)
        if (d[1] % n == 0) groups.push_back(n);
    a.group = chance(3) ? d[1] : groups[r.below(groups.size())];
    auto const filters = a.group * (a.group > 8 ? pick(1, 2) : chance(3) ? pick(9, 24) : pick(1, 6));
    ints w{filters, d[1] / a.group};
    w.append(kernel);
    if (product(w) > 8000) return;
    auto const taps = static_cast<double>(product(w) / filters);
    char const acts = static_cast<char>(r.below(10));
    a.act = acts < 5 ? static_cast<activation>(acts) : activation::none;
    if (a.act == activation::clip) a.act_min = -1, a.act_max = 1.5;
    auto const computed = chance(6);
    auto const filter = computed ? clipped(fresh(t, w), 1) : weights(t, w, 2 / taps);
    auto const sum = computed ? taps : 2.0; // of the weights of a filter
    auto const k = of(x);
    auto const y = rounded(t, {k.size * sum + 1, k.error * sum, -1, k.specials || of(filter).specials}, 4 * taps + 32);
    auto const biased = chance(2);
    auto z =
        keep(biased ? b.add<ops::conv>(a, {x, filter, weights(t, {filters}, 1)}) : b.add<ops::conv>(a, {x, filter}), y);
    // Arithmetic behind it, that a kernel may take over.
    for (auto more = below(4); more > 0; --more) {
        auto const q = of(z);
        auto line = ints(rank(z), 1);
        line[1] = filters;
        switch (r.below(8)) {
        case 0:
            z = keep(b.add<ops::relu>(z), q);
            break;
        case 1:
            z = keep(b.add<ops::mul>(z, weights(t, line, 1)), rounded(t, {q.size, q.error, -1, q.specials}));
            break;
        case 2:
            z = keep(b.add<ops::add>(z, weights(t, chance(2) ? line : ints{}, 1)),
                     rounded(t, {q.size + 1, q.error, -1, q.specials}));
            break;
        case 3: {
            auto const residual = tame(chance(3) ? fresh(t, dims(z)) : partner(z));
            auto const both = broadcast(g.type(z).dims, g.type(residual).dims);
            if (!both || *both != g.type(z).dims) break;
            auto const& p = of(residual);
            z = keep(chance(2) ? b.add<ops::add>(z, residual) : b.add<ops::sub>(residual, z),
                     rounded(t, {q.size + p.size, q.error + p.error, -1, q.specials || p.specials}));
            break;
        }
        case 4:
            z = keep(b.add<ops::batch_norm>({.epsilon = 0.5}, {z, weights(t, {filters}, 1), weights(t, {filters}, 1),
                                                               weights(t, {filters}, 1), weights(t, {filters}, 2, 0)}),
                     mapped(t, q, 1.5 * q.size + 3, 1.5, 16));
            break;
        case 5: {
            z = tame(z);
            auto const gate = keep(b.add<ops::sigmoid>(z), mapped(t, of(z), 1, 0.25));
            z = keep(b.add<ops::mul>(z, gate),
                     rounded(t, {of(z).size, of(z).error * 1.3 + 8 * unit(t) * of(z).size, -1, q.specials}, 4));
            break;
        }
        case 6:
            z = clipped(z, 1);
            break;
        default:
            z = keep(b.add<ops::hard_swish>(z), mapped(t, q, q.size, 1.6));
        }
    }
}

inline void generator::pool() {
    auto const x = chance(20) ? such([&](v y) { return rank(y) == 4 && type(y) != dtype::boolean && elements(y) > 0; },
                                     dtype::f64, 4)
                              : f32_of_rank(chance(4) ? 3 : 4);
    if (rank(x) < 3 || elements(x) == 0) return;
    auto const t = type(x);
    auto const d = dims(x);
    auto const pixels = std::span<std::int64_t const>{d}.subspan(2);
    auto const k = of(x);
    ints kernel;
    auto const w = window(pixels, kernel);
    auto const taps = static_cast<double>(product(kernel));
    switch (is_floating(t) ? r.below(5) : 0) {
    case 0:
    case 1: {
        attributes_of<ops::max_pool> a;
        static_cast<window_attributes&>(a) = w;
        a.kernel_shape = kernel, a.ceil_mode = chance(3);
        auto y = k;
        y.specials = true; // where a window lies in the border alone
        if (!is_floating(t)) y = {greatest(t), 0, 0, false};
        if (k.error == 0 && !k.specials && chance(10)) {
            auto const z = b.add<ops::max_pool>(a, {x}, 2);
            keep(z, y);
            return void(keep({z.node, 1}, {4000, 0, 0, false}));
        }
        return void(keep(b.add<ops::max_pool>(a, {x}), y));
    }
    case 2:
    case 3: {
        attributes_of<ops::average_pool> a;
        static_cast<window_attributes&>(a) = w;
        a.kernel_shape = kernel, a.ceil_mode = chance(3), a.count_include_pad = chance(2);
        return void(
            keep(b.add<ops::average_pool>(a, {x}), rounded(t, {k.size, k.error, -1, true}, is_half(t) ? 3 : taps + 4)));
    }
    default:
        return void(keep(
            b.add<ops::global_average_pool>(x),
            rounded(t, {k.size, k.error, -1, k.specials}, is_half(t) ? 3 : static_cast<double>(product(pixels)) + 4)));
    }
}

// Chains of several operators, as they stand in models.
inline void generator::tail() {
    if (chance(2)) { // a softmax by its parts
        auto const x = tame(floating());
        if (rank(x) == 0 || of(x).specials) return;
        auto const t = type(x);
        reduce_attributes along;
        along.axes = {-1};
        auto const k = of(x);
        auto const top = keep(b.add<ops::reduce_max>(along, {x}), {k.size, k.error, k.fraction, elements(x) == 0});
        auto const less = keep(b.add<ops::sub>(x, top), rounded(t, {2 * k.size, 2 * k.error, k.fraction, false}));
        keep(b.add<ops::exp>(less), mapped(t, of(less), 1, 1, 12));
        return;
    }
    // Attention.
    auto const heads = pick(1, 2), rows = pick(2, 20), width = chance(2) ? 8 * pick(1, 3) : pick(2, 12),
               seen = pick(2, 20);
    auto const made = [&](ints const& d) { return clipped(tame(fresh(dtype::f32, d)), 1); };
    auto const q = made({heads, rows, width}), k = made({heads, seen, width}), w = made({heads, seen, width});
    auto const t = dtype::f32;
    auto const flipped = keep(b.add<ops::transpose>({.perm = {0, 2, 1}}, {k}), of(k));
    auto const n = static_cast<double>(width);
    auto const any_special = of(q).specials || of(k).specials;
    auto s = keep(b.add<ops::mat_mul>(q, flipped), rounded(t, {n, 0, -1, any_special}, n + 4));
    s = keep(b.add<ops::mul>(s, number(t, 0.25)), rounded(t, {n / 4, of(s).error / 4, -1, any_special}));
    auto const p = keep(b.add<ops::softmax>({.axis = -1}, {s}),
                        rounded(t, {1, 2 * of(s).error, -1, any_special}, 32 + 4 * n + 4 * static_cast<double>(seen)));
    auto const m = static_cast<double>(seen);
    keep(b.add<ops::mat_mul>(p, w), rounded(t, {1, m * of(p).error, -1, any_special || of(w).specials}, 2 * m + 8));
}

// Layers of networks of images: a convolution that tiles of pixels may compute, or one in each channel and one behind
// it across them.
inline void generator::layers() {
    auto const t = dtype::f32;
    auto const tiles = chance(2);
    auto [data, made] = numbers(t, {1, 16 * pick(1, tiles ? 4 : 2), tiles ? pick(6, 15) : pick(14, 45), pick(6, 15)});
    auto const x = input(std::move(data), made);
    auto const c = dims(x)[1];
    auto const convolution = [&](v from, std::int64_t filters, std::int64_t side, std::int64_t group) {
        attributes_of<ops::conv> a;
        a.dilations = {1, 1}, a.group = group;
        a.strides = group > 1 && chance(2) ? ints{2, 2} : ints{1, 1};
        a.pads = ints(4, side / 2);
        a.act = chance(2) ? activation::relu : activation::none;
        auto const read = dims(from)[1] / group;
        auto const taps = static_cast<double>(read * side * side);
        auto const k = of(from);
        return keep(
            b.add<ops::conv>(a, {from, weights(t, {filters, read, side, side}, 2 / taps), weights(t, {filters}, 1)}),
            rounded(t, {2 * k.size + 1, 2 * k.error, -1, k.specials}, 4 * taps + 32));
    };
    if (tiles) return void(convolution(x, 16 * pick(2, 4), 3, 1));
    auto y = convolution(x, c, 3, c);
    if (chance(2)) y = keep(b.add<ops::clip>({.min = 0, .max = 6}, {y}), {6, of(y).error, -1, of(y).specials});
    convolution(y, 8 * pick(1, 4), 1, 1);
}

// Operators that are known to stay on the reference runtime, or to vanish.
inline void generator::rare() {
    if (!chance(3)) return;
    switch (r.below(4)) {
    case 0: {
        auto const x = such([&](v y) { return is_integer(type(y)); }, dtype::i32, 2);
        return void(keep(b.add<ops::pow>(x, number(type(x), static_cast<double>(pick(2, 4)))),
                         {greatest(type(x)), 0, 0, false}));
    }
    case 1: {
        auto const x = f32_of_rank(4);
        if (elements(x) == 0) return;
        bounds[b.add<ops::layout_transform>({.to = "NCHW16c"}, {x})] = of(x);
        return;
    }
    case 2: {
        auto const x = f32_of_rank(4);
        auto const c = dims(x)[1];
        if (elements(x) == 0 || c > 16) return;
        attributes_of<ops::conv> same;
        same.strides = same.dilations = {1, 1}, same.pads = {1, 1, 1, 1};
        auto const w = b.add<ops::dirac>({.shape = {c, c, 3, 3}, .position = {1, 1}}, std::span<v const>{});
        return void(keep(b.add<ops::conv>(same, {x, w}),
                         rounded(dtype::f32, {of(x).size, of(x).error, -1, of(x).specials}, 300)));
    }
    default: {
        auto const at = [&](std::int64_t n) { return b.constant(tensor::scalar(n)); };
        return void(keep(b.add<ops::range>(at(pick(-3, 3)), at(pick(4, 9)), at(pick(1, 3))), {9, 0, 0, false}));
    }
    }
}

} // namespace random_program
