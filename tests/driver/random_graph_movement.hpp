// Operators of random graphs that move elements.
#pragma once

#include "random_graph.hpp"

namespace random_program {

inline void generator::permute() {
    auto const x = any();
    ints perm;
    for (std::size_t i = 0; i < rank(x); ++i) perm.push_back(static_cast<std::int64_t>(i));
    for (auto i = rank(x); i-- > 1;) std::swap(perm[i], perm[r.below(i + 1)]);
    if (rank(x) > 0) keep(b.add<ops::transpose>({.perm = perm}, {x}), of(x));
}
inline void generator::slice() {
    auto const x = any();
    auto const d = dims(x);
    ints starts, ends, axes, steps;
    for (std::size_t i = 0; i < d.size(); ++i) {
        if (chance(3)) continue;
        auto const forward = !chance(3);
        starts.push_back(forward ? below(d[i] + 1) / 2 : d[i] - 1 - below(d[i] + 1) / 3);
        ends.push_back(forward ? d[i] : -99999);
        axes.push_back(static_cast<std::int64_t>(i) - (chance(2) ? static_cast<std::int64_t>(d.size()) : 0));
        steps.push_back(pick(1, 2) * (forward ? 1 : -1));
    }
    if (axes.empty()) return;
    keep(chance(2) ? b.add<ops::slice>({starts, ends, axes, steps}, {x})
                   : b.add<ops::slice>({}, {x, whole(starts), whole(ends), whole(axes), whole(steps)}),
         of(x));
}
inline void generator::pad() {
    auto const x = any();
    auto const d = dims(x);
    char const* const modes[] = {"constant", "edge", "reflect"};
    auto const mode = elements(x) == 0 ? 0 : r.below(3);
    ints pads;
    for (int side = 0; side < 2; ++side)
        for (auto n : d) pads.push_back(elements(x) > 2000 ? 0 : below(std::min<std::int64_t>(n, 3)) - (n > 8 ? 1 : 0));
    auto k = of(x);
    if (mode == 0 && type(x) != dtype::boolean) k.size = std::max(k.size, 2.0);
    if (k.fraction >= 0) k.fraction = std::max(k.fraction, 2);
    if (is_floating(type(x)) || chance(2))
        keep(b.add<ops::pad>({.mode = modes[mode], .pads = pads, .value = 1.75}, {x}), k);
    else
        keep(b.add<ops::pad>({.mode = modes[mode]}, {x, whole(pads), number(type(x), 1)}), k);
}
inline void generator::split() {
    auto const x = any();
    if (rank(x) == 0) return;
    auto const axis = below(static_cast<std::int64_t>(rank(x)));
    auto const size = dims(x)[static_cast<std::size_t>(axis)], first = below(size + 1);
    auto const y = b.add<ops::split>({axis, {first, size - first}}, {x}, 2);
    auto const k = of(x);
    keep(y, k), keep({y.node, 1}, k);
}
inline void generator::join() {
    auto const x = any();
    if (rank(x) == 0) return;
    auto const axis = below(static_cast<std::int64_t>(rank(x)));
    std::vector<v> parts{x};
    auto k = of(x);
    for (auto more = pick(1, 3); more > 0; --more) {
        auto other = v{};
        for (int i = 0; i < 6 && !other.valid(); ++i) {
            auto const y = any();
            auto fits = type(y) == type(x) && rank(y) == rank(x);
            for (std::size_t i2 = 0; fits && i2 < rank(x); ++i2)
                fits = static_cast<std::int64_t>(i2) == axis || dims(y)[i2] == dims(x)[i2];
            if (fits) other = y;
        }
        if (!other.valid()) {
            auto d = dims(x);
            d[static_cast<std::size_t>(axis)] = below(5);
            other = fresh(type(x), d);
        }
        parts.push_back(other);
        auto const& q = of(other);
        k = {std::max(k.size, q.size), std::max(k.error, q.error),
             k.fraction < 0 || q.fraction < 0 ? -1 : std::max(k.fraction, q.fraction), k.specials || q.specials};
    }
    keep(b.add<ops::concat>({.axis = axis}, std::span<v const>{parts}), k);
}
inline void generator::gather() {
    auto const x = any();
    if (rank(x) == 0) return;
    auto const axis = r.below(rank(x));
    auto const size = dims(x)[axis];
    if (size == 0) return;
    auto chosen = tensor::zeros(dtype::i64, shape(r.below(3)));
    if (chosen.elements() * elements(x) / size > 6000) return;
    for (auto& i : chosen.mutable_data<std::int64_t>()) i = below(2 * size) - size;
    auto const i = chosen.converted_to(chance(2) ? dtype::i32 : dtype::i64);
    bound const k{static_cast<double>(size), 0, 0, false};
    auto const at = chance(2) ? constant(i, k) : b.input(i.element(), i.type().dims, fmt::format("i{}", inputs.size()));
    if (!bounds.contains(at)) inputs.push_back(i), bounds[at] = k; // nothing else may follow from what it is
    keep(b.add<ops::gather>({.axis = static_cast<std::int64_t>(axis)}, {x, at}), of(x));
}
// Elements and parts at places that indices name, read or written.
inline void generator::index() {
    auto const x = any();
    if (rank(x) == 0 || elements(x) == 0 || elements(x) > 2000) return;
    auto const size = dims(x);
    auto const indices = [&](ints const& of, auto&& limit) {
        auto i = tensor::zeros(dtype::i64, of);
        std::size_t at = 0;
        for (auto& to : i.mutable_data<std::int64_t>()) {
            auto const most = limit(at++);
            to = below(2 * most) - most;
        }
        return constant(i, {static_cast<double>(elements(x)), 0, 0, false});
    };
    auto const axis = r.below(rank(x));
    auto along = size;
    for (std::size_t d = 0; d < along.size(); ++d) along[d] = d == axis ? pick(1, 4) : pick(1, along[d]);
    auto const elements_at = [&] { return indices(along, [&](std::size_t) { return size[axis]; }); };
    auto const named = chance(2) ? 1 : 1 + r.below(rank(x));
    ints rows{pick(1, 3), static_cast<std::int64_t>(named)}, parts{rows[0]};
    for (auto d = named; d < rank(x); ++d) parts.push_back(size[d]);
    auto const rows_at = [&] { return indices(rows, [&](std::size_t i) { return size[i % named]; }); };
    auto const a = static_cast<std::int64_t>(axis);
    if (chance(4) && of(x).error == 0 && elements(x) <= 500) return decided(x);
    if (chance(4) && of(x).error == 0 && type(x) != dtype::boolean) { // an order jumps
        auto const k = pick(1, size[axis]);
        auto const y = b.add<ops::top_k>({.k = k, .axis = a, .largest = chance(2)}, {x}, 2);
        keep(y, of(x));
        return void(keep({y.node, 1}, {static_cast<double>(size[axis]), 0, 0, false}));
    }
    if (chance(2))
        return void(keep(chance(2) ? b.add<ops::gather_elements>({.axis = a}, {x, elements_at()})
                                   : b.add<ops::gather_nd>({}, {x, rows_at()}),
                         of(x)));
    if (type(x) == dtype::boolean) return;
    auto const by_rows = chance(2);
    auto const updates = b.add<ops::expand>({.shape = by_rows ? parts : along}, {number(type(x), 1)});
    std::string const mode = chance(2) ? "none" : "max";
    auto k = of(x);
    k.size = std::max(k.size, 1.0);
    keep(by_rows ? b.add<ops::scatter_nd>({.reduction = mode}, {x, rows_at(), updates})
                 : b.add<ops::scatter_elements>({.axis = a, .reduction = mode}, {x, elements_at(), updates}),
         k);
}
// Values whose sizes data decide, and what sums them up.
inline void generator::decided(v x) {
    auto const whole_numbers = [&](double size) { return bound{size, 0, 0, false}; };
    auto const sum = [&](v of, std::int64_t axis) {
        return b.add<ops::reduce_sum>({.axes = {axis}, .keepdims = false}, {of});
    };
    auto const count = static_cast<double>(elements(x));
    if (chance(2)) return void(keep(sum(b.add<ops::non_zero>(x), 1), whole_numbers(count * count)));
    auto const axis = static_cast<std::int64_t>(r.below(rank(x)));
    auto const y = b.add<ops::unique>({.flat = chance(2), .axis = axis, .sorted = chance(2)}, {x}, 4);
    keep({y.node, 2}, whole_numbers(count));
    keep(sum({y.node, 3}, 0), whole_numbers(count));
    if (chance(2)) keep(b.add<ops::shape>(b.add<ops::neg>(value_id{y.node, 1})), whole_numbers(count));
    auto boxes = tensor::zeros(dtype::f32, ints{1, 5, 4}), scores = tensor::zeros(dtype::f32, ints{1, 2, 5});
    for (auto* t : {&boxes, &scores})
        for (auto& at : t->mutable_data<float>()) at = static_cast<float>(below(8)) / 2;
    auto const s = b.input(dtype::f32, scores.type().dims, fmt::format("s{}", inputs.size()));
    inputs.push_back(scores), bounds[s] = {4, 0, 1, false};
    auto const chosen = b.add<ops::non_max_suppression>(
        {.center = chance(2)}, {b.constant(boxes), s, whole({below(4)}), number(dtype::f32, 0.25)});
    keep(sum(b.add<ops::gather>({.axis = 1}, {chosen, whole({2, 0})}), 0), whole_numbers(40));
}
inline void generator::repeat() {
    auto const x = any();
    auto to = dims(x);
    for (auto& d : to)
        if (d == 1 && chance(2)) d = pick(1, 4);
    if (rank(x) < 5 && chance(2)) to.insert(0, 2);
    if (product(to) > 4000) return;
    keep(chance(2) ? b.add<ops::expand>({.shape = to}, {x}) : b.add<ops::expand>({}, {x, whole(to)}), of(x));
}
inline void generator::refold() {
    auto const x = any();
    auto const k = of(x);
    auto const d = dims(x);
    auto const places = static_cast<std::int64_t>(rank(x));
    switch (r.below(6)) {
    case 0:
        return void(keep(b.add<ops::flatten>({.axis = below(places + 1)}, {x}), k));
    case 1:
        if (places < 5) keep(b.add<ops::unsqueeze>({.axes = {below(places + 1)}}, {x}), k);
        return;
    case 2:
        return void(keep(b.add<ops::squeeze>(x), k));
    case 3: // neighbours joined
        if (places > 1) {
            auto const at = r.below(static_cast<std::size_t>(places) - 1);
            ints to;
            for (std::size_t i = 0; i < d.size(); ++i)
                if (i != at + 1) to.push_back(i == at ? d[i] * d[i + 1] : d[i]);
            shaped(x, to);
        }
        return;
    case 4: // depth to space: channels become pixels
        if (places == 4 && d[1] % 4 == 0 && elements(x) > 0) {
            auto const y = shaped(x, {d[0], 2, 2, d[1] / 4, d[2], d[3]});
            auto const z = keep(b.add<ops::transpose>({.perm = {0, 3, 4, 1, 5, 2}}, {y}), k);
            shaped(z, {d[0], d[1] / 4, d[2] * 2, d[3] * 2});
        }
        return;
    default: // and back
        if (places == 4 && d[2] % 2 == 0 && d[3] % 2 == 0 && elements(x) > 0) {
            auto const y = shaped(x, {d[0], d[1], d[2] / 2, 2, d[3] / 2, 2});
            auto const z = keep(b.add<ops::transpose>({.perm = {0, 3, 5, 1, 2, 4}}, {y}), k);
            shaped(z, {d[0], d[1] * 4, d[2] / 2, d[3] / 2});
        }
    }
}
inline void generator::known() {
    if (chance(2)) return void(keep(b.add<ops::shape>({.start = -below(3)}, {any()}), {4000, 0, 0, false}));
    keep(b.add<ops::fill>({shape(r.below(4)), any_type(), -1.5, 1}, std::span<v const>{}), {1.5, 0, 1, false});
}

} // namespace random_program
