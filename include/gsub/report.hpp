// Layer report: tables, summaries, JSON, DOT, SVG, HTML, traces, progress.
#pragma once

#include <gsub/report/dot.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/html.hpp>
#include <gsub/report/layered_layout.hpp>
#include <gsub/report/progress.hpp>
#include <gsub/report/stage_table.hpp>
#include <gsub/report/summary.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>
#include <gsub/report/weight_matrix.hpp>
