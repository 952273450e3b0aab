// Values of random graphs, and how far two right ways to compute one of them may differ.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace random_program {

using namespace gsub;

/// What is known of a value. Two ways to compute it, both within their roundings, differ by `error` at most.
struct bound {
    double size = 0;       ///< no finite element is greater
    double error = 0;      ///< 0: any way gives these very elements
    int fraction = 0;      ///< elements are multiples of 2^-fraction; negative: of nothing known
    bool specials = false; ///< NaN and infinities may be among the elements
};

/// Half of the distance of 1 to the next number; 0 for integers.
inline double unit(dtype t) {
    return t == dtype::f64    ? 0x1p-53
           : t == dtype::f32  ? 0x1p-24
           : t == dtype::f16  ? 0x1p-11
           : t == dtype::bf16 ? 0x1p-8
                              : 0;
}
inline bool is_half(dtype t) {
    return t == dtype::f16 || t == dtype::bf16;
}
/// Whether each multiple of 2^-fraction up to a size is a number of the type.
inline bool holds(dtype t, double size, int fraction) {
    return !is_floating(t) || (fraction >= 0 && std::ldexp(size, fraction) <= 1 / unit(t));
}
/// The greatest number of an integer type.
inline double greatest(dtype t) {
    return t == dtype::boolean ? 1 : std::ldexp(1.0, integer_digits(t));
}

/// Of a result that is rounded so many times on the way: nothing where no way has to round.
inline bound rounded(dtype t, bound exact, double times = 1) {
    if (!is_floating(t)) return {std::min(exact.size, greatest(t)), 0, 0, false};
    if (exact.error == 0 && holds(t, exact.size, exact.fraction)) return exact;
    auto const least = t == dtype::f16 ? 0x1p-24 : 0x1p-120; // among subnormal numbers
    exact.error += times * (unit(t) * (exact.size + exact.error) + least);
    exact.size *= 1 + 8 * unit(t);
    exact.fraction = -1;
    return exact;
}
/// Of a function that grows at most `slope` times as fast as its operand.
inline bound mapped(dtype t, bound x, double size, double slope, double times = 8) {
    return rounded(t, {size, slope * x.error, -1, x.specials}, times);
}

/// Of what is computed of it by a function that errs by so much more, in kernels.
inline bound approximated(bound x, double error) {
    x.error += error;
    return x;
}

/// Grows a graph; knows the bounds of its values and the tensors of its inputs.
class values {
public:
    explicit values(std::uint64_t seed) : r(seed) {}
    values(values const&) = delete;
    values& operator=(values const&) = delete;

