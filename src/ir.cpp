#include <gsub/ir.hpp>
#include <gsub/ir/impl/builder.ipp>
#include <gsub/ir/impl/graph.ipp>
#include <gsub/ir/impl/graph_cloner.ipp>
#include <gsub/ir/impl/graph_hash.ipp>
#include <gsub/ir/impl/graph_order.ipp>
#include <gsub/ir/impl/graph_parser.ipp>
#include <gsub/ir/impl/graph_printer.ipp>
#include <gsub/ir/impl/graph_uses.ipp>
#include <gsub/ir/impl/legality.ipp>
#include <gsub/ir/impl/module.ipp>
#include <gsub/ir/impl/node_sink.ipp>
#include <gsub/ir/impl/patch.ipp>
#include <gsub/ir/impl/text.ipp>
#include <gsub/ir/impl/text_reader.ipp>
#include <gsub/ir/impl/traversal.ipp>
#include <gsub/ir/ops/impl/attributes.ipp>
#include <gsub/ir/ops/impl/decompose.ipp>
#include <gsub/ir/ops/impl/infer.ipp>
#include <gsub/ir/ops/impl/op.ipp>
#include <gsub/ir/ops/impl/ops_control.ipp>
#include <gsub/ir/ops/impl/ops_index.ipp>
#include <gsub/ir/ops/impl/ops_logic.ipp>
#include <gsub/ir/ops/impl/ops_math.ipp>
#include <gsub/ir/ops/impl/ops_matmul.ipp>
#include <gsub/ir/ops/impl/ops_nn.ipp>
#include <gsub/ir/ops/impl/ops_quantized.ipp>
#include <gsub/ir/ops/impl/ops_reduce.ipp>
#include <gsub/ir/ops/impl/ops_tensor.ipp>
#include <gsub/ir/ops/impl/ops_tensor_shape.ipp>
#include <gsub/ir/ops/impl/tensor_inference.ipp>
#include <gsub/ir/types/impl/blocked_layout.ipp>
#include <gsub/ir/types/impl/tensor.ipp>
#include <gsub/ir/types/impl/tensor_type.ipp>

template struct gsub::detail::table_storage<gsub::op_info, gsub::standard_ops>;
template struct gsub::detail::table_storage<gsub::infer_row, gsub::standard_ops>;
