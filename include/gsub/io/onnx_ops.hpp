// ONNX traits of the standard operators, operator sets 7 to 28 (older ones where a definition has not changed since).
#pragma once

#include <gsub/io/onnx_traits.hpp>

#include <algorithm>

namespace gsub::io {

namespace detail {

/// A form in files that is read from a version of the operator set on.
template <std::int64_t Since>
struct onnx_since {
    static constexpr std::int64_t since = Since;
};

/// Table of the operators whose attributes in files are the fields of their struct: the version from which on they are
/// read; 0 of all others.
template <operation Op>
constexpr std::int64_t since_by_fields() noexcept {
    if (op_set<ops::softplus, ops::softsign, ops::mat_mul, ops::lrn, ops::global_average_pool, ops::identity,
               ops::gather, ops::flatten, ops::logical_not>::contains<Op>)
        return 1;
    if (op_set<ops::sigmoid, ops::tanh, ops::sqrt, ops::exp, ops::log, ops::neg, ops::abs, ops::reciprocal, ops::floor,
               ops::ceil, ops::leaky_relu, ops::elu, ops::hard_sigmoid>::contains<Op>)
        return 6;
    if (op_set<ops::gemm, ops::logical_and, ops::logical_or, ops::logical_xor, ops::sin, ops::cos, ops::tan, ops::asin,
               ops::acos, ops::atan>::contains<Op>)
        return 7;
    if (op_set<ops::erf, ops::sinh, ops::cosh, ops::asinh, ops::acosh, ops::atanh>::contains<Op>) return 9;
    if (op_set<ops::mat_mul_integer>::contains<Op>) return 10;
    if (op_set<ops::round, ops::gather_elements>::contains<Op>) return 11;
    if (op_set<ops::einsum>::contains<Op>) return 12;
    if (op_set<ops::hard_swish>::contains<Op>) return 14;
    if (op_set<ops::bitwise_and, ops::bitwise_or, ops::bitwise_xor>::contains<Op>) return 18;
    if (op_set<ops::gelu>::contains<Op>) return 20;
    return 0;
}

} // namespace detail

template <operation Op>
requires(detail::since_by_fields<Op>() != 0) struct onnx_traits<Op>
    : detail::onnx_since<detail::since_by_fields<Op>()> {
};

// ---- operators whose definition has come to more element types ------------------------------------------------------

namespace detail {

/// First versions of a definition, by element type.
struct element_opsets {
    std::int64_t floats;   ///< f32, f64
    std::int64_t halves;   ///< f16
    std::int64_t bf16;     ///< bf16
    std::int64_t integers; ///< i32, i64, truth values, and what is not known
    std::int64_t others;   ///< integers of other sizes
};

[[nodiscard]] std::int64_t opset_of_element(dtype element, element_opsets const& opsets);

/// A form that the element type of operand `I` decides about.
template <element_opsets Opsets, std::size_t I = 0>
struct onnx_by_element
    : onnx_since<std::min({Opsets.floats, Opsets.halves, Opsets.bf16, Opsets.integers, Opsets.others})> {
    static std::int64_t needed_opset(any_graph const& g, node_id n) {
        return opset_of_element(g.type(g.operand(n, I)).element, Opsets);
    }
};

} // namespace detail

template <operation Op>
requires(op_set<ops::add, ops::sub, ops::mul, ops::div>::contains<Op>) struct onnx_traits<Op>
    : detail::onnx_by_element<detail::element_opsets{7, 7, 13, 7, 14}> {
};
template <>
struct onnx_traits<ops::relu> : detail::onnx_by_element<detail::element_opsets{6, 6, 13, 6, 14}> {};
template <>
struct onnx_traits<ops::equal> : detail::onnx_by_element<detail::element_opsets{11, 11, 13, 7, 11}> {};
template <>
struct onnx_traits<ops::less> : detail::onnx_by_element<detail::element_opsets{7, 7, 13, 9, 9}> {};
template <>
struct onnx_traits<ops::greater> : onnx_traits<ops::less> {};
template <>
struct onnx_traits<ops::less_or_equal> : detail::onnx_by_element<detail::element_opsets{12, 12, 16, 12, 12}> {};
template <>
struct onnx_traits<ops::greater_or_equal> : onnx_traits<ops::less_or_equal> {};
template <>
struct onnx_traits<ops::is_nan> : detail::onnx_by_element<detail::element_opsets{9, 9, 13, 9, 9}> {};
template <>
struct onnx_traits<ops::is_inf> : detail::onnx_by_element<detail::element_opsets{10, 20, 20, 10, 10}> {};
template <>
struct onnx_traits<ops::where> : detail::onnx_by_element<detail::element_opsets{9, 9, 16, 9, 9}, 1> {};
template <>
struct onnx_traits<ops::expand> : detail::onnx_by_element<detail::element_opsets{8, 8, 13, 8, 8}> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};

