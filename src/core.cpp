#include <gsub/core.hpp>
#include <gsub/core/impl/format.ipp>
