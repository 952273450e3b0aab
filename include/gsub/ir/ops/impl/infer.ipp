#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/types/blocked_layout.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE infer_context::infer_context(op_info const& op, attributes_id attributes, std::span<type_id const> operands,
                                         std::size_t results)
    : op_(&op),
      attributes_(attributes),
      types_(operands.begin(), operands.end()),
      absent_(operands.size(), false),
      has_known_(operands.size(), false),
      result_types_(results) {}

namespace detail {
// Whether a tensor of a type may have so many elements; of several dimensions only where all are known.
GSUB_INLINE bool may_have_elements(tensor_type const& t, std::size_t count) {
    return t.is_static() ? t.elements() == static_cast<std::int64_t>(count) : !t.ranked || t.rank() <= 1;
}
} // namespace detail

GSUB_INLINE tensor_knowledge const* infer_context::known(std::size_t operand) const noexcept {
    auto const* const k = known_elements(operand);
    return k && !(type(operand).ranked && type(operand).rank() > 1) ? k : nullptr;
}
GSUB_INLINE tensor_knowledge const* infer_context::known_elements(std::size_t operand) const noexcept {
    if (operand >= has_known_.size() || !has_known_[operand]) return nullptr;
    return detail::may_have_elements(type(operand), known_[operand].size()) ? &known_[operand] : nullptr;
}

GSUB_INLINE std::optional<ints> infer_context::known_ints(std::size_t operand) const {
    auto const* const k = known(operand);
    if (!k || is_floating(type(operand).element)) return std::nullopt;
    ints out;
    for (auto const& e : *k) {
        if (!e.fixed) return std::nullopt;
        out.push_back(e.value);
    }
    return out;
}

GSUB_INLINE void infer_context::fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
}

GSUB_INLINE std::optional<shape> broadcast(shape const& a, shape const& b) {
    auto const rank = std::max(a.size(), b.size());
    shape out(rank);
    for (std::size_t i = 0; i < rank; ++i) { // from the last dimension on
        dim const x = i < a.size() ? a[a.size() - 1 - i] : dim{1};
        dim const y = i < b.size() ? b[b.size() - 1 - i] : dim{1};
        dim& to = out[rank - 1 - i];
        if (x == dim{1})
            to = y;
        else if (y == dim{1} || provably_equal(x, y))
            to = x;
        else if (provably_different(x, y))
            return std::nullopt;
        else
            to = x.fixed() ? x : y.fixed() ? y : dim{}; // an unknown size may still be one
    }
    return out;
}

GSUB_INLINE void broadcast_inputs::infer(infer_context& cx) {
    tensor_type out = cx.type(0);
    for (std::size_t i = 1; i < cx.operands(); ++i) {
        auto const& t = cx.type(i);
        if (t.element != out.element && t.element != dtype::undefined && out.element != dtype::undefined)
            return cx.fail(format_text("operands of element types {} and {}; they must be equal",
                                       to_string(out.element), to_string(t.element)));
        if (out.element == dtype::undefined) out.element = t.element;
        if (!t.ranked || !out.ranked) {
            out.ranked = false;
            out.dims.clear();
            continue;
        }
        auto dims = broadcast(out.dims, t.dims);
        if (!dims) return cx.fail(format_text("{} and {} do not broadcast", to_string(out), to_string(t)));
        out.dims = std::move(*dims);
    }
    cx.result(0, std::move(out));
}

