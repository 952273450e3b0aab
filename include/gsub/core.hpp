// Layer core: results and errors, strong ids and units, hashing, random numbers, observers, executors.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/config.hpp>
#include <gsub/core/edit_distance.hpp>
#include <gsub/core/error_id.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/core/intern.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/quoted.hpp>
#include <gsub/core/random.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/core/thread_workspace.hpp>
