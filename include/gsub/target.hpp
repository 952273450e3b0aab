// Layer target: hardware as data: instruction sets, features, caches, micro-architectures, host detection.
#pragma once

#include <gsub/target/feature.hpp>
#include <gsub/target/gpu.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/microarchitecture.hpp>
#include <gsub/target/port_table.hpp>
#include <gsub/target/target.hpp>
