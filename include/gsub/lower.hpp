// Umbrella of layer lower: from groups of operators to kernels.
#pragma once

#include <gsub/lower/scalar_lowering.hpp>
#include <gsub/lower/scalar_rows.hpp>
