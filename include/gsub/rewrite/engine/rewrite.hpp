// The rewriter: a graph patch that knows the match for which it is made.
#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/ir/patch.hpp>
#include <gsub/rewrite/engine/match.hpp>

#include <initializer_list>

namespace gsub {

/// Rewriter of a replacement: new nodes go to the patch, variables and labels come from the match.
class rewrite : public graph_patch {
public:
    explicit rewrite(match const& m);

    [[nodiscard]] match const& matched() const noexcept { return *match_; }
    template <fixed_string N>
    [[nodiscard]] value_id operator[](pattern::var_t<N> v) const {
        return (*match_)[v];
    }
    template <fixed_string N>
    [[nodiscard]] value_id operator[](pattern::optional_t<N> v) const {
        return (*match_)[v];
    }
    template <class Op, fixed_string N>
    [[nodiscard]] attributes_of<Op> const& attributes(pattern::label_t<N> l) const {
        return match_->attributes<Op>(l);
    }
    [[nodiscard]] tensor_type const& type(value_id v) const { return *type_of(v); }
    /// Fixed sizes of a value. Fails the rewrite, and returns ones, where some are not fixed.
    [[nodiscard]] ints sizes(value_id v);

    /// Applies the operator of a matched node to other operands, with its attributes.
    value_id like(node_id n, std::span<value_id const> operands) {
        return emit(graph().row(n), graph().attributes(n), operands, graph().result_count(n));
    }
    value_id like(node_id n, std::initializer_list<value_id> operands) {
        return like(n, std::span{operands.begin(), operands.size()});
    }
    /// Result `port` of a node with several.
    [[nodiscard]] static value_id port(value_id first, std::uint32_t port) noexcept {
        return first.valid() ? value_id{first.node, port} : value_id{};
    }
    /// Replaces root `i` of the match by `v`; the root of a `sum_of` by `v` plus the other terms of the sum.
    void replace_root(std::size_t i, value_id v);

    // Weight arithmetic that many rules need; all results are ordinary nodes.
    value_id reshaped(value_id v, ints dims) {
        return add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(dims)), {v});
    }
    value_id filled(dtype element, ints dims, double value) {
        return add<ops::fill>({.shape = std::move(dims), .element = element, .value = value}, {});
    }
    /// A per-channel vector [c] as [c,1,...,1] with `rank` dimensions, to scale the outputs of a weight.
    value_id per_output(value_id vector, std::size_t rank);
    /// A bias operand, or zeros of its type where it is left out.
    value_id bias_or_zeros(value_id bias, dtype element, std::int64_t channels) {
        return bias.valid() ? bias : filled(element, {channels}, 0);
    }
    /// Matrix-vector product: the sum over k of m[r,k] * v[k], as [r].
    value_id matrix_times_vector(value_id m, value_id v);

private:
    match const* match_;
};

/// Builds the replacement of a match. The patch may have failed; then it tells why.
[[nodiscard]] rewrite prepare(match const& m);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/engine/impl/rewrite.ipp>
#endif
