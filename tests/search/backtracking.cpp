#include "catch.hpp"
#include <gsub/core/executor.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/search/backtracking.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace backtracking_test {

using namespace gsub;
using search::admission;
using search::backtracking;
using search::stop_reason;

// A random graph: place 0 is the start, costs are small whole numbers, so that many are equal.
struct landscape {
    using state = int;
    std::vector<double> costs;
    std::vector<std::vector<int>> moves;
    std::vector<int> origin; // filled by expand: where a successor was last made

    landscape(std::uint64_t seed, std::size_t places) : costs(places), moves(places), origin(places, -1) {
        random_stream r{seed};
        for (auto& c : costs) c = static_cast<double>(1 + r.below(40));
        for (auto& from : moves)
            for (auto n = r.below(5); n-- > 0;) from.push_back(static_cast<int>(r.below(places)));
    }
    double cost(int s) const { return costs[static_cast<std::size_t>(s)]; }
    int key(int s) const { return s; }
    std::string label(int s) const { return fmt::format("to {}", s); }
    template <class Emit>
    void expand(int s, Emit&& emit) {
        for (int next : moves[static_cast<std::size_t>(s)])
            if (!emit(next)) return;
    }
    std::vector<int> reachable() const {
        std::vector<int> found{0};
        std::vector<bool> seen(costs.size(), false);
        seen[0] = true;
        for (std::size_t i = 0; i < found.size(); ++i)
            for (int next : moves[static_cast<std::size_t>(found[i])])
                if (!seen[static_cast<std::size_t>(next)]) {
                    seen[static_cast<std::size_t>(next)] = true;
                    found.push_back(next);
                }
        return found;
    }
};

// Writes down every event.
struct scribe : search::null_observer {
    std::vector<std::string> events;
    std::uint64_t expanded = 0, admitted = 0, refused = 0, improved = 0, stopped = 0;
    void on_expand(std::uint64_t number, double cost) {
        events.push_back(fmt::format("expand {} at {}", number, cost));
        ++expanded;
    }
    void on_admit(double cost, std::string_view label) {
        events.push_back(fmt::format("admit {} at {}", label, cost));
        ++admitted;
    }
    void on_refuse(double cost, std::string_view label) {
        events.push_back(fmt::format("refuse {} at {}", label, cost));
        ++refused;
    }
    void on_improvement(std::uint64_t steps, double cost) {
        events.push_back(fmt::format("improve after {} to {}", steps, cost));
        ++improved;
    }
    void on_stop(stop_reason why) {
        events.push_back(std::string{to_string(why)});
        ++stopped;
    }
};

constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

// Settings of all kinds, by seed.
search::options some_options(std::uint64_t seed) {
    random_stream r{seed};
    return {.alpha = 1 + 0.25 * static_cast<double>(r.below(5)),
            .admit = r.below(2) ? admission::best : admission::parent,
            .plateau = r.below(2) != 0,
            .budget = endless};
}

TEST_CASE("without a bound that matters, a search sees all that can be reached and finds the least of it") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        landscape p{seed, 40};
        auto const all = p.reachable();
        auto least = p.cost(0);
        for (int s : all) least = std::min(least, p.cost(s));
        for (auto admit : {admission::best, admission::parent}) {
            auto const found = backtracking(p, 0, {.alpha = 1000, .admit = admit, .budget = endless});
            CHECK(found.stats.why == stop_reason::exhausted);
            CHECK(found.stats.best_cost == least);
            CHECK(p.cost(found.best) == least);
            CHECK(found.stats.distinct == all.size());
            CHECK(found.stats.expanded == all.size());
            CHECK(found.stats.refused == 0);
        }
    }
}

