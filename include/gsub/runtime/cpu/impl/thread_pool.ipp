#pragma once

#include <gsub/core/format.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gsub::runtime {

namespace detail {

GSUB_INLINE std::size_t quota_of(std::string_view cpu_max) noexcept {
    // `200000 100000`: microseconds of CPU time in each period; `max` instead of the first where there is no limit.
    std::uint64_t quota = 0, period = 0;
    auto const* const end = cpu_max.data() + cpu_max.size();
    auto const first = std::from_chars(cpu_max.data(), end, quota);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ') return 0;
    if (std::from_chars(first.ptr + 1, end, period).ec != std::errc{} || period == 0) return 0;
    return static_cast<std::size_t>(quota / period + (quota % period != 0));
}

/// The first bytes of a small file of the system, empty where there is none.
GSUB_INLINE std::string glance(std::string const& path) {
    std::string text(4096, '\0');
    auto* const file = std::fopen(path.c_str(), "re");
    if (!file) return {};
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}

/// The least quota from the process's control group up to the root, in CPUs; 0 for none.
GSUB_INLINE std::size_t quota_of_groups() {
    auto const groups = glance("/proc/self/cgroup");
    std::size_t least = 0;
    auto const take = [&](std::size_t cpus) {
        if (cpus) least = least ? std::min(least, cpus) : cpus;
    };
    for (std::size_t at = 0; at < groups.size();) {
        auto const end = std::min(groups.find('\n', at), groups.size());
        std::string_view const line{groups.data() + at, end - at}; // number:controllers:path
        at = end + 1;
        auto const one = line.find(':');
        auto const two = one == line.npos ? line.npos : line.find(':', one + 1);
        if (two == line.npos) continue;
        auto const controllers = line.substr(one + 1, two - one - 1);
        std::string path{line.substr(two + 1)};
        auto const second = controllers.empty();
        if (!second && controllers != "cpu" && controllers != "cpu,cpuacct" && controllers != "cpuacct,cpu") continue;
        if (path.empty() || path.front() != '/') continue;
        auto const root = second ? std::string{"/sys/fs/cgroup"} : format_text("/sys/fs/cgroup/{}", controllers);
        // In a container the path may be one of the host: then the root alone is there.
        while (true) {
            if (path == "/") path.clear();
            auto const folder = format_text("{}{}", root, path);
            if (second) {
                take(quota_of(glance(folder + "/cpu.max")));
            } else {
                auto quota = glance(folder + "/cpu.cfs_quota_us");
                std::replace(quota.begin(), quota.end(), '\n', ' ');
                take(quota_of(quota + glance(folder + "/cpu.cfs_period_us")));
            }
            if (path.empty()) break;
            path.erase(path.rfind('/'));
        }
    }
    return least;
}

/// CPUs of this thread's affinity mask.
GSUB_INLINE std::vector<int> cpus_of_mask() {
    std::vector<int> cpus;
    for (int capacity = 1024; capacity <= (1 << 20); capacity *= 4) {
        auto const size = CPU_ALLOC_SIZE(capacity);
        auto* const set = CPU_ALLOC(static_cast<std::size_t>(capacity));
        if (!set) break;
        auto const known = ::sched_getaffinity(0, size, set) == 0;
        for (int i = 0; known && i < capacity; ++i)
            if (CPU_ISSET_S(static_cast<std::size_t>(i), size, set)) cpus.push_back(i);
        CPU_FREE(set);
        if (known) break; // else the machine has more CPUs than the set
    }
    return cpus;
}

/// How many forks lie between the first process and this one: threads do not cross them.
GSUB_INLINE std::atomic<unsigned>& forks() {
    static std::atomic<unsigned> count{0};
    static int const registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks(); });
    static_cast<void>(registered);
    return count;
}

