// expect: quantity<
#include <gsub/core/strong.hpp>

auto const sum = gsub::seconds{1} + gsub::bytes{1};