TEST_CASE("what a search tells of itself fits together, whatever the settings") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        landscape p{seed, 60};
        auto const o = some_options(seed);
        scribe observe;
        auto const found = backtracking(p, 0, o, observe);
        auto const& s = found.stats;
        CHECK(s.start_cost == p.cost(0));
        CHECK(s.best_cost == p.cost(found.best));
        CHECK(s.best_cost <= s.start_cost);
        CHECK(s.generated == s.duplicates + s.refused + observe.admitted);
        CHECK(s.distinct == 1 + observe.admitted + (o.admit == admission::best ? s.refused : 0));
        CHECK(s.expanded == observe.expanded);
        CHECK(s.refused == observe.refused);
        CHECK(observe.stopped == 1);
        CHECK(observe.events.back() == to_string(s.why));

        // The history begins at the start, goes down, and ends at the best.
        REQUIRE_FALSE(s.history.empty());
        CHECK(s.history.front() == search::improvement{0, s.start_cost});
        CHECK(s.history.back().cost == s.best_cost);
        CHECK(s.history.size() == 1 + observe.improved);
        for (std::size_t i = 1; i < s.history.size(); ++i) {
            CHECK(s.history[i].cost < s.history[i - 1].cost);
            CHECK(s.history[i].steps > s.history[i - 1].steps);
            CHECK(s.history[i].steps <= s.expanded);
        }

        // The path leads by moves of the problem from the start to the best, within the bound all the way.
        int at = 0;
        auto least = s.start_cost;
        for (auto const& step : s.path) {
            auto const& next = p.moves[static_cast<std::size_t>(at)];
            auto const taken = std::find_if(next.begin(), next.end(), [&](int n) { return p.label(n) == step.label; });
            REQUIRE(taken != next.end());
            auto const bound = o.admit == admission::best ? least : p.cost(at);
            at = *taken;
            CHECK(step.cost == p.cost(at));
            CHECK((o.plateau ? step.cost <= o.alpha * bound : step.cost < o.alpha * bound));
            least = std::min(least, step.cost);
        }
        CHECK(at == found.best);
    }
}

TEST_CASE("alpha 1 is greedy: every move on the way leads down") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        landscape p{seed, 60};
        for (auto admit : {admission::best, admission::parent}) {
            auto const found = backtracking(p, 0, {.alpha = 1, .admit = admit, .budget = endless});
            auto before = found.stats.start_cost;
            for (auto const& step : found.stats.path) {
                CHECK(step.cost < before);
                before = step.cost;
            }
            // Nothing below the best was left unseen beside a state on the path.
            for (int next : p.moves[static_cast<std::size_t>(found.best)]) CHECK(p.cost(next) >= found.stats.best_cost);
        }
    }
}

TEST_CASE("a search may go on from the first cheaper state, and makes no more successors") {
    for (auto const plateau : {false, true})
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            CAPTURE(seed, plateau);
            landscape p{seed, 60};
            std::vector<int> way{0};
            std::uint64_t made = 0;
            for (auto on = true; on;) {
                on = false;
                for (int const next : p.moves[static_cast<std::size_t>(way.back())]) {
                    ++made;
                    auto const cheaper =
                        plateau ? p.cost(next) <= p.cost(way.back()) : p.cost(next) < p.cost(way.back());
                    if (!cheaper || std::find(way.begin(), way.end(), next) != way.end()) continue;
                    way.push_back(next), on = true;
                    break;
                }
            }
            auto const found =
                backtracking(p, 0, {.alpha = 3, .admit = admission::first, .plateau = plateau, .budget = endless});
            CHECK(found.stats.best_cost == p.cost(way.back()));
            CHECK(found.stats.expanded == way.size());
            CHECK(found.stats.generated == made);
            CHECK(found.stats.distinct == way.size());
            CHECK(found.stats.why == stop_reason::exhausted);
        }
}

// A ridge between the start and the valley behind it, as a list of costs.
struct ridge {
    using state = std::size_t;
    std::vector<double> costs;
    double cost(std::size_t s) const { return costs[s]; }
    std::size_t key(std::size_t s) const { return s; }
    std::string label(std::size_t) const { return "on"; }
    template <class Emit>
    void expand(std::size_t s, Emit&& emit) const {
        if (s + 1 < costs.size()) emit(s + 1);
    }
};

TEST_CASE("a ridge is climbed where alpha allows it, and no sooner") {
    ridge p{{100, 125, 50}};
    CHECK(backtracking(p, 0u, {.alpha = 1.2}).best == 0);
    CHECK(backtracking(p, 0u, {.alpha = 1.25}).best == 0); // the bound itself is out
    CHECK(backtracking(p, 0u, {.alpha = 1.25, .plateau = true}).best == 2);
    CHECK(backtracking(p, 0u, {.alpha = 1.26}).best == 2);
}

