// FuseOps: groups operators into kernels.
#pragma once

#include <gsub/passes/pass.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Fusion kind of an operator (TVM's op pattern), in the order of how much it restricts a group.
enum class fuse_kind : std::uint8_t {
    elementwise, ///< of edges only: an elementwise operator reads an operand of its result's shape
    broadcast,   ///< elementwise, with broadcasting
    injective,   ///< moves elements
    reduction,   ///< fuses producers, and ends the group: `op_info::commutative_reduction`
    out_fusable, ///< leads a group, which elementwise operators follow: contractions, windows, softmax
    opaque,      ///< a group of its own: unknown to gsub, a call, or of a shape that data decide
};

/// Fusion kind of a node, from the category of its operator and the types of its results. *Complexity* O(results).
GSUB_LAZY [[nodiscard]] fuse_kind fuse_kind_of(any_graph const& g, node_id n);

/// Decides which operators one kernel computes: groups of operators, each in the graph's order, none in two.
using group_function = std::vector<std::vector<node_id>> (*)(any_graph const&, target const&);

/// Groups the operators of each function into functions marked `primitive`, one per kernel, and calls them instead.
/// Lowering takes these groups as they are.
///
/// With `groups`, the available kernels decide (`kernel_groups_for`), as they do where no list of passes groups.
/// Without, fusion kinds decide, for every target alike: the last node of a group post-dominates the group. A group
/// holds at most one `out_fusable` operator, followed by elementwise ones that read a value of their own shape; or a
/// `reduction` at its end; otherwise elementwise and injective operators. Every remaining operator becomes a group of
/// its own. Outputs of the graph end a group. Weights and weight arithmetic that one group alone reads go into its
/// function, sharing the elements; those read by several stay outside and are passed as operands. Weight arithmetic is
/// never a group. Opaque nodes, calls (what is fused already) and dead nodes stay as they are.
///
/// Functions are named like `fused_conv_add_relu_0`: the operators in order, cut off where the name grows long, and the
/// least number that makes it unique. The result is the same in every run. Outcome: `matches` counts the functions
/// made. *Source* the post-dominator tree and sweeps are those of TVM's FuseOps; its third sweep has no meaning without
/// tuples. *Complexity* O(n log n + n k) for n operators and groups of at most k.
struct fuse_ops {
    std::size_t max_ops = 256;        ///< operators of a group; 1: every operator alone
    std::size_t max_parameters = 256; ///< distinct values, weights too, that a group of several operators reads
    group_function groups = nullptr;  ///< null: groups by fusion kinds, within these bounds

    static constexpr auto facts = pass_facts("fuse-ops", exactness::bit_exact, "groups operators into kernels",
                                             {.tvm_name = "FuseOps", .classes = {"RN", "MN", "SSD", "BR"}});
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

/// Groups that `fuse_ops` makes of a graph by fusion kinds: each in the graph's order, its last node last; groups in
/// the order of their last nodes.
GSUB_LAZY [[nodiscard]] std::vector<std::vector<node_id>> fuse_groups(any_graph const& g, fuse_ops const& options = {});

/// Whether a function is a view: all its operators are views, so it computes and copies nothing.
GSUB_LAZY [[nodiscard]] bool is_view(any_graph const& body);

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fuse/impl/fuse_ops.ipp>
#endif
