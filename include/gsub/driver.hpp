// Umbrella of layer driver: the few calls that most users need.
#pragma once

#include <gsub/driver/bisect.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/optimize.hpp>
#include <gsub/driver/passes.hpp>
#include <gsub/driver/substitution.hpp>
