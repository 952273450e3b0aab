// Formatters of layer target.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/target/target.hpp>

template <>
struct fmt::formatter<gsub::target> : gsub::text_formatter {};
