// Umbrella of layer cost: what a graph costs, by formula or by the clock.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/measured.hpp>
