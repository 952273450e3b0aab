// Layer tune: tasks of a network, a tuner, workers that score, and records: formats, database, look-up.
#pragma once

#include <gsub/tune/ansor_record.hpp>
#include <gsub/tune/configuration_space.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/isolated_timer.hpp>
#include <gsub/tune/json_value.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/kernel_timer.hpp>
#include <gsub/tune/point_bytes.hpp>
#include <gsub/tune/process_scorer.hpp>
#include <gsub/tune/record.hpp>
#include <gsub/tune/record_log.hpp>
#include <gsub/tune/records_source.hpp>
#include <gsub/tune/remote_scorer.hpp>
#include <gsub/tune/tuner.hpp>
#include <gsub/tune/tuning_task.hpp>
