// What the files of this folder include.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/lower/scalar_lowering.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/pass.hpp>
#include <gsub/passes/pipeline.hpp>
#include <gsub/passes/select/network_class.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/search/backtracking.hpp>
