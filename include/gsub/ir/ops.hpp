// The standard operators, and graphs over them.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops_control.hpp>
#include <gsub/ir/ops_fast.hpp>
#include <gsub/ir/ops_math.hpp>
#include <gsub/ir/ops_nn.hpp>
#include <gsub/ir/ops_quantized.hpp>
#include <gsub/ir/ops_reduce.hpp>
#include <gsub/ir/ops_tensor.hpp>

namespace gsub {

/// Every operator that gsub brings. `standard_ops::with<app::ops::swish>` adds one of the user's own.
struct standard_ops
    : op_set<ops::conv, ops::batch_norm, ops::batch_norm_training, ops::max_pool, ops::average_pool,
             ops::global_average_pool, ops::lrn, ops::softmax, ops::dropout, ops::relu, ops::clip, ops::sigmoid,
             ops::tanh, ops::sqrt, ops::add, ops::sub, ops::mul, ops::div, ops::sum, ops::hard_sigmoid, ops::hard_swish,
             ops::leaky_relu, ops::elu, ops::gelu, ops::exp, ops::log, ops::erf, ops::neg, ops::abs, ops::pow,
             ops::reduce_sum, ops::reduce_mean, ops::reduce_max, ops::layer_norm, ops::cast, ops::mat_mul, ops::gemm,
             ops::identity, ops::concat, ops::split, ops::slice, ops::pad, ops::gather, ops::reshape, ops::flatten,
             ops::transpose, ops::squeeze, ops::unsqueeze, ops::shape, ops::expand, ops::range, ops::fill, ops::dirac,
             ops::layout_transform, ops::equal, ops::less, ops::less_or_equal, ops::greater, ops::greater_or_equal,
             ops::logical_not, ops::logical_and, ops::logical_or, ops::logical_xor, ops::is_nan, ops::is_inf,
             ops::where, ops::if_else, ops::let, ops::region_mark, ops::fast_exp, ops::fast_tanh, ops::fast_erf,
             ops::fast_softmax, ops::quantize, ops::dequantize, ops::conv_integer, ops::mat_mul_integer,
             ops::qlinear_conv, ops::qlinear_mat_mul> {};

/// A graph over the standard operators.
using graph = basic_graph<standard_ops>;

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<op_info, standard_ops>;
extern template struct detail::table_storage<infer_row, standard_ops>;
#endif

} // namespace gsub
