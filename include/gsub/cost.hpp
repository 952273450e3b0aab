// Layer cost: cost models: analytic, predicted by kernel, measured, from tables.
// `cost/measured.hpp` and `cost/table.hpp` include the JSON library and are included by themselves.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/kernel_features.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/cost/linear_score.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/cost/relative.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/cost/static_gpu.hpp>
