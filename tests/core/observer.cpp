#include "catch.hpp"
#include <gsub/core/observer.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace observer_test {

using namespace gsub;

static_assert(std::has_virtual_destructor_v<observer>);
static_assert(std::is_copy_constructible_v<observer>);

struct notes : observer {
    std::vector<std::string> taken;
    void on_note(std::string_view sentence) override { taken.emplace_back(sentence); }
};
struct everything : notes {
    std::uint64_t last = 0;
    void on_progress(progress const& p) override { last = p.done; }
};

// A task as the library has them: it knows nothing of who listens.
void work(observer& o) {
    for (std::uint64_t i = 1; i <= 3; ++i) o.on_progress({.phase = "count", .done = i, .total = 3});
    o.on_note("three steps were taken");
}

TEST_CASE("an observer hears what it asks for and ignores the rest") {
    notes some;
    work(some);
    CHECK(some.taken == std::vector<std::string>{"three steps were taken"});
    everything all;
    work(all);
    CHECK(all.taken == some.taken);
    CHECK(all.last == 3);
}

TEST_CASE("the silent observer is one object that does nothing") {
    CHECK(&silent() == &silent());
    work(silent());
    observer quiet;
    work(quiet);
}

TEST_CASE("progress starts as an unknown amount of unnamed work") {
    progress const p{};
    CHECK(p.phase.empty());
    CHECK(p.done == 0);
    CHECK(p.total == 0);
    CHECK(p.detail.empty());
}

} // namespace observer_test
