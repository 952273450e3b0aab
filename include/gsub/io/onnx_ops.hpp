// ONNX traits of the standard operators, operator sets 7 to 21 (older ones where a definition has not changed since).
#pragma once

#include <gsub/io/onnx_traits.hpp>

namespace gsub::io {

// Operators whose attributes are the fields of their struct.
template <>
struct onnx_traits<ops::relu> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::sigmoid> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::tanh> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::sqrt> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::exp> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::log> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::neg> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::abs> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::reciprocal> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::floor> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::ceil> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::round> {
    static constexpr std::int64_t since = 11;
};
template <>
struct onnx_traits<ops::softplus> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::softsign> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::erf> {
    static constexpr std::int64_t since = 9;
};
template <>
struct onnx_traits<ops::leaky_relu> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::elu> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::gelu> {
    static constexpr std::int64_t since = 20;
};
template <>
struct onnx_traits<ops::add> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::sub> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::mul> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::div> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::hard_sigmoid> {
    static constexpr std::int64_t since = 6;
};
template <>
struct onnx_traits<ops::hard_swish> {
    static constexpr std::int64_t since = 14;
};
template <>
struct onnx_traits<ops::mat_mul> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::gemm> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::einsum> {
    static constexpr std::int64_t since = 12;
};
template <>
struct onnx_traits<ops::lrn> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::global_average_pool> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::identity> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::gather> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::flatten> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::logical_not> {
    static constexpr std::int64_t since = 1;
};
template <>
struct onnx_traits<ops::logical_and> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::logical_or> {
    static constexpr std::int64_t since = 7;
};
template <>
struct onnx_traits<ops::logical_xor> {
    static constexpr std::int64_t since = 7;
};

// Operators whose form has changed over time or differs from ours.
template <>
struct onnx_traits<ops::equal> {
    static constexpr std::int64_t since = 7;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::less> {
    static constexpr std::int64_t since = 7;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::greater> {
    static constexpr std::int64_t since = 7;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::less_or_equal> {
    static constexpr std::int64_t since = 12;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::greater_or_equal> {
    static constexpr std::int64_t since = 12;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::is_nan> {
    static constexpr std::int64_t since = 9;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::is_inf> {
    static constexpr std::int64_t since = 10;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::where> {
    static constexpr std::int64_t since = 9;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::expand> {
    static constexpr std::int64_t since = 8;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::range> {
    static constexpr std::int64_t since = 11;
    static value_id import(onnx_import_context& cx);
};
// Scales and zero points of 8-bit floats and of 4-bit integers stay opaque.
template <>
struct onnx_traits<ops::quantize> {
    static constexpr std::int64_t since = 10;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::dequantize> {
    static constexpr std::int64_t since = 10;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::conv_integer> {
    static constexpr std::int64_t since = 10;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::mat_mul_integer> {
    static constexpr std::int64_t since = 10;
};
template <>
struct onnx_traits<ops::qlinear_conv> {
    static constexpr std::int64_t since = 10;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::qlinear_mat_mul> {
    static constexpr std::int64_t since = 10;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::conv> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::batch_norm> {
    static constexpr std::int64_t since = 7;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::batch_norm_training> {
    static constexpr std::int64_t since = 14; // of BatchNormalization, whose attribute makes it this
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::max_pool> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::average_pool> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::average_pool> const& a);
};
template <>
struct onnx_traits<ops::softmax> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
// Approximations are written as the operators that they stand for, and are not read.
template <>
struct onnx_traits<ops::fast_exp> {
    static constexpr std::int64_t since = onnx_traits<ops::exp>::since;
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::fast_tanh> {
    static constexpr std::int64_t since = onnx_traits<ops::tanh>::since;
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::fast_erf> {
    static constexpr std::int64_t since = onnx_traits<ops::erf>::since;
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::fast_softmax> {
    static constexpr std::int64_t since = onnx_traits<ops::softmax>::since;
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::layer_norm> {
    static constexpr std::int64_t since = 17;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::dropout> {
    static constexpr std::int64_t since = 7;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::clip> {
    static constexpr std::int64_t since = 6;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
template <>
struct onnx_traits<ops::sum> {
    static constexpr std::int64_t since = 8;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::pow> {
    static constexpr std::int64_t since = 7;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::reduce_sum> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::reduce_mean> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::reduce_max> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::cast> {
    static constexpr std::int64_t since = 6;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::concat> {
    static constexpr std::int64_t since = 4;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::split> {
    static constexpr std::int64_t since = 2;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::slice> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::pad> {
    static constexpr std::int64_t since = 2;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::reshape> {
    static constexpr std::int64_t since = 5;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::reshape> const& a) { return a.allow_zero ? 14 : 5; }
};
template <>
struct onnx_traits<ops::transpose> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
};
template <>
struct onnx_traits<ops::squeeze> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::unsqueeze> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
template <>
struct onnx_traits<ops::shape> {
    static constexpr std::int64_t since = 1;
    static void write(onnx_export_context& cx);
    static std::int64_t needed_opset(attributes_of<ops::shape> const& a) {
        return a.start == 0 && a.end == std::numeric_limits<std::int64_t>::max() ? 1 : 15;
    }
};
template <>
struct onnx_traits<ops::fill> {
    static constexpr std::int64_t since = 9;
    static value_id import(onnx_import_context& cx);
    static void write(onnx_export_context& cx);
};
/// If: the importer and the exporter handle its branches themselves.
template <>
struct onnx_traits<ops::if_else> {
    static constexpr std::int64_t since = 1;
    static std::int64_t needed_opset(any_graph const& g, node_id n);
};
/// `Constant` nodes; initializers are read by the importer itself.
template <>
struct onnx_traits<ops::constant> {
    static constexpr std::int64_t since = 1;
    static value_id import(onnx_import_context& cx);
};

#ifdef GSUB_COMPILED
} // namespace gsub::io
extern template struct gsub::detail::table_storage<gsub::io::onnx_row, gsub::standard_ops>;
namespace gsub::io {
#endif

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/onnx_ops.ipp>
#endif
