// Umbrella of layer ir: types, tensors, operators, graphs, patches, inference, text.
#pragma once

#include <gsub/ir/attributes.hpp>
#include <gsub/ir/blocked_layout.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/dtype.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/infer.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/op.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/ir/ops_control.hpp>
#include <gsub/ir/ops_fast.hpp>
#include <gsub/ir/ops_math.hpp>
#include <gsub/ir/ops_matmul.hpp>
#include <gsub/ir/ops_nn.hpp>
#include <gsub/ir/ops_quantized.hpp>
#include <gsub/ir/ops_reduce.hpp>
#include <gsub/ir/ops_tensor.hpp>
#include <gsub/ir/patch.hpp>
#include <gsub/ir/tensor.hpp>
#include <gsub/ir/tensor_type.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/traversal.hpp>
