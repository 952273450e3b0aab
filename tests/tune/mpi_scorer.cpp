// Runs under mpirun, on 1, 2 and 4 ranks: each rank runs all test cases in their order. tests/CMakeLists.txt has it as
// a program of its own.
#include "catch.hpp"
#include "search/black_box.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/random_search.hpp>
#include <gsub/tune/mpi_scorer.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace mpi_scorer_test {

using namespace gsub;
using namespace gsub::tune;
using namespace black_box;
using namespace std::chrono_literals;

static_assert(search::scorer<mpi_scorer<point>, point>);

mpi_session& session() {
    static mpi_session here;
    return here;
}
double height(point const& p) {
    return rosenbrock(p);
}

// What rank 0 does with a scorer while the others serve.
template <class Objective, class Search>
void job(Objective const& objective, remote_options const& o, Search const& searching,
         mpi_scorer<point>::score_callback scored = {}) {
    if (session().rank() != 0) return session().serve<point>(objective);
    mpi_scorer<point> ranks{session(), objective, o, std::move(scored)};
    searching(ranks);
}
auto search_by(mpi_scorer<point>& ranks, product_space const& space) {
    return minimize(evolution_search{space, {.seed = 3}}, ranks, {.budget = 400, .keep = 4});
}
template <class Objective>
auto search_alone(Objective const& f, product_space const& space) {
    return minimize(evolution_search{space, {.seed = 3}}, f, {.budget = 400, .keep = 4});
}

TEST_CASE("ranks find what one thread finds, whatever their number, one search after the other") {
    for (auto const& p : test_problems()) {
        std::size_t told = 0;
        job(
            p.objective, {},
            [&](mpi_scorer<point>& ranks) {
                CAPTURE(p.name);
                CHECK(static_cast<int>(ranks.workers()) == std::max(session().size() - 1, 1));
                auto const alone = search_alone(p.objective, p.space);
                for (std::uint64_t round = 1; round <= 2; ++round) {
                    auto const found = search_by(ranks, p.space);
                    CHECK(found.best == alone.best);
                    CHECK(found.history == alone.history);
                    CHECK(ranks.statistics() == remote_statistics{.scored = 400 * round});
                }
                CHECK(told == 800);
            },
            [&](point const& x, double s) {
                ++told;
                if (p.objective(x) != s) FAIL("a score of another point");
            });
    }
}

TEST_CASE("work of a rank that does not answer in time is given to another, and the search finds the same") {
    if (session().size() < 3) return; // there is no other
    auto const space = rosenbrock_space(4);
    int scored_here = 0;
    auto const slow = [&](point const& p) {
        if (session().rank() == 2 && ++scored_here % 10 == 0) std::this_thread::sleep_for(400ms);
        return height(p);
    };
    job(slow, {.timeout = 100ms, .attempts = 20}, [&](mpi_scorer<point>& ranks) {
        auto const found = search_by(ranks, space);
        auto const alone = search_alone(height, space);
        CHECK(found.best == alone.best);
        CHECK(found.history == alone.history);
        CHECK(ranks.statistics().late >= 1);
        CHECK(ranks.statistics().given_up == 0);
        CHECK(ranks.statistics().scored == 400);
    });
}

TEST_CASE("what an objective throws on a rank is thrown where the search is, and so is that no rank answers") {
    auto const space = rosenbrock_space(2);
    auto const throwing = [](point const& p) -> double {
        if (p[0] > 0) throw std::runtime_error("the kernel gave wrong numbers");
        return 1;
    };
    job(throwing, {}, [&](mpi_scorer<point>& ranks) {
        CHECK_THROWS_WITH(search_by(ranks, space),
                          "usage: the objective failed on a worker: the kernel gave wrong numbers");
    });
    if (session().size() == 1) return;
    auto const slow = [](point const&) {
        std::this_thread::sleep_for(100ms);
        return 1.;
    };
    job(slow, {.timeout = 20ms, .attempts = 100}, [&](mpi_scorer<point>& ranks) {
        CHECK_THROWS_WITH(search_by(ranks, space), Catch::Matchers::Contains("environment: none of ") &&
                                                       Catch::Matchers::Contains("ranks answer"));
    });
}

TEST_CASE("an interrupted search of ranks is one of that many steps, and the ranks serve the next") {
    auto const space = rosenbrock_space(4);
    auto const slow = [](point const& p) {
        ::usleep(1000);
        return height(p);
    };
    job(slow, {}, [&](mpi_scorer<point>& ranks) {
        for (int round = 0; round < 3; ++round) {
            auto const cut = minimize(evolution_search{space, {.seed = 3}}, ranks, {.budget = {30ms}});
            CHECK(cut.why == stop_reason::time);
            auto const whole = minimize(evolution_search{space, {.seed = 3}}, height, {.budget = cut.scored});
            CHECK(whole.best == cut.best);
            CHECK(whole.history == cut.history);
        }
    });
}

// Run by tests/tune/dying_rank.cmake alone, which looks at the file.
TEST_CASE("the last rank dies after twenty points", "[.dies]") {
    char const* const path = std::getenv("GSUB_TEST_RECORDS");
    REQUIRE(path);
    std::ofstream records{path};
    int scored_here = 0;
    auto const dying = [&](point const& p) {
        if (session().rank() == session().size() - 1 && ++scored_here > 20) ::raise(SIGKILL);
        ::usleep(1000);
        return height(p);
    };
    job(
        dying, {},
        [&](mpi_scorer<point>& ranks) {
            static_cast<void>(minimize(random_search{rosenbrock_space(2), 1}, ranks, {.budget = 1'000'000}));
        },
        [&](point const& p, double s) { records << p[0] << ' ' << p[1] << ' ' << s << std::endl; });
}
// Run by the same: a rank that hangs for ever ends with the job.
TEST_CASE("the last rank hangs, the winner is the same", "[.hangs]") {
    auto const hanging = [](point const& p) {
        if (session().rank() == session().size() - 1)
            for (;;) ::pause();
        return height(p);
    };
    auto const space = rosenbrock_space(4);
    job(hanging, {.timeout = 50ms}, [&](mpi_scorer<point>& ranks) {
        CHECK(search_by(ranks, space).best == search_alone(height, space).best);
        CHECK(ranks.statistics().late == 1);
    });
}

} // namespace mpi_scorer_test