TEST_CASE("held to its parent a search may climb in steps, held to the best it may not") {
    ridge p{{100, 108, 116, 124, 50}};
    CHECK(backtracking(p, 0u, {.alpha = 1.1, .admit = admission::best}).best == 0);
    auto const found = backtracking(p, 0u, {.alpha = 1.1, .admit = admission::parent});
    CHECK(found.best == 4);
    CHECK(found.stats.path.size() == 4);
}

TEST_CASE("a plateau is crossed by plateau moves alone") {
    ridge p{{7, 7, 7, 3}};
    CHECK(backtracking(p, 0u, {.alpha = 1}).best == 0);
    CHECK(backtracking(p, 0u, {.alpha = 1, .plateau = true}).best == 3);
    // Going round in circles on it ends: no state is looked at twice.
    auto const around = [](int n) { return std::vector{(n + 1) % 5, (n + 4) % 5}; };
    auto const round = backtracking(0, around, [](int) { return 1; }, {.alpha = 1, .plateau = true});
    CHECK(round.stats.why == stop_reason::exhausted);
    CHECK(round.stats.expanded == 5);
}

TEST_CASE("states that waited too long are dropped when the best has moved on") {
    // From 10 to 12 and 11; behind 11 lies 5, after which 12 is beyond 1.5 times the best.
    std::map<int, std::vector<int>> const moves{{10, {12, 11}}, {11, {5}}, {12, {1}}};
    auto const next = [&](int n) { return moves.contains(n) ? moves.at(n) : std::vector<int>{}; };
    auto const found = backtracking(10, next, [](int n) { return n; }, {.alpha = 1.5});
    CHECK(found.best == 5);
    CHECK(found.stats.why == stop_reason::exhausted);
    CHECK(found.stats.expanded == 3);
    // Held to the parent, it stays and is expanded.
    CHECK(backtracking(10, next, [](int n) { return n; }, {.alpha = 1.5, .admit = admission::parent}).best == 1);
}

TEST_CASE("a state refused from one parent may be admitted from another where the parent is the yardstick") {
    // 30 is refused from 10, then admitted from 28, which is reached over 14 and 20.
    std::map<int, std::vector<int>> const moves{{10, {30, 14}}, {14, {20}}, {20, {28}}, {28, {30}}, {30, {1}}};
    auto const next = [&](int n) { return moves.contains(n) ? moves.at(n) : std::vector<int>{}; };
    auto const found = backtracking(10, next, [](int n) { return n; }, {.alpha = 1.5, .admit = admission::parent});
    CHECK(found.best == 1);
    CHECK(found.stats.refused == 1);
}

TEST_CASE("equal states reached on different ways count once") {
    // Letters removed in any order: 2^n subsets, n! ways.
    auto const shorter = [](std::string const& s) {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < s.size(); ++i) out.push_back(s.substr(0, i) + s.substr(i + 1));
        return out;
    };
    auto const found = backtracking(std::string{"abcdefgh"}, shorter, [](std::string const& s) { return 1 + s.size(); },
                                    {.alpha = 100});
    CHECK(found.best.empty());
    CHECK(found.stats.distinct == 256);
    CHECK(found.stats.expanded == 256);
    CHECK(found.stats.generated == 8 * 128);
    CHECK(found.stats.duplicates == found.stats.generated - 255);
}

TEST_CASE("words are sorted by swaps of neighbours, and the way tells how") {
    auto const swaps = [](std::string const& s) {
        std::vector<std::string> out;
        for (std::size_t i = 0; i + 1 < s.size(); ++i) {
            out.push_back(s);
            std::swap(out.back()[i], out.back()[i + 1]);
        }
        return out;
    };
    auto const inversions = [](std::string const& s) {
        int n = 0;
        for (std::size_t i = 0; i < s.size(); ++i)
            for (auto k = i + 1; k < s.size(); ++k) n += s[i] > s[k];
        return n;
    };
    auto const found = backtracking(std::string{"graph"}, swaps, inversions, {.alpha = 1, .target = 0});
    CHECK(found.best == "aghpr");
    CHECK(found.stats.why == stop_reason::target);
    CHECK(found.stats.path.size() == static_cast<std::size_t>(inversions("graph"))); // one inversion a swap
}

