// Umbrella of layer cost: what a graph costs. `cost/measured.hpp` keeps its figures in JSON and is included by itself.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/cost/lowered.hpp>
