#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_logic.hpp>

#include <algorithm>
#include <optional>

namespace gsub {

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

GSUB_INLINE void infer_comparison(infer_context& cx, bool lower, bool same, bool higher) {
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.type(i).element == dtype::boolean && lower != higher)
            return cx.fail(format_text("operand {}; truth values have no order", to_string(cx.type(i))));
    follow_relation(cx, [&](element_knowledge const& a, element_knowledge const& b) -> std::optional<bool> {
        if (a.fixed && b.fixed) return a.value < b.value ? lower : a.value == b.value ? same : higher;
        if (!a.fixed && !b.fixed && provably_equal(a.size, b.size)) return same;
        return std::nullopt;
    });
}

GSUB_INLINE void infer_logical(infer_context& cx, unsigned table) {
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.type(i).element != dtype::boolean && cx.type(i).element != dtype::undefined)
            return cx.fail(format_text("operand {}; it takes truth values", to_string(cx.type(i))));
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

GSUB_INLINE void infer_shape<ops::logical_not>::infer(infer_context& cx) {
    auto t = cx.type(0);
    if (t.element != dtype::boolean && t.element != dtype::undefined)
        return cx.fail(format_text("operand {}; it takes truth values", to_string(t)));
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
        return cx.fail(format_text("operand {}; it takes floating types", to_string(t)));
    t.element = dtype::boolean;
    cx.result(0, std::move(t));
}

GSUB_INLINE void infer_shape<ops::where>::infer(infer_context& cx) {
    auto const &condition = cx.type(0), &a = cx.type(1), &b = cx.type(2);
    if (condition.element != dtype::boolean && condition.element != dtype::undefined)
        return cx.fail(format_text("condition {}; it takes truth values", to_string(condition)));
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(format_text("operands {} and {}; element types must be equal", to_string(a), to_string(b)));
    tensor_type out = a.element != dtype::undefined ? a : b;
    if (!condition.ranked || !a.ranked || !b.ranked) {
        out.ranked = false;
        out.dims.clear();
        return cx.result(0, std::move(out));
    }
    auto const both = broadcast(a.dims, b.dims);
    auto dims = both ? broadcast(*both, condition.dims) : std::nullopt;
    if (!dims)
        return cx.fail(format_text("{}, {} and {} do not broadcast", to_string(condition), to_string(a), to_string(b)));
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

} // namespace gsub
