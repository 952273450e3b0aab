// Search space concepts: points that a black-box search chooses among, and their coordinates in a real vector space.
#pragma once

#include <gsub/core/random.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gsub::search {

/// Search space: points, and a map between them and vectors of reals in which a search may move.
/// - `point`: a value, e.g. a configuration. `key(p)`: equal for points that are the same; has a `std::hash`.
/// - `dimensions()`: the length of a vector of coordinates.
/// - `decode(x)`: the point at any coordinates, those outside of the space too. The origin is the middle of the space,
///   and a coordinate that changes by 1 goes from one end of its dimension to the other.
/// - `encode(p)`: coordinates that `decode` maps to the point.
/// - `draw(random)`: a random point, uniformly.
/// All are const and may be called by several threads. *Example* `product_space`
template <class S>
concept search_space = requires(S const& s, typename S::point const& p, std::span<double const> x, random_stream& r) {
    { s.dimensions() } -> std::convertible_to<std::size_t>;
    { s.decode(x) } -> std::same_as<typename S::point>;
    { s.encode(p) } -> std::same_as<std::vector<double>>;
    { s.draw(r) } -> std::same_as<typename S::point>;
    { s.key(p) } -> std::equality_comparable;
    { std::hash<std::remove_cvref_t<decltype(s.key(p))>>{}(s.key(p)) } -> std::convertible_to<std::size_t>;
};

/// A search space whose points have the numbers from 0 to `size() - 1`.
template <class S>
concept enumerable_space = search_space<S> && requires(S const& s, std::uint64_t index) {
    { s.size() } -> std::convertible_to<std::uint64_t>;
    { s.at(index) } -> std::same_as<typename S::point>;
};

/// A search space that draws a point close to another, e.g. one that differs in one knob.
template <class S>
concept local_space = search_space<S> && requires(S const& s, typename S::point const& p, random_stream& r) {
    { s.neighbour(p, r) } -> std::same_as<typename S::point>;
};

} // namespace gsub::search
