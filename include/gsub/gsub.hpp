// From a model to a cheaper graph and to a program that runs it, with all that rules, operators, costs and kernels of
// one's own need. Not here: passes put together by hand (gsub/passes.hpp, gsub/driver/run_passes.hpp,
// gsub/driver/bisect.hpp) and JSON (gsub/io/json.hpp, gsub/report/json.hpp).
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
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>
#include <gsub/runtime.hpp>
#include <gsub/search.hpp>
#include <gsub/target.hpp>
