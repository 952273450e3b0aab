// exhaustive_search: a sampler of all points of an enumerable space, each once.
#pragma once

#include <gsub/search/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::search {

/// Exhaustive search: a sampler that asks for the points of a space in the order of their numbers, and ends with the
/// last. Keeps a pointer to the space, which must outlive it.
template <enumerable_space Space>
class exhaustive_search {
public:
    using point = typename Space::point;

    explicit exhaustive_search(Space const& over) : space_(&over) {}

    [[nodiscard]] Space const& space() const noexcept { return *space_; }
    [[nodiscard]] std::vector<point> ask(std::size_t most) {
        std::vector<point> points;
        auto const end = next_ + std::min<std::uint64_t>(most, space_->size() - next_);
        points.reserve(static_cast<std::size_t>(end - next_));
        for (; next_ < end; ++next_) points.push_back(space_->at(next_));
        return points;
    }
    void tell(std::span<point const>, std::span<double const> scores) { check_scores(scores); }

private:
    Space const* space_;
    std::uint64_t next_ = 0;
};

} // namespace gsub::search
