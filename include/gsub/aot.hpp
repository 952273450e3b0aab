// Layer aot: ahead-of-time export: a program as sources that run without gsub.
#pragma once

#include <gsub/aot/export.hpp>
