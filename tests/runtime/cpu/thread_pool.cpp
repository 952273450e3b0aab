#include "catch.hpp"
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace thread_pool_test {

using namespace gsub;
using runtime::thread_pool;

// The thread sanitizer cannot follow threads that the child of a fork starts.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool child_may_start_threads = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool child_may_start_threads = false;
#else
inline constexpr bool child_may_start_threads = true;
#endif
#else
inline constexpr bool child_may_start_threads = true;
#endif

static_assert(!std::is_copy_constructible_v<thread_pool> && !std::is_move_constructible_v<thread_pool>);
static_assert(std::is_base_of_v<executor, thread_pool>);

// How many indices were not visited exactly once.
std::size_t wrong_calls(executor& e, std::size_t count) {
    std::vector<std::atomic<int>> calls(count);
    std::atomic<std::size_t> wrong{0};
    e.parallel_for(count,
                   [&](std::size_t i) { i < count ? static_cast<void>(++calls[i]) : static_cast<void>(++wrong); });
    for (auto const& c : calls) wrong += c.load() != 1;
    return wrong;
}

TEST_CASE("a pool calls the body exactly once for each index, whatever its size and spinning") {
    for (std::size_t threads : {1u, 2u, 3u, 8u, 33u})
        for (unsigned spin : {0u, 20u}) {
            thread_pool pool{{.threads = threads, .spin_us = spin}};
            CAPTURE(threads, spin);
            CHECK(pool.concurrency() == threads);
            for (std::size_t count : {0u, 1u, 2u, 3u, 7u, 64u, 129u, 4999u, 50'000u})
                CHECK(wrong_calls(pool, count) == 0);
        }
}

TEST_CASE("short calls one after the other lose no piece and no wake-up") {
    for (unsigned spin : {0u, 1u, 20u}) {
        thread_pool pool{{.threads = 4, .spin_us = spin}};
        std::atomic<std::size_t> sum{0};
        for (std::size_t i = 0; i < 5000; ++i) {
            pool.parallel_for(1 + i % 5, [&](std::size_t) { sum.fetch_add(1, std::memory_order_relaxed); });
            if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::microseconds{200}); // now they sleep
        }
        CHECK(sum == 15'000);
    }
}

TEST_CASE("16 threads may call one pool at once, each sees its own pieces done when its call returns") {
    thread_pool pool{{.threads = 4}};
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> callers;
    for (std::size_t id = 0; id < 16; ++id)
        callers.emplace_back([&, id] {
            std::vector<std::size_t> out(50);
            for (std::size_t run = 0; run < 1000; ++run) {
                pool.parallel_for(out.size(), [&](std::size_t i) { out[i] = id + run + i; });
                for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != id + run + i;
            }
        });
    for (auto& c : callers) c.join();
    CHECK(wrong == 0);
}

TEST_CASE("a call from within a body runs on the thread of that body") {
    thread_pool pool{{.threads = 4}};
    std::atomic<int> pieces{0}, strangers{0};
    pool.parallel_for(8, [&](std::size_t) {
        auto const here = std::this_thread::get_id();
        pool.parallel_for(8, [&](std::size_t) { ++pieces, strangers += std::this_thread::get_id() != here; });
    });
    CHECK(pieces == 64);
    CHECK(strangers == 0);
}

TEST_CASE("an exception of any piece reaches the caller, and the pool works on") {
    thread_pool pool{{.threads = 3}};
    for (std::size_t bad = 0; bad < 100; ++bad) {
        CAPTURE(bad);
        try {
            pool.parallel_for(100, [&](std::size_t i) {
                if (i == bad) throw std::runtime_error{std::to_string(i)};
            });
            FAIL("nothing was thrown");
        } catch (std::runtime_error const& e) { CHECK(e.what() == std::to_string(bad)); }
        CHECK(wrong_calls(pool, 10) == 0);
    }
    // Whichever of several is first, one of them comes, and no piece is begun after the call.
    std::atomic<int> begun{0};
    CHECK_THROWS_AS(pool.parallel_for(1000, [&](std::size_t) { ++begun, throw 1; }), int);
    auto const then = begun.load();
    CHECK(then <= 3);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    CHECK(begun == then);
}

TEST_CASE("all threads take part, and the caller is one of them") {
    thread_pool pool{{.threads = 3}};
    std::atomic<int> arrived{0};
    auto const caller = std::this_thread::get_id();
    std::atomic<bool> by_caller{false};
    // Each piece waits for the others, so each needs a thread of its own.
    pool.parallel_for(3, [&](std::size_t) {
        if (std::this_thread::get_id() == caller) by_caller = true;
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
    });
    CHECK(by_caller);
}

TEST_CASE("idle threads sleep: a pool that waits uses no CPU time") {
    thread_pool pool;
    wrong_calls(pool, 100);
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    auto const before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    CHECK(std::clock() - before < CLOCKS_PER_SEC / 50);
}

TEST_CASE("pools come and go, used or not, with work in sight or asleep") {
    for (int i = 0; i < 200; ++i) {
        thread_pool pool{{.threads = static_cast<std::size_t>(1 + i % 5)}};
        if (i % 3) CHECK(wrong_calls(pool, static_cast<std::size_t>(i)) == 0);
    }
}

// Runs `body` in a forked child; true where it exits with 0 within a minute.
template <class Body>
bool child_succeeds(Body&& body) {
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(body() ? 0 : 1);
    }
    int status = 1;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status == 0;
}

TEST_CASE("in the child of a fork the pool runs serially and can be destroyed") {
    auto pool = std::make_unique<thread_pool>(runtime::thread_pool_options{.threads = 4});
    // A sanitizer's locks do not survive a fork amid the start of a thread: all are up once each has a piece.
    std::atomic<int> up{0};
    pool->parallel_for(4, [&](std::size_t) {
        ++up;
        while (up < 4) std::this_thread::yield();
    });
    auto const in_child = [&] {
        if (pool->concurrency() != 1 || wrong_calls(*pool, 1000) != 0) return false;
        pool.reset();
        if (!child_may_start_threads) return true;
        thread_pool fresh{{.threads = 3}};
        return fresh.concurrency() == 3 && wrong_calls(fresh, 1000) == 0;
    };
    CHECK(child_succeeds(in_child));
    // Amid the calls of another thread too.
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) pool->parallel_for(4, [&](std::size_t) { ++up; });
    });
    while (up == 4) std::this_thread::yield();
    for (int i = 0; i < 10; ++i) CHECK(child_succeeds(in_child));
    stop = true;
    other.join();
    CHECK(pool->concurrency() == 4);
    CHECK(wrong_calls(*pool, 1000) == 0);
}

