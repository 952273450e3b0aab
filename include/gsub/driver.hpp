// Layer driver: `build` and the other calls that most users need.
#pragma once

#include <gsub/driver/bisect.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/driver/default_pipeline.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/driver/gsub_codegen.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/driver/pass_dump.hpp>
#include <gsub/driver/run_passes.hpp>
