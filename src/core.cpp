#include <gsub/core.hpp>
#include <gsub/core/impl/target.ipp>
