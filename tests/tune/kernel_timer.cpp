#include "tuned_network.hpp"
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
    tune::kernel_timer const timer{t, isa, quick()};
    // The same kernel with another bias: the timer has seen the first one's results.
    for (auto& v : t.alone.values)
        if (v.role == runtime::memory_role::constant && v.data.elements() == 32)
            for (auto& x : v.data.mutable_data<float>()) x += 100;
    candidate const same[] = {t.untuned};
    auto const wrong = timer.measure(same);
    CHECK(wrong[0].error == measure_error::wrong_answer);
    CHECK(wrong[0].costs.empty());
    for (auto& v : t.alone.values)
        if (v.role == runtime::memory_role::constant) v.data = {};
    CHECK(timer.measure(same)[0].error == measure_error::instantiation);
}

TEST_CASE("a fault of the emitter is told, what it does not take is compiled") {
    auto const& isa = isa_of(host());
    auto const all = tasks(isa);
    auto options = quick();
    options.emitter = [](codegen::kernel const&, gsub::isa const&) -> result<runtime::loaded_kernel> {
        return error{error_code::internal, "broken"};
    };
    CHECK_THROWS_AS((tune::kernel_timer{all.front(), isa, options}), error);
    options.emitter = [](codegen::kernel const&, gsub::isa const&) -> result<runtime::loaded_kernel> {
        return error{error_code::unsupported, "nothing"};
    };
    tune::kernel_timer const timer{all.front(), isa, options};
    for (auto const& m : timer.measure(counted(all.front()))) CHECK(m.error == measure_error::none);
}

} // namespace kernel_timer_test