TEST_CASE("numbers: the climb from 7 over 52 down to 1 needs alpha 8") {
    auto const moves = [](int n) { return n % 2 ? std::vector{3 * n + 1} : std::vector{n / 2, 3 * n + 1}; };
    auto const value = [](int n) { return double(n); };
    CHECK(backtracking(7, moves, value, {.alpha = 1.0}).best == 7);
    auto const relaxed = backtracking(7, moves, value, {.alpha = 8.0, .target = 1});
    CHECK(relaxed.best == 1);
    CHECK(
        std::any_of(relaxed.stats.path.begin(), relaxed.stats.path.end(), [](auto const& s) { return s.cost >= 52; }));
}

TEST_CASE("of equal costs the state that was found first goes first") {
    scribe observe;
    landscape p{0, 6};
    p.costs = {5, 5, 5, 5, 5, 5};
    p.moves = {{3, 1}, {5}, {}, {2, 4}, {}, {}};
    auto const found = backtracking(p, 0, {.alpha = 1, .plateau = true}, observe);
    CHECK(found.best == 0); // nothing is better than the start
    CHECK(found.stats.path.empty());
    std::vector<std::string> admitted;
    for (auto const& e : observe.events)
        if (e.starts_with("admit")) admitted.push_back(e.substr(6, 4));
    CHECK(admitted == std::vector<std::string>{"to 3", "to 1", "to 2", "to 4", "to 5"});
}

// ---- stopping
// ------------------------------------------------------------------------------------------------------------

TEST_CASE("a search stopped by steps is the beginning of the one that goes on") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        landscape p{seed, 50};
        auto o = some_options(seed);
        scribe whole;
        auto const end = backtracking(p, 0, o, whole);
        for (std::uint64_t steps = 0; steps <= end.stats.expanded + 1; ++steps) {
            CAPTURE(steps);
            o.budget = steps;
            scribe part;
            auto const found = backtracking(p, 0, o, part);
            CHECK(found.stats.expanded == std::min(steps, end.stats.expanded));
            if (steps > end.stats.expanded)
                CHECK(found.stats.why == end.stats.why);
            else if (steps < end.stats.expanded)
                CHECK(found.stats.why == stop_reason::steps);
            REQUIRE(part.events.size() <= whole.events.size());
            CHECK(std::equal(part.events.begin(), part.events.end() - 1, whole.events.begin()));
            REQUIRE(found.stats.history.size() <= end.stats.history.size());
            CHECK(std::equal(found.stats.history.begin(), found.stats.history.end(), end.stats.history.begin()));
        }
        // And the same again is the same.
        o.budget = endless;
        scribe again;
        auto const twin = backtracking(p, 0, o, again);
        CHECK(again.events == whole.events);
        CHECK(twin.stats.path == end.stats.path);
        CHECK(twin.best == end.best);
    }
}

// Counts down without end; takes its time where told to.
struct well {
    using state = int;
    std::chrono::nanoseconds pause{0};
    int expanded = 0;
    std::stop_source* cancel = nullptr;
    int cancel_at = -1;
    std::uint64_t size = 1;
    double cost(int s) const { return 1e9 - s; }
    int key(int s) const { return s; }
    std::string label(int) const { return {}; }
    std::uint64_t bytes(int) const { return size; }
    template <class Emit>
    void expand(int s, Emit&& emit) {
        ++expanded;
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        if (cancel && s == cancel_at) cancel->request_stop();
        if (emit(2 * s + 1)) emit(2 * s + 2);
    }
};

