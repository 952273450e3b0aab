#include <gsub/optimize.hpp>
#include <gsub/optimize/impl/explain.ipp>
#include <gsub/optimize/impl/optimize.ipp>
#include <gsub/optimize/impl/relaxed_substitution.ipp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/impl/search_log.ipp>
#include <gsub/optimize/impl/split.ipp>
#include <gsub/optimize/impl/substitution.ipp>
