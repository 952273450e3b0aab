#include <gsub/core.hpp>
#include <gsub/core/impl/error_id.ipp>
#include <gsub/core/impl/format.ipp>
