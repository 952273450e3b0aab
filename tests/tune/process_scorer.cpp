#include "catch.hpp"
#include "search/black_box.hpp"
#include "worker_processes.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/random_search.hpp>
#include <gsub/tune/process_scorer.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace process_scorer_test {

using namespace gsub;
using namespace gsub::tune;
using namespace black_box;
using namespace worker_processes;
using namespace std::chrono_literals;
constexpr auto infinity = std::numeric_limits<double>::infinity();

static_assert(search::scorer<process_scorer<point>, point>);

auto search_by(process_scorer<point>& workers, product_space const& space, std::uint64_t seed = 3) {
    return minimize(evolution_search{space, {.seed = seed}}, workers, {.budget = 400, .keep = 4});
}
template <class Objective>
auto search_alone(Objective const& f, product_space const& space, std::uint64_t seed = 3) {
    return minimize(evolution_search{space, {.seed = seed}}, f, {.budget = 400, .keep = 4});
}

TEST_CASE("processes find what one thread finds, whatever their number") {
    for (auto const& p : test_problems())
        for (std::size_t count = 1; count <= 8; ++count)
            cleanly([&] {
                CAPTURE(p.name, count);
                std::size_t told = 0;
                process_scorer<point> workers{p.objective, {.workers = count}, [&](point const& x, double s) {
                                                  ++told;
                                                  if (p.objective(x) != s) FAIL("a score of another point");
                                              }};
                CHECK(workers.workers() == count);
                auto const alone = search_alone(p.objective, p.space);
                auto const found = search_by(workers, p.space);
                CHECK(found.best == alone.best);
                CHECK(found.history == alone.history);
                CHECK(told == 400);
                CHECK(workers.statistics() == remote_statistics{.scored = 400});
            });
}

TEST_CASE("a worker that is killed in mid-search is replaced, and the search finds the same") {
    auto const space = rosenbrock_space(4);
    cleanly([&] {
        shared_counter scored;
        // Every fiftieth point that is begun takes its process with it.
        auto const dying = [&](point const& p) {
            if (++scored.get() % 50 == 0) ::kill(::getpid(), SIGKILL);
            return rosenbrock(p);
        };
        process_scorer<point> workers{dying, {.workers = 3}};
        auto const found = search_by(workers, space);
        auto const alone = search_alone([](point const& p) { return rosenbrock(p); }, space);
        CHECK(found.best == alone.best);
        CHECK(found.history == alone.history);
        CHECK(workers.statistics().lost >= 8);
        CHECK(workers.statistics().given_up == 0);
        CHECK(workers.statistics().scored == 400);
    });
}

TEST_CASE("idle workers that are killed are replaced") {
    cleanly([&] {
        process_scorer<double> workers{[](double) { return static_cast<double>(::getpid()); }, {.workers = 2}};
        std::set<double> seen;
        for (int round = 0; round < 4; ++round) {
            double const x = 0;
            std::vector<double const*> const points(20, &x);
            std::vector<double> pids(points.size());
            REQUIRE(workers.score(points, pids, [] { return false; }) == 20);
            for (double const p : std::set<double>(pids.begin(), pids.end())) {
                CHECK(seen.insert(p).second);
                CHECK(::kill(static_cast<pid_t>(p), SIGKILL) == 0);
            }
        }
    });
}

TEST_CASE("a worker that hangs is replaced, and the search finds the same") {
    auto const space = rosenbrock_space(4);
    cleanly([&] {
        shared_counter scored;
        auto const hanging = [&](point const& p) {
            if (++scored.get() % 100 == 50)
                for (;;) ::pause();
            return rosenbrock(p);
        };
        process_scorer<point> workers{hanging, {.workers = 2, .timeout = 50ms, .attempts = 10}};
        auto const found = search_by(workers, space);
        CHECK(found.best == search_alone([](point const& p) { return rosenbrock(p); }, space).best);
        CHECK(workers.statistics().late >= 4);
        CHECK(workers.statistics().scored == 400);
    });
}

TEST_CASE("a point that kills every worker is infeasible, the search goes on") {
    auto const space = product_space{{dimension::ordinal(100)}};
    auto const deadly = [](point const& p) {
        if (p[0] == 10) std::abort();
        if (p[0] == 20) std::_Exit(0);
        return p[0];
    };
    auto const refusing = [](point const& p) { return p[0] == 10 || p[0] == 20 ? infinity : p[0]; };
    for (std::size_t const count : {1u, 4u})
        cleanly([&] {
            std::map<double, double> told;
            process_scorer<point> workers{
                deadly, {.workers = count, .attempts = 2}, [&](point const& p, double s) { told[p[0]] = s; }};
            minimize_options const o{.budget = 100, .keep = 3};
            auto const found = minimize(random_search{space, 5}, workers, o);
            auto const alone = minimize(random_search{space, 5}, refusing, o);
            CHECK(found.best == alone.best);
            CHECK(found.history == alone.history);
            CHECK(found.infeasible == 2);
            CHECK(workers.statistics() == remote_statistics{.scored = 98, .lost = 4, .given_up = 2});
            CHECK(told.size() == 100);
            CHECK(told[10] == infinity);
        });
}

