// Formatters of all layers: what programs include that put gsub's types into text with fmt.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/target/format.hpp>