// ---- reductions -----------------------------------------------------------------------------------------------------

namespace detail {

/// Attributes of a reduction; nothing where it reduces nothing.
[[nodiscard]] std::optional<reduce_attributes> read_reduction(onnx_import_context& cx);
/// Its operands: x, and axes that are not known.
[[nodiscard]] std::span<value_id const> reduction_operands(onnx_import_context const& cx);
/// `since` is the version from which on the axes are an operand.
void write_reduction(onnx_export_context& cx, reduce_attributes const& a, std::int64_t since);

template <operation Op, std::int64_t AxesOperandSince>
struct onnx_reduction : onnx_since<1> {
    static value_id import(onnx_import_context& cx) {
        auto const a = read_reduction(cx);
        return a ? cx.add<Op>(*a, reduction_operands(cx)) : cx.add<ops::identity>({}, {cx.operand(0)});
    }
    static void write(onnx_export_context& cx) { write_reduction(cx, cx.attributes<Op>(), AxesOperandSince); }
};

} // namespace detail

template <>
struct onnx_traits<ops::reduce_sum> : detail::onnx_reduction<ops::reduce_sum, 13> {};
template <>
struct onnx_traits<ops::reduce_mean> : detail::onnx_reduction<ops::reduce_mean, 18> {};
template <>
struct onnx_traits<ops::reduce_max> : detail::onnx_reduction<ops::reduce_max, 18> {
    static value_id import(onnx_import_context& cx);
};

// ---- quantized numbers ----------------------------------------------------------------------------------------------

namespace detail {

[[nodiscard]] scale_attributes read_scaled(onnx_import_context& cx);
void write_scaled(onnx_export_context& cx, scale_attributes const& a);
[[nodiscard]] std::int64_t opset_of_scaled(any_graph const& g, node_id n, scale_attributes const& a);

/// Scales and zero points of 8-bit floats and of 4-bit integers stay opaque.
template <operation Op>
struct onnx_scaled : onnx_since<10> {
    static void write(onnx_export_context& cx) { write_scaled(cx, cx.attributes<Op>()); }
    static std::int64_t needed_opset(any_graph const& g, node_id n) {
        return opset_of_scaled(g, n, g.attributes<Op>(n));
    }
};

[[nodiscard]] integer_window read_integer_window(onnx_import_context& cx, std::size_t weight);
void write_integer_window(onnx_export_context& cx, integer_window const& a);

/// Convolution of integers, whose weight is operand `Weight`.
template <operation Op, std::size_t Weight>
struct onnx_integer_convolution : onnx_since<10> {
    static value_id import(onnx_import_context& cx) {
        return cx.add<Op>(read_integer_window(cx, Weight), cx.all_operands());
    }
    static void write(onnx_export_context& cx) { write_integer_window(cx, cx.attributes<Op>()); }
};

} // namespace detail

template <>
struct onnx_traits<ops::quantize> : detail::onnx_scaled<ops::quantize> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::dequantize> : detail::onnx_scaled<ops::dequantize> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::conv_integer> : detail::onnx_integer_convolution<ops::conv_integer, 1> {};
template <>
struct onnx_traits<ops::qlinear_conv> : detail::onnx_integer_convolution<ops::qlinear_conv, 3> {};
template <>
struct onnx_traits<ops::qlinear_mat_mul> : detail::onnx_since<10> {
    static value_id import(onnx_import_context& cx);
};

// ---- operators whose form has changed over time or differs from ours ------------------------------------------------