TEST_CASE("a pool respects the affinity mask and the quota of the control group") {
    auto const cpus = runtime::available_cpus();
    CHECK(cpus >= 1);
    CHECK(cpus <= std::max(1u, std::thread::hardware_concurrency()));
    CHECK(thread_pool{}.concurrency() == cpus);
    std::thread([] { // the mask is the thread's own
        auto const here = ::sched_getcpu();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(here), &one);
        if (::sched_setaffinity(0, sizeof one, &one) != 0) return;
        CHECK(runtime::available_cpus() == 1);
        CHECK(thread_pool{}.concurrency() == 1);
    })
        .join();
    using runtime::detail::quota_of;
    CHECK(quota_of("max 100000\n") == 0);
    CHECK(quota_of("200000 100000\n") == 2);
    CHECK(quota_of("150000 100000\n") == 2);
    CHECK(quota_of("1000 100000\n") == 1);
    for (auto text : {"", "-1 100000", "100000", "5 0", "5 ", "99999999999999999999 1", "x"})
        CHECK(quota_of(text) == 0);
}

TEST_CASE("pinned threads stay on one CPU each") {
    thread_pool pool{{.threads = 2, .pin = true}};
    auto const caller = std::this_thread::get_id();
    std::atomic<int> arrived{0}, allowed{0};
    pool.parallel_for(2, [&](std::size_t) {
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
        cpu_set_t isa;
        if (std::this_thread::get_id() != caller && ::sched_getaffinity(0, sizeof isa, &isa) == 0)
            allowed = CPU_COUNT(&isa);
    });
    CHECK(allowed == 1);
}

TEST_CASE("threads of a pool leave the host's signals alone") {
    thread_pool pool{{.threads = 2}};
    auto const caller = std::this_thread::get_id();
    std::atomic<int> arrived{0}, blocked{0};
    pool.parallel_for(2, [&](std::size_t) {
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
        sigset_t isa;
        if (std::this_thread::get_id() != caller && ::pthread_sigmask(SIG_BLOCK, nullptr, &isa) == 0)
            blocked = sigismember(&isa, SIGINT) && sigismember(&isa, SIGCHLD) && !sigismember(&isa, SIGSEGV);
    });
    CHECK(blocked == 1);
}

} // namespace thread_pool_test
