// Graph cloner: copies nodes of one graph into another.
#pragma once

#include <gsub/ir/graph.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace gsub {

/// Names and sources that a clone keeps, for people to read.
enum class cloned_text : std::uint8_t {
    nothing,
    sources, ///< the source nodes that a node stands for
    names,   ///< those, and names of values
};

/// How a clone differs from its node.
struct clone_changes {
    std::span<type_id const> types{}; ///< of all results; empty: the node's
    std::optional<attributes_id> attributes{};
};

/// Clones a node with other operands, and shares what it holds: the elements of a constant, the blob of an opaque node.
/// Infers nothing: types are those of the node, or as given.
node_id clone_node(any_graph& to, any_graph const& from, node_id n, std::span<value_id const> operands,
                   cloned_text text = cloned_text::names, clone_changes const& changes = {});

/// Graph cloner: copies nodes of a graph into another, or into itself, and maps values to their counterparts there; see
/// `clone_node`.
class graph_cloner {
public:
    /// Both must outlive it, and `from` keep its nodes. *Complexity* O(capacity of `from`).
    graph_cloner(any_graph const& from, any_graph& to, cloned_text text = cloned_text::names)
        : from_(from), to_(to), text_(text), first_(from.capacity()) {}

    /// Whether a value of `from` has a counterpart in the other graph.
    [[nodiscard]] bool has(value_id v) const { return at(v).valid(); }
    /// That counterpart; an operand that is left out stays so. *Requires* `has(v)` or an invalid `v`.
    [[nodiscard]] value_id operator()(value_id v) const {
        if (!v.valid()) return v;
        auto const found = at(v);
        GSUB_ASSERT(found.valid(), "a copied node reads values that have been copied");
        return found;
    }
    /// Maps a value, or all results of a node, to what is given from now on.
    void stand(value_id v, value_id by) { (v.port == 0 ? first_[v.node.index] : others_[v]) = by; }
    void stand(node_id n, node_id by);

    /// Counterparts of a node's operands.
    [[nodiscard]] small_vector<value_id, 6> operands(node_id n) const {
        small_vector<value_id, 6> out;
        for (auto v : from_.operands(n)) out.push_back((*this)(v));
        return out;
    }
    /// Clones a node with those operands, or with others.
    node_id clone(node_id n) { return clone(n, operands(n)); }
    node_id clone(node_id n, std::span<value_id const> operands, clone_changes const& changes = {});
    node_id clone(node_id n, small_vector<value_id, 6> const& operands, clone_changes const& changes = {}) {
        return clone(n, std::span<value_id const>{operands.data(), operands.size()}, changes);
    }
    /// Adds an input with the type and the name of a value, as its counterpart.
    value_id add_input(value_id v);
    /// Clones all nodes but inputs, whose counterparts are `arguments`; gives the counterparts of the outputs.
    std::vector<value_id> clone_body(std::span<value_id const> arguments);

private:
    [[nodiscard]] value_id at(value_id v) const {
        if (!v.valid()) return v;
        if (v.port == 0) return first_[v.node.index];
        auto const found = others_.find(v);
        return found == others_.end() ? value_id{} : found->second;
    }

    any_graph const& from_;
    any_graph& to_;
    cloned_text text_;
    std::vector<value_id> first_;         // by node id, of the first result
    std::map<value_id, value_id> others_; // of other results
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/graph_cloner.ipp>
#endif
