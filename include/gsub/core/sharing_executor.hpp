// Sharing executor: runs long tasks side by side; threads without a task help with the loops of the others.
#pragma once

#include <gsub/core/executor.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace gsub {

/// Sharing executor: runs long tasks side by side on the threads of another executor. Threads that have no task left
/// help with the loops that the remaining tasks run on this executor.
class sharing_executor final : public executor {
public:
    /// `threads` must outlive it, and be free while `run` is under way.
    explicit sharing_executor(executor& threads) : threads_(threads) {}

    /// Calls `task(i)` once for each i in [0, count), lower ones first. After an exception, tasks not yet begun are
    /// skipped; the first exception is rethrown when the others are done.
    void run(std::size_t count, function_ref<void(std::size_t)> task) {
        next_task_ = 0;
        threads_.parallel_for(threads_.concurrency(), [&](std::size_t) {
            work_on_tasks(count, task);
            help();
        });
    }

    /// Calls `task` on the calling thread; the others help with its loops.
    void run_here(function_ref<void()> task) {
        auto const caller = std::this_thread::get_id();
        std::atomic<bool> begun{false};
        auto const once = [&] {
            ++busy_;
            at_end const end{*this};
            begun = true;
            task();
        };
        threads_.parallel_for(threads_.concurrency(), [&](std::size_t) {
            if (std::this_thread::get_id() == caller) {
                if (!begun.load()) once();
            } else {
                // The caller comes at once, or the executor leaves it out.
                auto const arrival = std::chrono::steady_clock::now();
                while (!begun.load() && std::chrono::steady_clock::now() - arrival < std::chrono::milliseconds{1})
                    std::this_thread::yield();
            }
            help();
        });
        if (!begun.load()) once();
    }

    /// Concurrency of the executor below.
    [[nodiscard]] std::size_t threads() const noexcept { return threads_.concurrency(); }
    /// Concurrency of a task: itself, and the threads that have neither a task nor a piece of a loop.
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1 + helpers_.load(); }
    /// Runs a loop of a task. *Requires* that a task calls it, or a loop of one. Up to eight loops at a time get help,
    /// others run on their own thread. A thread that waits for the last pieces of its loop helps with other loops.
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override {
        detail::claimed_loop own{body, count};
        auto* const place = count > 1 ? free_place(own) : nullptr;
        if (!place) {
            for (std::size_t i = 0; i < count; ++i) body(i);
            return;
        }
        wake();
        own.work();
        place->loop = nullptr;
        for (unsigned round = 1; place->inside.load() > 0; ++round) // each has one piece left at most
            if (!work_on_loop()) wait_a_little(round);
        place->taken = false;
        if (own.failure) std::rethrow_exception(own.failure);
    }

private:
    // Where a loop is found by those who may help.
    struct alignas(64) loop_place {
        std::atomic<bool> taken{false};
        std::atomic<detail::claimed_loop*> loop{nullptr};
        std::atomic<std::size_t> inside{0}; // threads that may be at the loop
    };

    // Of a task: nobody looks for loops any more after the last.
    struct at_end {
        sharing_executor& all;
        ~at_end() {
            if (--all.busy_ == 0) all.wake();
        }
    };

    void work_on_tasks(std::size_t count, function_ref<void(std::size_t)> task) {
        for (;;) {
            ++busy_; // before a task is claimed, so that nobody leaves while one may begin
            auto const i = next_task_++;
            at_end const end{*this};
            if (i >= count) return;
            try {
                task(i);
            } catch (...) {
                next_task_ = count;
                throw;
            }
        }
    }

    loop_place* free_place(detail::claimed_loop& loop) {
        for (auto& p : places_)
            if (!p.taken.load() && !p.taken.exchange(true)) {
                p.loop = &loop;
                return &p;
            }
        return nullptr;
    }

    void help() {
        ++helpers_;
        while (busy_.load() > 0)
            if (!help_with_loop()) await_loop();
        --helpers_;
    }
    bool help_with_loop() {
        return at_loop([&](detail::claimed_loop& l) {
            --helpers_;
            l.work();
            ++helpers_;
        });
    }
    bool work_on_loop() {
        return at_loop([](detail::claimed_loop& l) { l.work(); });
    }
    // What `use` does of a loop that has pieces left, if there is one. Its owner waits for threads that are inside.
    template <class Use>
    bool at_loop(Use const& use) {
        for (auto& p : places_) {
            if (!p.loop.load()) continue;
            ++p.inside;
            auto* const l = p.loop.load();
            auto const any = l && l->any_left();
            if (any) use(*l);
            --p.inside;
            if (any) return true;
        }
        return false;
    }
    // Until there is a loop, or no task any more. Loops follow each other closely while a task runs, and to be woken
    // takes longer than what lies between them: looks out for 200 us, then sleeps.
    void await_loop() {
        auto const changed = [&] { return busy_.load() == 0 || at_loop([](detail::claimed_loop&) {}); };
        auto const begin = std::chrono::steady_clock::now();
        for (unsigned round = 1;; ++round) {
            if (changed()) return;
            wait_a_little(round);
            if (round % 64 == 0 && std::chrono::steady_clock::now() - begin > std::chrono::microseconds{200}) break;
        }
        std::unique_lock lock{sleep_mutex_};
        ++sleepers_;
        wakened_.wait(lock, changed);
        --sleepers_;
    }
    // Others get the core now and then, where there are more threads than cores.
    static void wait_a_little(unsigned round) noexcept {
        if (round % 64 == 0)
            std::this_thread::yield();
        else
            detail::relax();
    }
    void wake() {
        if (sleepers_.load() == 0) return;
        { std::lock_guard const lock{sleep_mutex_}; }
        wakened_.notify_all();
    }

    executor& threads_;
    std::atomic<std::size_t> next_task_{0}, busy_{0}, helpers_{0}, sleepers_{0};
    std::array<loop_place, 8> places_;
    std::mutex sleep_mutex_;
    std::condition_variable wakened_;
};

} // namespace gsub
