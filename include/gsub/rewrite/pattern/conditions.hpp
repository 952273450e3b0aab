// Rule conditions that several rules share: sentences with a predicate each, for `where` and `prefer`.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/pattern/program.hpp>

namespace gsub::pattern {

// ---- constness, for prefer
// -------------------------------------------------------------------------------------------------

/// Whether all values of a name are constants.
[[nodiscard]] inline bool all_constant(match const& m, name_hash name) {
    return all_of(m.values(name), [&](value_id v) { return m.graph().constant(v); });
}

/// Constant weights: constant folding computes what the rule makes of them before the model runs.
template <fixed_string... N>
constexpr rule_condition constant(var_t<N>...) noexcept {
    return {"the weights are constant", [](match const& m) { return (all_constant(m, var_t<N>::name) && ...); }};
}
/// Constant optional operands, or none.
template <fixed_string... N>
constexpr rule_condition constant_if_given(optional_t<N>...) noexcept {
    return {"the bias is constant", [](match const& m) {
                auto const fine = [&](value_id v) { return !v.valid() || m.graph().constant(v); };
                return (fine(m.value(optional_t<N>::name)) && ...);
            }};
}
/// Symmetry breaking: of two equal roles, the first is the earlier node. Halves the matches.
template <fixed_string A, fixed_string B>
constexpr rule_condition in_order(label_t<A>, label_t<B>) noexcept {
    return {"the first node is the earlier one", [](match const& m) {
                return m.graph().place(m.node(label_t<A>{})) < m.graph().place(m.node(label_t<B>{}));
            }};
}
/// Whether all bindings of a name inside `every_part` are one value, or there are none.
[[nodiscard]] inline bool is_one_value(match const& m, name_hash name, std::size_t parts) {
    auto const values = m.values(name);
    return values.empty() || (values.size() == parts && all_of(values, [&](value_id v) { return v == values[0]; }));
}
template <fixed_string N>
constexpr rule_condition same_value(var_t<N>) noexcept {
    return {"the parts meet one weight",
            [](match const& m) { return is_one_value(m, var_t<N>::name, m.roots().size()); }};
}
template <fixed_string N>
constexpr rule_condition same_value(optional_t<N>) noexcept {
    return {"the parts meet one bias",
            [](match const& m) { return is_one_value(m, optional_t<N>::name, m.roots().size()); }};
}
/// Reading the weight once saves more than concatenating the operands, a copy, costs.
template <fixed_string W, fixed_string X, fixed_string Y>
constexpr rule_condition outweighs(var_t<W>, var_t<X>, var_t<Y>) noexcept {
    return {"the weight is larger than both operands, read and written", [](match const& m) {
                auto const w = m.type(var_t<W>{}).elements(), x = m.type(var_t<X>{}).elements(),
                           y = m.type(var_t<Y>{}).elements();
                return w && x && y && *w / 2 > *x + *y;
            }};
}

// ---- convolutions
// -----------------------------------------------------------------------------------------------------------

/// The convolution applies no activation to its sum, so sums and scales pass through.
template <fixed_string C>
constexpr rule_condition linear(label_t<C>) noexcept {
    return {"the convolution is linear",
            [](match const& m) { return m.attributes<ops::conv>(label_t<C>{}).act == activation::none; }};
}
template <fixed_string C>
constexpr rule_condition ungrouped(label_t<C>) noexcept {
    return {"the convolution has one group",
            [](match const& m) { return m.attributes<ops::conv>(label_t<C>{}).group == 1; }};
}
template <fixed_string C>
constexpr rule_condition unit_stride(label_t<C>) noexcept {
    return {"the strides are one",
            [](match const& m) { return all_equal(m.attributes<ops::conv>(label_t<C>{}).strides, 1); }};
}
template <fixed_string C>
constexpr rule_condition unpadded(label_t<C>) noexcept {
    return {"the convolution has no pads",
            [](match const& m) { return all_equal(m.attributes<ops::conv>(label_t<C>{}).pads, 0); }};
}
/// Whether a kernel has one tap.
[[nodiscard]] inline bool has_one_tap(tensor_type const& kernel) noexcept {
    if (!kernel.ranked || kernel.rank() < 3) return false;
    for (std::size_t i = 2; i < kernel.rank(); ++i)
        if (!(kernel.dims[i] == dim{1})) return false;
    return true;
}
template <fixed_string W>
constexpr rule_condition pointwise(var_t<W>) noexcept {
    return {"the kernel has one tap", [](match const& m) { return has_one_tap(m.type(var_t<W>{})); }};
}
template <fixed_string C, fixed_string D>
constexpr rule_condition same_window(label_t<C>, label_t<D>) noexcept {
    return {"strides, pads and dilations are equal", [](match const& m) {
                auto const &a = m.attributes<ops::conv>(label_t<C>{}), &b = m.attributes<ops::conv>(label_t<D>{});
                return a.strides == b.strides && a.pads == b.pads && a.dilations == b.dilations;
            }};
}
template <fixed_string C, fixed_string D>
constexpr rule_condition same_steps(label_t<C>, label_t<D>) noexcept {
    return {"strides and dilations are equal", [](match const& m) {
                auto const &a = m.attributes<ops::conv>(label_t<C>{}), &b = m.attributes<ops::conv>(label_t<D>{});
                return a.strides == b.strides && a.dilations == b.dilations;
            }};
}
template <fixed_string C, fixed_string D>
constexpr rule_condition same_activation(label_t<C>, label_t<D>) noexcept {
    return {"the activations are equal", [](match const& m) {
                auto const &a = m.attributes<ops::conv>(label_t<C>{}), &b = m.attributes<ops::conv>(label_t<D>{});
                return a.act == b.act &&
                       (a.act != activation::clip || (a.act_min == b.act_min && a.act_max == b.act_max));
            }};
}
/// Whether two kernels have equal spatial sizes.
[[nodiscard]] inline bool equal_kernel_sizes(tensor_type const& a, tensor_type const& b) noexcept {
    if (!a.ranked || !b.ranked || a.rank() != b.rank()) return false;
    for (std::size_t i = 2; i < a.rank(); ++i)
        if (!provably_equal(a.dims[i], b.dims[i])) return false;
    return true;
}
template <fixed_string W, fixed_string V>
constexpr rule_condition same_kernel_size(var_t<W>, var_t<V>) noexcept {
    return {"the kernels have one size",
            [](match const& m) { return equal_kernel_sizes(m.type(var_t<W>{}), m.type(var_t<V>{})); }};
}
/// A centre tap exists: some tap reads the position of its output, pad = dilation * tap in each dimension.
template <fixed_string C, fixed_string W>
constexpr rule_condition has_centre_tap(label_t<C>, var_t<W>) noexcept {
    return {"a tap of the kernel lies on the output's own place", [](match const& m) {
                auto const& a = m.attributes<ops::conv>(label_t<C>{});
                auto const& w = m.type(var_t<W>{});
                for (std::size_t i = 0; i < a.strides.size(); ++i)
                    if (a.pads[i] % a.dilations[i] != 0 || !w.dims[i + 2].fixed() ||
                        a.pads[i] / a.dilations[i] >= w.dims[i + 2].size())
                        return false;
                return true;
            }};
}

// ---- types
// ------------------------------------------------------------------------------------------------------------------

/// Whether two types are fully known and equal.
[[nodiscard]] inline bool equal_static_types(tensor_type const& a, tensor_type const& b) noexcept {
    return a.is_static() && a == b;
}

/// A value has the type of a labelled node's result.
template <fixed_string X, fixed_string C>
constexpr rule_condition has_type_of(var_t<X>, label_t<C>) noexcept {
    return {"the addend has the type of the sum", [](match const& m) {
                return equal_static_types(m.type(var_t<X>{}), m.type_of_label(m.node(label_t<C>{})));
            }};
}
/// A per-channel operand of the labelled node's result, or a single number.
template <fixed_string K, fixed_string C>
constexpr rule_condition per_channel(var_t<K>, label_t<C>) noexcept {
    return {"the operand is one number a channel", [](match const& m) {
                auto const &k = m.type(var_t<K>{}), &y = m.type_of_label(m.node(label_t<C>{}));
                if (!k.is_static() || !y.ranked || k.rank() > y.rank()) return false;
                auto const skipped = y.rank() - k.rank(); // leading dimensions that k lacks
                for (std::size_t i = 0; i < k.rank(); ++i)
                    if (!(k.dims[i] == dim{1}) && !(i + skipped == 1 && provably_equal(k.dims[i], y.dims[1])))
                        return false;
                return true;
            }};
}
/// The operands are matrices or batches of matrices.
template <fixed_string... N>
constexpr rule_condition matrices(var_t<N>...) noexcept {
    return {"the operands are matrices or stacks of them", [](match const& m) {
                auto const fine = [](tensor_type const& t) { return t.ranked && t.rank() >= 2; };
                return (fine(m.type(var_t<N>{})) && ...);
            }};
}
/// Whether two types differ in no other dimension than one, counted from the last (0).
[[nodiscard]] inline bool differ_only_at(tensor_type const& a, tensor_type const& b, std::size_t from_last) noexcept {
    if (!a.ranked || !b.ranked || a.rank() != b.rank() || a.rank() <= from_last || a.element != b.element) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
        if (i != a.rank() - 1 - from_last && !provably_equal(a.dims[i], b.dims[i])) return false;
    return a.dims[a.rank() - 1 - from_last].fixed() && b.dims[a.rank() - 1 - from_last].fixed();
}
/// All nodes of a label inside `each` or `every_part` apply one operator with equal attributes.
template <fixed_string U>
constexpr rule_condition same_operator(label_t<U>) noexcept {
    return {"the operators and their attributes are equal", [](match const& m) {
                auto const nodes = m.nodes(label_t<U>{});
                return all_of(nodes, [&](node_id n) {
                    return m.graph().row(n) == m.graph().row(nodes[0]) &&
                           m.graph().attributes(n) == m.graph().attributes(nodes[0]);
                });
            }};
}

} // namespace gsub::pattern
