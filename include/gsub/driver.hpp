// Umbrella of layer driver: the few calls that most users need. With passes: gsub/driver/passes.hpp.
#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/optimize.hpp>
#include <gsub/driver/search_log.hpp>
#include <gsub/driver/split.hpp>
#include <gsub/driver/substitution.hpp>
