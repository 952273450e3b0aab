// The searcher on problems without graphs: numbers that must grow before they shrink, and a sliding puzzle.
#include "require.hpp"
#include <gsub/search.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

// Halve an even number, or take 3n + 1: which is the least number that can be reached?
void numbers() {
    auto const moves = [](int n) { return n % 2 ? std::vector{3 * n + 1} : std::vector{n / 2, 3 * n + 1}; };
    auto const value = [](int n) { return n; };
    auto const greedy = gsub::search::backtracking(7, moves, value, {.alpha = 1});
    auto const relaxed = gsub::search::backtracking(7, moves, value, {.alpha = 8});
    require(greedy.best == 7, "without relaxation the search stays where it is");
    require(relaxed.best == 1, "with it, the search climbs over 52 and comes down to 1");
}

// The sliding puzzle of 3 x 3 tiles, `.` is the gap.
struct sliding_puzzle {
    struct state {
        std::string tiles;
        char slid = 0; ///< the tile that was moved to get here
    };

    /// One more than the distance of all tiles from their places.
    [[nodiscard]] double cost(state const& s) const {
        int distance = 1;
        for (int at = 0; at < 9; ++at)
            if (auto const tile = s.tiles[static_cast<std::size_t>(at)]; tile != '.') {
                auto const home = tile - '1';
                distance += std::abs(at / 3 - home / 3) + std::abs(at % 3 - home % 3);
            }
        return distance;
    }
    [[nodiscard]] std::string const& key(state const& s) const { return s.tiles; }
    [[nodiscard]] std::string label(state const& s) const { return {s.slid}; }

    template <class Emit>
    void expand(state const& s, Emit&& emit) const {
        auto const gap = static_cast<int>(s.tiles.find('.'));
        for (auto const& [row, column] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
            auto const r = gap / 3 + row, c = gap % 3 + column;
            if (r < 0 || r > 2 || c < 0 || c > 2) continue;
            auto next = s.tiles;
            auto const from = static_cast<std::size_t>(3 * r + c);
            std::swap(next[static_cast<std::size_t>(gap)], next[from]);
            if (!emit(state{next, s.tiles[from]})) return;
        }
    }
};
static_assert(gsub::search::problem<sliding_puzzle>);

// Hears of every improvement.
struct improvements : gsub::search::null_observer {
    int count = 0;
    void on_improvement(std::uint64_t steps, double cost) {
        ++count;
        std::cout << "after " << steps << " steps: distance " << cost - 1 << '\n';
    }
};

void puzzle() {
    sliding_puzzle p;
    sliding_puzzle::state const start{"867254.31"};
    improvements heard;
    auto const found = gsub::search::backtracking(p, start, {.alpha = 4, .budget = 100'000, .target = 1}, heard);
    require(found.best.tiles == "12345678." && found.stats.why == gsub::search::stop_reason::target, "it is solved");
    require(heard.count > 0, "the observer heard of it");

    auto tiles = start.tiles; // the path from the start to the best state is part of the answer
    for (auto const& step : found.stats.path) std::swap(tiles[tiles.find('.')], tiles[tiles.find(step.label)]);
    require(tiles == found.best.tiles, "the moves that are told lead there");

    auto const greedy = gsub::search::backtracking(p, start, {.alpha = 1, .target = 1});
    require(greedy.stats.why == gsub::search::stop_reason::exhausted, "a greedy search gets stuck, and says so");
}

} // namespace

int main() {
    numbers();
    puzzle();
}
