// The whole library: from a model to a cheaper graph and to a program that runs it, with rules, operators, passes,
// costs and kernels of one's own. Not here: what includes the JSON library (`io/json.hpp`, `report/json.hpp`,
// `report/trace.hpp`, `cost/table.hpp`, `cost/measured.hpp`, `driver/calibrate.hpp`, `driver/measured_kernels.hpp`).
#pragma once

#include <gsub/aot.hpp>
#include <gsub/codegen.hpp>
#include <gsub/core.hpp>
#include <gsub/cost.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/ir.hpp>
#include <gsub/kernels.hpp>
#include <gsub/loop.hpp>
#include <gsub/lower.hpp>
#include <gsub/models.hpp>
#include <gsub/optimize.hpp>
#include <gsub/passes.hpp>
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>
#include <gsub/runtime.hpp>
#include <gsub/search.hpp>
#include <gsub/target.hpp>
