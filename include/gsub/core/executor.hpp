// Who runs parallel work: the embedder's executor, or one of the two simple ones here.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub {

template <class Signature>
class function_ref;

/// A reference to a callable: two words, no allocation, no ownership. The callable must outlive it.
template <class R, class... Args>
class function_ref<R(Args...)> {
public:
    template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, function_ref> && std::is_invocable_r_v<R, F&, Args...>)
        function_ref(F&& f)
    noexcept
        : object_(const_cast<void*>(static_cast<void const*>(std::addressof(f)))),
          call_(&call<std::remove_reference_t<F>>) {}
    R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

private:
    template <class F>
    static R call(void* object, Args... args) {
        return (*static_cast<F*>(object))(std::forward<Args>(args)...);
    }
    void* object_;
    R (*call_)(void*, Args...);
};

/// Runs independent pieces of work. An embedder derives from it to lend its own threads.
class executor {
public:
    executor() = default;
    executor(executor const&) = delete;
    executor& operator=(executor const&) = delete;
    virtual ~executor() = default;

    /// How many pieces can run at the same time, at least 1; may differ from one moment to the next.
    [[nodiscard]] virtual std::size_t concurrency() const noexcept = 0;
    /// Calls `body(i)` once for each i in [0, count) and returns when all are done. The first exception is rethrown.
    virtual void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) = 0;
};

/// Several for each thread, so that one that is held up leaves its share to the others.
inline constexpr std::int64_t pieces_per_thread = 8;
/// Pieces that the positions of a loop are cut into for so many threads.
[[nodiscard]] constexpr std::int64_t pieces_of_loop(std::int64_t positions, std::int64_t threads) noexcept {
    return std::min(positions, pieces_per_thread * threads);
}

/// Runs everything on the calling thread, in order.
class inline_executor final : public executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        for (std::size_t i = 0; i < count; ++i) body(i);
    }
};

namespace detail {

/// Pieces that threads claim one after the other. The first exception is kept, and what is not yet claimed left out.
struct claimed_loop {
    function_ref<void(std::size_t)> body;
    std::size_t count;
    std::atomic<std::size_t> next{0};
    std::mutex failure_mutex{};
    std::exception_ptr failure{};

    void work() {
        try {
            for (auto i = next++; i < count; i = next++) body(i);
        } catch (...) {
            std::lock_guard const lock{failure_mutex};
            if (!failure) failure = std::current_exception();
            next = count;
        }
    }
};

} // namespace detail

/// Starts threads for each call and joins them: for work of a millisecond and more. Keeps none in between.
class fork_join_executor final : public executor {
public:
    /// *Requires* threads >= 1.
    explicit fork_join_executor(std::size_t threads) : threads_(std::max<std::size_t>(threads, 1)) {}

    [[nodiscard]] std::size_t concurrency() const noexcept override { return threads_; }
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        detail::claimed_loop loop{body, count};
        {
            std::vector<std::jthread> helpers;
            for (std::size_t i = 1; i < std::min(threads_, count); ++i) helpers.emplace_back([&] { loop.work(); });
            loop.work();
        }
        if (loop.failure) std::rethrow_exception(loop.failure);
    }

private:
    std::size_t threads_;
};

/// Runs long tasks side by side on the threads of another executor. Threads that have no task left help with the inner
/// loops of those that still work: loops that a task runs by this executor.
class sharing_executor final : public executor {
public:
    /// `threads` must outlive it, and be free while `run` is under way.
    explicit sharing_executor(executor& threads) : threads_(threads) {}

    /// Calls `task(i)` once for each i in [0, count), the first ones first. After an exception the tasks not yet begun
    /// are left out; the first is rethrown when the others are done.
    void run(std::size_t count, function_ref<void(std::size_t)> task) {
        next_task_ = 0;
        threads_.parallel_for(threads_.concurrency(), [&](std::size_t) {
            work_on_tasks(count, task);
            help();
        });
    }

    /// Of a task: one more than there are threads without a task.
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1 + helpers_.load(); }
    /// *Requires* that a task calls it. One loop at a time is helped, others run on their own thread.
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        detail::claimed_loop own{body, count};
        detail::claimed_loop* none = nullptr;
        if (count <= 1 || helpers_.load() == 0 || !loop_.compare_exchange_strong(none, &own)) {
            for (std::size_t i = 0; i < count; ++i) body(i);
            return;
        }
        wake();
        own.work();
        loop_ = nullptr;
        while (inside_.load() > 0) std::this_thread::yield(); // each has one piece left at most
        if (own.failure) std::rethrow_exception(own.failure);
    }

private:
    void work_on_tasks(std::size_t count, function_ref<void(std::size_t)> task) {
        for (;;) {
            ++busy_; // before a task is claimed, so that nobody leaves while one may begin
            auto const i = next_task_++;
            struct done {
                sharing_executor& all;
                ~done() {
                    if (--all.busy_ == 0) all.wake();
                }
            } const at_end{*this};
            if (i >= count) return;
            try {
                task(i);
            } catch (...) {
                next_task_ = count;
                throw;
            }
        }
    }

    void help() {
        ++helpers_;
        while (busy_.load() > 0) {
            ++inside_; // the owner of a loop that is seen from now on waits for this thread
            if (auto* const l = loop_.load()) l->work();
            --inside_;
            await_loop();
        }
        --helpers_;
    }
    [[nodiscard]] bool changed() const { return loop_.load() || busy_.load() == 0; }
    // Until there is a loop, or no task any more. Loops follow each other closely while a task runs, and to be woken
    // takes longer than what lies between them: looks out for 200 us, then sleeps.
    void await_loop() {
        auto const begin = std::chrono::steady_clock::now();
        do {
            std::this_thread::yield();
            if (changed()) return;
        } while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds{200});
        std::unique_lock lock{sleep_mutex_};
        ++sleepers_;
        wakened_.wait(lock, [&] { return changed(); });
        --sleepers_;
    }
    void wake() {
        if (sleepers_.load() == 0) return;
        { std::lock_guard const lock{sleep_mutex_}; }
        wakened_.notify_all();
    }

    executor& threads_;
    std::atomic<std::size_t> next_task_{0}, busy_{0}, helpers_{0}, inside_{0}, sleepers_{0};
    std::atomic<detail::claimed_loop*> loop_{nullptr};
    std::mutex sleep_mutex_;
    std::condition_variable wakened_;
};

} // namespace gsub
