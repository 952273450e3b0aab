// Control-flow operators, which call functions of the module, and annotations, which stand for their operand.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

#include <string>

namespace gsub::ops {
struct if_else {}; ///< If: calls one of two functions, chosen by the condition, on the other operands
struct let {};     ///< gives its operand a name of its own: the let form of a graph, see `passes::to_a_normal_form`
struct compiler_annotation {}; ///< identity that marks its operand's operator as part of what another compiler takes
} // namespace gsub::ops

namespace gsub {

/// If: both functions take the same operands, the values that ONNX's branches capture. Made by `add_if`.
template <>
struct op_traits<ops::if_else> {
    static constexpr std::string_view name = "If";
    static constexpr int min_inputs = 1, max_inputs = variadic; ///< the condition, one truth value, and the operands
    static constexpr int results = variadic;
    static constexpr auto category = op_category::structural;
    struct attributes {
        std::string then_branch{}, else_branch{}; ///< names of functions of the module
        static constexpr field<attributes> fields[] = {{"then_branch", &attributes::then_branch},
                                                       {"else_branch", &attributes::else_branch}};
    };
};

template <>
struct op_traits<ops::let> : detail::identity_traits {
    static constexpr std::string_view name = "Let", domain = "gsub";
};
/// Compiler annotation: stands behind each result of the operator that it marks. Operators with the same compiler and
/// number are one part.
template <>
struct op_traits<ops::compiler_annotation> : op_traits<ops::let> {
    static constexpr std::string_view name = "CompilerAnnotation";
    struct attributes {
        std::string compiler{};   ///< who compiles it
        std::int64_t region = -1; ///< which part; -1: the operator alone
        static constexpr field<attributes> fields[] = {{"compiler", &attributes::compiler},
                                                       {"region", &attributes::region}};
    };
};

/// Inference of If checks the condition alone: only the module knows the result types of its functions.
template <>
struct infer_shape<ops::if_else> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::let> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::compiler_annotation> : infer_shape<ops::let> {};

/// The operators of this header.
using control_ops = op_set<ops::if_else, ops::let, ops::compiler_annotation>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_control.ipp>
#endif
