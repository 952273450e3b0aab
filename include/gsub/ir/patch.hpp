// Graph patch, a rewrite as a value: nodes to add and values to replace, prepared, checked, then applied to a graph.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/graph.hpp>

#include <string_view>
#include <vector>

namespace gsub {

/// Policy for values inside a match that other nodes still use.
enum class shared_interior {
    refuse, ///< the rewrite is refused: it would compute something twice
    keep,   ///< the old node stays for its other users
};

/// Graph patch: a prepared change of one graph. Its new nodes have the ids that they will have in the graph, so a patch
/// holds for a graph in the very state in which it was prepared, and for copies of it. After an ill-typed application
/// `failed()` is true, and all further additions do nothing.
class graph_patch : public node_sink {
public:
    /// `rule` names what makes the patch and must outlive it, as names of rules do; `site` is where.
    graph_patch(any_graph const& g, std::string_view rule, node_id site)
        : node_sink(g.operators()),
          graph_(&g),
          rule_(rule),
          site_(site),
          base_(static_cast<std::uint32_t>(g.capacity())) {}

    /// Replaces every use of `from` by `to`, except in the patch's own nodes. Both have one type.
    void replace(value_id from, value_id to) { replacements_.push_back({from, to}); }
    /// Marks a node that the rewrite matched: the new nodes stand for it too, and it should have no users afterwards.
    void covers(node_id n) { covered_.push_back(n); }
    /// Marks the patch as impossible.
    void fail(std::string_view reason) {
        if (reason_.empty()) reason_ = reason;
    }

    [[nodiscard]] bool failed() const noexcept { return !reason_.empty(); }
    [[nodiscard]] std::string const& reason() const noexcept { return reason_; }
    [[nodiscard]] std::string_view rule() const noexcept { return rule_; }
    [[nodiscard]] node_id site() const noexcept { return site_; }
    [[nodiscard]] std::size_t new_nodes() const noexcept { return nodes_.size(); }
    [[nodiscard]] any_graph const& graph() const noexcept { return *graph_; }
    [[nodiscard]] GSUB_INLINE type_id type_of(value_id v) const override;

    /// Applies the patch to the graph that it was prepared for, or to a copy of it.
    /// *Errors* `internal` where the patch failed, a replacement changes a type, a covered node stays in use under
    /// `shared_interior::refuse`, or the change would close a cycle. The graph is then in an unspecified valid state:
    /// apply to a copy.
    result<void> apply_to(any_graph& g, shared_interior policy = shared_interior::keep) const;

protected:
    GSUB_INLINE value_id append(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                                std::span<type_id const> results) override;
    GSUB_INLINE void on_ill_typed(std::uint16_t row, std::string_view reason) override;

private:
    struct new_node {
        std::uint16_t row;
        attributes_id attributes;
        small_vector<value_id, 4> operands;
        small_vector<type_id, 2> results;
    };
    any_graph const* graph_;
    std::string_view rule_;
    node_id site_;
    std::uint32_t base_;
    std::vector<new_node> nodes_;
    struct replacement {
        value_id from, to;
    };
    small_vector<replacement, 4> replacements_;
    small_vector<node_id, 8> covered_;
    std::string reason_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/patch.ipp>
#endif