TEST_CASE("no time, no steps, no memory: the start is the answer, and the reason is told") {
    well p;
    auto const stopped = [&](search::options const& o) {
        auto const found = backtracking(p, 0, o);
        CHECK(found.best == 0);
        CHECK(found.stats.expanded == 0);
        CHECK(found.stats.generated == 0);
        CHECK(found.stats.distinct == 1);
        CHECK(found.stats.path.empty());
        return found.stats.why;
    };
    CHECK(stopped({.budget = 0}) == stop_reason::steps);
    CHECK(stopped({.budget = std::chrono::nanoseconds{0}}) == stop_reason::time);
    CHECK(stopped({.budget = {1000, std::chrono::nanoseconds::max(), 0}}) == stop_reason::memory);
    CHECK(stopped({.target = 1e9}) == stop_reason::target);
    std::stop_source source;
    source.request_stop();
    CHECK(stopped({.stop = source.get_token()}) == stop_reason::cancelled);
    ridge alone{{1}};
    CHECK(backtracking(alone, 0u, {}).stats.why == stop_reason::exhausted);
    CHECK(p.expanded == 0);
}

TEST_CASE("a search stopped by time has a number of steps, with which it is repeated exactly") {
    using namespace std::chrono_literals;
    well slow{.pause = 2ms};
    auto const timed = backtracking(slow, 0, {.budget = 30ms});
    CHECK(timed.stats.why == stop_reason::time);
    CHECK(timed.stats.seconds >= 0.03);
    well quick;
    auto const again = backtracking(quick, 0, {.budget = timed.stats.expanded});
    CHECK(again.stats.why == stop_reason::steps);
    CHECK(again.best == timed.best);
    CHECK(again.stats.generated == timed.stats.generated);
    CHECK(again.stats.distinct == timed.stats.distinct);
    CHECK(again.stats.path == timed.stats.path);
    CHECK(again.stats.history == timed.stats.history);
}

TEST_CASE("an expansion that is cut short leaves no trace") {
    std::stop_source source;
    well p{.cancel = &source, .cancel_at = 6}; // 0, 2, 6: always the larger of two
    auto const found = backtracking(p, 0, {.stop = source.get_token()});
    CHECK(found.stats.why == stop_reason::cancelled);
    CHECK(p.expanded == 3);
    CHECK(found.stats.expanded == 2);
    CHECK(found.stats.generated == 4);
    CHECK(found.best == 6);
}

TEST_CASE("waiting states are counted in bytes, and too many of them stop the search") {
    well p{.size = 100};
    // Every expansion takes one state out and adds two: after n of them n + 1 states wait.
    auto const found = backtracking(p, 0, {.budget = {endless, std::chrono::nanoseconds::max(), 1000}});
    CHECK(found.stats.why == stop_reason::memory);
    CHECK(found.stats.expanded == 10);
    // A problem that does not tell sizes is counted by its entries.
    auto const on = [](int n) { return std::vector{2 * n + 1, 2 * n + 2}; };
    auto const plain = backtracking(0, on, [](int n) { return 1e9 - n; },
                                    {.budget = {endless, std::chrono::nanoseconds::max(), 1 << 8}});
    CHECK(plain.stats.why == stop_reason::memory);
    CHECK(plain.stats.expanded > 1);
}

// States share more and more.
struct sharing_landscape : landscape {
    using landscape::landscape;
    std::uint64_t shared = 0;
    std::uint64_t bytes(int) const { return 1; }
    std::uint64_t shared_bytes() const { return shared; }
    template <class Emit>
    void expand(int s, Emit&& emit) {
        shared += 1000;
        landscape::expand(s, std::forward<Emit>(emit));
    }
};
static_assert(search::sharing_problem<sharing_landscape> && !search::sharing_problem<landscape>);

TEST_CASE("what states share counts too") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        sharing_landscape p{seed, 60};
        auto const all = backtracking(p, 0, {.alpha = 1000, .budget = endless}).stats.expanded;
        p.shared = 0;
        auto const some = backtracking(p, 0, {.alpha = 1000, .budget = {endless, std::chrono::hours{1}, 5500}}).stats;
        CHECK(some.expanded == std::min<std::uint64_t>(all, 6));
        CHECK(some.why == (all > 6 ? stop_reason::memory : stop_reason::exhausted));
    }
}

TEST_CASE("a target stops the search as soon as it is met, also by the last state that there is") {
    well p;
    auto const found = backtracking(p, 0, {.target = 1e9 - 10});
    CHECK(found.stats.why == stop_reason::target);
    CHECK(found.stats.best_cost <= 1e9 - 10);
    CHECK(found.stats.expanded == 3); // 2, 6, 14
    ridge r{{3, 2, 1}};
    auto const last = backtracking(r, 0u, {.target = 1});
    CHECK(last.stats.why == stop_reason::target);
    CHECK(last.best == 2);
}

