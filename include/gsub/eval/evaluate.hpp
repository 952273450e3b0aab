// Reference evaluator: computes a graph node by node, with any scalar.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate_fast.hpp>
#include <gsub/eval/evaluate_index.hpp>
#include <gsub/eval/evaluate_math.hpp>
#include <gsub/eval/evaluate_nn.hpp>
#include <gsub/eval/evaluate_quantized.hpp>
#include <gsub/eval/evaluate_reduce.hpp>
#include <gsub/eval/evaluate_tensor.hpp>
#include <gsub/eval/op_call.hpp>
#include <gsub/eval/reference_kernel.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <limits>
#include <span>
#include <vector>

namespace gsub {

/// Precision of an evaluation: what floating-point tensors are computed with.
enum class precision {
    native, ///< as declared; f16 and bf16 in float, rounded after each operator
    f64,    ///< everything in double, nothing rounded in between: the accuracy oracle
    field,  ///< the prime field: what rules are proved in
};

/// Options of an evaluation.
struct evaluate_options {
    precision compute = precision::native;
    executor* threads = nullptr; ///< null: the calling thread alone
    bool fast_kernels = true;    ///< use `reference_kernel` where there is one; false: `evaluate<Op>` only
    bool round_outputs = false;  ///< f64: outputs are rounded to their declared types
    std::uint64_t max_bytes = std::uint64_t{16} << 30; ///< refuse a tensor larger than this
    /// What `If` nodes of a graph run (`module::branches`); null: they are refused.
    branch_functions const* branches = nullptr;
    /// Memory for the outputs, by number, as `tensor::wrapping` gives it, or of no elements: what a node computes at
    /// its declared type is written there, and such an output is that tensor. Others have memory of their own, as ever.
    std::span<tensor> into{};
    /// Called after each node with its results, e.g. to gather statistics. May be null.
    void (*on_node)(void* context, any_graph const& g, node_id n, std::span<tensor const> results) = nullptr;
    void* context = nullptr;
};

/// The evaluation row of an operator.
struct eval_row {
    void (*move)(op_call_args&) = nullptr;
    void (*run)(op_call_args&) = nullptr;  ///< by `args.scalar`
    void (*fast)(op_call_args&) = nullptr; ///< for f32 and f64
    /// Dimensions of result 0 from the operands, where inference leaves them open; nothing where there are none.
    std::optional<ints> (*result_dims)(std::span<tensor const* const> operands) = nullptr;
    bool integers = false;
    bool booleans = false; ///< truth values are the integers 0 and 1
    bool any_scalar = false;
    bool uninterpreted_in_field = false; ///< `move` means nothing there
    bool decides_sizes = false;          ///< `move` makes the results itself, since data decide their sizes