template <>
struct onnx_traits<ops::conv> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::batch_norm> : detail::onnx_since<7> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::batch_norm_training> : detail::onnx_since<14> { // an attribute of BatchNormalization makes it
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::max_pool> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::average_pool> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::average_pool> const& a);
};
template <>
struct onnx_traits<ops::softmax> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::layer_norm> : detail::onnx_since<17> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::dropout> : detail::onnx_since<7> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::clip> : detail::onnx_since<6> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::sum> : detail::onnx_since<8> {
    static value_id import(onnx_import_context& cx);
};
/// Powers of integers that ONNX has none of are written as those of i64, which wrap alike.
template <>
struct onnx_traits<ops::pow> : detail::onnx_since<7> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
/// A remainder of integers becomes the graph of a division.
template <>
struct onnx_traits<ops::remainder> : detail::onnx_since<10> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::bit_cast> : detail::onnx_since<26> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::cast> : detail::onnx_since<6> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::concat> : detail::onnx_since<4> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::split> : detail::onnx_since<2> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::slice> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::pad> : detail::onnx_since<2> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::reshape> : detail::onnx_since<5> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::reshape> const& a) { return a.allow_zero ? 14 : 5; }
};
template <>
struct onnx_traits<ops::transpose> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::squeeze> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::unsqueeze> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::shape> : detail::onnx_since<1> {
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::shape> const& a) {
        return a.start == 0 && a.end == std::numeric_limits<std::int64_t>::max() ? 1 : 15;
    }
};
template <>
struct onnx_traits<ops::gather_nd> : detail::onnx_since<11> {
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::gather_nd> const& a) { return a.batch_dims == 0 ? 11 : 12; }
};

namespace detail {

/// Version that has a way to combine updates with what is there.
[[nodiscard]] std::int64_t opset_of_scatter(std::string_view reduction);

template <operation Op>
struct onnx_scatter : onnx_since<11> {
    static std::int64_t needed_opset(attributes_of<Op> const& a) { return opset_of_scatter(a.reduction); }
};

} // namespace detail

template <>
struct onnx_traits<ops::scatter_elements> : detail::onnx_scatter<ops::scatter_elements> {
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::scatter_nd> : detail::onnx_scatter<ops::scatter_nd> {
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::top_k> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::non_zero> : detail::onnx_since<9> {};
template <>
struct onnx_traits<ops::unique> : detail::onnx_since<11> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::non_max_suppression> : detail::onnx_since<10> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::range> : detail::onnx_since<11> {
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::fill> : detail::onnx_since<9> {
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
/// If: the importer and the exporter handle its branches themselves.
template <>
struct onnx_traits<ops::if_else> : detail::onnx_since<1> {
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
/// `Constant` nodes; initializers are read by the importer itself.
template <>
struct onnx_traits<ops::constant> : detail::onnx_since<1> {
    static value_id import(onnx_import_context& cx);
};

// ---- approximations, written as the operators that they stand for and not read --------------------------------------

namespace detail {

void write_as(onnx_export_context& cx, std::string_view op_type);

template <operation Exact>
struct onnx_written_as : onnx_since<onnx_traits<Exact>::since> {
    static void write(onnx_export_context& cx) { write_as(cx, op_traits<Exact>::name); }
};

} // namespace detail

template <>
struct onnx_traits<ops::fast_exp> : detail::onnx_written_as<ops::exp> {};
template <>
struct onnx_traits<ops::fast_tanh> : detail::onnx_written_as<ops::tanh> {};
template <>
struct onnx_traits<ops::fast_erf> : detail::onnx_written_as<ops::erf> {};
template <>
struct onnx_traits<ops::fast_softmax> : detail::onnx_since<onnx_traits<ops::softmax>::since> {
    static void write(onnx_export_context& cx);
};

#ifdef GSUB_COMPILED
} // namespace gsub::io
extern template struct gsub::detail::table_storage<gsub::io::onnx_row, gsub::standard_ops>;
namespace gsub::io {
#endif

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/onnx_ops_control.ipp>
#include <gsub/io/impl/onnx_ops_math.ipp>
#include <gsub/io/impl/onnx_ops_nn.ipp>
#include <gsub/io/impl/onnx_ops_quantized.ipp>
#include <gsub/io/impl/onnx_ops_reduce.ipp>
#include <gsub/io/impl/onnx_ops_tensor.ipp>
#include <gsub/io/impl/onnx_window.ipp>
#endif
