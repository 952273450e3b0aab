// Everything of gsub but JSON (gsub/io/json.hpp, gsub/report/json.hpp).
#pragma once

#include <gsub/codegen.hpp>
#include <gsub/core.hpp>
#include <gsub/cost.hpp>
#include <gsub/driver.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/ir.hpp>
#include <gsub/loop.hpp>
#include <gsub/models.hpp>
#include <gsub/passes.hpp>
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>
#include <gsub/runtime.hpp>
#include <gsub/search.hpp>
