// Layer search: generic search algorithms, which know no graph.
#pragma once

#include <gsub/search/backtracking.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/evolution_strategy.hpp>
#include <gsub/search/exhaustive_search.hpp>
#include <gsub/search/frontier.hpp>
#include <gsub/search/max_flow.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/search/product_space.hpp>
#include <gsub/search/random_search.hpp>
#include <gsub/search/sampler.hpp>
#include <gsub/search/scorer.hpp>
#include <gsub/search/search_space.hpp>
#include <gsub/search/simulated_annealing.hpp>
#include <gsub/search/split.hpp>
#include <gsub/search/test_functions.hpp>
#include <gsub/search/tune_strategy.hpp>
