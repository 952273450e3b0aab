// A match: a place where a rule applies, and what its variables and labels are bound to.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

namespace pattern {

/// Base of the terms of the pattern language.
struct term_base {};
/// Pattern variable: matches any value. `inline constexpr auto x = var<"x">;`
template <fixed_string Name>
struct var_t : term_base {
    static constexpr name_hash name = hash_name(Name.view());
};
/// Optional variable: matches an operand that may be left out.
template <fixed_string Name>
struct optional_t : term_base {
    static constexpr name_hash name = hash_name(Name.view());
};
/// Label: names a matched node, whose attributes carry over where the replacement uses it.
template <fixed_string Name>
struct label_t {
    static constexpr name_hash name = hash_name(Name.view());
};
template <fixed_string Name>
inline constexpr var_t<Name> var{};
template <fixed_string Name>
inline constexpr optional_t<Name> maybe{};
template <fixed_string Name>
inline constexpr label_t<Name> label{};

} // namespace pattern

/// Binding of a variable or label. Inside `each` and `every_part` there is one per operand or part.
struct binding {
    pattern::name_hash name = 0;
    value_id value;          ///< of a label: the node, port 0
    std::uint32_t index = 0; ///< which operand or part
    friend bool operator==(binding const&, binding const&) = default;
};

/// A match of a rule's pattern in a graph. Valid while the graph is not changed.
class match {
public:
    match(any_graph const& g, rule_program const& rule) noexcept : graph_(&g), rule_(&rule) {}

    [[nodiscard]] any_graph const& graph() const noexcept { return *graph_; }
    [[nodiscard]] rule_program const& rule() const noexcept { return *rule_; }

    template <fixed_string N>
    [[nodiscard]] value_id operator[](pattern::var_t<N> v) const {
        return value(v.name);
    }
    /// Invalid where the operand is left out.
    template <fixed_string N>
    [[nodiscard]] value_id operator[](pattern::optional_t<N> v) const {
        return value(v.name);
    }
    template <fixed_string N>
    [[nodiscard]] bool has(pattern::optional_t<N> v) const {
        return value(v.name).valid();
    }
    /// Values bound to a variable inside `each` or `every_part`, in order.
    template <fixed_string N>
    [[nodiscard]] small_vector<value_id, 6> all(pattern::var_t<N> v) const {
        return values(v.name);
    }
    template <fixed_string N>
    [[nodiscard]] small_vector<value_id, 6> all(pattern::optional_t<N> v) const {
        return values(v.name);
    }
    template <fixed_string N>
    [[nodiscard]] node_id node(pattern::label_t<N> l) const {
        return value(l.name).node;
    }
    template <fixed_string N>
    [[nodiscard]] small_vector<node_id, 6> nodes(pattern::label_t<N> l) const {
        small_vector<node_id, 6> out;
        for (auto v : values(l.name)) out.push_back(v.node);
        return out;
    }
    template <class Op, fixed_string N>
    [[nodiscard]] attributes_of<Op> const& attributes(pattern::label_t<N> l) const {
        return graph_->attributes<Op>(node(l));
    }
    template <class Variable>
    [[nodiscard]] tensor_type const& type(Variable v) const {
        return graph_->type((*this)[v]);
    }
    [[nodiscard]] tensor_type const& type(value_id v) const { return graph_->type(v); }
    [[nodiscard]] tensor_type const& type_of_label(node_id n) const { return graph_->type({n, 0}); }

    /// Values that the rewrite replaces, in the order of the rule's roots.
    [[nodiscard]] std::span<value_id const> roots() const noexcept { return as_span(roots_); }
    /// Nodes that the rewrite removes.
    [[nodiscard]] std::span<node_id const> covered() const noexcept { return as_span(covered_); }
    /// The anchor: the node of the first root, which reports name as the place.
    [[nodiscard]] node_id site() const noexcept { return roots_.empty() ? node_id{} : roots_[0].node; }
    /// The other terms of the sum of a `sum_of`, which the rewrite adds to the replacement of the two.
    [[nodiscard]] std::span<value_id const> addends() const noexcept { return as_span(addends_); }

    // For the matcher and the verifier, which fill a match.
    [[nodiscard]] value_id value(pattern::name_hash name, std::uint32_t index = any_index) const noexcept;
    [[nodiscard]] small_vector<value_id, 6> values(pattern::name_hash name) const;
    void bind(pattern::name_hash name, value_id v, std::uint32_t index) { bindings_.push_back({name, v, index}); }
    template <class F>
    void for_each_binding(F&& f) const {
        for (auto const& b : bindings_) f(b);
    }
    void cover(node_id n) { covered_.push_back(n); }
    void add_root(value_id v) { roots_.push_back(v); }
    void add_addend(value_id v) { addends_.push_back(v); }
    static constexpr std::uint32_t any_index = 0xffffffffu;
    struct mark {
        std::size_t bindings, covered, roots, addends;
    };
    [[nodiscard]] mark position() const noexcept {
        return {bindings_.size(), covered_.size(), roots_.size(), addends_.size()};
    }
    void rewind(mark m) {
        bindings_.resize(m.bindings), covered_.resize(m.covered), roots_.resize(m.roots), addends_.resize(m.addends);
    }
    friend bool operator==(match const& a, match const& b) {
        return a.rule_ == b.rule_ && a.bindings_ == b.bindings_ && a.roots_ == b.roots_ && a.addends_ == b.addends_;
    }

private:
    any_graph const* graph_;
    rule_program const* rule_;
    small_vector<binding, 12> bindings_;
    small_vector<node_id, 6> covered_;
    small_vector<value_id, 4> roots_;
    small_vector<value_id, 2> addends_;
};

inline value_id match::value(pattern::name_hash name, std::uint32_t index) const noexcept {
    for (auto const& b : bindings_)
        if (b.name == name && (index == any_index || b.index == index)) return b.value;
    return {};
}
inline small_vector<value_id, 6> match::values(pattern::name_hash name) const {
    small_vector<value_id, 6> out;
    for (auto const& b : bindings_)
        if (b.name == name) out.push_back(b.value);
    return out;
}

} // namespace gsub
