// Umbrella of layer driver: the few calls that most users need. With passes: gsub/driver/passes.hpp.
#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/driver/gsub_receiver.hpp>
#include <gsub/driver/receiver.hpp>
