// Umbrella of layer search: generic algorithms that know nothing of graphs.
#pragma once

#include <gsub/search/backtracking.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/search/max_flow.hpp>
#include <gsub/search/split.hpp>
