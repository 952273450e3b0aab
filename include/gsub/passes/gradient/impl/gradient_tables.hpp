// gradient_tables: the built-in gradient rules, by what their operators do.
#pragma once

#include <gsub/core/config.hpp>

#include <vector>

namespace gsub {
struct gradient_rule;
} // namespace gsub

namespace gsub::passes::gradients {

/// Of operators that compute each element by itself.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> elementwise_gradients();
/// Of those that only move elements.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> movement_gradients();
/// Of sums along dimensions, and of what is normalised by them.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> reduction_gradients();
/// Of products of matrices.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> product_gradients();
/// Of convolutions and pools.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> window_gradients();

} // namespace gsub::passes::gradients
