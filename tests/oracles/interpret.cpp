#include "oracles/interpret.hpp"

namespace interpret {

std::int64_t at(affine const& a, positions const& p) {
    auto sum = a.constant();
    for (auto const& t : a.terms()) sum += t.factor * p.at(static_cast<std::size_t>(t.of));
    return sum;
}

bool holds(std::vector<loop::bound> const& bounds, positions const& p) {
    return holds_all(bounds, [&](affine const& a) { return at(a, p); });
}

std::size_t element(tensor_expression const& e, loop::access const& a, positions const& p) {
    auto const& of = e.buffers.at(static_cast<std::size_t>(a.of));
    std::int64_t n = 0;
    for (std::size_t d = 0; d < of.dims.size(); ++d) {
        auto const i = at(a.index.at(d), p);
        if (i < 0 || i >= of.dims[d]) throw std::out_of_range{"an index outside its buffer"};
        n = of.strides.empty() ? n * of.dims[d] + i : n + i * of.strides[d];
    }
    if (!a.beyond.table.empty()) n += a.beyond.table.at(static_cast<std::size_t>(at(a.beyond.by, p)));
    return static_cast<std::size_t>(n);
}

double held(double v, dtype t) {
    if (t == dtype::f32) return v; // rounded by nothing: tests compare with a tolerance
    if (t == dtype::f16) return static_cast<double>(static_cast<float>(float16{static_cast<float>(v)}));
    if (t == dtype::bf16) return static_cast<double>(static_cast<float>(bfloat16{static_cast<float>(v)}));
    if (t == dtype::boolean) return v != 0 ? 1 : 0;
    if (!is_integer(t) || byte_size(t) == 8) return v; // never beyond 2^53
    auto const size = std::ldexp(1.0, 8 * static_cast<int>(byte_size(t)));
    auto const low = info(t).is_signed ? -size / 2 : 0;
    auto const wrapped = std::fmod(v - low, size);
    return wrapped + low + (wrapped < 0 ? size : 0);
}

double converted(double v, dtype from, dtype to) {
    if (!is_integer(to) || !is_floating(from)) return to == dtype::u64 && v < 0 ? v + 0x1p64 : held(v, to);
    auto const most = std::ldexp(1.0, integer_digits(to)), least = info(to).is_signed ? -most : 0.0;
    return v != v ? 0 : v < least ? least : v >= most ? most - 1 : std::trunc(v);
}

double apply(loop::scalar_op op, double a, double b, double c, dtype of) {
    using loop::scalar_op;
    auto const bits = [&](auto operation) {
        auto const of_both = operation(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
        return held(static_cast<double>(of_both), of);
    };
    switch (op) {
    case scalar_op::constant:
    case scalar_op::load:
    case scalar_op::reduced:
    case scalar_op::cast:
        throw std::logic_error{"no operation"};
    case scalar_op::select:
        return a != 0 ? b : c;
    case scalar_op::add:
        return held(a + b, of);
    case scalar_op::subtract:
        return held(a - b, of);
    case scalar_op::multiply:
        return held(a * b, of);
    case scalar_op::divide:
        return !is_integer(of) ? a / b : b == 0 ? 0 : held(std::trunc(a / b), of);
    case scalar_op::power:
        return std::pow(a, b);
    case scalar_op::maximum:
        return a < b ? b : a;
    case scalar_op::minimum:
        return b < a ? b : a;
    case scalar_op::equal:
        return a == b;
    case scalar_op::less:
        return a < b;
    case scalar_op::less_equal:
        return a <= b;
    case scalar_op::logical_and:
        return a != 0 && b != 0;
    case scalar_op::logical_or:
        return a != 0 || b != 0;
    case scalar_op::logical_xor:
        return (a != 0) != (b != 0);
    case scalar_op::logical_not:
        return a == 0;
    case scalar_op::square_root:
        return std::sqrt(a);
    case scalar_op::negate:
        return held(-a, of);
    case scalar_op::absolute:
        return held(std::abs(a), of);
    case scalar_op::floor:
        return std::floor(a);
    case scalar_op::round:
        return std::nearbyint(a);
    case scalar_op::fast_exponential:
    case scalar_op::exponential:
        return std::exp(a);
    case scalar_op::logarithm:
        return std::log(a);
    case scalar_op::fast_tanh:
    case scalar_op::tanh:
        return std::tanh(a);
    case scalar_op::fast_erf:
    case scalar_op::erf:
        return std::erf(a);
    case scalar_op::sigmoid:
        return 1 / (1 + std::exp(-a));
    case scalar_op::sin:
        return std::sin(a);
    case scalar_op::cos:
        return std::cos(a);
    case scalar_op::tan:
        return std::tan(a);
    case scalar_op::asin:
        return std::asin(a);
    case scalar_op::acos:
        return std::acos(a);
    case scalar_op::atan:
        return std::atan(a);
    case scalar_op::sinh:
        return std::sinh(a);
    case scalar_op::cosh:
        return std::cosh(a);
    case scalar_op::asinh:
        return std::asinh(a);
    case scalar_op::acosh:
        return std::acosh(a);
    case scalar_op::atanh:
        return std::atanh(a);
    case scalar_op::remainder:
        return std::fmod(a, b);
    case scalar_op::bitwise_and:
        return bits(std::bit_and<>{});
    case scalar_op::bitwise_or:
        return bits(std::bit_or<>{});
    case scalar_op::bitwise_xor:
        return bits(std::bit_xor<>{});
    }
    throw std::logic_error{"no operation"};
}

double combine(loop::scalar_op op, double sum, double next, dtype of) {
    return op == loop::scalar_op::maximum && next != next ? next : apply(op, sum, next, 0, of);
}

double term(tensor_expression const& e, std::int32_t id, positions const& p, arrays const& data, double reduced) {
    auto const& t = e.exprs.at(static_cast<std::size_t>(id));
    auto const number = is_floating(t.type) ? t.value : static_cast<double>(t.integer);
    auto const operand = [&](int o) { return t.operands[o] < 0 ? 0 : term(e, t.operands[o], p, data, reduced); };
    auto const type = [&](int o) { return e.exprs.at(static_cast<std::size_t>(t.operands[o])).type; };
    switch (t.op) {
    case loop::scalar_op::constant:
        return t.type == dtype::f32 ? static_cast<double>(static_cast<float>(number)) : held(number, t.type);
    case loop::scalar_op::load: {
        auto const& read = e.read_by(t);
        if (!holds(read.predicate, p)) return held(number, t.type);
        if (read.chosen.by >= 0) { // tells nobody
            auto chosen = static_cast<std::int64_t>(term(e, read.chosen.by, p, data, reduced));
            if (chosen < -read.chosen.entries || chosen >= read.chosen.entries) chosen = 0;
            chosen += chosen < 0 ? read.chosen.entries : 0;
            return data.at(static_cast<std::size_t>(read.source.of))
                .at(element(e, read.source, p) + static_cast<std::size_t>(chosen * read.chosen.stride));
        }
        return data.at(static_cast<std::size_t>(read.source.of)).at(element(e, read.source, p));
    }
    case loop::scalar_op::reduced:
        return reduced;
    case loop::scalar_op::cast:
        return converted(operand(0), type(0), t.type);
    default:
        return apply(t.op, operand(0), operand(1), operand(2), type(t.op == loop::scalar_op::select ? 1 : 0));
    }
}

// Gives chosen indices their values at a position; false where it does not exist.
bool choose(tensor_expression const& e, std::vector<loop::bound> const& where, positions& p, arrays& data) {
    for (std::size_t next = 0;; ++next) {
        auto const open = [&](affine const& a) {
            return std::any_of(e.chosen.begin() + static_cast<std::ptrdiff_t>(next), e.chosen.end(),
                               [&](auto const& c) { return a.depends_on(c.var); });
        };
        for (auto const& b : where)
            if (!open(b.value) && !holds({b}, p)) return false;
        if (next == e.chosen.size()) return true;
        auto const& c = e.chosen[next];
        auto const k =
            static_cast<std::int64_t>(data.at(static_cast<std::size_t>(c.source.of)).at(element(e, c.source, p)));
        auto const inside = k >= -c.entries && k < c.entries;
        if (!inside) data.at(static_cast<std::size_t>(c.status)).at(0) = 1;
        p.at(static_cast<std::size_t>(c.var)) = !inside ? 0 : k < 0 ? k + c.entries : k;
    }
}

void run(tensor_expression const& e, arrays& data) {
    std::vector<loop::nest_loop> axes;
    for (auto const& a : e.axes)
        axes.push_back({static_cast<loop::variable>(axes.size()), a.extent, loop::loop_kind::serial,
                        a.kind == loop::axis_kind::reduction});
    positions p(axes.size() + e.chosen.size(), 0);
    each(axes, false, 0, p, [&] {
        if (!choose(e, e.domain, p, data)) return;
        double sum = 0;
        if (e.update >= 0) {
            sum = term(e, e.initial, p, data, 0);
            each(axes, true, 0, p, [&] {
                if (holds(e.bounds, p))
                    sum = combine(e.combine, sum, term(e, e.update, p, data, 0),
                                  e.exprs.at(static_cast<std::size_t>(e.update)).type);
            });
        }
        // All values before any is stored: one may be of what another replaces.
        std::vector<std::pair<loop::access const*, double>> made;
        if (holds(e.target_predicate, p)) made.emplace_back(&e.target, term(e, e.result, p, data, sum));
        for (auto const& s : e.more_stores)
            if (holds(s.predicate, p)) made.emplace_back(&s.target, term(e, s.value, p, data, sum));
        for (auto const& [target, v] : made)
            data.at(static_cast<std::size_t>(target->of)).at(element(e, *target, p)) = v;
    });
}

void run(loop::loop_nest const& nest, arrays& data, std::map<std::size_t, int>& stored,
         std::map<std::size_t, int>& steps) {
    auto const& e = nest.what;
    positions p(nest.names.size(), 0);
    auto const parts = [&] {
        for (auto const& part : nest.fused_indices)
            p[static_cast<std::size_t>(part.var)] = p[static_cast<std::size_t>(part.of)] / part.divisor % part.extent;
    };
    auto& out = data.at(static_cast<std::size_t>(e.target.of));
    std::map<std::size_t, double> sums;
    // Loops in their own order: a step adds to the sum of the element that it belongs to.
    auto const visit = [&](auto const& self, std::size_t depth) -> void {
        if (depth < nest.loops.size()) {
            auto const& l = nest.loops[depth];
            for (std::int64_t i = 0; i < l.extent; ++i) {
                p[static_cast<std::size_t>(l.var)] = i;
                self(self, depth + 1);
            }
            return;
        }
        parts();
        if (!choose(e, nest.tails, p, data)) return;
        auto const where = element(e, e.target, p);
        ++steps[where];
        if (e.update < 0 || !holds(e.bounds, p)) return;
        auto const sum = sums.emplace(where, term(e, e.initial, p, data, 0)).first;
        sum->second = combine(e.combine, sum->second, term(e, e.update, p, data, 0));
    };
    visit(visit, 0);
    std::fill(p.begin(), p.end(), 0);
    each(nest.loops, false, 0, p, [&] {
        parts();
        if (!choose(e, nest.tails, p, data)) return;
        auto const where = element(e, e.target, p);
        auto const sum = sums.find(where);
        ++stored[where];
        out.at(where) = term(e, e.result, p, data,
                             sum != sums.end() ? sum->second
                             : e.update >= 0   ? term(e, e.initial, p, data, 0)
                                               : 0);
        for (auto const& s : e.more_stores)
            if (holds(s.predicate, p))
                data.at(static_cast<std::size_t>(s.target.of)).at(element(e, s.target, p)) =
                    term(e, s.value, p, data, 0);
    });
}

double small_number(random_stream& r, dtype t) {
    auto const v = static_cast<double>(r.below(9));
    return t == dtype::boolean ? held(v, t) : info(t).is_signed ? v - 4 : v;
}

arrays random_data(tensor_expression const& e, std::uint64_t seed) {
    random_stream r{seed};
    arrays data;
    for (auto const& b : e.buffers) {
        auto& a = data.emplace_back(static_cast<std::size_t>(b.elements()), untouched_of(b.element));
        if (!b.written)
            for (auto& v : a) v = small_number(r, b.element);
    }
    return data;
}

} // namespace interpret
