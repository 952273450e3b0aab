// Layer lower: the kernel graph and its passes: fuse, select, layout, schedule, emit.
#pragma once

#include <gsub/lower/emit.hpp>
#include <gsub/lower/fuse.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/fusion_scope.hpp>
#include <gsub/lower/grouped_graph.hpp>
#include <gsub/lower/kernel_builder.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/kernel_graph_text.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/kernel_task.hpp>
#include <gsub/lower/layout.hpp>
#include <gsub/lower/legalize.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/lower/lowering.hpp>
#include <gsub/lower/lowering_rows.hpp>
#include <gsub/lower/scalar_lowering.hpp>
#include <gsub/lower/scalar_rows.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/lower/schedule_table.hpp>
#include <gsub/lower/select.hpp>
