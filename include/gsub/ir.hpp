// Layer ir: types, tensors, operators, graphs, patches, type inference, text form.
#pragma once

#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/ops/attributes.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/ops/ops_control.hpp>
#include <gsub/ir/ops/ops_fast.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/ir/ops/ops_quantized.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/ir/patch.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/ir/types/blocked_layout.hpp>
#include <gsub/ir/types/dtype.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/ir/types/tensor_type.hpp>
