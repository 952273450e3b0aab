#include "tuned_network.hpp"
#include <gsub/kernels/knobs.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/tune/kernel_timer.hpp>

#include <vector>

namespace kernel_timer_test {

using namespace tuned_network;
using tune::candidate;
using tune::measure_error;

tune::timing_options quick() {
    return {.rounds = 2, .least_seconds = 0};
}
// The counted points of all algorithms.
std::vector<candidate> counted(tune::tuning_task const& t) {
    std::vector<candidate> all;
    for (std::size_t a = 0; a < t.algorithms.size(); ++a) all.push_back({a, t.algorithms[a].counted.index()});
    return all;
}

TEST_CASE("all algorithms of a task compute the same numbers and have times") {
    auto const& isa = isa_of(host());
    runtime::thread_pool pool;
    for (auto const& t : tasks(isa)) {
        CAPTURE(kernels::to_string(t.what()));
        auto options = quick();
        options.threads = &pool;
        auto const all = counted(t);
        auto const measured = tune::kernel_timer{t, isa, options}.measure(all);
        REQUIRE(measured.size() == all.size());
        for (auto const& m : measured) {
            CHECK(m.error == measure_error::none);
            REQUIRE(m.costs.size() == 1);
            CHECK(m.costs[0] > 0);
            CHECK(m.all_cost >= m.costs[0]);
            CHECK_FALSE(m.predicted);
        }
    }
}

TEST_CASE("a candidate that gives other numbers, and one that makes no kernel, are measured as failed") {
    auto const& isa = isa_of(host());
    auto all = tasks(isa);
    auto& t = all.front();
    REQUIRE(t.algorithms.size() > 1);
    // A point beyond those that are allowed.
    auto const& space = *t.algorithms[0].space;
    std::uint64_t refused = 0;
    for (; refused < space.size(); ++refused)
        if (!space.allows(space.at(refused)) &&
            !capture([&] { static_cast<void>(kernels::nest_of(t.what(), space.at(refused), isa)); }))
            break;
    tune::kernel_timer const timer{t, isa, quick()};
    if (refused < space.size()) {
        candidate const one[] = {{0, refused}};
        CHECK(timer.measure(one)[0].error == measure_error::instantiation);
    }
    // The same kernel with another bias: the timer has seen the first one's results.
    for (auto& v : t.alone.values)
        if (v.role == runtime::memory_role::constant && v.data.elements() == 32)
            for (auto& x : v.data.mutable_data<float>()) x += 100;
    candidate const same[] = {t.untuned};
    auto const wrong = timer.measure(same);
    CHECK(wrong[0].error == measure_error::wrong_answer);
    CHECK(wrong[0].costs.empty());
}

} // namespace kernel_timer_test
