// legal_writer: writes the operators that stand for one that no kernel computes.
#pragma once

#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/loop/scalar_op.hpp>
#include <gsub/lower/lowering.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace gsub::detail {

/// Whether numbers of the type are computed in f32 and rounded.
[[nodiscard]] constexpr bool is_half(dtype t) noexcept {
    return t == dtype::f16 || t == dtype::bf16;
}
/// Whether all that a node reads and makes is static and row-major.
[[nodiscard]] inline bool is_plain(any_graph const& g, node_id n) {
    auto const plain = [&](value_id v) { return !v.valid() || (g.type(v).is_static() && g.type(v).layout.empty()); };
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (!plain({n, port})) return false;
    return std::ranges::all_of(g.operands(n), plain);
}

/// Writes the operators that stand for a node of static types.
class legal_writer {
public:
    legal_writer(any_graph& g, node_id n) : g_(&g), b_(g), n_(n) {}

    // ---- what is there

    /// Operand `i`; not valid where it is left out.
    [[nodiscard]] value_id operand(std::size_t i) const {
        return i < g_->operand_count(n_) ? g_->operand(n_, i) : value_id{};
    }
    [[nodiscard]] bool has(std::size_t i) const { return operand(i).valid(); }
    [[nodiscard]] dtype element(value_id v) const { return g_->type(v).element; }
    [[nodiscard]] ints sizes(value_id v) const { return g_->type(v).sizes(); }
    [[nodiscard]] std::int64_t elements(value_id v) const { return *g_->type(v).elements(); }
    [[nodiscard]] tensor_type const& result_type(std::uint32_t port = 0) const { return g_->type({n_, port}); }
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        return g_->attributes<Op>(n_);
    }

    // ---- nodes

    template <operation Op, std::same_as<value_id>... Values>
    value_id make(Values... operands) {
        return b_.add<Op>(operands...);
    }
    template <operation Op>
    value_id make(attributes_of<Op> const& a, std::initializer_list<value_id> operands) {
        return b_.add<Op>(a, operands);
    }
    /// The node itself on other operands.
    template <operation Op>
    value_id make_again(std::span<value_id const> operands) {
        return b_.add<Op>(attributes<Op>(), operands);
    }
    value_id add(value_id x, value_id y) { return make<ops::add>(x, y); }
    value_id sub(value_id x, value_id y) { return make<ops::sub>(x, y); }
    value_id mul(value_id x, value_id y) { return make<ops::mul>(x, y); }
    value_id div(value_id x, value_id y) { return make<ops::div>(x, y); }
    value_id select(value_id condition, value_id x, value_id y) { return make<ops::where>(condition, x, y); }
    value_id cast(value_id x, dtype to) { return element(x) == to ? x : make<ops::cast>({.to = to}, {x}); }
    /// In the type that it is computed with: f32 for f16 and bf16.
    value_id widened(value_id x) { return cast(x, loop::computed_in(element(x))); }
    value_id constant(tensor t) { return b_.constant(std::move(t)); }
    /// A number in the element type of a value.
    value_id number(double v, value_id like) { return constant(tensor::scalar(v).converted_to(element(like))); }
    value_id integer(std::int64_t v, dtype type) { return constant(tensor::scalar(v).converted_to(type)); }
    value_id reshaped(value_id x, ints to) {
        return sizes(x) == to ? x : make<ops::reshape>(attributes_of<ops::reshape>::to(std::move(to)), {x});
    }
    value_id transposed(value_id x, ints perm) {
        auto moved = false;
        for (std::size_t d = 0; d < perm.size(); ++d) moved = moved || perm[d] != static_cast<std::int64_t>(d);
        return moved ? make<ops::transpose>({.perm = std::move(perm)}, {x}) : x;
    }
    /// Elements from `first` up to before `end` along an axis, each `step`-th.
    value_id sliced(value_id x, std::size_t axis, std::int64_t first, std::int64_t end, std::int64_t step = 1) {
        if (first == 0 && step == 1 && end == sizes(x)[axis]) return x;
        return make<ops::slice>(
            {.starts = {first}, .ends = {end}, .axes = {static_cast<std::int64_t>(axis)}, .steps = {step}}, {x});
    }
    /// A vector along an axis of tensors of a rank, to be broadcast; one element as it is.
    value_id along_axis(value_id v, std::size_t axis, std::size_t rank) {
        if (elements(v) == 1 && sizes(v).size() <= 1) return v;
        ints to(rank - axis, 1);
        to[0] = elements(v);
        return reshaped(v, std::move(to));
    }

private:
    any_graph* g_;
    graph_builder b_;
    node_id n_;
};

} // namespace gsub::detail
