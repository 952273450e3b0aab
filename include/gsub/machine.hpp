// Layer machine: what machines make of loop nests and instructions: data movement through caches, throughput of blocks.
#pragma once

#include <gsub/machine/access_tree.hpp>
#include <gsub/machine/assembly.hpp>
#include <gsub/machine/data_movement.hpp>
#include <gsub/machine/instruction.hpp>
#include <gsub/machine/loop_map.hpp>
#include <gsub/machine/natural_loops.hpp>
#include <gsub/machine/occupancy.hpp>
#include <gsub/machine/pipeline.hpp>
#include <gsub/machine/pipeline_run.hpp>
#include <gsub/machine/ptx.hpp>
#include <gsub/machine/ptx_work.hpp>
#include <gsub/machine/strided_box.hpp>
#include <gsub/machine/warp_accesses.hpp>
