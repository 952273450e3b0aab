#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/scorer.hpp>
#include <gsub/tune/impl/point_dispatch.hpp>
#include <gsub/tune/remote_scorer.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace remote_scorer_test {

using namespace gsub;
using namespace gsub::tune;
using namespace std::chrono_literals;
constexpr auto infinity = std::numeric_limits<double>::infinity();

// Workers that are none: they score at once, from the last point on.
struct imagined final : remote_workers {
    explicit imagined(remote_objective f) : objective(std::move(f)) {}
    [[nodiscard]] std::size_t workers() const noexcept override { return 3; }
    std::size_t score(std::span<std::vector<std::byte> const> points, std::span<double> scores,
                      function_ref<bool()> interrupted, function_ref<void(std::size_t)> arrived) override {
        if (interrupted()) return 0;
        for (auto i = points.size(); i-- > 0;) {
            scores[i] = objective(points[i]);
            arrived(i);
        }
        return points.size();
    }
    [[nodiscard]] remote_statistics statistics() const noexcept override { return {.scored = 7}; }
    remote_objective objective;
};

using digits = std::vector<std::uint32_t>;
static_assert(search::scorer<remote_scorer<digits>, digits>);
static_assert(!search::scorer<remote_scorer<digits>, double>);

TEST_CASE("points cross as bytes, and the callback gets each score with its point as it arrives") {
    std::vector<std::pair<digits, double>> arrived;
    remote_scorer<digits> scorer{
        std::make_unique<imagined>(objective_of_bytes<digits>([](digits const& d) { return d.empty() ? -1. : d[0]; })),
        [&](digits const& d, double s) {
            arrived.push_back({d, s});
        }};
    CHECK(scorer.workers() == 3);
    CHECK(scorer.statistics().scored == 7);
    digits const a{4, 5}, b{}, c{9};
    std::vector<digits const*> const points{&a, &b, &c};
    std::vector<double> scores(3);
    auto const go_on = [] { return false; };
    CHECK(scorer.score(points, scores, go_on) == 3);
    CHECK(scores == std::vector<double>{4, -1, 9});
    CHECK(arrived == std::vector<std::pair<digits, double>>{{c, 9}, {b, -1}, {a, 4}});
}

// Workers that answer, die and are late at random, driven by hand.
struct simulation {
    using clock = tune::detail::point_dispatch<>::clock;
    struct sent {
        tune::detail::point_dispatch<>::ticket of;
        std::uint64_t batch;
    };
    simulation(std::uint64_t seed, std::size_t workers, remote_options const& o)
        : random(seed), dispatch(workers, o), at(workers) {}

    // Scores a batch; the score of a point is its number and that of the batch. Gives the points given up on.
    std::set<std::size_t> run(std::size_t count, double trouble) {
        ++batch;
        std::vector<double> scores(count, -1);
        std::set<std::size_t> arrived, given_up;
        auto const gave_up = [&](std::size_t i) { given_up.insert(i); };
        dispatch.begin(scores);
        for (int round = 0; !dispatch.done(); ++round) {
            REQUIRE(round < 100'000);
            now += 1ms;
            auto const w = random.below(at.size());
            while (auto const t = dispatch.next(w, now)) at[w].push_back({*t, batch});
            if (at[w].empty()) continue;
            if (random.uniform() < trouble) {
                if (random.uniform() < 0.5) {
                    dispatch.lost(w, gave_up);
                    at[w].clear();
                } else if (!dispatch.is_late(w)) {
                    dispatch.late(w, gave_up);
                    CHECK(!dispatch.next(w, now));
                }
                continue;
            }
            auto const s = at[w].front();
            at[w].erase(at[w].begin());
            auto const value = static_cast<double>(1000 * s.batch + s.of.point);
            if (auto const point = dispatch.answer(w, s.of.number, value, now)) {
                CHECK(s.batch == batch);
                CHECK(arrived.insert(*point).second);
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            CHECK((arrived.contains(i) != given_up.contains(i)));
            CHECK(scores[i] == (given_up.contains(i) ? infinity : static_cast<double>(1000 * batch + i)));
        }
        CHECK(dispatch.scored_in_front() == count);
        return given_up;
    }

    random_stream random;
    tune::detail::point_dispatch<> dispatch;
    std::vector<std::vector<sent>> at; // of each worker: what it was sent
    clock::time_point now{};
    std::uint64_t batch = 0;
};

TEST_CASE("each point gets its own score once, whichever workers die or are late") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        simulation s{seed, 1 + seed % 8, {.attempts = 1000}};
        for (std::size_t const count : {0u, 1u, 7u, 64u}) CHECK(s.run(count, seed % 2 ? 0.2 : 0).empty());
        CHECK((s.dispatch.statistics().lost > 0) == (seed % 2 == 1));
        CHECK(s.dispatch.statistics().scored == 72);
    }
}

TEST_CASE("a point is given up on when all attempts have failed, and no sooner") {
    for (std::size_t const attempts : {1u, 2u, 5u}) {
        tune::detail::point_dispatch<> d{2, {.timeout = 1s, .attempts = attempts}};
        std::vector<double> scores(2, -1);
        d.begin(scores);
        simulation::clock::time_point const now{};
        auto const other = d.next(1, now); // somebody is at the first point, and stays there
        REQUIRE(other);
        std::vector<std::size_t> given_up;
        for (std::size_t n = 1; n <= attempts; ++n) {
            CHECK(given_up.empty());
            auto const t = d.next(0, now);
            REQUIRE(t);
            CHECK(t->point == 1);
            CHECK(!d.overdue(0, now + 1s));
            CHECK(d.overdue(0, now + 1001ms));
            d.lost(0, [&](std::size_t i) { given_up.push_back(i); });
        }
        CHECK(given_up == std::vector<std::size_t>{1});
        CHECK(scores[1] == infinity);
        CHECK(d.scored_in_front() == 0);
        CHECK(d.answer(1, other->number, 3, now) == 0u);
        CHECK(d.done());
        CHECK(d.statistics() == remote_statistics{.scored = 1, .lost = attempts, .given_up = 1});
    }
}

TEST_CASE("a late worker's score counts where nobody was quicker, and it then gets work again") {
    tune::detail::point_dispatch<> d{2, {.timeout = 1s, .attempts = 3}};
    std::vector<double> scores(1, -1);
    simulation::clock::time_point const now{};
    auto const nobody = [](std::size_t) { FAIL("no point is given up on"); };
    d.begin(scores);
    auto const slow = d.next(0, now);
    REQUIRE(slow);
    d.late(0, nobody);
    CHECK(d.is_late(0));
    auto const quick = d.next(1, now);
    REQUIRE(quick);
    CHECK(quick->point == slow->point);
    CHECK(d.answer(1, quick->number, 5, now) == 0u);
    CHECK(!d.answer(0, slow->number, 5, now));
    CHECK(!d.is_late(0));
    CHECK(d.statistics() == remote_statistics{.scored = 1, .late = 1, .discarded = 1});
    d.begin(scores);
    CHECK(d.next(0, now));
}

} // namespace remote_scorer_test
