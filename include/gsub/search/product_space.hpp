// product_space: the search space of points with a value in each of several dimensions, numbers and choices alike.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gsub::search {

/// Dimension of a product space: the values that one component of a point may have.
struct dimension {
    enum class kind : std::uint8_t {
        real,        ///< any number of an interval
        ordinal,     ///< one of several values in an order: 0, 1, ... up to `values - 1`
        categorical, ///< one of several values without an order, numbered alike
    };
    kind what = kind::real;
    double low = 0, high = 1; ///< of a real dimension
    std::uint32_t values = 0; ///< of the others

    /// *Requires* low < high, both finite.
    [[nodiscard]] static dimension real(double low, double high) { return {kind::real, low, high, 0}; }
    /// *Requires* values >= 1.
    [[nodiscard]] static dimension ordinal(std::uint32_t values) { return {kind::ordinal, 0, 0, values}; }
    /// *Requires* values >= 1.
    [[nodiscard]] static dimension categorical(std::uint32_t values) { return {kind::categorical, 0, 0, values}; }
};

/// Product space: a point is a vector with a value for each dimension: a number of the interval, or the number of the
/// value chosen. Real and ordinal dimensions have one coordinate, from -1/2 to 1/2 and reflected beyond, so that a
/// vector that leaves the space comes back in. Categorical dimensions have one for each value; the largest wins, of
/// equal ones the first. Models `local_space`, and `enumerable_space` where no dimension is real.
class product_space {
public:
    using point = std::vector<double>;

    /// *Requires* dimensions as their makers require.
    GSUB_LAZY explicit product_space(std::vector<dimension> dimensions);

    [[nodiscard]] std::span<dimension const> components() const noexcept { return components_; }
    /// Number of coordinates.
    [[nodiscard]] std::size_t dimensions() const noexcept { return coordinates_; }
    GSUB_LAZY [[nodiscard]] point decode(std::span<double const> coordinates) const;
    GSUB_LAZY [[nodiscard]] std::vector<double> encode(point const& p) const;
    GSUB_LAZY [[nodiscard]] hash128 key(point const& p) const noexcept;
    GSUB_LAZY [[nodiscard]] point draw(random_stream& random) const;
    /// A point that differs in one dimension: in any other value of a categorical one, else by a step whose length may
    /// be of any scale between a thousandth and three tenths of the dimension, at least 1 in ordinal ones. The same
    /// point where no dimension has two values.
    GSUB_LAZY [[nodiscard]] point neighbour(point const& p, random_stream& random) const;

    /// Number of points; 2^64 - 1 where there are more, or a dimension is real.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// The point with a number; the first dimension counts fastest. *Requires* index < size(), and no real dimension.
    GSUB_LAZY [[nodiscard]] point at(std::uint64_t index) const;

private:
    std::vector<dimension> components_;
    std::vector<std::uint32_t> movable_; // dimensions of more than one value
    std::size_t coordinates_ = 0;
    std::uint64_t size_ = 1;
};

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/product_space.ipp>
#endif