/// Blocks the signals that a host might handle, for the threads started meanwhile; faults and profilers stay.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t set;
        ::sigfillset(&set);
        for (int keep : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) ::sigdelset(&set, keep);
        ::pthread_sigmask(SIG_SETMASK, &set, &before_);
    }
    signals_blocked(signals_blocked const&) = delete;
    signals_blocked& operator=(signals_blocked const&) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

} // namespace detail

GSUB_INLINE std::size_t available_cpus() {
    auto cpus = detail::cpus_of_mask().size();
    if (cpus == 0) cpus = std::max(1u, std::thread::hardware_concurrency());
    auto const quota = detail::quota_of_groups();
    return quota ? std::min(cpus, quota) : cpus;
}

struct thread_pool::state {
    // The tickets that are left of a call: the first one and the end, 20 bits each, below a count of calls. The caller
    // claims from the front and the others from the end, so that in kernel after kernel each meets in its own cache
    // what it has written before. A thread that claims a ticket holds up the end of the call, so the fields of the call
    // stand still while it reads them.
    static constexpr unsigned ticket_bits = 20;
    static constexpr std::uint64_t one_first = std::uint64_t{1} << ticket_bits, ticket_mask = one_first - 1;
    [[nodiscard]] static std::uint64_t end_of(std::uint64_t t) noexcept { return t & ticket_mask; }
    [[nodiscard]] static std::uint64_t first_of(std::uint64_t t) noexcept { return t >> ticket_bits & ticket_mask; }
    [[nodiscard]] static bool any_left(std::uint64_t t) noexcept { return first_of(t) < end_of(t); }
    alignas(64) std::atomic<std::uint64_t> tickets{0};
    alignas(64) std::atomic<std::uint32_t> finished{0}; ///< tickets worked off
    std::atomic<std::uint32_t> caller_sleeps{0};
    alignas(64) std::atomic<std::uint32_t> epoch{0}; ///< moves when sleepers must look again
    std::atomic<std::uint32_t> sleepers{0};
    std::atomic<bool> stop{false};

    alignas(64) std::atomic<bool> busy{false};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    function_ref<void(std::size_t)> const* body = nullptr;
    std::size_t count = 0, chunk = 1; ///< pieces, and how many a ticket stands for
    std::uint32_t total = 0;          ///< tickets

    std::chrono::nanoseconds spin{};
    unsigned born_after = 0; ///< forks
    std::vector<std::thread> threads;

    [[nodiscard]] bool forked() const { return detail::forks().load(std::memory_order_relaxed) != born_after; }
    void work(bool is_caller) noexcept;
    void serve() noexcept;
    void wake();
    void await_end();
    template <class Done>
    bool look_out(Done&& done) const noexcept;
};

