// Umbrella of layer passes: what a pass is, and transforms of modules and graphs.
#pragma once

#include <gsub/passes/fuse.hpp>
#include <gsub/passes/layout.hpp>
#include <gsub/passes/pass.hpp>
