// The standard operators, and graphs over them.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops_control.hpp>
#include <gsub/ir/ops/ops_fast.hpp>
#include <gsub/ir/ops/ops_index.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/ir/ops/ops_quantized.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

namespace gsub {

/// Every operator that gsub brings. `standard_ops::with<app::ops::swish>` adds one of the user's own.
struct standard_ops : joined_ops<nn_ops, math_ops, matmul_ops, reduce_ops, tensor_ops, index_ops, control_ops, fast_ops,
                                 quantized_ops> {};

/// A graph over the standard operators.
using graph = basic_graph<standard_ops>;

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<op_info, standard_ops>;
extern template struct detail::table_storage<infer_row, standard_ops>;
#endif

} // namespace gsub
