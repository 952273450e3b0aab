#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/exhaustive_search.hpp>
#include <gsub/search/random_search.hpp>
#include <gsub/search/simulated_annealing.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>

namespace minimize_test {

using namespace gsub;
using namespace black_box;
constexpr auto infinity = std::numeric_limits<double>::infinity();

template <class A, class B>
void check_same(A const& a, B const& b) {
    CHECK(a.best == b.best);
    CHECK(a.history == b.history);
    CHECK(a.scored == b.scored);
    CHECK(a.infeasible == b.infeasible);
}

// Calls `check(sampler maker)` for every method.
template <class Check>
void each_method(product_space const& s, Check check) {
    check([&] { return evolution_search{s, {.seed = 5}, {}, {.samples = 40}}; });
    check([&] { return random_search{s, 5}; });
    check([&] { return simulated_annealing{s, {.seed = 5}}; });
    if (s.size() != std::numeric_limits<std::uint64_t>::max()) check([&] { return exhaustive_search{s}; });
}

TEST_CASE("every method finds the same with any number of workers, and asks the same in batches of any size") {
    fork_join_executor two{2}, five{5};
    for (auto const& p : test_problems())
        each_method(p.space, [&](auto make) {
            CAPTURE(p.name);
            minimize_options o{.budget = 700, .keep = 9};
            auto const alone = minimize(make(), p.objective, o);
            CHECK(alone.why == stop_reason::steps);
            CHECK(alone.scored == 700);
            for (executor* threads : {static_cast<executor*>(&two), static_cast<executor*>(&five)}) {
                o.threads = threads;
                check_same(minimize(make(), p.objective, o), alone);
            }
            o.threads = nullptr;
            for (std::size_t const batch : {1u, 7u, 1000u}) {
                o.batch = batch;
                check_same(minimize(make(), p.objective, o), alone);
            }
        });
}

TEST_CASE("a search is its sampler asked and told by hand") {
    for (auto const& p : test_problems())
        each_method(p.space, [&](auto make) {
            CAPTURE(p.name);
            auto const found = minimize(make(), p.objective, {.budget = 300, .batch = 10});
            auto method = make();
            std::set<point> seen;
            std::vector<improvement> history;
            while (seen.size() < 300) {
                auto const points = method.ask(std::min<std::size_t>(10, 300 - seen.size()));
                std::vector<double> scores;
                for (auto const& x : points) {
                    scores.push_back(p.objective(x));
                    if (seen.insert(x).second && scores.back() < (history.empty() ? infinity : history.back().cost))
                        history.push_back({seen.size(), scores.back()});
                }
                method.tell(points, scores);
            }
            CHECK(history == found.history);
        });
}

TEST_CASE("the best points are those of all scored, in order, distinct and feasible, and no point is scored twice") {
    product_space const s{std::vector(3, dimension::ordinal(4))};
    auto const score = [](point const& p) {
        return p[0] == 1 ? infinity : std::fmod(p[0] * 7 + p[1] * 5 + p[2] * 3, 4);
    };
    each_method(s, [&](auto make) {
        std::set<point> asked;
        auto const counted = [&](point const& p) {
            CHECK(asked.insert(p).second);
            return score(p);
        };
        auto const found = minimize(make(), counted, {.budget = 50, .keep = 12});
        CHECK(found.scored == asked.size());
        std::vector<double> scores;
        for (auto const& p : asked)
            if (score(p) < infinity) scores.push_back(score(p));
        CHECK(found.infeasible == asked.size() - scores.size());
        std::sort(scores.begin(), scores.end());
        REQUIRE(found.best.size() == 12);
        std::set<point> best;
        for (std::size_t i = 0; i < 12; ++i) {
            CHECK(found.best[i].score == scores[i]);
            CHECK(score(found.best[i].point) == scores[i]);
            best.insert(found.best[i].point);
        }
        CHECK(best.size() == 12);
        CHECK(found.history.back().cost == found.score());
    });
}

TEST_CASE("a search ends when all points are known, or nothing new has come for long") {
    product_space const s{std::vector(3, dimension::ordinal(4))};
    each_method(s, [&](auto make) {
        auto const all = minimize(make(), [](point const&) { return 1; }, {.budget = 1'000'000});
        CHECK(all.why == stop_reason::exhausted);
        CHECK(all.scored == s.size());
    });
    product_space const real{{dimension::real(0, 1)}};
    struct stuck {
        product_space const* over;
        product_space const& space() const { return *over; }
        std::vector<point> ask(std::size_t) { return {{0.25}}; }
        void tell(std::span<point const>, std::span<double const>) {}
    };
    auto const found = minimize(stuck{&real}, [](point const& p) { return p[0]; }, {.repeats = 50});
    CHECK(found.why == stop_reason::exhausted);
    CHECK(found.scored == 1);
    CHECK(found.repeated == 50);
}

TEST_CASE("infeasible points never win, and where all are there is no best") {
    for (auto const& p : test_problems()) {
        auto const none = minimize(random_search{p.space}, [](point const&) { return infinity; }, {.budget = 100});
        CHECK(none.best.empty());
        CHECK(none.score() == infinity);
        CHECK(none.infeasible == 100);
        CHECK(none.history.empty());
    }
}

TEST_CASE("a score that is not a number is an error with its number, and exceptions of the objective go through") {
    auto const s = rosenbrock_space(2);
    std::atomic<int> calls = 0;
    auto const nan_at_9 = [&](point const&) { return ++calls == 9 ? std::nan("") : 1.0; };
    CHECK_THROWS_WITH(minimize(random_search{s}, nan_at_9),
                      Catch::Contains("score 9 of the objective is not a number"));
    auto const throws = [](point const&) -> double { throw std::runtime_error{"no such device"}; };
    fork_join_executor two{2};
    CHECK_THROWS_WITH(minimize(random_search{s}, throws, {.threads = &two}), "no such device");
}

TEST_CASE("a search stops by steps, target, memory, time and token, and says so") {
    auto const s = rosenbrock_space(2);
    auto const f = [](point const& p) { return rosenbrock(p); };
    CHECK(minimize(random_search{s}, f, {.budget = 0}).scored == 0);
    auto const target = minimize(random_search{s}, f, {.budget = 100'000, .target = 0.5});
    CHECK(target.why == stop_reason::target);
    CHECK(target.score() <= 0.5);
    auto const small = minimize(random_search{s}, f, {.budget = {100'000, std::chrono::hours{1}, 10'000}});
    CHECK(small.why == stop_reason::memory);
    CHECK(small.scored < 1000);
    auto const late = minimize(random_search{s}, f, {.budget = std::chrono::nanoseconds{0}});
    CHECK(late.why == stop_reason::time);
    CHECK(late.best.empty());
}

TEST_CASE("a search cut short within a batch is the search of as many steps") {
    fork_join_executor two{2};
    for (auto const& p : test_problems())
        for (int const after : {1, 30, 150}) {
            CAPTURE(p.name, after);
            std::stop_source stop;
            std::atomic<int> calls = 0;
            auto const stopping = [&](point const& x) {
                int const call = ++calls;
                if (call == after) stop.request_stop();
                while (call > after && !stop.stop_requested())
                    std::this_thread::yield(); // the other is to be ahead by one
                return p.objective(x);
            };
            auto const cut = minimize(evolution_search{p.space, {.seed = 2}}, stopping,
                                      {.keep = 5, .threads = &two, .stop = stop.get_token()});
            CHECK(cut.why == stop_reason::cancelled);
            CHECK(cut.scored <= static_cast<std::uint64_t>(after) + 1);
            auto const again =
                minimize(evolution_search{p.space, {.seed = 2}}, p.objective, {.budget = cut.scored, .keep = 5});
            check_same(again, cut);
        }
}

TEST_CASE("an observer hears of every point in order, of improvements and of the end") {
    struct scribe : null_minimize_observer {
        std::uint64_t points = 0, announced = 0;
        std::vector<improvement> heard;
        stop_reason why = stop_reason::failed;
        void on_batch(std::uint64_t before, std::size_t fresh) {
            CHECK(before == announced);
            announced += fresh;
        }
        void on_score(std::uint64_t number, double score, point const& p) {
            CHECK(number == ++points);
            CHECK(score == rosenbrock(p));
        }
        void on_improvement(std::uint64_t steps, double score) { heard.push_back({steps, score}); }
        void on_stop(stop_reason r) { why = r; }
    } heard;
    auto const s = rosenbrock_space(3);
    auto const found = minimize(
        evolution_search{s}, [](point const& p) { return rosenbrock(p); }, {.budget = 200}, heard);
    CHECK(heard.points == 200);
    CHECK(heard.announced == 200);
    CHECK(heard.heard == found.history);
    CHECK(heard.why == stop_reason::steps);
}

} // namespace minimize_test
