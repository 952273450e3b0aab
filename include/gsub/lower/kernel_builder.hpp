// kernel_builder: a kernel graph under construction, which `lowering<Op>` rows query and add their kernels to.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/lower/fusion_scope.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/scalar_lowering.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/target/isa.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gsub {

/// Context of the fuse pass: rules, evaluators and kernels of the application.
struct fuse_context : fusion_rules {
    eval_table evaluators{};                            ///< outlives the kernel graph
    runtime::bound_graph const* own = nullptr;          ///< nodes with a function of the application; null: none
    std::shared_ptr<branch_functions const> branches{}; ///< what `If` nodes run
};

/// Builder of a kernel graph: adds kernels, each after what it reads. A row of `lowering` checks whether its template
/// computes a node, and which operators of the node's group it takes, and adds the kernel, or nothing. Free in this
/// scope are operators of the group that is lowered, as long as no kernel has them.
class kernel_builder final : public fusion_scope {
public:
    /// *Requires* that both outlive it.
    GSUB_LAZY kernel_builder(any_graph const& g, fuse_context const& cx);

    [[nodiscard]] fuse_context const& context() const noexcept { return cx_; }
    /// Begins the lowering of a group, which lasts until the next. *Requires* that the group outlives it.
    void begin(kernel_group const& group) noexcept { group_ = &group; }

    // ---- what is there

    /// Whether a kernel computes the node by now.
    [[nodiscard]] bool done(node_id n) const noexcept { return done_[n.index] != 0; }
    /// Whether a value is computed by now, or constant.
    [[nodiscard]] bool exists(value_id v) const { return number_.contains(v) || (v.valid() && g_.constant(v)); }
    /// Whether a value lies in blocks of channels.
    [[nodiscard]] bool in_blocks(value_id v) const override { return in_channel_blocks(type(v), isa()); }
    /// The elements of a constant, or nothing.
    GSUB_LAZY [[nodiscard]] std::optional<tensor> constant_of(value_id v) const;
    [[nodiscard]] bool is_free(node_id n) const override {
        return group_ && !done(n) && std::find(group_->begin(), group_->end(), n) != group_->end();
    }
    [[nodiscard]] bool is_there(value_id v) const override { return exists(v); }

    // ---- kernels

    /// The number of a value that exists.
    GSUB_LAZY [[nodiscard]] kernel_value_id operand(value_id v);
    /// The number of a value that the next kernel computes.
    GSUB_LAZY [[nodiscard]] kernel_value_id result(value_id v);
    /// The number of a value that the next kernel computes and the graph does not have.
    GSUB_LAZY [[nodiscard]] kernel_value_id unnamed(tensor_type t);
    /// The number of a constant that the graph does not have.
    GSUB_LAZY [[nodiscard]] kernel_value_id constant(tensor t, std::string name);
    /// An operand that is read as it lies, and one that is read as a view over its own dimensions.
    GSUB_LAZY [[nodiscard]] kernel_operand whole(value_id v) { return {operand(v), {}, {}}; }
    GSUB_LAZY [[nodiscard]] kernel_operand viewed(value_id v);
    /// Makes a value a constant of these elements, or of none; its node is then done.
    GSUB_LAZY void set_constant(value_id v, tensor t);

    /// Adds a kernel that covers nodes, its last one last; `what` has operands and results in the kernel's order.
    GSUB_LAZY void add(std::span<node_id const> covers, kernel_op what);
    /// Adds a step of the reference evaluator.
    GSUB_LAZY void add_reference(node_id n);

    /// Finishes the kernel graph when all nodes are done, with inputs, outputs and names.
    GSUB_LAZY [[nodiscard]] kernel_graph take();

private:
    GSUB_LAZY [[nodiscard]] std::string boundary_of(std::span<node_id const> covers) const;
    any_graph const& g_;
    fuse_context const& cx_;
    kernel_group const* group_ = nullptr;
    kernel_graph made_;
    std::map<value_id, kernel_value_id> number_;
    mutable std::map<value_id, tensor> constants_; // weight arithmetic that is not folded, evaluated
    std::vector<char> done_;                       // nodes
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_builder.ipp>
#endif
