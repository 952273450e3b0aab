// Random small computations and random legal schedules of them. Shared by tests of loop and codegen.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace random_schedule {

using namespace gsub;
using loop::affine;

/// A product, a convolution, a pooling, a computation along rows, one with two results and conditions on what it reads,
/// or an elementwise one. The axis `x` runs along memory, except that those
/// of blocks have `lane` innermost, of `lanes` positions.
inline loop::tensor_expression computation(random_stream& r, std::int64_t lanes) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    auto const kind = r.below(6);
    if (kind == 0) { // y = relu(a w + bias)
        auto const m = upto(7), n = upto(20), k = upto(9);
        loop::expression_builder e{"product"};
        auto const i = e.spatial("i", m), x = e.spatial("x", n), j = e.reduction("j", k);
        auto const a = e.input("a", {m, k}), w = e.input("w", {k, n}), b = e.input("b", {n}), y = e.output("y", {m, n});
        auto const sum = e.sum(e.at(b, {x}), e.at(a, {i, j}) * e.at(w, {j, x}));
        return e.store(y, {i, x}, max(sum, e.constant(0)));
    }
    if (kind == 1) { // blocks of channels, strides, dilation and asymmetric pads
        auto const h = 2 + upto(6), w = 2 + upto(9), c = upto(5), kh = upto(3), kw = upto(3), s = upto(2), d = upto(2);
        auto const top = upto(3) - 1, left = upto(3) - 1, bottom = upto(3) - 1, right = upto(3) - 1;
        auto const oh = std::max<std::int64_t>(1, (h + top + bottom - d * (kh - 1) - 1) / s + 1),
                   ow = std::max<std::int64_t>(1, (w + left + right - d * (kw - 1) - 1) / s + 1);
        auto const blocks = upto(3), channels = (blocks - 1) * lanes + upto(static_cast<std::uint64_t>(lanes));
        loop::expression_builder e{"convolution"};
        auto const o = e.spatial("o", blocks), i = e.spatial("i", oh), x = e.spatial("x", ow),
                   lane = e.spatial("lane", lanes);
        auto const ic = e.reduction("c", c), ky = e.reduction("ky", kh), kx = e.reduction("kx", kw);
        // Some run backwards.
        auto const turned = [&](affine const& a, std::int64_t extent) {
            return r.below(4) ? a : affine{extent - 1} - a;
        };
        auto const row = turned(i, oh) * s + turned(ky, kh) * d - affine{top},
                   column = turned(x, ow) * s + turned(kx, kw) * d - affine{left};
        auto const in = e.input("in", {c, h, w}), weights = e.input("weights", {blocks, c, kh, kw, lanes}),
                   y = e.output("y", {blocks, oh, ow, lanes});
        if (r.below(2)) e.restrict_domain({o * lanes + lane, channels});
        auto const sum = e.sum(e.constant(1), e.at(in, {ic, row, column}) * e.at(weights, {o, ic, ky, kx, lane}),
                               {{row, h}, {column, w}});
        return e.store(y, {o, i, x, lane}, min(sum, e.constant(30)));
    }
    if (kind == 2) { // windows that may lie in the padding whole
        auto const h = upto(6), w = upto(9), kh = upto(3), kw = upto(3), s = upto(3), pad = upto(3) - 1;
        auto const oh = upto(5), ow = upto(8);
        loop::expression_builder e{"pooling"};
        auto const i = e.spatial("i", oh), x = e.spatial("ow", ow), lane = e.spatial("lane", lanes),
                   ky = e.reduction("ky", kh), kx = e.reduction("kx", kw);
        auto const row = i * s + ky - affine{pad}, column = x * s + kx - affine{pad};
        auto const in = e.input("in", {h, w, lanes}), y = e.output("y", {oh, ow, lanes});
        auto const most = e.maximum(e.constant(-100), e.at(in, {row, column, lane}), {{row, h}, {column, w}});
        return e.store(y, {i, x, lane}, most);
    }
    if (kind == 3) { // one element of the result a row
        auto const m = upto(7), n = upto(50);
        loop::expression_builder e{"rows"};
        auto const i = e.spatial("i", m), x = e.reduction("x", n);
        auto const a = e.input("a", {m, n}), b = e.input("b", {n}), c = e.input("c", {m}), y = e.output("y", {m});
        auto const v = e.at(a, {i, x}) * e.at(b, {x});
        auto const reduced = r.below(2) ? e.sum(e.at(c, {i}), v) : e.maximum(e.at(c, {i}), v);
        return e.store(y, {i}, reduced - e.at(c, {i}));
    }
    if (kind == 4) { // neighbours, of which some are outside
        auto const h = upto(7), w = upto(9), step = upto(3), left = upto(3) - 1;
        loop::expression_builder e{"neighbours"};
        auto const i = e.spatial("i", h), x = e.spatial("ow", w), lane = e.spatial("lane", lanes);
        auto const a = e.input("a", {h, w, lanes * step}), y = e.output("y", {h, w, lanes}),
                   z = e.output("z", {w, h, lanes});
        auto const at = [&](affine const& row, affine const& column) {
            return e.at(a, {row, column, lane * step}, {{row, h}, {column, w}});
        };
        auto const p = at(i - affine{1}, x + affine{left}), q = at(i + affine{1}, x - affine{left});
        e.also_store(z, {x, i, lane}, p - q);
        return e.store(y, {i, x, lane}, p + q);
    }
    auto const m = upto(5), n = upto(40);
    loop::expression_builder e{"elementwise"};
    auto const i = e.spatial("i", m), x = e.spatial("x", n);
    auto const a = e.input("a", {m, n}), b = e.input("b", {n}), c = e.input("c", {m}), y = e.output("y", {m, n});
    return e.store(y, {i, x}, max(e.at(a, {i, x}) - e.at(b, {x}), e.constant(0.5)) * e.at(c, {i}));
}

