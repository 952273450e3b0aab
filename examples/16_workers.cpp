// Black-box search on workers that share no memory: processes, of which some crash or hang, find what one thread finds.
#include "require.hpp"
#include <gsub/search.hpp>
#include <gsub/tune/process_scorer.hpp>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <unistd.h>

namespace {

using namespace gsub;
using namespace std::chrono_literals;
using point = search::product_space::point;

// What one would measure: the best is at 17. Some settings crash the process, one never comes to an end.
double seconds_at(point const& p) {
    if (p[0] == 40) std::raise(SIGKILL);
    if (p[0] == 50)
        for (;;) ::pause();
    return 1 + std::abs(p[0] - 17) / 10;
}

} // namespace

int main() {
    search::product_space const space{{search::dimension::ordinal(64)}};
    std::uint64_t records = 0;
    auto const record = [&](point const&, double) { ++records; };
    tune::process_scorer<point> workers{seconds_at, {.workers = 4, .timeout = 50ms, .attempts = 2}, record};
    auto const found = search::minimize(search::random_search{space, 1}, workers, {.budget = 64});

    auto const told = workers.statistics();
    std::cout << "best " << found.score() << " s at " << found.best.front().point[0] << "; " << told.lost
              << " workers died, " << told.late << " were late, " << told.given_up << " points were given up\n";
    require(found.best.front().point == point{17}, "crashes and hangs do not matter to the winner");
    require(found.infeasible == 2 && told.given_up == 2, "a point that fails twice is infeasible");
    require(told.lost == 2 && told.late == 2, "each failure is counted");
    require(records == 64, "each score is told as it arrives");
}
