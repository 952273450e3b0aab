// The executor interface for parallel loops, and two simple implementations: inline and fork-join.
#pragma once

#include <gsub/core/interface.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
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

/// Executor interface: runs independent pieces of work. An embedder derives from it to lend its own threads.
class executor : public interface {
public:
    /// How many pieces can run at the same time, at least 1; may differ from one moment to the next.
    [[nodiscard]] virtual std::size_t concurrency() const noexcept = 0;
    /// Calls `body(i)` once for each i in [0, count) and returns when all are done. The first exception is rethrown.
    virtual void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) = 0;
};

/// Work items for each thread: several, so that a thread that is held up leaves its share to the others.
inline constexpr std::int64_t work_items_per_thread = 8;
/// Number of work items that a loop of `positions` iterations is cut into for `threads` threads.
[[nodiscard]] constexpr std::int64_t work_items_of_loop(std::int64_t positions, std::int64_t threads) noexcept {
    return std::min(positions, work_items_per_thread * threads);
}

/// Inline executor: runs everything on the calling thread, in order.
class inline_executor final : public executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        for (std::size_t i = 0; i < count; ++i) body(i);
    }
};

namespace detail {

/// Spin-wait hint: tells the processor that this thread waits in a loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// A parallel loop whose iterations threads claim one by one. Keeps the first exception, then skips unclaimed ones.
struct claimed_loop {
    function_ref<void(std::size_t)> body;
    std::size_t count;
    std::atomic<std::size_t> next{0};
    std::mutex failure_mutex{};
    std::exception_ptr failure{};

    [[nodiscard]] bool any_left() const noexcept { return next.load() < count; }
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

/// Fork-join executor: starts and joins threads in each call, keeps none. For work of a millisecond and more.
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

} // namespace gsub
