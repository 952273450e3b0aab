// Umbrella of layer target: hardware as data.
#pragma once

#include <gsub/target/feature.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/microarchitecture.hpp>
#include <gsub/target/target.hpp>
