// Lowering rows of gsub's own operators.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/lower/lowering.hpp>

namespace gsub {

namespace detail {

// What a row does and matches; they are defined beside the fuse pass.
GSUB_LAZY [[nodiscard]] bool lower_conv(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] kernel_group match_conv_row(fusion_scope const& s, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_batch_norm(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] kernel_group match_batch_norm_row(fusion_scope const& s, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_pool(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_product(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] kernel_group match_product_row(fusion_scope const& s, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_einsum(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] kernel_group match_einsum_row(fusion_scope const& s, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_softmax(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_reduction(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_local_response_norm(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_view(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_concat(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_split(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_gather(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_gather_elements(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_scatter_elements(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_scatter_nd(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_pad(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_fill(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_shape(kernel_builder& b, node_id n);
GSUB_LAZY [[nodiscard]] bool lower_bit_cast(kernel_builder& b, node_id n);

// What stands for operators that no kernel computes.
GSUB_LAZY [[nodiscard]] legal_values legalize_conv(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_mat_mul(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_gemm(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_einsum(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_batch_norm(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_batch_norm_training(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_reduce_mean(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_dropout(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_quantize(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_dequantize(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_mat_mul_integer(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_qlinear_mat_mul(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_gather_nd(any_graph& g, node_id n);
GSUB_LAZY [[nodiscard]] legal_values legalize_scatter_nd(any_graph& g, node_id n);

} // namespace detail

template <>
struct lowering<ops::conv> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_conv(b, n); }
    GSUB_LAZY static kernel_group match(fusion_scope const& s, node_id n) { return detail::match_conv_row(s, n); }
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_conv(g, n); }
};
template <>
struct lowering<ops::batch_norm> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_batch_norm(b, n); }
    GSUB_LAZY static kernel_group match(fusion_scope const& s, node_id n) { return detail::match_batch_norm_row(s, n); }
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_batch_norm(g, n); }
};
template <>
struct lowering<ops::max_pool> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_pool(b, n); }
};
template <>
struct lowering<ops::average_pool> : lowering<ops::max_pool> {};
template <>
struct lowering<ops::global_average_pool> : lowering<ops::max_pool> {};
template <>
struct lowering<ops::mat_mul> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_product(b, n); }
    GSUB_LAZY static kernel_group match(fusion_scope const& s, node_id n) { return detail::match_product_row(s, n); }
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_mat_mul(g, n); }
};
template <>
struct lowering<ops::gemm> : lowering<ops::mat_mul> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_gemm(g, n); }
};
template <>
struct lowering<ops::einsum> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_einsum(b, n); }
    GSUB_LAZY static kernel_group match(fusion_scope const& s, node_id n) { return detail::match_einsum_row(s, n); }
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_einsum(g, n); }
};
template <>
struct lowering<ops::softmax> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_softmax(b, n); }
};
template <>
struct lowering<ops::fast_softmax> : lowering<ops::softmax> {};
template <>
struct lowering<ops::reduce_sum> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_reduction(b, n); }
};
template <>
struct lowering<ops::reduce_mean> : lowering<ops::reduce_sum> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_reduce_mean(g, n); }
};
template <>
struct lowering<ops::reduce_max> : lowering<ops::reduce_sum> {};
template <>
struct lowering<ops::lrn> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_local_response_norm(b, n); }
};
template <>
struct lowering<ops::transpose> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_view(b, n); }
};
template <>
struct lowering<ops::slice> : lowering<ops::transpose> {};
template <>
struct lowering<ops::layout_transform> : lowering<ops::transpose> {};
template <>
struct lowering<ops::expand> : lowering<ops::transpose> {};
template <>
struct lowering<ops::concat> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_concat(b, n); }
};
template <>
struct lowering<ops::split> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_split(b, n); }
};
template <>
struct lowering<ops::gather> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_gather(b, n); }
};
template <>
struct lowering<ops::gather_elements> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_gather_elements(b, n); }
};
template <>
struct lowering<ops::scatter_elements> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_scatter_elements(b, n); }
};
template <>
struct lowering<ops::scatter_nd> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_scatter_nd(b, n); }
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_scatter_nd(g, n); }
};
template <>
struct lowering<ops::pad> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_pad(b, n); }
};
template <>
struct lowering<ops::fill> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_fill(b, n); }
};
template <>
struct lowering<ops::shape> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_shape(b, n); }
};

template <>
struct lowering<ops::bit_cast> {
    GSUB_LAZY static bool lower(kernel_builder& b, node_id n) { return detail::lower_bit_cast(b, n); }
};
template <>
struct lowering<ops::batch_norm_training> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) {
        return detail::legalize_batch_norm_training(g, n);
    }
};
template <>
struct lowering<ops::dropout> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_dropout(g, n); }
};
template <>
struct lowering<ops::quantize> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_quantize(g, n); }
};
template <>
struct lowering<ops::dequantize> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_dequantize(g, n); }
};
template <>
struct lowering<ops::mat_mul_integer> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_mat_mul_integer(g, n); }
};
template <>
struct lowering<ops::qlinear_mat_mul> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_qlinear_mat_mul(g, n); }
};
template <>
struct lowering<ops::gather_nd> {
    GSUB_LAZY static legal_values legalize(any_graph& g, node_id n) { return detail::legalize_gather_nd(g, n); }
};

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<lowering_row, standard_ops>;
#endif

} // namespace gsub