    graph g;
    graph_builder b{g};
    std::vector<tensor> inputs;
    std::map<value_id, bound> bounds;

protected:
    using v = value_id;
    random_stream r;
    std::vector<value_id> known_; // that may be read further

    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n))); }
    std::int64_t pick(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
    bool chance(int of) { return r.below(static_cast<std::uint64_t>(of)) == 0; }
    ints dims(v x) const { return g.type(x).sizes(); }
    std::size_t rank(v x) const { return g.type(x).rank(); }
    dtype type(v x) const { return g.type(x).element; }
    std::int64_t elements(v x) const { return *g.type(x).elements(); }
    bound const& of(v x) const { return bounds.at(x); }

    v keep(v x, bound k) {
        // Arithmetic among constants is folded in f64 and rounded in the end alone.
        if (g.constant(x) && !g.is<ops::constant>(x.node) && is_floating(type(x)) &&
            !holds(type(x), k.size, k.fraction))
            k.error += unit(type(x)) * k.size;
        bounds[x] = k;
        // What is large, or not known well enough, is an output alone.
        if (elements(x) <= 6000 && k.error <= 0.02 * std::max(k.size, 0.5)) known_.push_back(x);
        return x;
    }

    // ---- tensors
    ints shape(std::size_t rank) {
        ints out;
        for (std::size_t i = 0; i < rank; ++i)
            out.push_back(chance(5) ? 1 : chance(6) ? pick(8, 35) : chance(60) ? 0 : pick(2, 7));
        while (product(out) > 4000) out[r.below(rank)] = 1;
        return out;
    }
    std::pair<tensor, bound> numbers(dtype t, ints const& d) {
        auto const count = static_cast<std::size_t>(product(d));
        if (!is_floating(t)) {
            auto const narrow = chance(2);
            auto whole = tensor::zeros(dtype::i64, d);
            for (auto& x : whole.mutable_data<std::int64_t>())
                x = t == dtype::boolean ? below(2) : narrow ? pick(-9, 9) : static_cast<std::int64_t>(r());
            auto const negative = narrow && !info(t).is_signed;
            return {whole.converted_to(t), {narrow && !negative ? 9 : greatest(t), 0, 0, false}};
        }
        auto wide = tensor::zeros(dtype::f64, d);
        auto const kind = r.below(8);
        bound k{4, 0, kind < 3 ? 2 : -1, false};
        for (auto& x : wide.mutable_data<double>()) {
            x = std::clamp(r.normal() * 1.5, -4.0, 4.0);
            if (kind < 3) x = std::round(x * 4) / 4;
        }
        if (kind == 7 && count > 0) {
            k.specials = true;
            double const some[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(), 0, -0.0};
            for (int i = 0; i < 3; ++i) wide.mutable_data<double>()[r.below(count)] = some[r.below(5)];
        }
        return {wide.converted_to(t), k};
    }
    // An input or, less often, a constant.
    v fresh(dtype t, ints const& d) {
        auto [data, k] = numbers(t, d);
        return chance(4) ? constant(std::move(data), k) : input(std::move(data), k);
    }
    v input(tensor data, bound k) {
        auto const x = b.input(data.element(), data.type().dims, fmt::format("x{}", inputs.size()));
        inputs.push_back(std::move(data));
        return keep(x, k);
    }
    v constant(tensor data, bound k) {
        auto const x = b.constant(std::move(data));
        bounds[x] = k;
        return x;
    }
    v number(dtype t, double x) {
        return constant(tensor::scalar(x).converted_to(t), {std::abs(x), 0, 0, false}); // read where that is exact
    }
    // Constant floating numbers within +-size.
    v weights(dtype t, ints const& d, double size, double least = -1e9) {
        auto wide = tensor::zeros(dtype::f64, d);
        for (auto& x : wide.mutable_data<double>()) x = r.uniform(std::max(least, -size), size);
        return constant(wide.converted_to(t), {size, 0, -1, false});
    }
    v whole(ints const& x) { return b.constant(tensor::from<std::int64_t>(ints{std::int64_t(x.size())}, x)); }

    // ---- operands
    dtype any_type() { return stored_dtypes[r.below(std::size(stored_dtypes))]; }
    dtype floating_type() {
        dtype const types[] = {dtype::f32, dtype::f32, dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
        return types[r.below(6)];
    }
    v any() {
        if (known_.empty() || chance(12)) return fresh(chance(2) ? dtype::f32 : any_type(), shape(r.below(6)));
        auto const recent = std::min<std::size_t>(known_.size(), 8);
        return chance(2) ? known_[known_.size() - 1 - r.below(recent)] : known_[r.below(known_.size())];
    }
    template <class P>
    v such(P&& p, dtype otherwise, std::size_t rank) {
        for (int i = 0; i < 8; ++i)
            if (auto const x = any(); p(x)) return x;
        return fresh(otherwise, shape(rank));
    }
    v of_type(dtype t) {
        return such([&](v x) { return type(x) == t; }, t, r.below(5));
    }
    v floating() {
        return such([&](v x) { return is_floating(type(x)); }, floating_type(), r.below(6));
    }
    v arithmetic() {
        return such([&](v x) { return type(x) != dtype::boolean; }, any_number_type(), r.below(6));
    }
    dtype any_number_type() {
        auto const t = any_type();
        return t == dtype::boolean ? dtype::i16 : t;
    }
    // Whose elements are the same whatever way they are computed.
    v exact(bool only_floating = false) {
        auto const t = only_floating ? floating_type() : any_number_type();
        return such(
            [&](v x) {
                return of(x).error == 0 && type(x) != dtype::boolean && (is_floating(type(x)) || !only_floating);
            },
            t, r.below(5));
    }
    v clipped(v x, double size) {
        if (!is_floating(type(x)) || of(x).size <= size) return x;
        auto k = of(x);
        k.size = size; // a whole number
        return keep(b.add<ops::clip>({.min = -size, .max = size}, {x}), k);
    }
    // A floating value whose elements are of moderate size.
    v tame(v x, double size = 4) {
        if (!is_floating(type(x)) || of(x).size <= size) return x;
        if (chance(3)) return keep(b.add<ops::tanh>(x), mapped(type(x), of(x), 1, 1));
        if (chance(2) && of(x).size < 1e6 && !is_half(type(x))) {
            auto const down = std::exp2(-std::ceil(std::log2(of(x).size / size)));
            return keep(b.add<ops::mul>(x, number(type(x), down)),
                        rounded(type(x), {of(x).size * down, of(x).error * down, -1, of(x).specials}));
        }
        return clipped(x, std::floor(size));
    }
    v cast(v x, dtype to) {
        auto k = of(x);
        if (g.constant(x) && to == dtype::f16 && k.size > 60000) return x; // infinite where it is not folded
        if (is_floating(to)) {
            auto const most = to == dtype::f16 ? 65504.0 : 3e38;
            if (k.size > most && !is_floating(type(x))) k.size = most, k.specials = true;
            if (k.error != 0) k = rounded(to, k);
            if (k.error == 0 && !holds(to, k.size, k.fraction)) k.size *= 1 + 2 * unit(to), k.fraction = -1;
        } else {
            k = {std::min(k.specials ? 1e30 : k.size, greatest(to)), 0, 0, false};
            if (!info(to).is_signed) k.size = greatest(to);
        }
        return keep(b.add<ops::cast>({.to = to}, {x}), k);
    }
    // A value of the type and rank that an operator takes.
    v shaped(v x, ints const& to) {
        auto const y = b.add<ops::reshape>(attributes_of<ops::reshape>::to(to), {x});
        return keep(y, of(x));
    }
    v f32_of_rank(std::size_t wanted) {
        auto const fits = [&](v x) { return type(x) == dtype::f32 && rank(x) == wanted && elements(x) > 0; };
        for (int i = 0; i < 6; ++i)
            if (auto const x = any(); fits(x)) return tame(x);
        auto d = shape(wanted);
        for (auto& size : d) size = std::max<std::int64_t>(size, 1);
        for (int i = 0; i < 3; ++i)
            if (auto x = any(); type(x) == dtype::f32 && elements(x) > 1) { // the same elements in another shape
                ints to(wanted, 1);
                auto rest = elements(x);
                for (std::size_t k = wanted; k-- > 1;)
                    for (std::int64_t p : {5, 3, 2})
                        if (rest % p == 0 && rest > 1) to[k] *= p, rest /= p;
                to[0] = rest;
                return tame(shaped(x, to));
            }
        return tame(fresh(dtype::f32, d));
    }
    // Something that broadcasts against a value, of its type.
    v partner(v x) {
        for (int i = 0; i < 6; ++i) {
            auto const y = any();
            if (type(y) != type(x)) continue;
            auto const both = broadcast(g.type(x).dims, g.type(y).dims);
            if (!both) continue;
            std::int64_t count = 1;
            for (auto const& d : *both) count *= d.size();
            if (count <= 6000) return y;
        }
        auto d = dims(x);
        for (auto& size : d)
            if (chance(3)) size = 1;
        if (!d.empty() && chance(4)) d = ints(std::span<std::int64_t const>{d}.subspan(r.below(d.size() + 1)));
        return fresh(type(x), d);
    }
};

} // namespace random_program
