#include "catch.hpp"
#include <gsub/core/sharing_executor.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace sharing_executor_test {

using namespace gsub;

static_assert(std::is_base_of_v<executor, sharing_executor>);
static_assert(!std::is_copy_constructible_v<sharing_executor>);

TEST_CASE("tasks are run side by side, once each, and those without one help the others") {
    fork_join_executor threads{4};
    for (int round = 0; round < 30; ++round)
        for (std::size_t const tasks : {0u, 1u, 2u, 3u, 7u, 20u}) {
            CAPTURE(tasks);
            sharing_executor together{threads};
            std::vector<std::atomic<int>> calls(tasks), inner(tasks * 100);
            together.run(tasks, [&](std::size_t task) {
                ++calls[task];
                for (int loop = 0; loop < 3; ++loop)
                    together.parallel_for(100, [&](std::size_t i) { ++inner[task * 100 + i]; });
            });
            for (auto const& c : calls) CHECK(c == 1);
            for (auto const& c : inner) CHECK(c == 3);
            CHECK(together.concurrency() == 1);
        }
    // One task alone: the others have nothing but its loop to do.
    sharing_executor together{threads};
    std::set<std::thread::id> seen;
    std::mutex seen_mutex;
    together.run(1, [&](std::size_t) {
        while (together.concurrency() < 4) std::this_thread::yield();
        std::atomic<int> begun = 0;
        together.parallel_for(4, [&](std::size_t) {
            ++begun;
            while (begun < 4) std::this_thread::yield(); // until all four are at it
            std::lock_guard const lock{seen_mutex};
            seen.insert(std::this_thread::get_id());
        });
    });
    CHECK(seen.size() == 4);
    inline_executor alone;
    sharing_executor by_itself{alone};
    std::vector<std::size_t> order;
    by_itself.run(3, [&](std::size_t i) { order.push_back(i); });
    CHECK(order == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("an exception of a task, or of an inner loop of one, comes out, and no task begins after it") {
    fork_join_executor threads{3};
    for (int round = 0; round < 30; ++round) {
        sharing_executor together{threads};
        std::atomic<int> begun = 0;
        CHECK_THROWS_AS(together.run(100,
                                     [&](std::size_t task) {
                                         ++begun;
                                         together.parallel_for(10, [&](std::size_t i) {
                                             if (task == 5 && i == 7) throw std::runtime_error{"seven"};
                                         });
                                     }),
                        std::runtime_error);
        CHECK(begun >= 1);
        begun = 0;
        together.run(5, [&](std::size_t) { ++begun; }); // and goes on
        CHECK(begun == 5);
    }
}

TEST_CASE("the calling thread runs the task, the others its loops, and loops in these") {
    for (std::size_t const threads : {1u, 2u, 5u}) {
        fork_join_executor below{threads};
        sharing_executor together{below};
        CHECK(together.threads() == threads);
        for (int round = 0; round < 50; ++round) {
            std::vector<std::atomic<int>> calls(30 * 40);
            std::thread::id where;
            together.run_here([&] {
                where = std::this_thread::get_id();
                together.parallel_for(
                    30, [&](std::size_t i) { together.parallel_for(40, [&](std::size_t k) { ++calls[40 * i + k]; }); });
            });
            CHECK(where == std::this_thread::get_id());
            std::size_t wrong = 0;
            for (auto const& c : calls) wrong += c != 1;
            CHECK(wrong == 0);
        }
        CHECK_THROWS_AS(together.run_here([] { throw std::runtime_error{"here"}; }), std::runtime_error);
    }
}

TEST_CASE("a thread that comes late finds a loop that is under way, one that slept is woken") {
    fork_join_executor below{2};
    sharing_executor together{below};
    // On a machine that is busy the other thread may have left before the task began: then it is run again.
    auto helped = 0;
    for (int attempt = 0; helped < 3 && attempt < 1000; ++attempt)
        together.run_here([&] {
            helped = 0;
            for (int round = 0; round < 3; ++round) {
                std::this_thread::sleep_for(std::chrono::milliseconds{5}); // the other is asleep by now
                if (together.concurrency() < 2) return;
                std::atomic<int> begun = 0;
                together.parallel_for(2, [&](std::size_t) {
                    ++begun;
                    while (begun < 2) std::this_thread::yield(); // for ever, if nobody came
                });
                helped += begun == 2;
            }
        });
    CHECK(helped == 3);
}

TEST_CASE("who waits for the last piece of a loop helps with the loops inside of it") {
    fork_join_executor below{2};
    sharing_executor together{below};
    std::atomic<std::size_t> helped = 0;
    // As above: without the other thread nobody could help.
    for (int attempt = 0; helped == 0 && attempt < 1000; ++attempt)
        together.run_here([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            if (together.concurrency() < 2) return;
            auto const caller = std::this_thread::get_id();
            std::atomic<bool> other_is_in = false;
            together.parallel_for(2, [&](std::size_t) {
                if (std::this_thread::get_id() == caller) {
                    while (!other_is_in) std::this_thread::yield();
                    return;
                }
                other_is_in = true;
                while (helped == 0) // until the caller has been there
                    together.parallel_for(64, [&](std::size_t) {
                        helped += std::this_thread::get_id() == caller;
                        std::this_thread::yield();
                    });
            });
        });
    CHECK(helped > 0);
}

// An embedder's, whose calls come from threads of its own alone.
class elsewhere final : public executor {
public:
    std::size_t concurrency() const noexcept override { return 3; }
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        std::jthread{[&] {
            for (std::size_t i = 0; i < count; ++i) body(i);
        }};
    }
};

TEST_CASE("the task is run by the caller where the executor leaves the caller out") {
    elsewhere below;
    sharing_executor together{below};
    int runs = 0;
    std::thread::id where;
    together.run_here([&] {
        ++runs;
        where = std::this_thread::get_id();
        together.parallel_for(3, [&](std::size_t) { ++runs; });
    });
    CHECK(runs == 4);
    CHECK(where == std::this_thread::get_id());
}

} // namespace sharing_executor_test
