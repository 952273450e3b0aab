#include <gsub/cost.hpp>
#include <gsub/cost/impl/analytic.ipp>
#include <gsub/cost/impl/fused.ipp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/lowered.ipp>
#include <gsub/cost/impl/measured.ipp>
#include <gsub/cost/impl/relative.ipp>
#include <gsub/cost/impl/table.ipp>
