// Adaptive executor: shares work on one graph between threads where that is faster than one thread alone.
#pragma once

#include <gsub/core/sharing_executor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace gsub::detail {

/// Adaptive executor: shares work on one graph between threads where that is faster than one thread alone. Threads read
/// the same graph, which one of them has just made, some three lines of a cache for a node. Between cores of one
/// last-level cache a line takes 40 to 100 ns, and two threads work 1.2 to 1.6 times as fast as one; between cores that
/// share none 170 to 260, and they would be slower than one unless there is much to do at each node (two vCPUs of a Zen
/// 5, which the host moves from time to time). So the distance is measured, now and then again.
class adaptive_executor {
    using clock = std::chrono::steady_clock;

public:
    /// Null: the caller's thread alone.
    explicit adaptive_executor(sharing_executor* threads) noexcept : threads_(threads) {}

    /// How many threads may work at once: the caller's, which has number 0, and those of the executor below.
    [[nodiscard]] std::size_t workers() const noexcept { return 1 + (threads_ ? threads_->threads() : 0); }

    /// Work on one graph: loops one after the other, of pieces that threads claim where the work is shared.
    class job {
    public:
        job(adaptive_executor& all, std::size_t nodes) noexcept : all_(all), shared_(all.pays(nodes)) {
            if (all_.threads_) beginning_ = clock::now();
        }
        [[nodiscard]] bool shared() const noexcept { return shared_; }
        /// Threads that claim pieces.
        [[nodiscard]] std::size_t threads() const noexcept { return shared_ ? all_.threads_->threads() : 1; }
        /// Calls `work(piece, worker)` once for each piece.
        inline void run(std::size_t pieces, function_ref<void(std::size_t, std::size_t)> work);
        /// The work is done, not broken off: what it took decides on later jobs.
        inline void done() noexcept;

    private:
        static constexpr auto unknown = clock::duration::max();
        inline void claim_and_measure(std::atomic<std::size_t>& next, std::size_t pieces,
                                      function_ref<void(std::size_t, std::size_t)> work);

        adaptive_executor& all_;
        bool shared_;
        clock::time_point beginning_{};
        clock::duration nearest_ = unknown; ///< the least time that a claim took after one of another thread
    };

private:
    [[nodiscard]] bool pays(std::size_t nodes) const noexcept {
        constexpr std::chrono::nanoseconds near{130};
        constexpr double lines = 6; // a node: there and back
        constexpr std::uint64_t now_and_then = 32;
        if (!threads_ || threads_->concurrency() == 1) return false;
        return distance_ < near || usual_ > lines * static_cast<double>(nodes) * distance_ || jobs_ % now_and_then == 0;
    }

    sharing_executor* threads_;
    std::chrono::duration<double, std::nano> distance_{0}; ///< how long a cache line of another thread takes to come
    std::chrono::duration<double, std::nano> usual_{0};    ///< how long jobs take
    std::uint64_t jobs_ = 0;
};

inline void adaptive_executor::job::run(std::size_t pieces, function_ref<void(std::size_t, std::size_t)> work) {
    if (!shared_) {
        for (std::size_t k = 0; k < pieces; ++k) work(k, 0);
        return;
    }
    auto const caller = std::this_thread::get_id();
    std::atomic<std::size_t> next{0};
    all_.threads_->parallel_for(threads(), [&](std::size_t i) {
        if (std::this_thread::get_id() == caller)
            claim_and_measure(next, pieces, work);
        else
            for (auto k = next++; k < pieces; k = next++) work(k, i + 1);
    });
}

inline void adaptive_executor::job::claim_and_measure(std::atomic<std::size_t>& next, std::size_t pieces,
                                                      function_ref<void(std::size_t, std::size_t)> work) {
    for (std::size_t expected = 0;; ++expected) {
        auto const begin = clock::now();
        auto const k = next++;
        // Where another thread was there in between, its cache had the counter.
        if (k != expected) nearest_ = std::min(nearest_, clock::now() - begin);
        if (k >= pieces) return;
        expected = k;
        work(k, 0);
    }
}

inline void adaptive_executor::job::done() noexcept {
    ++all_.jobs_;
    auto& distance = all_.distance_;
    if (all_.threads_) all_.usual_ = (3 * all_.usual_ + (clock::now() - beginning_)) / 4;
    if (nearest_ != unknown) distance = distance.count() > 0 ? (distance + nearest_) / 2 : nearest_;
}

} // namespace gsub::detail
