// Layer driver: `build` and the other calls that most users need.
// With passes: `driver/run_passes.hpp`.
#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/driver/gsub_codegen.hpp>
