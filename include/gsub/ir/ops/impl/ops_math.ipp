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
                format_text("bound {} of operand {}; element types must be equal", to_string(bound), to_string(x)));
        if (!may_be_one_number(bound)) return cx.fail(format_text("bound {}; it takes one number", to_string(bound)));
    }
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::hard_sigmoid>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    if (!is_floating(x.element) && x.element != dtype::undefined)
        return cx.fail(format_text("element type {}; it takes floating types", to_string(x.element)));
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::gelu>::infer(infer_context& cx) {
    auto const& how = cx.attributes<ops::gelu>().approximate;
    if (how != "none" && how != "tanh")
        return cx.fail(format_text("approximate {}; none and tanh are supported", quoted{how}));
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
    if (!cx.known_elements(0) || t.element == dtype::undefined) return;
    tensor_knowledge converted;
    for (auto const& e : *cx.known_elements(0))
        if (t.element == dtype::boolean)
            converted.push_back(e.fixed ? element_knowledge{true, e.value != 0, {}} : element_knowledge{});
        else
            converted.push_back(e.fixed                  ? detail::element_of(t.element, e.value)
                                : is_floating(t.element) ? element_knowledge{}
                                                         : e);
    cx.result_knowledge(std::move(converted));
}

GSUB_INLINE void infer_shape<ops::remainder>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    if (!is_floating(x.element) && x.element != dtype::undefined)
        return cx.fail(format_text("element type {}; it takes floating types", to_string(x.element)));
    broadcast_inputs::infer(cx);
}

GSUB_INLINE void infer_shape<ops::bitwise_and>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    if (!is_integer(x.element) && x.element != dtype::undefined)
        return cx.fail(format_text("element type {}; it takes integers", to_string(x.element)));
    broadcast_inputs::infer(cx);
}

GSUB_INLINE void infer_shape<ops::bit_cast>::infer(infer_context& cx) {
    auto t = cx.type(0);
    auto const to = cx.attributes<ops::bit_cast>().to;
    if (to == dtype::undefined || (t.element != dtype::undefined && byte_size(t.element) != byte_size(to)))
        return cx.fail(format_text("from {} to {}; the types have equal widths", to_string(t.element), to_string(to)));
    t.element = to;
    cx.result(0, t);
}

GSUB_INLINE value_id decompose<ops::round_to>::build(node_sink& sink, attributes_of<ops::round_to> const& a,
                                                     std::span<value_id const> operands) {
    auto const x = operands[0];
    return sink.add<ops::cast>({.to = sink.type_of(x)->element}, {sink.add<ops::cast>({.to = a.to}, {x})});
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
