#include <gsub/core.hpp>
