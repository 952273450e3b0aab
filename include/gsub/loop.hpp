// Layer loop: tensor expressions, schedules, loop nests, configuration spaces.
#pragma once

#include <gsub/loop/affine.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/loop/expression.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/loop/scalar_op.hpp>
#include <gsub/loop/schedule.hpp>
