// random_search: a sampler of uniformly random points, with which others are compared.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/search/sampler.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::search {

/// Random search: a sampler that draws points uniformly, with no regard to scores, without an end. Deterministic for a
/// seed. Keeps a pointer to the space, which must outlive it.
template <search_space Space>
class random_search {
public:
    using point = typename Space::point;

    explicit random_search(Space const& over, std::uint64_t seed = 0) : space_(&over), random_(seed) {}

    [[nodiscard]] Space const& space() const noexcept { return *space_; }
    [[nodiscard]] std::vector<point> ask(std::size_t most) {
        std::vector<point> points;
        for (points.reserve(most); points.size() < most; ++asked_) {
            auto random = random_.split(asked_);
            points.push_back(space_->draw(random));
        }
        return points;
    }
    void tell(std::span<point const>, std::span<double const> scores) { check_scores(scores); }

private:
    Space const* space_;
    random_stream random_;
    std::uint64_t asked_ = 0;
};

} // namespace gsub::search
