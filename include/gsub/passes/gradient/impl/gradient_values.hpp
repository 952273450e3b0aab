// gradient_values: values that gradient rules are made of.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/builder.hpp>

#include <cstdint>

namespace gsub {
class gradient_site;
} // namespace gsub

namespace gsub::passes::gradients {

/// x repeated to the dimensions of another value.
GSUB_LAZY [[nodiscard]] value_id repeated_as(graph_builder& b, value_id x, value_id like);
/// The elements of x under the dimensions of another value.
GSUB_LAZY [[nodiscard]] value_id shaped_as(graph_builder& b, value_id x, value_id like);
/// The elements of x in these sizes.
GSUB_LAZY [[nodiscard]] value_id shaped(graph_builder& b, value_id x, ints sizes);
/// The sum of x over the dimensions in which a value of type `to` was broadcast to it; those of `to` that x lacks or
/// has one element in are made by repetition.
GSUB_LAZY [[nodiscard]] value_id fitted(gradient_site const& at, value_id x, value_id to);
/// a * b.
GSUB_LAZY [[nodiscard]] value_id product_of(gradient_site& at, value_id a, value_id b);
/// a * factor.
GSUB_LAZY [[nodiscard]] value_id scaled(gradient_site& at, value_id a, double factor);
/// a where the condition holds, else 0.
GSUB_LAZY [[nodiscard]] value_id chosen(gradient_site& at, value_id condition, value_id a);
/// x transposed.
GSUB_LAZY [[nodiscard]] value_id permuted(graph_builder& b, value_id x, ints perm);
/// An axis of a value as a number from 0 on.
GSUB_LAZY [[nodiscard]] std::int64_t axis_in(gradient_site& at, std::int64_t axis, value_id of);
/// Widths of borders, negative ones to crop, in the form of `Pad`.
GSUB_LAZY [[nodiscard]] value_id bordered(graph_builder& b, value_id x, ints begin, ints const& end, double value = 0);
/// x with steps[i] - 1 zeros behind each element along dimension i.
GSUB_LAZY [[nodiscard]] value_id dilated(gradient_site& at, value_id x, ints const& steps);
/// x backwards along these axes.
GSUB_LAZY [[nodiscard]] value_id flipped(graph_builder& b, value_id x, ints axes);
/// Zeros of these sizes, but element i of x at starts + i * steps.
GSUB_LAZY [[nodiscard]] value_id scattered(gradient_site& at, value_id x, ints starts, ints steps, ints const& sizes);

} // namespace gsub::passes::gradients
