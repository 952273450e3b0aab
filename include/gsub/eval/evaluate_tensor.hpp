// Evaluation of tensor operators: those that move elements, whatever these are, and those that make tensors.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_control.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

#include <optional>
#include <span>

namespace gsub {

template <>
struct evaluate<ops::concat> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::split> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::slice> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::pad> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::gather> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::transpose> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::shape> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::expand> {
    static void move(op_call_args& args);
};
/// Range also gives its length where that follows from floating operands, which inference does not read.
template <>
struct evaluate<ops::range> {
    static void move(op_call_args& args);
    static std::optional<ints> result_dims(std::span<tensor const* const> operands);
};
template <>
struct evaluate<ops::fill> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::dirac> {
    static void move(op_call_args& args);
};
/// The operand's elements under the result's dimensions.
template <>
struct evaluate<ops::identity> {
    static void move(op_call_args& args) { args.results[0] = args.operands[0]->reshaped(args.results[0].dims()); }
};
template <>
struct evaluate<ops::let> : evaluate<ops::identity> {};
template <>
struct evaluate<ops::compiler_annotation> : evaluate<ops::identity> {};
/// Values here are row-major, whatever their type says.
template <>
struct evaluate<ops::layout_transform> : evaluate<ops::identity> {};
template <>
struct evaluate<ops::reshape> : evaluate<ops::identity> {};
template <>
struct evaluate<ops::flatten> : evaluate<ops::identity> {};
template <>
struct evaluate<ops::squeeze> : evaluate<ops::identity> {};
template <>
struct evaluate<ops::unsqueeze> : evaluate<ops::identity> {};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate_tensor.ipp>
#endif