/// Which schedules are made.
struct options {
    std::int64_t lanes = 4;
    bool split_reductions_anyhow = false; ///< also by factors that do not divide
    bool nested_splits = false;           ///< also of loops that come of splits that do not divide
};

/// A schedule made of random legal steps, with at most one parallel loop and a vectorised one of `lanes` positions.
inline loop::loop_nest nest(loop::tensor_expression const& what, random_stream& r, options const& o) {
    loop::schedule plan{what};
    auto const has = [&](std::string_view name) {
        return std::any_of(what.axes.begin(), what.axes.end(), [&](auto const& a) { return a.name == name; });
    };
    auto const lane = has("lane") ? plan.loop_of("lane") : plan.split(plan.loop_of("x"), o.lanes).second;
    std::vector<loop::variable> fused;
    auto const loop = [&](std::size_t i) { return plan.loops()[i]; };
    auto const position = [&](loop::variable v) {
        std::size_t i = 0;
        while (loop(i).var != v) ++i;
        return i;
    };
    auto const is = [](std::vector<loop::variable> const& in, loop::variable v) {
        return std::find(in.begin(), in.end(), v) != in.end();
    };
    std::vector<loop::variable> with_tail;
    for (auto steps = r.below(5); steps-- > 0;) {
        auto const i = r.below(plan.loops().size());
        auto const l = loop(i);
        if (l.var == lane || is(fused, l.var)) continue;
        if (r.below(4) == 0 && i + 1 < plan.loops().size()) {
            auto const next = loop(i + 1);
            if (next.var != lane && next.reduction == l.reduction && !is(fused, next.var))
                fused.push_back(plan.fuse(l.var, next.var));
            continue;
        }
        auto const factor = static_cast<std::int64_t>(1 + r.below(static_cast<std::uint64_t>(l.extent) + 2));
        auto const divides = l.extent % factor == 0;
        if (l.reduction && !divides && !o.split_reductions_anyhow) continue;
        if (is(with_tail, l.var) && !o.nested_splits) continue;
        auto const [outer, inner] = plan.split(l.var, factor);
        if (!divides || is(with_tail, l.var)) with_tail.push_back(outer), with_tail.push_back(inner);
    }

    // Serial loops of space, then reductions; unrolled ones among them; the vectorised one last.
    std::vector<loop::variable> outside, within, unrolled;
    std::int64_t copies = 1;
    for (auto const& l : plan.loops()) {
        if (l.var == lane) continue;
        if (!is(fused, l.var) && copies * l.extent <= 24 && r.below(2)) {
            unrolled.push_back(l.var);
            copies *= l.extent;
        } else {
            (l.reduction ? within : outside).push_back(l.var);
        }
    }
    auto const shuffle = [&](std::vector<loop::variable>& v) {
        for (auto i = v.size(); i > 1; --i) std::swap(v[i - 1], v[r.below(i)]);
    };
    shuffle(outside), shuffle(within);
    auto order = outside;
    order.insert(order.end(), within.begin(), within.end());
    auto const parallel = !outside.empty() && r.below(4) > 0;
    for (auto v : unrolled) {
        // A reduction begins behind the serial loops of space.
        std::size_t first = parallel ? 1 : 0;
        if (loop(position(v)).reduction)
            for (std::size_t i = 0; i < order.size(); ++i)
                if (is(outside, order[i])) first = i + 1;
        auto const at = first + r.below(order.size() - first + 1);
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), v);
    }
    order.push_back(lane);
    plan.reorder(order);

    for (std::size_t i = 0; i + 1 < plan.loops().size();) {
        auto const a = loop(i), b = loop(i + 1);
        if (b.var != lane && !is(unrolled, a.var) && !is(unrolled, b.var) && a.reduction == b.reduction && r.below(2))
            plan.fuse(a.var, b.var);
        else
            ++i;
    }
    if (parallel) plan.parallel(loop(0).var);
    for (auto v : unrolled) plan.unroll(v);
    plan.vectorize(loop(position(lane)).var);
    return plan.finish();
}

} // namespace random_schedule
