// Definitions of product_space: coordinates, random points and steps, numbers of points.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/search/product_space.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gsub::search {

namespace detail {

// Reflects a number into [0, 1], as if there were mirrors at both ends.
GSUB_INLINE double reflected(double x) noexcept {
    auto const folded = std::fabs(x - 2 * std::floor(x / 2 + 0.5)); // distance to the nearest even number
    return folded <= 1 ? folded : 1;
}

// A value of a dimension at a place of [0, 1].
GSUB_INLINE double value_at(dimension const& d, double place) noexcept {
    if (d.what == dimension::kind::real) return std::clamp(d.low + (d.high - d.low) * place, d.low, d.high);
    return std::min(std::floor(place * d.values), static_cast<double>(d.values - 1));
}
GSUB_INLINE double place_of(dimension const& d, double value) noexcept {
    return d.what == dimension::kind::real ? (value - d.low) / (d.high - d.low) : (value + 0.5) / d.values;
}

} // namespace detail

GSUB_LAZY_BODY product_space::product_space(std::vector<dimension> dimensions) : components_(std::move(dimensions)) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < components_.size(); ++i) {
        auto const& d = components_[i];
        auto const real = d.what == dimension::kind::real;
        GSUB_ASSERT(real ? std::isfinite(d.low) && std::isfinite(d.high) && d.low < d.high : d.values >= 1,
                    "a dimension is an interval with two ends, or has a value");
        coordinates_ += d.what == dimension::kind::categorical ? d.values : 1;
        if (real || d.values > 1) movable_.push_back(i);
        size_ = real || size_ > most / d.values ? most : size_ * d.values;
    }
}

GSUB_LAZY_BODY product_space::point product_space::decode(std::span<double const> coordinates) const {
    GSUB_ASSERT(coordinates.size() == coordinates_, "a vector has as many coordinates as the space");
    point out;
    out.reserve(components_.size());
    for (auto const& d : components_)
        if (d.what == dimension::kind::categorical) {
            auto const of_values = coordinates.first(d.values);
            out.push_back(
                static_cast<double>(std::max_element(of_values.begin(), of_values.end()) - of_values.begin()));
            coordinates = coordinates.subspan(d.values);
        } else {
            out.push_back(detail::value_at(d, detail::reflected(coordinates[0] + 0.5)));
            coordinates = coordinates.subspan(1);
        }
    return out;
}

GSUB_LAZY_BODY std::vector<double> product_space::encode(point const& p) const {
    GSUB_ASSERT(p.size() == components_.size(), "a point has a value in each dimension");
    std::vector<double> out;
    out.reserve(coordinates_);
    for (std::size_t i = 0; i < p.size(); ++i)
        if (components_[i].what == dimension::kind::categorical) {
            out.resize(out.size() + components_[i].values);
            out[out.size() - components_[i].values + static_cast<std::size_t>(p[i])] = 0.5;
        } else {
            out.push_back(detail::place_of(components_[i], p[i]) - 0.5);
        }
    return out;
}

GSUB_LAZY_BODY hash128 product_space::key(point const& p) const noexcept {
    hasher h{p.size()};
    for (double v : p) h.add_real(v + 0.0); // -0 and 0 are the same point
    return h.finish();
}

GSUB_LAZY_BODY product_space::point product_space::draw(random_stream& random) const {
    point out;
    out.reserve(components_.size());
    for (auto const& d : components_) out.push_back(detail::value_at(d, random.uniform()));
    return out;
}

GSUB_LAZY_BODY product_space::point product_space::neighbour(point const& p, random_stream& random) const {
    GSUB_ASSERT(p.size() == components_.size(), "a point has a value in each dimension");
    auto out = p;
    if (movable_.empty()) return out;
    auto const i = movable_[random.below(movable_.size())];
    auto const& d = components_[i];
    if (d.what == dimension::kind::categorical) {
        auto const other = static_cast<double>(random.below(d.values - 1));
        out[i] = other < p[i] ? other : other + 1;
        return out;
    }
    auto const step = 0.3 * std::pow(10.0, -2.5 * random.uniform()) * random.normal();
    if (d.what == dimension::kind::real) {
        out[i] = detail::value_at(d, detail::reflected(detail::place_of(d, p[i]) + step));
        return out;
    }
    // A step in whole values, away from an end that stands in its way.
    auto const last = static_cast<double>(d.values - 1);
    auto const length = std::min(std::max(1.0, std::round(std::fabs(step) * d.values)), last);
    auto const towards = std::signbit(step) ? -length : length;
    auto const inside = [&](double v) { return v >= 0 && v <= last; };
    out[i] = inside(p[i] + towards) ? p[i] + towards : inside(p[i] - towards) ? p[i] - towards : p[i] > 0 ? 0 : last;
    return out;
}

GSUB_LAZY_BODY product_space::point product_space::at(std::uint64_t index) const {
    GSUB_ASSERT(index < size_, "a number of a point lies below the number of points");
    point out;
    out.reserve(components_.size());
    for (auto const& d : components_) {
        GSUB_ASSERT(d.what != dimension::kind::real, "points of a real dimension have no numbers");
        out.push_back(static_cast<double>(index % d.values));
        index /= d.values;
    }
    return out;
}

} // namespace gsub::search
