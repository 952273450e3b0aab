#include "catch.hpp"
#include <gsub/search/concepts.hpp>

#include <memory>
#include <string>
#include <type_traits>

namespace search_concepts_test {

using namespace gsub;

struct fitting {
    using state = std::string;
    double cost(state const& s) const { return static_cast<double>(s.size()); }
    std::string key(state const& s) const { return s; }
    char const* label(state const&) const { return "shorten"; }
    template <class Emit>
    void expand(state const& s, Emit&& emit) const {
        if (!s.empty()) emit(s.substr(1));
    }
};
struct measured : fitting {
    std::size_t bytes(state const& s) const { return s.size(); }
};
struct state_that_only_moves : fitting {
    using state = std::unique_ptr<int>;
    int cost(state const& s) const { return *s; }
    int key(state const& s) const { return *s; }
    std::string label(state const&) const { return {}; }
    template <class Emit>
    void expand(state const& s, Emit&& emit) const {
        emit(std::make_unique<int>(*s - 1));
    }
};
struct unordered {};
struct key_without_order : fitting {
    unordered key(state const&) const { return {}; }
};
struct cost_of_no_number : fitting {
    std::string cost(state const& s) const { return s; }
};
struct without_expansion {
    using state = int;
    double cost(int) const { return 0; }
    int key(int s) const { return s; }
    std::string label(int) const { return {}; }
};

static_assert(search::problem<fitting> && !search::sized_problem<fitting>);
static_assert(search::sized_problem<measured>);
static_assert(search::problem<state_that_only_moves>);
static_assert(!search::problem<key_without_order>);
static_assert(!search::problem<cost_of_no_number>);
static_assert(!search::problem<without_expansion>);
static_assert(!search::problem<int>);

// Observing costs nothing unless something is observed.
static_assert(std::is_empty_v<search::null_observer>);

TEST_CASE("every reason to stop has a name of its own") {
    using search::stop_reason;
    CHECK(to_string(stop_reason::exhausted) == "exhausted");
    CHECK(to_string(stop_reason::steps) == "steps");
    CHECK(to_string(stop_reason::time) == "time");
    CHECK(to_string(stop_reason::memory) == "memory");
    CHECK(to_string(stop_reason::target) == "target");
    CHECK(to_string(stop_reason::cancelled) == "cancelled");
}

TEST_CASE("a budget limits steps, time, memory, or several, time alone leaves the steps free") {
    using namespace std::chrono_literals;
    constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
    constexpr search::budget standard;
    CHECK(standard.steps == 1000);
    CHECK(standard.time == std::chrono::nanoseconds::max());
    CHECK(standard.bytes == unlimited);
    constexpr search::budget steps{7};
    CHECK(steps.steps == 7);
    CHECK(steps.time == std::chrono::nanoseconds::max());
    search::options const timed{.budget = 30s};
    CHECK(timed.budget.steps == unlimited);
    CHECK(timed.budget.time == 30s);
    CHECK(timed.budget.bytes == unlimited);
    constexpr search::budget all{7, 5ms, 1 << 20};
    CHECK(all.steps == 7);
    CHECK(all.time == 5ms);
    CHECK(all.bytes == 1 << 20);
}

TEST_CASE("by default a search is relaxed by a twentieth, held to the best, and has no target") {
    search::options const o;
    CHECK(o.alpha == 1.05);
    CHECK(o.admit == search::admission::best);
    CHECK_FALSE(o.plateau);
    CHECK(o.target == -std::numeric_limits<double>::infinity());
    CHECK_FALSE(o.stop.stop_requested());
}

} // namespace search_concepts_test
