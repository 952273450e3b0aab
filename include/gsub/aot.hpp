// Umbrella of layer aot: a program as sources that run without gsub.
#pragma once

#include <gsub/aot/export.hpp>
