// Layer search: generic search algorithms, which know no graph.
#pragma once

#include <gsub/search/backtracking.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/search/frontier.hpp>
#include <gsub/search/max_flow.hpp>
#include <gsub/search/split.hpp>
