#include <gsub/loop.hpp>
#include <gsub/loop/impl/affine.ipp>
#include <gsub/loop/impl/config_space.ipp>
#include <gsub/loop/impl/expression.ipp>
#include <gsub/loop/impl/fused_nest.ipp>
#include <gsub/loop/impl/schedule.ipp>
#include <gsub/loop/impl/split_factors.ipp>
#include <gsub/loop/impl/store_order.ipp>