GSUB_INLINE void thread_pool::state::work(bool is_caller) noexcept {
    std::uint32_t done = 0;
    for (auto t = tickets.load(std::memory_order_acquire); any_left(t);) {
        auto const next = is_caller ? t + one_first : t - 1;
        if (!tickets.compare_exchange_weak(t, next, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
        auto const begin = static_cast<std::size_t>(is_caller ? first_of(t) : end_of(t) - 1) * chunk;
        auto const end = std::min(begin + chunk, count);
        try {
            for (auto i = begin; i < end && !failed.load(std::memory_order_relaxed); ++i) (*body)(i);
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
        ++done;
        t = tickets.load(std::memory_order_acquire);
    }
    if (done == 0) return;
    finished.fetch_add(done); // here and at the sleeping sides the order is sequential: no wake-up is lost
    if (caller_sleeps.load()) finished.notify_all();
}

/// Whether `done` came true within the time for that.
template <class Done>
bool thread_pool::state::look_out(Done&& done) const noexcept {
    if (done()) return true;
    if (spin.count() == 0) return false;
    auto const end = std::chrono::steady_clock::now() + spin;
    do {
        for (int i = 0; i < 8; ++i) {
            if (done()) return true;
            gsub::detail::relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return done();
}

GSUB_INLINE void thread_pool::state::serve() noexcept {
    auto const called = [this] {
        return any_left(tickets.load(std::memory_order_relaxed)) || stop.load(std::memory_order_relaxed);
    };
    while (!stop.load()) {
        work(false);
        if (look_out(called)) continue;
        auto const seen = epoch.load();
        sleepers.fetch_add(1);
        if (!any_left(tickets.load()) && !stop.load()) epoch.wait(seen);
        sleepers.fetch_sub(1);
    }
}

GSUB_INLINE void thread_pool::state::wake() {
    auto const asleep = sleepers.load();
    if (asleep == 0) return;
    epoch.fetch_add(1);
    if (total > asleep) {
        epoch.notify_all();
    } else {
        for (std::uint32_t i = 1; i < total; ++i) epoch.notify_one(); // the caller takes one itself
    }
}

GSUB_INLINE void thread_pool::state::await_end() {
    if (look_out([this] { return finished.load(std::memory_order_acquire) == total; })) return;
    caller_sleeps.store(1);
    for (auto n = finished.load(); n != total; n = finished.load()) finished.wait(n);
    caller_sleeps.store(0);
}

GSUB_INLINE thread_pool::thread_pool(thread_pool_options options) : state_(std::make_unique<state>()) {
    auto& s = *state_;
    auto const cpus = available_cpus();
    auto const wanted = options.threads ? options.threads : cpus;
    s.born_after = detail::forks().load();
    if (wanted <= cpus) s.spin = std::chrono::microseconds{std::min(options.spin_us, 20u)};
    auto const mask = options.pin ? detail::cpus_of_mask() : std::vector<int>{};
    detail::signals_blocked const blocked;
    s.threads.reserve(wanted - 1);
    try {
        while (s.threads.size() + 1 < wanted) {
            s.threads.emplace_back([&s] { s.serve(); });
            if (mask.empty()) continue;
            cpu_set_t one;
            CPU_ZERO(&one);
            auto const cpu = mask[s.threads.size() % mask.size()];
            if (cpu >= CPU_SETSIZE) continue;
            CPU_SET(static_cast<std::size_t>(cpu), &one);
            static_cast<void>(::pthread_setaffinity_np(s.threads.back().native_handle(), sizeof one, &one));
        }
    } catch (std::system_error const&) { // the system has no more threads to give
    } catch (std::bad_alloc const&) {    // or no memory for one
    }
}

GSUB_INLINE thread_pool::~thread_pool() {
    auto& s = *state_;
    if (s.forked()) { // these threads never were in this process: there is nothing to join
        static_cast<void>(state_.release());
        return;
    }
    s.stop.store(true);
    s.epoch.fetch_add(1);
    s.epoch.notify_all();
    for (auto& t : s.threads) t.join();
}

GSUB_INLINE std::size_t thread_pool::concurrency() const noexcept {
    return state_->forked() ? 1 : state_->threads.size() + 1;
}

GSUB_INLINE void thread_pool::parallel_for(std::size_t count, function_ref<void(std::size_t)> body) {
    auto& s = *state_;
    if (count <= 1 || s.threads.empty() || s.forked() || s.busy.exchange(true, std::memory_order_acquire)) {
        for (std::size_t i = 0; i < count; ++i) body(i);
        return;
    }
    s.body = &body;
    s.count = count;
    s.chunk = std::max(count / (64 * (s.threads.size() + 1)), count / state::ticket_mask + 1);
    s.total = static_cast<std::uint32_t>((count - 1) / s.chunk + 1);
    s.failed.store(false, std::memory_order_relaxed);
    s.finished.store(0, std::memory_order_relaxed);
    constexpr auto both = 2 * state::ticket_bits;
    s.tickets.store(((s.tickets.load(std::memory_order_relaxed) >> both) + 1) << both | s.total);
    s.wake();
    s.work(true);
    s.await_end();
    auto const failure = std::exchange(s.failure, nullptr);
    s.busy.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
}

} // namespace gsub::runtime
