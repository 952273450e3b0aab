// What a computation and a loop nest mean, element by element in double: the oracle of tests of loop and codegen.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace interpret {

using namespace gsub;
using loop::affine;
using loop::tensor_expression;

using positions = std::vector<std::int64_t>;     // of variables
using arrays = std::vector<std::vector<double>>; // contents of buffers

inline std::int64_t at(affine const& a, positions const& p) {
    auto sum = a.constant();
    for (auto const& t : a.terms()) sum += t.factor * p.at(static_cast<std::size_t>(t.of));
    return sum;
}
template <class Value>
bool holds_all(std::vector<loop::bound> const& bounds, Value&& value) {
    return std::all_of(bounds.begin(), bounds.end(), [&](auto const& b) {
        auto const v = value(b.value);
        return v >= 0 && v < b.extent;
    });
}
inline bool holds(std::vector<loop::bound> const& bounds, positions const& p) {
    return holds_all(bounds, [&](affine const& a) { return at(a, p); });
}
/// Number of an element in its buffer. An index outside is an error of the expression.
inline std::size_t element(tensor_expression const& e, loop::access const& a, positions const& p) {
    auto const& dims = e.buffers.at(static_cast<std::size_t>(a.of)).dims;
    std::int64_t n = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        auto const i = at(a.index.at(d), p);
        if (i < 0 || i >= dims[d]) throw std::out_of_range{"an index outside its buffer"};
        n = n * dims[d] + i;
    }
    return static_cast<std::size_t>(n);
}
/// `maximum` and `minimum` take the second where it is greater or less: a NaN in the first stays.
inline double apply(loop::scalar_op op, double a, double b) {
    switch (op) {
    case loop::scalar_op::add:
        return a + b;
    case loop::scalar_op::subtract:
        return a - b;
    case loop::scalar_op::multiply:
        return a * b;
    case loop::scalar_op::divide:
        return a / b;
    case loop::scalar_op::maximum:
        return a < b ? b : a;
    case loop::scalar_op::minimum:
        return b < a ? b : a;
    case loop::scalar_op::negate:
        return -a;
    case loop::scalar_op::absolute:
        return std::abs(a);
    case loop::scalar_op::floor:
        return std::floor(a);
    case loop::scalar_op::exponential:
        return std::exp(a);
    case loop::scalar_op::logarithm:
        return std::log(a);
    case loop::scalar_op::tanh:
        return std::tanh(a);
    case loop::scalar_op::erf:
        return std::erf(a);
    case loop::scalar_op::sigmoid:
        return 1 / (1 + std::exp(-a));
    default:
        return std::sqrt(a);
    }
}
/// One step of a reduction. A maximum over a NaN is NaN.
inline double combine(loop::scalar_op op, double sum, double next) {
    return op == loop::scalar_op::maximum && next != next ? next : apply(op, sum, next);
}
inline double term(tensor_expression const& e, std::int32_t id, positions const& p, arrays const& data,
                   double reduced) {
    auto const& t = e.terms.at(static_cast<std::size_t>(id));
    switch (t.op) {
    case loop::scalar_op::constant:
        return static_cast<double>(static_cast<float>(t.value));
    case loop::scalar_op::load:
        if (!holds(t.within, p)) return 0;
        return data.at(static_cast<std::size_t>(t.source.of)).at(element(e, t.source, p));
    case loop::scalar_op::reduced:
        return reduced;
    default:
        return apply(t.op, term(e, t.operands[0], p, data, reduced),
                     t.operands[1] < 0 ? 0 : term(e, t.operands[1], p, data, reduced));
    }
}

/// Calls `f` for all positions of axes or loops of one kind, the others left as they are.
template <class Extents, class F>
void each(Extents const& loops, bool reduction, std::size_t depth, positions& p, F&& f) {
    if (depth == loops.size()) return f();
    auto const& l = loops[depth];
    if (l.reduction != reduction) return each(loops, reduction, depth + 1, p, f);
    for (std::int64_t i = 0; i < l.extent; ++i) {
        p[static_cast<std::size_t>(l.var)] = i;
        each(loops, reduction, depth + 1, p, f);
    }
    p[static_cast<std::size_t>(l.var)] = 0;
}

/// Computes the output of an expression. Elements that it leaves out stay as they are.
inline void run(tensor_expression const& e, arrays& data) {
    std::vector<loop::nest_loop> axes;
    for (auto const& a : e.axes)
        axes.push_back({static_cast<loop::variable>(axes.size()), a.extent, loop::loop_kind::serial,
                        a.kind == loop::axis_kind::reduction});
    positions p(axes.size(), 0);
    each(axes, false, 0, p, [&] {
        if (!holds(e.domain, p)) return;
        double sum = 0;
        if (e.update >= 0) {
            sum = term(e, e.initial, p, data, 0);
            each(axes, true, 0, p, [&] {
                if (holds(e.bounds, p)) sum = combine(e.combine, sum, term(e, e.update, p, data, 0));
            });
        }
        // All values before any is stored: one may be of what another replaces.
        std::vector<std::pair<loop::access const*, double>> made;
        if (holds(e.target_within, p)) made.emplace_back(&e.target, term(e, e.result, p, data, sum));
        for (auto const& s : e.also)
            if (holds(s.within, p)) made.emplace_back(&s.target, term(e, s.value, p, data, sum));
        for (auto const& [target, v] : made)
            data.at(static_cast<std::size_t>(target->of)).at(element(e, *target, p)) = v;
    });
}

/// Computes the output of a nest in the order of its loops, with `seen` counting the times that each element of the
/// output and each pair of element and step is visited.
inline void run(loop::loop_nest const& nest, arrays& data, std::map<std::size_t, int>& stored,
                std::map<std::size_t, int>& steps) {
    auto const& e = nest.what;
    positions p(nest.names.size(), 0);
    auto const parts = [&] {
        for (auto const& part : nest.parts)
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
        if (!holds(nest.tails, p)) return;
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
        if (!holds(nest.tails, p)) return;
        auto const where = element(e, e.target, p);
        auto const sum = sums.find(where);
        ++stored[where];
        out.at(where) = term(e, e.result, p, data,
                             sum != sums.end() ? sum->second
                             : e.update >= 0   ? term(e, e.initial, p, data, 0)
                                               : 0);
        for (auto const& s : e.also)
            if (holds(s.within, p))
                data.at(static_cast<std::size_t>(s.target.of)).at(element(e, s.target, p)) =
                    term(e, s.value, p, data, 0);
    });
}

/// Small whole numbers, whose sums and products floats hold exactly; the output is filled with a mark.
inline constexpr double untouched = -12345.5;
inline arrays random_data(tensor_expression const& e, std::uint64_t seed) {
    random_stream r{seed};
    arrays data;
    for (auto const& b : e.buffers) {
        auto& a = data.emplace_back(static_cast<std::size_t>(b.elements()), untouched);
        if (!b.written)
            for (auto& v : a) v = static_cast<double>(r.below(9)) - 4;
    }
    return data;
}

} // namespace interpret