// Looks at states: each is a successor of the one expanded, but for those that a larger alpha admits later.
struct onlooker : scribe {
    std::vector<std::pair<std::uint64_t, double>> open; // the expansion that goes on
    std::vector<int> expanded_states;
    std::uint64_t known = 0, later = 0, closed = 0;
    landscape const* p = nullptr;
    void successor(int s) const {
        REQUIRE(open.size() == 1);
        auto const& next = p->moves[static_cast<std::size_t>(expanded_states.back())];
        CHECK(std::find(next.begin(), next.end(), s) != next.end());
    }
    void on_expand(std::uint64_t number, double cost, int s) {
        CHECK(open.empty());
        CHECK(cost == p->cost(s));
        scribe::on_expand(number, cost);
        open.emplace_back(number, cost);
        expanded_states.push_back(s);
    }
    void on_admit(double cost, std::string_view label, int s) {
        scribe::on_admit(cost, label);
        CHECK(cost == p->cost(s));
        if (open.empty())
            ++later;
        else
            successor(s);
    }
    void on_refuse(double cost, int s) {
        scribe::on_refuse(cost, p->label(s));
        successor(s);
    }
    void on_known(double cost, int s) {
        ++known;
        CHECK(cost == p->cost(s));
        successor(s);
    }
    void on_expanded(std::uint64_t number, int s) {
        REQUIRE(open.size() == 1);
        CHECK(open[0].first == number);
        CHECK(expanded_states.back() == s);
        open.clear();
        ++closed;
    }
};

TEST_CASE("an observer that looks at states hears what others hear, and of each successor of each state") {
    static_assert(search::state_observer<onlooker, int>);
    static_assert(!search::state_observer<scribe, int>);
    static_assert(!search::state_observer<search::null_observer, std::string>); // whose label might be a state
    std::uint64_t later = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        landscape p{seed, 60};
        auto o = some_options(seed);
        if (seed % 2) o.schedule = {o.alpha + 0.1, o.alpha + 1};
        scribe plain;
        onlooker observe;
        observe.p = &p;
        auto const expected = backtracking(p, 0, o, plain), found = backtracking(p, 0, o, observe);
        CHECK(found.stats.path == expected.stats.path);
        CHECK(observe.events == plain.events);
        CHECK(observe.known == found.stats.duplicates);
        CHECK(observe.closed == found.stats.expanded);
        CHECK(observe.known + observe.refused + observe.admitted - observe.later == found.stats.generated);
        later += observe.later;
    }
    CHECK(later > 0);
}

TEST_CASE("an observer may cancel the search from within") {
    struct canceller : search::null_observer {
        std::stop_source source;
        void on_expand(std::uint64_t number, double) {
            if (number == 4) source.request_stop();
        }
    } observe;
    well p;
    auto const found = backtracking(p, 0, {.stop = observe.source.get_token()}, observe);
    CHECK(found.stats.why == stop_reason::cancelled);
    CHECK(found.stats.expanded == 4);
}

// The key may be anything with an order, and the state need not be comparable.
struct pairs {
    using state = std::vector<int>;
    double cost(state const& s) const { return 1 + s[0] + s[1]; }
    std::pair<int, int> key(state const& s) const { return {std::min(s[0], s[1]), std::max(s[0], s[1])}; }
    std::string label(state const&) const { return {}; }
    template <class Emit>
    void expand(state const& s, Emit&& emit) const {
        if (s[0] > 0 && !emit({s[0] - 1, s[1]})) return;
        if (s[1] > 0) emit({s[0], s[1] - 1});
    }
};

TEST_CASE("states with one key are one state") {
    pairs p;
    auto const found = backtracking(p, {4, 4}, {.alpha = 100});
    CHECK(found.stats.best_cost == 1);
    CHECK(found.stats.distinct == 15); // unordered pairs of 0..4
}

