// Random graphs of every operator and element type that kernels take, whose numbers stay of moderate size.
#pragma once

#include "random_values.hpp"

#include <iterator>

namespace random_program {

/// Grows a graph operator by operator: the same for the same seed.
class generator : public values {
public:
    using values::values;

    void grow(std::size_t operators) {
        std::size_t count = 0;
        while (count < operators) {
            step();
            count = 0;
            for (auto n : g.order()) count += !g.is<ops::input>(n) && !g.is<ops::constant>(n) && n != g.return_node();
        }
        std::vector<v> outputs;
        for (auto n : g.order())
            if (!g.is<ops::input>(n) && !g.is<ops::constant>(n) && n != g.return_node())
                for (std::uint32_t port = 0; port < g.result_count(n); ++port)
                    if (v const x{n, port}; bounds.contains(x) && (!g.used(x) || chance(8))) outputs.push_back(x);
        if (chance(3)) outputs.push_back(outputs[r.below(outputs.size())]);
        g.set_outputs(outputs);
    }

private:
    void step() {
        using recipe = void (generator::*)();
        static constexpr recipe all[] = {
            &generator::unary,    &generator::unary,    &generator::unary,    &generator::binary,
            &generator::binary,   &generator::binary,   &generator::compare,  &generator::combine,
            &generator::bits,     &generator::choose,   &generator::choose,   &generator::convert,
            &generator::convert,  &generator::convert,  &generator::permute,  &generator::slice,
            &generator::pad,      &generator::split,    &generator::join,     &generator::gather,
            &generator::index,    &generator::repeat,   &generator::refold,   &generator::known,
            &generator::reduce,   &generator::reduce,   &generator::normal,   &generator::normal,
            &generator::multiply, &generator::multiply, &generator::convolve, &generator::convolve,
            &generator::convolve, &generator::pool,     &generator::tail,     &generator::rare,
            &generator::layers,
        };
        (this->*all[r.below(std::size(all))])();
    }

