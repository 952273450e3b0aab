// User kernels: C functions of the application that compute operators, its own ones and those unknown to gsub.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/types/dtype.hpp>
#include <gsub/runtime/extern_kernel.h>
#include <gsub/runtime/program.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::runtime {

/// User kernel: a function that computes an operator, and what it takes. Anything else is refused before anything runs.
struct user_kernel {
    std::string domain{}, op_type{}; ///< of the operator, as in an ONNX file; the empty domain is ONNX's own
    gsub_kernel function = nullptr;
    /// null: results have the types that the graph says, by inference or by the `value_info` of the file.
    gsub_shape_function shape = nullptr;
    void* user = nullptr;                ///< handed to both; what it points to outlives every run
    std::shared_ptr<void const> owner{}; ///< of what `user` points to; kept as long as what is built
    /// Of operands and results. Empty: any, the function looks at `dtype` itself.
    std::vector<dtype> elements{dtype::f32};
    int min_operands = 0, max_operands = variadic; ///< operands left out in between count
    int results = variadic;
    /// Name of `function` where it has C linkage: exported models call it by that (`aot::export_program`), with
    /// `typed` and `user` null. Empty: programs with the kernel are not exported.
    std::string symbol{};
};

/// User kernel of an operator in the graph's op set: `extern_kernel<app::swish>(swish)`. `call->typed` is its attribute
/// struct. It serves the same operator where it is opaque too, then without `typed`.
template <operation Op>
[[nodiscard]] user_kernel extern_kernel(gsub_kernel function, void* user = nullptr) {
    constexpr auto row = op_info::of<Op>();
    user_kernel k;
    k.domain = row.domain;
    k.op_type = row.name;
    k.function = function;
    k.user = user;
    k.min_operands = row.min_inputs, k.max_operands = row.max_inputs;
    k.results = row.results;
    return k;
}

/// User kernel of an operator by its name, e.g. of opaque nodes.
[[nodiscard]] inline user_kernel extern_kernel(std::string domain, std::string op_type, gsub_kernel function,
                                               gsub_shape_function shape = nullptr, void* user = nullptr) {
    user_kernel k;
    k.domain = std::move(domain);
    k.op_type = std::move(op_type);
    k.function = function;
    k.shape = shape;
    k.user = user;
    return k;
}

/// The attributes of a call. *Requires* a node whose operator is `Op` in the graph's op set.
template <operation Op>
[[nodiscard]] attributes_of<Op> const& typed_attributes(gsub_call const& call) {
    GSUB_ASSERT(call.typed, "typed_attributes<Op>(call) of an opaque node");
    return *static_cast<attributes_of<Op> const*>(call.typed);
}

/// Host op of a user kernel, with what AOT export writes as text.
class user_op : public host_op {
public:
    [[nodiscard]] virtual std::string_view symbol() const noexcept = 0;            ///< see `user_kernel::symbol`
    [[nodiscard]] virtual std::span<gsub_array const> arrays() const noexcept = 0; ///< operands, results; without data
    [[nodiscard]] virtual std::size_t operand_count() const noexcept = 0;          ///< those left out in between too
    [[nodiscard]] virtual std::span<gsub_attribute const> attributes() const noexcept = 0; ///< as each call gets them
};

/// Reason that `not_computable` shows for a node with a user kernel; `bound_graph::steps` has these nodes.
inline constexpr std::string_view computed_by_user = "a kernel of the application computes it";

/// Graph with bound user kernels: their nodes are opaque, so that nothing folds, fuses or rewrites them.
struct bound_graph {
    any_graph graph;
    std::vector<std::pair<node_id, std::shared_ptr<host_op const>>> steps{}; ///< by their nodes' ids

    /// The step of a node, or null. Its values are the operands that are given, then all results, row-major.
    GSUB_LAZY [[nodiscard]] std::shared_ptr<host_op const> step_of(node_id n) const;
};

/// Binds user kernels to the nodes that they compute. Types that a shape function gives propagate through the graph.
/// *Errors* `usage` for a kernel without a name or function, and for two of one operator; `unsupported` for nodes whose
/// operands or results are not what the kernel takes, or whose result types are unknown; `invalid_input` where a shape
/// function contradicts the graph; what a shape function says. All name the node. *Complexity* O(n + e) and the calls.
GSUB_LAZY [[nodiscard]] result<bound_graph> bind_kernels(any_graph const& g, std::span<user_kernel const> kernels);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/c_arguments.ipp>
#include <gsub/runtime/impl/extern_kernel.ipp>
#include <gsub/runtime/impl/kernel_signature.ipp>
#include <gsub/runtime/impl/user_kernel_step.ipp>
#endif