namespace detail {
// What is known of an integer element: nothing where the element type cannot hold it.
GSUB_INLINE element_knowledge element_of(dtype element, std::int64_t value) {
    if (is_floating(element)) { // whole numbers, as far as the type has each of them
        auto const digits = element == dtype::f64 ? 53 : element == dtype::f32 ? 24 : element == dtype::f16 ? 11 : 8;
        auto const most = std::int64_t{1} << digits;
        return value >= -most && value <= most ? element_knowledge{true, value, {}} : element_knowledge{};
    }
    auto const of_64_bits = byte_size(element) == 8;
    auto const end = of_64_bits ? 0 : std::int64_t{1} << integer_digits(element);
    auto const fits = (value >= 0 || info(element).is_signed) && (of_64_bits || (value >= -end && value < end));
    return fits ? element_knowledge{true, value, {}} : element_knowledge{};
}

// Whether an operator reads its operands as they are stored; else it has failed.
GSUB_INLINE bool reads_layouts(infer_context& cx) {
    auto const rule = cx.op().layouts;
    if (rule == layout_policy::any || rule == layout_policy::propagates) return true;
    for (std::size_t i = 0; i < cx.operands(); ++i) {
        auto const free = rule == layout_policy::concatenates || (rule == layout_policy::propagates_first && i == 0);
        auto const expected = free && cx.has(0) ? cx.type(0).layout : layout{};
        if (!cx.has(i) || cx.type(i).layout == expected) continue;
        cx.fail(format_text("operand {} is {}; it has to be {}", i, to_string(cx.type(i)),
                            expected.empty() ? std::string_view{"row-major"} : expected.text()));
        return false;
    }
    return true;
}

// How the results are stored, once their dimensions are known.
GSUB_INLINE void infer_layouts(infer_context& cx) {
    auto const rule = cx.op().layouts;
    if (rule == layout_policy::any || rule == layout_policy::row_major || cx.results() == 0) return;
    layout stored;
    for (std::size_t i = 0; i < cx.operands() && (rule == layout_policy::propagates || i == 0); ++i)
        if (cx.has(i) && stored.empty()) stored = cx.type(i).layout;
    if (stored.empty()) return;
    for (std::size_t i = 0; i < cx.operands() && rule == layout_policy::propagates; ++i) {
        if (!cx.has(i)) continue;
        auto const& t = cx.type(i);
        auto const broadcasts = t.ranked && !(t.dims == cx.result_type(0).dims);
        if (t.layout == stored || (t.layout.empty() && broadcasts)) continue;
        return cx.fail(format_text("operand {} is {}, another one is stored as {}; they have to agree", i, to_string(t),
                                   stored.text()));
    }
    for (std::size_t port = 0; port < cx.results(); ++port) {
        auto type = cx.result_type(port);
        type.layout = stored;
        if (auto const reason = incompatibility(stored, type); !reason.empty())
            return cx.fail(format_text("result {} cannot be {}: {}", port, to_string(type), reason));
        cx.result(port, std::move(type));
    }
}

// Refuses results that no tensor can have, where no operand is such a one already.
GSUB_INLINE void check_elements(infer_context& cx) {
    auto const overflows = [](tensor_type const& t) { return t.is_static() && !t.elements(); };
    for (std::size_t i = 0; i < cx.operands(); ++i)
        if (cx.has(i) && overflows(cx.type(i))) return;
    for (std::size_t port = 0; port < cx.results(); ++port)
        if (auto const& t = cx.result_type(port); overflows(t))
            return cx.fail(format_text("result {} has more than 2^62 elements: {}", port, to_string(t)));
}

// Inference of a composite operator; needs graphs, hence defined with them (impl/decompose.ipp).
void infer_by_decomposition(dialect const& d, std::uint16_t row, infer_context& cx);
} // namespace detail

GSUB_INLINE void infer(dialect const& d, std::uint16_t row, infer_context& cx) {
    auto const& op = cx.op();
    auto const computes = op.category != op_category::structural && op.category != op_category::opaque;
    auto const least = static_cast<std::size_t>(op.min_inputs);
    auto const required = computes && op.max_inputs == variadic ? std::max(least, cx.operands()) : least;
    for (std::size_t i = 0; i < required; ++i)
        if (!cx.has(i)) return cx.fail(format_text("operand {} is required", i));
    if (op.results != variadic && cx.results() != static_cast<std::size_t>(op.results))
        return cx.fail(format_text("{} results asked for, it has {}", cx.results(), op.results));
    if (!detail::reads_layouts(cx)) return;
    if (auto* const rule = d.infer[row].infer)
        rule(cx);
    else if (d.infer[row].build)
        detail::infer_by_decomposition(d, row, cx);
    else
        cx.fail("has no type inference: specialise gsub::infer_shape or gsub::decompose for it");
    if (!cx.failed()) detail::infer_layouts(cx);
    if (!cx.failed()) detail::check_elements(cx);
}

} // namespace gsub
