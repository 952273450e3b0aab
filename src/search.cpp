#include <gsub/search.hpp>
#include <gsub/search/impl/max_flow.ipp>
#include <gsub/search/impl/split.ipp>
