#pragma once

#include <gsub/core/result.hpp>
#include <gsub/tune/configuration_space.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gsub::tune {

namespace detail {

// Of each value of a split, the logarithms of its inner factors by that of the extent, around 0.
GSUB_LAZY [[nodiscard]] std::vector<double> places_of_split(loop::knob const& k) {
    auto const whole = std::log2(std::max<double>(2, static_cast<double>(k.extent)));
    std::vector<double> places;
    places.reserve(k.size() * (k.parts - 1));
    for (std::size_t digit = 0; digit < k.size(); ++digit)
        for (auto const factor : k.split(digit).subspan(1))
            places.push_back(std::log2(static_cast<double>(factor)) / whole - 0.5);
    return places;
}

// Of each value of a choice its rank, around 0.
GSUB_LAZY [[nodiscard]] std::vector<double> places_of_choice(loop::knob const& k) {
    std::vector<std::size_t> order(k.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return k.choices[a].number() < k.choices[b].number(); });
    std::vector<double> places(k.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        places[order[i]] = static_cast<double>(i) / static_cast<double>(order.size() - 1) - 0.5;
    return places;
}

} // namespace detail

GSUB_LAZY_BODY configuration_space::configuration_space(loop::config_space const& over) : over_(&over) {
    for (auto const& k : over.knobs()) {
        axis a;
        auto const words = [](loop::choice_value const& v) { return v.kind() == loop::choice_kind::text; };
        if (k.size() == 1) {
            // nothing to choose
        } else if (k.is_split()) {
            a.coordinates = k.parts - 1;
            a.places = detail::places_of_split(k);
        } else if (k.size() > 2 && std::any_of(k.choices.begin(), k.choices.end(), words)) {
            a.coordinates = k.size();
            a.largest_wins = true;
        } else {
            a.coordinates = 1;
            a.places = detail::places_of_choice(k);
        }
        dimensions_ += a.coordinates;
        axes_.push_back(std::move(a));
    }
}

GSUB_LAZY_BODY configuration_space::point configuration_space::decode(std::span<double const> coordinates) const {
    GSUB_ASSERT(coordinates.size() == dimensions_, "a point has all coordinates of its space");
    auto const nearest = [](axis const& a, std::span<double const> x) {
        std::size_t best = 0;
        auto least = std::numeric_limits<double>::infinity();
        for (std::size_t digit = 0; digit * x.size() < a.places.size(); ++digit) {
            double distance = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                auto const apart = a.places[digit * x.size() + i] - x[i];
                distance += apart * apart;
            }
            if (distance < least) least = distance, best = digit;
        }
        return best;
    };
    std::uint64_t index = 0, unit = 1;
    auto const knobs = over_->knobs();
    for (std::size_t k = 0; k < axes_.size(); ++k) {
        auto const& a = axes_[k];
        auto const x = coordinates.first(a.coordinates);
        coordinates = coordinates.subspan(a.coordinates);
        if (a.largest_wins)
            index += unit * static_cast<std::uint64_t>(std::max_element(x.begin(), x.end()) - x.begin());
        else if (a.coordinates > 0)
            index += unit * nearest(a, x);
        unit *= knobs[k].size();
    }
    return over_->at(index);
}

GSUB_LAZY_BODY std::vector<double> configuration_space::encode(point const& p) const {
    GSUB_ASSERT(&p.space() == over_, "a point of this space");
    std::vector<double> x;
    x.reserve(dimensions_);
    for (std::size_t k = 0; k < axes_.size(); ++k) {
        auto const& a = axes_[k];
        auto const digit = p.digits()[k];
        for (std::size_t i = 0; i < a.coordinates; ++i)
            x.push_back(a.largest_wins ? (i == digit ? 0.5 : -0.5) : a.places[digit * a.coordinates + i]);
    }
    return x;
}

GSUB_LAZY_BODY configuration_space::point configuration_space::draw(random_stream& random) const {
    auto const index = over_->draw(random);
    if (!index) throw error{errors::kernel_schedule, "the config space allows no point"};
    return over_->at(*index);
}

GSUB_LAZY_BODY configuration_space::point configuration_space::neighbour(point const& p, random_stream& random) const {
    auto const index = over_->neighbour(p.index(), random);
    return index ? over_->at(*index) : p;
}

} // namespace gsub::tune
