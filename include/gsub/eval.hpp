// Layer eval: the reference evaluator: every operator over any scalar, and constant folding.
#pragma once

#include <gsub/eval/elementwise.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/evaluate_fast.hpp>
#include <gsub/eval/evaluate_index.hpp>
#include <gsub/eval/evaluate_math.hpp>
#include <gsub/eval/evaluate_nn.hpp>
#include <gsub/eval/evaluate_quantized.hpp>
#include <gsub/eval/evaluate_reduce.hpp>
#include <gsub/eval/evaluate_tensor.hpp>
#include <gsub/eval/field.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/eval/op_call.hpp>
#include <gsub/eval/reference_kernel.hpp>
#include <gsub/eval/scalar.hpp>