    template <operation Op>
    static constexpr eval_row of() noexcept;
};

/// Eval table: evaluation rows by the operators' numbers in a set: `table_of<eval_row, standard_ops>()`.
using eval_table = std::span<eval_row const>;

/// Evaluates a graph: computes its outputs for inputs in signature order. Inputs may have any shape that their type
/// allows. *Errors* `usage` for inputs that do not fit, `unsupported` listing every operator without `evaluate<Op>`
/// (opaque nodes, calls, and `If` without `branches`: see `evaluate_module`), `invalid_input` where sizes at run time
/// contradict each other. Sizes that the graph's types tell are refused before anything is computed (`unsupported`): a
/// tensor beyond `max_bytes`, and results that take more at one time than the process can have. With `precision::field`
/// and `f64`, floating inputs and outputs have that element type; others are converted.
GSUB_LAZY [[nodiscard]] result<std::vector<tensor>> evaluate_graph(any_graph const& g, eval_table table,
                                                                   std::span<tensor const> inputs,
                                                                   evaluate_options const& options = {});

template <class OpSet>
[[nodiscard]] result<std::vector<tensor>> evaluate_graph(basic_graph<OpSet> const& g, std::span<tensor const> inputs,
                                                         evaluate_options const& options = {}) {
    return evaluate_graph(g, table_of<eval_row, OpSet>(), inputs, options);
}

/// Evaluates a function of a module, its calls and the branches of its `If` nodes that are taken. *Errors* as above and
/// as `module::inlined`; `unsupported` where branches are nested more than `max_branch_depth` deep.
GSUB_LAZY [[nodiscard]] result<std::vector<tensor>> evaluate_module(module const& m, eval_table table,
                                                                    std::span<tensor const> inputs,
                                                                    evaluate_options const& options = {},
                                                                    std::string_view entry = "main");
inline constexpr std::size_t max_branch_depth = 64;

/// Lists operators that the reference evaluator cannot compute in what `entry` may call, one problem a node.
GSUB_LAZY [[nodiscard]] std::vector<problem> not_computable(module const& m, eval_table table,
                                                            std::string_view entry = "main");
/// Lists operators of a graph that the reference evaluator cannot compute, one problem a node. Includes constant parts;
/// leaves out the nodes that something else computes. `branches` are what its `If` nodes run, null where that is not
/// there.
GSUB_LAZY [[nodiscard]] std::vector<problem> not_computable(any_graph const& g, eval_table table,
                                                            std::span<node_id const> computed_elsewhere = {},
                                                            branch_functions const* branches = nullptr);

/// Evaluates one application of an operator. *Errors* throws `error`.
GSUB_LAZY void evaluate_node(dialect const& d, eval_table table, std::uint16_t row, op_call_args& args,
                             evaluate_options const& options);

/// Converts a tensor to the element type that a precision computes with.
GSUB_LAZY [[nodiscard]] tensor to_precision(tensor const& t, precision p);

/// Random inputs of a graph, seeded: normal for floating types, 0 or 1 for integers. Sizes that are not fixed become 1.
/// *Errors* throws `error` (`unsupported`) where they take more than the process can have.
GSUB_LAZY [[nodiscard]] std::vector<tensor> random_inputs(any_graph const& g, std::uint64_t seed);

// ---- rows

namespace detail {

template <class Op, class T>
concept elementwise_unary = requires(T x) {
    { evaluate<Op>::template scalar<T>(x) } -> std::same_as<T>;
};
template <class Op, class T>
concept elementwise_binary = requires(T x) {
    { evaluate<Op>::template scalar<T>(x, x) } -> std::same_as<T>;
};
template <class Op, class T>
concept elementwise_with_attributes = requires(attributes_of<Op> const& a, T x) {
    { evaluate<Op>::template scalar<T>(a, x) } -> std::same_as<T>;
};

template <class Op>
concept has_integers = requires {
    requires evaluate<Op>::integers;
};
template <class Op>
concept has_any_scalar = requires {
    requires evaluate<Op>::any_scalar;
};

/// Whether `evaluate<Op>` is instantiated for a scalar: it must provide what the operator needs.
template <class Op, class T>
consteval bool instantiable() {
    if constexpr (std::is_integral_v<T>)
        return has_integers<Op>;
    else
        return has_any_scalar<Op> || scalar_traits<T>::provides >= op_info::of<Op>().needs;
}

template <class Op, class T>
void run_as(op_call_args& args) {
    if constexpr (instantiable<Op, T>()) {
        op_call<T> k{args};
        if constexpr (requires { evaluate<Op>::template run<T>(k); })
            evaluate<Op>::template run<T>(k);
        else if constexpr (elementwise_unary<Op, T>)
            map_unary(k, [](T x) { return evaluate<Op>::template scalar<T>(x); });
        else if constexpr (elementwise_with_attributes<Op, T>)
            map_unary(k, [&](T x) { return evaluate<Op>::template scalar<T>(k.template attributes<Op>(), x); });
        else if constexpr (elementwise_binary<Op, T>)
            map_binary(k, [](T a, T b) { return evaluate<Op>::template scalar<T>(a, b); });
        else
            static_assert(elementwise_unary<Op, T>,
                          "evaluate<Op> has neither scalar(), run() nor move() for this scalar type");
    }
}

/// Runs narrower integers in 64 bits and keeps the low bits: sums and products wrap as in the narrow type.
GSUB_LAZY void run_widened(op_call_args& args, void (*run)(op_call_args&));

template <class Op>
void run_by_scalar(op_call_args& args) {
    switch (args.scalar) {
    case dtype::f32:
        return run_as<Op, float>(args);
    case dtype::f64:
        return run_as<Op, double>(args);
    case dtype::field61:
        return run_as<Op, field61>(args);
    case dtype::i64:
        return run_as<Op, std::int64_t>(args);
    case dtype::u64:
        return run_as<Op, std::uint64_t>(args);
    default:
        if (is_integer(args.scalar)) run_widened(args, &run_as<Op, std::int64_t>);
    }
}

template <class Op>
concept has_evaluate = requires(op_call_args& args) {
    evaluate<Op>::move(args);
}
|| requires(op_call<float>& k) {
    evaluate<Op>::template run<float>(k);
}
|| elementwise_unary<Op, float> || elementwise_binary<Op, float> || elementwise_with_attributes<Op, float>;

} // namespace detail

template <operation Op>
constexpr eval_row eval_row::of() noexcept {
    eval_row row;
    if constexpr (requires(op_call_args & args) { evaluate<Op>::move(args); }) {
        row.move = &evaluate<Op>::move;
        if constexpr (requires { evaluate<Op>::uninterpreted_in_field; })
            row.uninterpreted_in_field = evaluate<Op>::uninterpreted_in_field;
        if constexpr (requires { &evaluate<Op>::result_dims; }) row.result_dims = &evaluate<Op>::result_dims;
        if constexpr (requires { evaluate<Op>::decides_sizes; }) row.decides_sizes = evaluate<Op>::decides_sizes;
    } else if constexpr (detail::has_evaluate<Op>)
        row.run = &detail::run_by_scalar<Op>;
    else
        static_assert(!specialised<evaluate<Op>>,
                      "evaluate<Op> has no scalar(x), run(op_call<T>&) or move(op_call_args&) that can be called");
    if constexpr (requires(op_call<float> & k) { reference_kernel<Op>::template run<float>(k); })
        row.fast = [](op_call_args& args) {
            op_call<float> single{args};
            op_call<double> wide{args};
            args.scalar == dtype::f64 ? reference_kernel<Op>::template run<double>(wide)
                                      : reference_kernel<Op>::template run<float>(single);
        };
    if constexpr (detail::has_evaluate<Op>) {
        row.integers = detail::has_integers<Op>;
        if constexpr (requires { evaluate<Op>::booleans; }) row.booleans = evaluate<Op>::booleans;
        row.any_scalar = detail::has_any_scalar<Op>;
    }
    return row;
}

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<eval_row, standard_ops>;
#endif

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate.ipp>
#include <gsub/eval/impl/evaluator.ipp>
#include <gsub/eval/impl/not_computable.ipp>
#include <gsub/eval/impl/uninterpreted.ipp>
#endif
