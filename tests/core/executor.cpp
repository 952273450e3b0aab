#include "catch.hpp"
#include <gsub/core/executor.hpp>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace executor_test {

using namespace gsub;

static_assert(!std::is_copy_constructible_v<inline_executor>);
static_assert(!std::is_copy_assignable_v<fork_join_executor>);
static_assert(std::is_abstract_v<executor>);
static_assert(std::is_base_of_v<executor, inline_executor>);

// What may stand behind a reference to a callable, and what may not.
using int_function = function_ref<int(int)>;
inline constexpr auto twice = [](int x) { return 2 * x; };
inline constexpr auto no_argument = [] { return 1; };
inline constexpr auto no_result = [](int) {};
static_assert(std::is_constructible_v<int_function, decltype(twice) const&>);
static_assert(!std::is_constructible_v<int_function, decltype(no_argument) const&>);
static_assert(!std::is_constructible_v<int_function, decltype(no_result) const&>);
static_assert(!std::is_constructible_v<int_function, std::string const&>);
static_assert(std::is_trivially_copyable_v<int_function>);
static_assert(sizeof(int_function) == 2 * sizeof(void*));

// An embedder's own: runs the indices backwards.
class backwards final : public executor {
public:
    std::size_t concurrency() const noexcept override { return 1; }
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        while (count-- > 0) body(count);
    }
};

void check_each_index_once(executor& e, std::size_t count) {
    CAPTURE(count, e.concurrency());
    std::vector<std::atomic<int>> calls(count);
    std::atomic<std::size_t> beyond{0};
    e.parallel_for(count, [&](std::size_t i) { i < count ? ++calls[i] : static_cast<int>(++beyond); });
    std::size_t wrong = beyond;
    for (auto const& c : calls) wrong += c.load() != 1;
    CHECK(wrong == 0);
}

TEST_CASE("every executor calls the body exactly once for each index") {
    inline_executor alone;
    fork_join_executor one{1}, two{2}, seven{7};
    backwards own;
    for (executor* e : {static_cast<executor*>(&alone), static_cast<executor*>(&one), static_cast<executor*>(&two),
                        static_cast<executor*>(&seven), static_cast<executor*>(&own)})
        for (std::size_t count : {0u, 1u, 2u, 3u, 6u, 7u, 8u, 1000u, 50'000u}) check_each_index_once(*e, count);
}

TEST_CASE("the inline executor runs in order on the calling thread") {
    inline_executor e;
    CHECK(e.concurrency() == 1);
    std::vector<std::size_t> order;
    std::set<std::thread::id> threads;
    e.parallel_for(5, [&](std::size_t i) { order.push_back(i), threads.insert(std::this_thread::get_id()); });
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
    CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("a fork-join executor runs as many pieces at the same time as it has threads") {
    CHECK(fork_join_executor{0}.concurrency() == 1);
    for (std::size_t threads : {1u, 2u, 4u}) {
        fork_join_executor e{threads};
        CHECK(e.concurrency() == threads);
        // Each piece waits for all others: this ends only where they run together.
        std::atomic<std::size_t> arrived{0};
        e.parallel_for(threads, [&](std::size_t) {
            ++arrived;
            while (arrived < threads) std::this_thread::yield();
        });
        CHECK(arrived == threads);
    }
}

TEST_CASE("what the bodies wrote is visible when parallel_for returns") {
    fork_join_executor e{4};
    std::vector<std::size_t> squares(10'000); // plain memory: the join has to publish it
    for (std::size_t round = 1; round < 4; ++round) {
        e.parallel_for(squares.size(), [&](std::size_t i) { squares[i] = i * i * round; });
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < squares.size(); ++i) wrong += squares[i] != i * i * round;
        CHECK(wrong == 0);
    }
}

TEST_CASE("an exception of a body comes out of parallel_for, and no body runs after it returned") {
    inline_executor alone;
    fork_join_executor two{2}, five{5};
    for (executor* e : {static_cast<executor*>(&alone), static_cast<executor*>(&two), static_cast<executor*>(&five)}) {
        std::atomic<int> running{0}, calls{0};
        auto const body = [&](std::size_t i) {
            ++running, ++calls;
            auto const bad = i % 10 == 3;
            --running;
            if (bad) throw std::runtime_error("piece " + std::to_string(i));
        };
        std::string words;
        try {
            e->parallel_for(1000, body);
        } catch (std::runtime_error const& caught) { words = caught.what(); }
        CHECK(running == 0);
        CHECK(words.rfind("piece ", 0) == 0);
        CHECK(words.back() == '3');
        CHECK(calls < 1000); // the rest is given up
        // The executor can be used again.
        check_each_index_once(*e, 100);
    }
    std::size_t last = 0;
    CHECK_THROWS_WITH(alone.parallel_for(10,
                                         [&](std::size_t i) {
                                             last = i;
                                             if (i == 4) throw std::runtime_error("four");
                                         }),
                      "four");
    CHECK(last == 4);
}

TEST_CASE("a body may start parallel work of its own") {
    fork_join_executor e{3};
    std::vector<std::atomic<int>> calls(60);
    e.parallel_for(6, [&](std::size_t i) { e.parallel_for(10, [&](std::size_t j) { ++calls[10 * i + j]; }); });
    CHECK(std::all_of(calls.begin(), calls.end(), [](auto const& c) { return c == 1; }));
}

TEST_CASE("a reference to a callable calls the callable itself, not a copy") {
    int calls = 0;
    auto count = [&, own = 0](int x) mutable { return calls += x, ++own; };
    function_ref<int(int)> const f = count;
    auto const g = f;
    CHECK(f(10) == 1);
    CHECK(g(5) == 2);
    CHECK(calls == 15);
    auto const longer = [](std::string const& a, std::string&& b) { return a + std::move(b); };
    function_ref<std::string(std::string const&, std::string&&)> const join = longer;
    CHECK(join("two words, ", "moved on") == "two words, moved on");
}

} // namespace executor_test
