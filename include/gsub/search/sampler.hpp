// Sampler concept: a search method as ask and tell. It proposes points and learns their scores.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>
#include <gsub/search/search_space.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gsub::search {

/// The point type of a sampler.
template <class S>
using sampled_point = typename std::remove_cvref_t<decltype(std::declval<S const&>().space())>::point;

/// Sampler: a search method by ask and tell.
/// - `space()`: the search space that it draws from.
/// - `ask(most)`: the next points to be scored, at most that many; none when the method has come to its end.
/// - `tell(points, scores)`: the scores of all points asked last, in that order. Lower is better, +infinity says that
///   a point is infeasible. *Errors* `usage` where a score is NaN.
/// All that is asked is told before more is asked. The sequence of points depends on the scores and on the sampler's
/// own seed, never on how many are asked at a time.
template <class S>
concept sampler = requires(S& s, std::size_t most, std::span<sampled_point<S> const> points,
                           std::span<double const> scores) {
    requires search_space<std::remove_cvref_t<decltype(s.space())>>;
    { s.ask(most) } -> std::same_as<std::vector<sampled_point<S>>>;
    s.tell(points, scores);
};

/// A point and its score.
template <class Point>
struct scored_point {
    Point point;
    double score = 0;
    friend bool operator==(scored_point const&, scored_point const&) = default;
};

/// Checks scores of an objective. `before`: how many it had given until then, for the message. *Errors* `usage` where
/// one is NaN.
inline void check_scores(std::span<double const> scores, std::uint64_t before = 0) {
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isnan(scores[i]))
            throw error{{errors::objective_value,
                         {},
                         {},
                         "score " + std::to_string(before + i + 1) + " of the objective is not a number",
                         "+infinity for a point that is infeasible"}};
}

} // namespace gsub::search