TEST_CASE("what an objective throws on a worker is thrown where the search is") {
    auto const space = rosenbrock_space(2);
    cleanly([&] {
        process_scorer<point> workers{[](point const& p) -> double {
                                          if (p[0] > 0.5) throw std::runtime_error("the kernel gave wrong numbers");
                                          if (p[0] > 0) throw error{errors::kernel_form, "no such unit"};
                                          return 1;
                                      },
                                      {.workers = 2}};
        double const inside[] = {0.2, 0.7, -1};
        auto const score = [&](double x) {
            point const p{x, 0};
            point const* const where[] = {&p};
            double out[1];
            static_cast<void>(workers.score(where, out, [] { return false; }));
            return out[0];
        };
        CHECK_THROWS_WITH(score(inside[1]), "usage: the objective failed on a worker: the kernel gave wrong numbers");
        CHECK_THROWS_WITH(score(inside[0]),
                          "not supported: the objective failed on a worker: not supported: no such unit");
        CHECK(capture([&] { return score(inside[0]); }).error().id() == errors::kernel_form);
        CHECK(score(inside[2]) == 1); // workers outlive what they throw
        CHECK(workers.statistics().lost == 0);
    });
}

TEST_CASE("a system that gives no worker is an error, and nothing is left behind") {
    cleanly([] {
        auto const free = static_cast<rlim_t>(::dup(0)); // the next descriptor that the system would give
        ::close(static_cast<int>(free));
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
        rlimit const none{free, before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
        auto const scored = capture([] {
            process_scorer<double> workers{[](double x) { return x; }, {.workers = 2}};
            double const x = 0;
            double const* const where[] = {&x};
            double out[1];
            return workers.score(where, out, [] { return false; });
        });
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
        REQUIRE_FALSE(scored);
        CHECK(scored.error().id() == errors::worker_lost);
        CHECK(scored.error().message().find("for a worker") != std::string::npos);
    });
}

TEST_CASE("an interrupted search of processes is one of that many steps, and the workers serve the next") {
    auto const space = rosenbrock_space(4);
    cleanly([&] {
        auto const slow = [](point const& p) {
            ::usleep(1000);
            return rosenbrock(p);
        };
        process_scorer<point> workers{slow, {.workers = 2}};
        for (int round = 0; round < 3; ++round) {
            auto const cut = minimize(evolution_search{space, {.seed = 3}}, workers, {.budget = {30ms}});
            CHECK(cut.why == stop_reason::time);
            auto const whole = minimize(evolution_search{space, {.seed = 3}},
                                        [](point const& p) { return rosenbrock(p); }, {.budget = cut.scored});
            CHECK(whole.best == cut.best);
            CHECK(whole.history == cut.history);
        }
    });
}

TEST_CASE("points of a megabyte cross, and a scorer that is destroyed does not wait for a worker that hangs") {
    auto const begin = std::chrono::steady_clock::now();
    cleanly([&] {
        using large = std::vector<double>;
        process_scorer<large> workers{[](large const& x) {
                                          if (x.size() == 1)
                                              for (;;) ::pause();
                                          return x.back() + static_cast<double>(x.size());
                                      },
                                      {.workers = 2}};
        std::vector<large> points;
        std::vector<large const*> where;
        for (std::size_t i = 0; i < 12; ++i) points.emplace_back((1 << 17) + i, static_cast<double>(i));
        for (auto const& p : points) where.push_back(&p);
        std::vector<double> scores(points.size());
        auto const go_on = [] { return false; };
        REQUIRE(workers.score(where, scores, go_on) == points.size());
        for (std::size_t i = 0; i < 12; ++i) CHECK(scores[i] == static_cast<double>((1 << 17) + 2 * i));
        large const hanging(1);
        large const* const last[] = {&hanging};
        int asked = 0;
        CHECK(workers.score(last, std::span{scores}.first(1), [&] { return ++asked > 2; }) == 0);
    });
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("workers end when the search's process is killed") {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::close(pipe_ends[0]);
        // Workers inherit the end of the pipe that is written to, and hold it open for as long as they live.
        process_scorer<double> first{[](double) { return 0.; }, {.workers = 2}};
        process_scorer<double> second{[](double) { return 0.; }, {.workers = 2}};
        ::kill(::getpid(), SIGKILL);
    }
    ::close(pipe_ends[1]);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    char c;
    CHECK(::read(pipe_ends[0], &c, 1) == 0); // the end of the file: no writer is left
    ::close(pipe_ends[0]);
}

} // namespace process_scorer_test