// Numbers from 1 to 400, each reached from its half, its double, and its neighbours; the cost has many local optima.
struct hills {
    static std::vector<int> moves(int n) {
        std::vector<int> out;
        for (auto m : {n / 2, n - 1, n + 1, 2 * n})
            if (m >= 1 && m <= 400 && m != n) out.push_back(m);
        return out;
    }
    static double value(int n) { return 100 + (n * 37) % 101 - n / 8.0; }
};

TEST_CASE("a schedule ends where its last alpha does, goes downhill first, and expands nothing twice") {
    for (auto const plateau : {false, true})
        for (auto const admit : {search::admission::best, search::admission::parent})
            for (int start = 1; start <= 400; start += 7) {
                CAPTURE(plateau, static_cast<int>(admit), start);
                std::vector<int> expanded;
                auto const moves = [&](int n) {
                    expanded.push_back(n);
                    return hills::moves(n);
                };
                auto const greedy =
                    search::backtracking(start, hills::moves, hills::value,
                                         {.alpha = 1, .admit = admit, .plateau = plateau, .budget = 10'000});
                auto const last =
                    search::backtracking(start, hills::moves, hills::value,
                                         {.alpha = 1.3, .admit = admit, .plateau = plateau, .budget = 10'000});
                auto const risen = search::backtracking(
                    start, moves, hills::value,
                    {.alpha = 1, .schedule = {1.1, 1.3}, .admit = admit, .plateau = plateau, .budget = 10'000});
                CHECK(risen.stats.why == search::stop_reason::exhausted);
                // The same states can be reached; a bound that has sunk earlier may keep some out.
                CHECK(risen.stats.best_cost <= greedy.stats.best_cost);
                CHECK(risen.stats.best_cost >= last.stats.best_cost - 1e-9);
                if (admit == search::admission::parent) CHECK(risen.stats.best_cost == last.stats.best_cost);
                auto const first = greedy.stats.expanded;
                REQUIRE(expanded.size() >= first);
                std::sort(expanded.begin(), expanded.end());
                CHECK(std::adjacent_find(expanded.begin(), expanded.end()) == expanded.end());
                CHECK(risen.stats.generated ==
                      risen.stats.duplicates + risen.stats.refused +
                          (risen.stats.distinct - 1 - (admit == search::admission::best ? risen.stats.refused : 0)));
            }
}

TEST_CASE("a queue that is full keeps its cheaper half") {
    auto const open = search::backtracking(300, hills::moves, hills::value, {.alpha = 2, .budget = 10'000});
    CHECK(open.stats.dropped == 0);
    std::uint64_t dropped = 0;
    for (auto const queue : {std::size_t{2}, std::size_t{3}, std::size_t{8}, std::size_t{1000}}) {
        auto const held =
            search::backtracking(300, hills::moves, hills::value, {.alpha = 2, .budget = 10'000, .queue = queue});
        CHECK(held.stats.best_cost >= open.stats.best_cost);
        CHECK(held.stats.best_cost <= hills::value(300));
        if (queue == 1000) CHECK(held.stats.best_cost == open.stats.best_cost);
        dropped += held.stats.dropped;
    }
    CHECK(dropped > 0);
}

} // namespace backtracking_test

TEST_CASE("a move that fails ends the search with the best so far, other exceptions go through") {
    struct failing {
        using state = int;
        bool in_move = true;
        double cost(int s) const { return s; }
        int key(int s) const { return s; }
        std::string label(int s) const { return std::to_string(s); }
        void expand(int s, gsub::function_ref<bool(int)> emit) const {
            if (s <= 5 && in_move) throw gsub::search::failed_move{"no way on from 5"};
            if (s <= 5) throw std::runtime_error{"not a move"};
            emit(s - 1);
        }
    };
    failing p;
    auto const r = gsub::search::backtracking(p, 9, gsub::search::options{});
    CHECK(r.best == 5);
    CHECK(r.stats.why == gsub::search::stop_reason::failed);
    CHECK(r.stats.failure == "no way on from 5");
    CHECK(r.stats.expanded == 4);
    CHECK(r.stats.path.size() == 4);
    p.in_move = false;
    CHECK_THROWS_WITH(gsub::search::backtracking(p, 9, gsub::search::options{}), "not a move");
}
