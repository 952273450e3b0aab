#include <gsub/search.hpp>
#include <gsub/search/impl/evolution_strategy.ipp>
#include <gsub/search/impl/max_flow.ipp>
#include <gsub/search/impl/product_space.ipp>
#include <gsub/search/impl/split.ipp>
#include <gsub/search/impl/test_functions.ipp>
#include <gsub/search/impl/tune_strategy.ipp>
