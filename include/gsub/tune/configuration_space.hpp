// configuration_space: the configurations of a kernel as a search space, with coordinates in which near means alike.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/random.hpp>
#include <gsub/loop/config_space.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::tune {

/// Search space over a config space. A split of p parts has p - 1 coordinates, the logarithms of its inner factors: 1
/// lies at -1/2, the extent at 1/2. A choice of numbers or truth values has one, the rank of its value; one of several
/// words has a coordinate for each, of which the largest wins. Knobs of one value have none. Coordinates beyond those
/// of all values mean the nearest value. What `decode` gives may be restricted (`config_space::allows`): objectives say
/// +infinity of it. `draw` and `neighbour` give allowed points. Models `search::enumerable_space` and
/// `search::local_space`. Keeps a pointer to the config space, which must outlive it and allow a point.
class configuration_space {
public:
    using point = loop::configuration;

    GSUB_LAZY explicit configuration_space(loop::config_space const& over);

    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    /// *Complexity* O(values of all knobs).
    GSUB_LAZY [[nodiscard]] point decode(std::span<double const> coordinates) const;
    GSUB_LAZY [[nodiscard]] std::vector<double> encode(point const& p) const;
    [[nodiscard]] std::uint64_t key(point const& p) const noexcept { return p.index(); }
    /// *Errors* throws `error` (`usage`) where the config space allows no point.
    GSUB_LAZY [[nodiscard]] point draw(random_stream& random) const;
    /// An allowed point that differs in one knob; the same point where there is none.
    GSUB_LAZY [[nodiscard]] point neighbour(point const& p, random_stream& random) const;

    [[nodiscard]] std::uint64_t size() const noexcept { return over_->size(); }
    [[nodiscard]] point at(std::uint64_t index) const { return over_->at(index); }

private:
    struct axis {
        std::size_t coordinates = 0;  ///< 0: a knob of one value
        bool largest_wins = false;    ///< a coordinate for each value
        std::vector<double> places{}; ///< else: the coordinates of each value
    };
    loop::config_space const* over_;
    std::vector<axis> axes_; ///< of each knob
    std::size_t dimensions_ = 0;
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/configuration_space.ipp>
#endif
