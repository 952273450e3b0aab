#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

namespace gsub {

namespace detail {

// Elementwise arithmetic on the elements of small integer tensors, for shape computations.
template <class Arithmetic>
void follow_arithmetic(infer_context& cx, Arithmetic arithmetic) {
    broadcast_inputs::infer(cx);
    auto const *a = cx.known(0), *b = cx.known(1);
    if (cx.failed() || !a || !b || !is_integer(cx.type(0).element)) return;
    auto const count = std::max(a->size(), b->size());
    if ((a->size() != count && a->size() != 1) || (b->size() != count && b->size() != 1)) return;
    tensor_knowledge out;
    for (std::size_t i = 0; i < count; ++i) {
        auto const& x = (*a)[a->size() == 1 ? 0 : i];
        auto const& y = (*b)[b->size() == 1 ? 0 : i];
        std::optional<std::int64_t> value;
        if (x.fixed && y.fixed) value = arithmetic(x.value, y.value);
        out.push_back(value ? element_of(cx.type(0).element, *value) : element_knowledge{});
    }
    cx.result_knowledge(std::move(out));
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::clip>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    for (std::size_t i = 1; i < 3; ++i) {
        if (!cx.has(i)) continue;
        auto const& bound = cx.type(i);
        if (bound.element != x.element && bound.element != dtype::undefined && x.element != dtype::undefined)
            return cx.fail(
                fmt::format("bound {} of operand {}; element types must be equal", to_string(bound), to_string(x)));
        if (!may_be_one_number(bound)) return cx.fail(fmt::format("bound {}; it takes one number", to_string(bound)));
    }
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::hard_sigmoid>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    if (!is_floating(x.element) && x.element != dtype::undefined)
        return cx.fail(fmt::format("element type {}; it takes floating types", to_string(x.element)));
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::gelu>::infer(infer_context& cx) {
    auto const& how = cx.attributes<ops::gelu>().approximate;
    if (how != "none" && how != "tanh")
        return cx.fail(fmt::format("approximate {}; none and tanh are supported", quoted{how}));
    infer_shape<ops::hard_sigmoid>::infer(cx);
}

GSUB_INLINE void infer_shape<ops::add>::infer(infer_context& cx) {
    detail::follow_arithmetic(cx, [](std::int64_t a, std::int64_t b) {
        std::int64_t c = 0;
        return __builtin_add_overflow(a, b, &c) ? std::nullopt : std::optional{c};
    });
}
GSUB_INLINE void infer_shape<ops::sub>::infer(infer_context& cx) {
    detail::follow_arithmetic(cx, [](std::int64_t a, std::int64_t b) {
        std::int64_t c = 0;
        return __builtin_sub_overflow(a, b, &c) ? std::nullopt : std::optional{c};
    });
}
GSUB_INLINE void infer_shape<ops::mul>::infer(infer_context& cx) {
    detail::follow_arithmetic(cx, [](std::int64_t a, std::int64_t b) {
        std::int64_t c = 0;
        return __builtin_mul_overflow(a, b, &c) ? std::nullopt : std::optional{c};
    });
}
GSUB_INLINE void infer_shape<ops::div>::infer(infer_context& cx) {
    detail::follow_arithmetic(cx, [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        if (b == 0 || b == -1)
            return b == 0 || a == std::numeric_limits<std::int64_t>::min() ? std::nullopt : std::optional{-a};
        return a / b;
    });
}

GSUB_INLINE void infer_shape<ops::cast>::infer(infer_context& cx) {
    auto t = cx.type(0);
    t.element = cx.attributes<ops::cast>().to;
    cx.result(0, t);
    if (!cx.known(0) || !(is_integer(t.element) || t.element == dtype::boolean)) return;
    tensor_knowledge converted;
    for (auto const& e : *cx.known(0))
        if (t.element == dtype::boolean)
            converted.push_back(e.fixed ? element_knowledge{true, e.value != 0, {}} : element_knowledge{});
        else
            converted.push_back(e.fixed ? detail::element_of(t.element, e.value) : e);
    cx.result_knowledge(std::move(converted));
}

namespace detail {

// The truth values of small tensors, where `known` tells them of a pair of elements.
template <class Relation>
void follow_relation(infer_context& cx, Relation known) {
    broadcast_inputs::infer(cx);
    if (cx.failed()) return;
    auto type = cx.result_type(0);
    type.element = dtype::boolean;
    cx.result(0, std::move(type));
    auto const *a = cx.known(0), *b = cx.known(1);
    if (!a || !b) return;
    auto const count = a->size() == 1 ? b->size() : a->size();
    if ((a->size() != count && a->size() != 1) || (b->size() != count && b->size() != 1)) return;
    tensor_knowledge out;
    for (std::size_t i = 0; i < count; ++i) {
        std::optional<bool> const value = known((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
        out.push_back(value ? element_knowledge{true, *value ? 1 : 0, {}} : element_knowledge{});
    }
    cx.result_knowledge(std::move(out));
}

// A comparison: `lower`, `same` and `higher` tell for which order of two numbers it holds.
GSUB_INLINE void infer_comparison(infer_context& cx, bool lower, bool same, bool higher) {
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.type(i).element == dtype::boolean && lower != higher)
            return cx.fail(fmt::format("operand {}; truth values have no order", to_string(cx.type(i))));
    follow_relation(cx, [&](element_knowledge const& a, element_knowledge const& b) -> std::optional<bool> {
        if (a.fixed && b.fixed) return a.value < b.value ? lower : a.value == b.value ? same : higher;
        if (!a.fixed && !b.fixed && provably_equal(a.size, b.size)) return same;
        return std::nullopt;
    });
}

// An operator on truth values whose result for a pair of them is the bit `2 * a + b` of `table`.
GSUB_INLINE void infer_logical(infer_context& cx, unsigned table) {
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.type(i).element != dtype::boolean && cx.type(i).element != dtype::undefined)
            return cx.fail(fmt::format("operand {}; it takes truth values", to_string(cx.type(i))));
    follow_relation(cx, [&](element_knowledge const& a, element_knowledge const& b) -> std::optional<bool> {
        std::optional<bool> value; // what is not known may be either
        for (unsigned x = 0; x < 2; ++x)
            for (unsigned y = 0; y < 2; ++y) {
                if ((a.fixed && (a.value != 0) != (x != 0)) || (b.fixed && (b.value != 0) != (y != 0))) continue;
                bool const holds = (table >> (2 * x + y)) & 1u;
                if (value && *value != holds) return std::nullopt;
                value = holds;
            }
        return value;
    });
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::equal>::infer(infer_context& cx) {
    detail::infer_comparison(cx, false, true, false);
}
GSUB_INLINE void infer_shape<ops::less>::infer(infer_context& cx) {
    detail::infer_comparison(cx, true, false, false);
}
GSUB_INLINE void infer_shape<ops::less_or_equal>::infer(infer_context& cx) {
    detail::infer_comparison(cx, true, true, false);
}
GSUB_INLINE void infer_shape<ops::greater>::infer(infer_context& cx) {
    detail::infer_comparison(cx, false, false, true);
}
GSUB_INLINE void infer_shape<ops::greater_or_equal>::infer(infer_context& cx) {
    detail::infer_comparison(cx, false, true, true);
}
GSUB_INLINE void infer_shape<ops::logical_and>::infer(infer_context& cx) {
    detail::infer_logical(cx, 0b1000);
}
GSUB_INLINE void infer_shape<ops::logical_or>::infer(infer_context& cx) {
    detail::infer_logical(cx, 0b1110);
}
GSUB_INLINE void infer_shape<ops::logical_xor>::infer(infer_context& cx) {
    detail::infer_logical(cx, 0b0110);
}
GSUB_INLINE void infer_shape<ops::logical_not>::infer(infer_context& cx) {
    auto t = cx.type(0);
    if (t.element != dtype::boolean && t.element != dtype::undefined)
        return cx.fail(fmt::format("operand {}; it takes truth values", to_string(t)));
    t.element = dtype::boolean;
    cx.result(0, std::move(t));
    if (!cx.known(0)) return;
    auto negated = *cx.known(0);
    for (auto& e : negated)
        if (e.fixed) e.value = e.value == 0;
    cx.result_knowledge(std::move(negated));
}
GSUB_INLINE void infer_shape<ops::is_nan>::infer(infer_context& cx) {
    auto t = cx.type(0);
    if (!is_floating(t.element) && t.element != dtype::undefined)
        return cx.fail(fmt::format("operand {}; it takes floating types", to_string(t)));
    t.element = dtype::boolean;
    cx.result(0, std::move(t));
}
GSUB_INLINE void infer_shape<ops::where>::infer(infer_context& cx) {
    auto const &condition = cx.type(0), &a = cx.type(1), &b = cx.type(2);
    if (condition.element != dtype::boolean && condition.element != dtype::undefined)
        return cx.fail(fmt::format("condition {}; it takes truth values", to_string(condition)));
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(fmt::format("operands {} and {}; element types must be equal", to_string(a), to_string(b)));
    tensor_type out = a.element != dtype::undefined ? a : b;
    if (!condition.ranked || !a.ranked || !b.ranked) {
        out.ranked = false;
        out.dims.clear();
        return cx.result(0, std::move(out));
    }
    auto const both = broadcast(a.dims, b.dims);
    auto dims = both ? broadcast(*both, condition.dims) : std::nullopt;
    if (!dims)
        return cx.fail(fmt::format("{}, {} and {} do not broadcast", to_string(condition), to_string(a), to_string(b)));
    out.dims = std::move(*dims);
    cx.result(0, std::move(out));
    tensor_knowledge const* const known[] = {cx.known(0), cx.known(1), cx.known(2)};
    if (!known[0] || !known[1] || !known[2]) return;
    std::size_t count = 1;
    for (auto const* k : known)
        if (k->size() != 1) count = k->size();
    tensor_knowledge picked;
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = [&](std::size_t k) -> element_knowledge const& {
            return (*known[k])[known[k]->size() == 1 ? 0 : i];
        };
        picked.push_back(at(0).fixed ? at(at(0).value != 0 ? 1 : 2) : at(1) == at(2) ? at(1) : element_knowledge{});
    }
    cx.result_knowledge(std::move(picked));
}

GSUB_INLINE value_id decompose<ops::sum>::build(node_sink& sink, no_attributes const&,
                                                std::span<value_id const> operands) {
    auto total = operands[0];
    for (auto v : operands.subspan(1)) total = sink.add<ops::add>(total, v);
    return operands.size() == 1
               ? sink.add<ops::add>(total, sink.add<ops::fill>({.element = sink.type_of(total)->element}, {}))
               : total;
}

namespace detail {
// A number in the element type of a value.
GSUB_INLINE value_id scalar_like(node_sink& sink, value_id x, double number) {
    return sink.add<ops::fill>({.element = sink.type_of(x)->element, .value = number}, {});
}
} // namespace detail

GSUB_INLINE value_id decompose<ops::hard_sigmoid>::build(node_sink& sink, attributes_of<ops::hard_sigmoid> const& a,
                                                         std::span<value_id const> operands) {
    auto const scalar = [&](double v) { return detail::scalar_like(sink, operands[0], v); };
    auto const line = sink.add<ops::add>(sink.add<ops::mul>(operands[0], scalar(a.alpha)), scalar(a.beta));
    return sink.add<ops::clip>({.min = 0, .max = 1}, {line});
}

GSUB_INLINE value_id decompose<ops::hard_swish>::build(node_sink& sink, no_attributes const&,
                                                       std::span<value_id const> operands) {
    auto const gate = sink.add<ops::hard_sigmoid>({.alpha = 1.0 / 6, .beta = 0.5}, {operands[0]});
    return sink.add<ops::mul>(operands[0], gate);
}

GSUB_INLINE value_id decompose<ops::leaky_relu>::build(node_sink& sink, attributes_of<ops::leaky_relu> const& a,
                                                       std::span<value_id const> operands) {
    auto const below = sink.add<ops::clip>({.max = 0}, {operands[0]});
    return sink.add<ops::add>(sink.add<ops::relu>(operands[0]),
                              sink.add<ops::mul>(below, detail::scalar_like(sink, below, a.alpha)));
}

GSUB_INLINE value_id decompose<ops::elu>::build(node_sink& sink, attributes_of<ops::elu> const& a,
                                                std::span<value_id const> operands) {
    auto const x = operands[0];
    auto const power = sink.add<ops::exp>(sink.add<ops::clip>({.max = 0}, {x}));
    auto const below = sink.add<ops::sub>(power, detail::scalar_like(sink, x, 1));
    return sink.add<ops::add>(sink.add<ops::relu>(x), sink.add<ops::mul>(below, detail::scalar_like(sink, x, a.alpha)));
}

GSUB_INLINE value_id decompose<ops::gelu>::build(node_sink& sink, attributes_of<ops::gelu> const& a,
                                                 std::span<value_id const> operands) {
    auto const x = operands[0];
    auto const scalar = [&](double v) { return detail::scalar_like(sink, x, v); };
    auto const half = sink.add<ops::mul>(x, scalar(0.5));
    value_id gate;
    if (a.approximate == "tanh") { // tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))
        auto const cube = sink.add<ops::mul>(sink.add<ops::mul>(x, x), x);
        auto const inner = sink.add<ops::add>(x, sink.add<ops::mul>(cube, scalar(0.044715)));
        gate = sink.add<ops::tanh>(sink.add<ops::mul>(inner, scalar(0.7978845608028654)));
    } else { // erf(x / sqrt(2))
        gate = sink.add<ops::erf>(sink.add<ops::div>(x, scalar(1.4142135623730951)));
    }
    return sink.add<ops::mul>(half, sink.add<ops::add>(gate, scalar(1)));
}

} // namespace gsub