    // ---- arithmetic
    void unary() {
        if (chance(4)) {
            auto const x = arithmetic();
            auto k = of(x);
            switch (r.below(7)) {
            case 0:
                return void(keep(b.add<ops::relu>(x), k));
            case 1:
                k = is_floating(type(x)) ? k : bound{greatest(type(x)), 0, 0, false};
                return void(keep(b.add<ops::neg>(x), k));
            case 2:
                k = is_floating(type(x)) ? k : bound{greatest(type(x)), 0, 0, false};
                return void(keep(b.add<ops::abs>(x), k));
            case 3:
                return void(keep(b.add<ops::clip>({.min = static_cast<double>(pick(-9, 0)), .max = 3}, {x}), k));
            case 4:
                return void(keep(b.add<ops::clip>({}, {x, number(type(x), 1), chance(2) ? v{} : number(type(x), 2)}),
                                 {std::max(k.size, 2.0), k.error, k.fraction, k.specials}));
            case 5:
                return void(keep(b.add<ops::identity>(x), k));
            default:
                return void(keep(b.add<ops::dropout>(x), k));
            }
        }
        auto const any_size = floating();
        auto const t = type(any_size);
        auto const x = tame(any_size);
        auto const k = of(x);
        auto const is = [&](v y, double size, double slope, double times = 8) {
            keep(y, mapped(t, k, size, slope, times));
        };
        auto const whole = bound{k.size + 1, 0, k.fraction < 0 ? -1 : 0, k.specials};
        switch (r.below(25)) {
        case 22:
        case 23:
        case 24:
            angle();
            return angle();
        case 16:
            return is(b.add<ops::softplus>(x), k.size + 1, 1, 16);
        case 17:
            return is(b.add<ops::softsign>(x), 1, 1);
        case 18:
            return is(b.add<ops::reciprocal>(positive(x, 0.5)), 2, 4);
        case 19: // jumps: of what every computation gives bit for bit
            if (k.error == 0) return void(keep(b.add<ops::floor>(x), whole));
            return void(keep(b.add<ops::neg>(x), k));
        case 20:
            if (k.error == 0) return void(keep(b.add<ops::ceil>(x), whole));
            return void(keep(b.add<ops::neg>(x), k));
        case 21:
            if (k.error == 0) return void(keep(b.add<ops::round>(x), whole));
            return void(keep(b.add<ops::neg>(x), k));
        case 0:
            return is(b.add<ops::sigmoid>(x), 1, 0.25);
        case 1:
            return void(keep(b.add<ops::tanh>(any_size), mapped(t, of(any_size), 1, 1)));
        case 2: // of negative numbers too, where their sign is known
            if (k.error == 0) return keep(b.add<ops::sqrt>(x), mapped(t, {k.size, 0, -1, true}, 3, 0)), void();
            return is(b.add<ops::sqrt>(positive(x, 0.25)), std::sqrt(k.size + 0.25), 1);
        case 3: {
            auto const y = clipped(x, 3);
            return void(keep(b.add<ops::exp>(y), mapped(t, of(y), 20.1, 20.1, 12)));
        }
        case 4:
            if (k.error == 0) return keep(b.add<ops::log>(x), mapped(t, {k.size, 0, -1, true}, 750, 0)), void();
            return is(b.add<ops::log>(positive(x, 0.5)), 2, 2, 16);
        case 5:
            return is(b.add<ops::erf>(x), 1, 1.2);
        case 6:
            return is(b.add<ops::hard_sigmoid>({.alpha = 0.3, .beta = 0.4}, {x}), 1, 0.3);
        case 7:
            return is(b.add<ops::hard_swish>(x), k.size, 1.6);
        case 8:
            return is(b.add<ops::leaky_relu>({.alpha = 0.3}, {x}), k.size, 1);
        case 9:
            return is(b.add<ops::elu>({.alpha = 1.5}, {x}), std::max(k.size, 1.5), 1.5);
        case 10:
            return is(b.add<ops::gelu>({.approximate = "tanh"}, {x}), k.size, 1.2, 16);
        case 11:
            return is(b.add<ops::gelu>(x), k.size, 1.2, 16);
        case 12: {
            auto const y = clipped(x, 3);
            return void(keep(b.add<ops::fast_exp>(y), mapped(t, approximated(of(y), 8e-6), 20.1, 20.1, 20)));
        }
        case 13:
            return void(keep(b.add<ops::fast_tanh>(x), mapped(t, approximated(k, 1.4e-5), 1, 1, 16)));
        case 14:
            return void(keep(b.add<ops::fast_erf>(x), mapped(t, approximated(k, 8e-6), 1, 1.2, 16)));
        default: // negated, of the sign of zeros too
            return void(keep(b.add<ops::neg>(x), k));
        }
    }
    // Functions of angles, where they are smooth.
    void angle() {
        auto const x = tame(floating());
        auto const small = [&] { // at most 1/2
            auto const y = clipped(x, 1);
            return keep(b.add<ops::mul>(y, number(type(y), 0.5)), mapped(type(y), of(y), 0.5, 0.5));
        };
        auto const give = [&](v of_x, v y, double size, double slope) {
            keep(y, mapped(type(y), of(of_x), size, slope, 16));
        };
        auto const of_small = [&]<class Op>(type_list<Op>, double size, double slope) {
            auto const half = small();
            give(half, b.add<Op>(half), size, slope);
        };
        switch (r.below(11)) {
        case 0:
            return give(x, b.add<ops::sin>(x), 1, 1);
        case 1:
            return give(x, b.add<ops::cos>(x), 1, 1);
        case 2:
            return of_small(type_list<ops::tan>{}, 0.55, 1.3);
        case 3:
            return of_small(type_list<ops::asin>{}, 0.53, 1.2);
        case 4:
            return of_small(type_list<ops::acos>{}, 2.1, 1.2);
        case 5:
            return give(x, b.add<ops::atan>(x), 1.6, 1);
        case 6:
            return of_small(type_list<ops::sinh>{}, 0.53, 1.13);
        case 7:
            return of_small(type_list<ops::cosh>{}, 1.13, 0.53);
        case 8:
            return give(x, b.add<ops::asinh>(x), of(x).size, 1);
        case 9: {
            auto const above = positive(x, 1.5);
            return give(above, b.add<ops::acosh>(above), of(above).size, 0.9);
        }
        default:
            return of_small(type_list<ops::atanh>{}, 0.55, 1.34);
        }
    }
    // |x| + least
    v positive(v x, double least) {
        auto const k = of(x);
        auto const size = keep(b.add<ops::abs>(x), k);
        return keep(
            b.add<ops::add>(size, number(type(x), least)),
            rounded(type(x), {k.size + least, k.error, k.fraction < 0 ? -1 : std::max(k.fraction, 2), k.specials}));
    }
    void binary() {
        auto const x = tame(arithmetic());
        auto const t = type(x);
        auto const y = tame(partner(x));
        auto const &p = of(x), &q = of(y);
        auto const both = p.specials || q.specials;
        auto const finer = p.fraction < 0 || q.fraction < 0 ? -1 : std::max(p.fraction, q.fraction);
        // Operations on halves are exact in f32 and rounded then, any way.
        auto const settle = [&](bound k) {
            auto const same = is_half(t) && k.error == 0;
            k = rounded(t, k);
            if (is_integer(t) && !info(t).is_signed) k.size = greatest(t);
            if (same) k.error = 0;
            return k;
        };
        switch (r.below(6)) {
        case 0:
            return void(keep(b.add<ops::add>(x, y), settle({p.size + q.size, p.error + q.error, finer, both})));
        case 1:
            return void(keep(b.add<ops::sub>(x, y), settle({p.size + q.size, p.error + q.error, finer, both})));
        case 2:
            return void(keep(b.add<ops::mul>(x, y),
                             settle({p.size * q.size, p.error * q.size + q.error * p.size + p.error * q.error,
                                     finer < 0 ? -1 : p.fraction + q.fraction, both})));
        case 3: {
            if (!is_floating(t)) return void(keep(b.add<ops::div>(x, y), {greatest(t), 0, 0, false}));
            auto const d = positive(y, 0.5);
            return void(
                keep(b.add<ops::div>(x, d), rounded(t, {p.size * 2, p.error * 2 + q.error * p.size * 4, -1, both}, 4)));
        }
        case 4: {
            std::vector<v> all{x, y};
            auto k = bound{p.size + q.size, p.error + q.error, finer, both};
            if (chance(2)) {
                auto const z = tame(partner(x));
                all.push_back(z);
                k = {k.size + of(z).size, k.error + of(z).error,
                     k.fraction < 0 || of(z).fraction < 0 ? -1 : std::max(k.fraction, of(z).fraction),
                     both || of(z).specials};
            }
            std::vector<tensor_type> types;
            auto d = g.type(x).dims;
            for (auto z : all) {
                auto const wider = broadcast(d, g.type(z).dims);
                if (!wider) return;
                d = *wider;
            }
            return void(keep(b.add<ops::sum>({}, std::span<v const>{all}), rounded(t, k, 3)));
        }
        default: {
            if (!is_floating(t)) return;
            if (chance(3))
                return void(keep(b.add<ops::pow>(x, number(t, static_cast<double>(pick(2, 3)))),
                                 rounded(t, {64, 48 * p.error, -1, p.specials}, 4)));
            auto const base = clipped(positive(x, 0.5), 4), power = clipped(y, 2);
            auto const &m = of(base), &e = of(power);
            return void(
                keep(b.add<ops::pow>(base, power), rounded(t, {16.1, 32 * m.error + 24 * e.error, -1, both}, 24)));
        }
        }
    }
    // ---- truth values
    v truth(v x) { return keep(x, {1, 0, 0, false}); }
    void compare() {
        auto const x = exact(), y = partner(x);
        if (of(y).error != 0) return;
        switch (r.below(7)) {
        case 0:
            return void(truth(b.add<ops::equal>(x, y)));
        case 1:
            return void(truth(b.add<ops::less>(x, y)));
        case 2:
            return void(truth(b.add<ops::less_or_equal>(x, y)));
        case 3:
            return void(truth(b.add<ops::greater>(x, y)));
        case 4:
            return void(truth(b.add<ops::greater_or_equal>(y, x)));
        case 5:
            return void(truth(b.add<ops::is_nan>(floating())));
        default:
            return void(
                truth(b.add<ops::is_inf>({.negative = chance(2), .positive = chance(2) || true}, {floating()})));
        }
    }
    void combine() {
        auto const x = of_type(dtype::boolean), y = partner(x);
        switch (r.below(5)) {
        case 0:
            return void(truth(b.add<ops::logical_and>(x, y)));
        case 1:
            return void(truth(b.add<ops::logical_or>(x, y)));
        case 2:
            return void(truth(b.add<ops::logical_xor>(x, y)));
        case 3:
            return void(truth(b.add<ops::equal>(x, y)));
        default:
            return void(truth(b.add<ops::logical_not>(x)));
        }
    }
    // Bits of integers, and what divisions of numbers leave.
    void bits() {
        auto const x = exact(), y = partner(x);
        if (of(y).error != 0 || type(x) == dtype::boolean) return;
        auto const t = type(x);
        auto const whole = bound{greatest(t), 0, 0, false};
        if (is_floating(t)) // exact, whatever is divided
            return void(keep(b.add<ops::remainder>(x, number(t, static_cast<double>(pick(2, 7)))), of(x)));
        switch (r.below(4)) {
        case 0:
            return void(keep(b.add<ops::bitwise_and>(x, y), whole));
        case 1:
            return void(keep(b.add<ops::bitwise_or>(x, y), whole));
        case 2:
            return void(keep(b.add<ops::bitwise_xor>(x, y), whole));
        default: {
            auto const other = byte_size(t) == 1   ? (t == dtype::i8 ? dtype::u8 : dtype::i8)
                               : byte_size(t) == 2 ? (t == dtype::i16 ? dtype::u16 : dtype::i16)
                               : byte_size(t) == 4 ? (t == dtype::i32 ? dtype::u32 : dtype::i32)
                                                   : (t == dtype::i64 ? dtype::u64 : dtype::i64);
            return void(keep(b.add<ops::bit_cast>({.to = other}, {x}), {greatest(other), 0, 0, false}));
        }
        }
    }
    void choose() {
        auto const x = any(), y = partner(x);
        auto d = broadcast(g.type(x).dims, g.type(y).dims);
        v condition{};
        for (int i = 0; i < 8 && !condition.valid(); ++i)
            if (auto const c = any();
                type(c) == dtype::boolean && broadcast(*d, g.type(c).dims) && elements(c) * elements(x) < 4000)
                condition = c;
        if (!condition.valid()) condition = fresh(dtype::boolean, chance(3) ? dims(y) : dims(x));
        if (condition == x || condition == y) return;
        auto const &p = of(x), &q = of(y);
        keep(b.add<ops::where>(condition, x, y),
             {std::max(p.size, q.size), std::max(p.error, q.error),
              p.fraction < 0 || q.fraction < 0 ? -1 : std::max(p.fraction, q.fraction), p.specials || q.specials});
    }
    void convert() {
        auto const to = chance(3) ? floating_type() : any_type();
        cast(is_floating(to) ? any() : exact(), to);
    }

    // ---- in other files
    void permute();
    void slice();
    void pad();
    void split();
    void join();
    void gather();
    void index();
    void decided(v x);
    void repeat();
    void refold();
    void known();
    void reduce();
    void normal();
    void multiply();
    void convolve();
    void pool();
    void tail();
    void layers();
    void rare();
    window_attributes window(std::span<std::int64_t const> pixels, ints& kernel);
};

} // namespace random_program

#include "random_graph_contractions.hpp"
#include "random_graph_movement.hpp"
