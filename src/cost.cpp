#include <gsub/cost.hpp>
#include <gsub/cost/impl/analytic.ipp>
#include <gsub/cost/impl/fused.ipp>
#include <gsub/cost/impl/measured.ipp>
#include <gsub/cost/impl/relative.ipp>
#include <gsub/cost/impl/table.ipp>
