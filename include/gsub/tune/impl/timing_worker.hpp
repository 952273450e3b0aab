// Timing worker: what an isolated timer and its process say to each other, and what runs in that process.
#pragma once

#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/tune/impl/worker_process.hpp>
#include <gsub/tune/kernel_timer.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <sys/mman.h>
#include <sys/resource.h>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace gsub::tune::detail {

inline constexpr std::size_t most_candidates = 256; // in a request

// ---- where a worker is
// -----------------------------------------------------------------------------------------------------

// Step of a worker: how many came before it, what it is, and of which candidate.
struct timing_step {
    std::uint32_t number = 0;
    std::optional<timing_phase> phase{}; // none: the worker waits for a request, or has just begun
    std::optional<std::size_t> candidate{};
    friend bool operator==(timing_step const&, timing_step const&) = default;
};

// A word of memory that both processes see, and that lives on when the worker has died: its step. What a crashing
// kernel has written over it is a step too, of whatever phase and candidate.
template <class = void>
class timing_board {
public:
    timing_board() {
        auto* const at = ::mmap(nullptr, sizeof(word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc{};
        word_ = new (at) word{nothing};
    }
    timing_board(timing_board const&) = delete;
    timing_board& operator=(timing_board const&) = delete;
    ~timing_board() { ::munmap(word_, sizeof(word)); }

    void clear() noexcept { *word_ = nothing; }
    // In the worker.
    void wait() noexcept { write(idle, 0); }
    void write(timing_phase phase, std::size_t candidate) noexcept {
        write(static_cast<std::uint64_t>(phase), candidate == every_candidate ? none : candidate);
    }
    // In its parent.
    [[nodiscard]] timing_step read() const noexcept {
        auto const w = word_->load();
        timing_step out{static_cast<std::uint32_t>(w >> 32), {}, {}};
        if (auto const phase = w >> 24 & 0xff; phase <= static_cast<std::uint64_t>(timing_phase::run))
            out.phase = static_cast<timing_phase>(phase);
        if (auto const candidate = w & none; out.phase && candidate != none) out.candidate = candidate;
        return out;
    }

private:
    using word = std::atomic<std::uint64_t>;
    static_assert(word::is_always_lock_free, "processes share no locks");
    static constexpr std::uint64_t idle = 0xff, none = 0xff'ffff, nothing = idle << 24;
    void write(std::uint64_t phase, std::uint64_t candidate) noexcept {
        auto const steps = (*word_ >> 32) + 1;
        *word_ = steps << 32 | phase << 24 | (candidate & none);
    }
    word* word_;
};

// ---- messages
// -----------------------------------------------------------------------------------------------------

// A request is how much longer, then the candidates. An answer is a measurement of each: this, then its costs.
struct measurement_head {
    std::uint32_t error = 0, costs = 0;
    double all_cost = 0, timestamp = 0;
};
static_assert(std::is_trivially_copyable_v<candidate>);

template <class T>
void append_bytes(std::vector<std::byte>& to, T const& value) {
    auto const at = to.size();
    to.resize(at + sizeof value);
    std::memcpy(to.data() + at, &value, sizeof value);
}
// Takes a value from the front. Nothing where there are fewer bytes.
template <class T>
[[nodiscard]] std::optional<T> take_bytes(std::span<std::byte const>& from) {
    if (from.size() < sizeof(T)) return std::nullopt;
    auto const value = head_of<T>(from);
    from = from.subspan(sizeof(T));
    return value;
}

template <class = void>
[[nodiscard]] std::vector<std::byte> bytes_of(std::span<measurement const> all) {
    std::vector<std::byte> out;
    for (auto const& m : all) {
        append_bytes(out, measurement_head{static_cast<std::uint32_t>(m.error),
                                           static_cast<std::uint32_t>(m.costs.size()), m.all_cost, m.timestamp});
        for (auto const c : m.costs) append_bytes(out, c);
    }
    GSUB_ASSERT(out.size() <= most_text, "measurements of a request fit an answer");
    return out;
}
// So many measurements; nothing where the bytes are not those: a kernel has written over its worker's memory.
template <class = void>
[[nodiscard]] std::optional<std::vector<measurement>> measurements_of(std::span<std::byte const> bytes,
                                                                      std::size_t count) {
    std::vector<measurement> out;
    for (std::size_t i = 0; i < count; ++i) {
        auto const head = take_bytes<measurement_head>(bytes);
        if (!head || head->error >= measure_error_count || !std::isfinite(head->all_cost) ||
            !std::isfinite(head->timestamp))
            return std::nullopt;
        measurement m;
        m.error = static_cast<measure_error>(head->error);
        m.all_cost = head->all_cost, m.timestamp = head->timestamp;
        for (std::uint32_t k = 0; k < head->costs; ++k) {
            auto const cost = take_bytes<double>(bytes);
            if (!cost || !std::isfinite(*cost) || *cost <= 0) return std::nullopt;
            m.costs.push_back(*cost);
        }
        if (m.costs.empty() != (m.error != measure_error::none)) return std::nullopt;
        out.push_back(std::move(m));
    }
    return bytes.empty() ? std::optional{std::move(out)} : std::nullopt;
}

// ---- in the worker
// -----------------------------------------------------------------------------------------------------

// What a process that kernels may crash needs: no core on the disk, and no life beyond its parent's, which may be
// killed while a kernel hangs.
template <class = void>
void expect_crashes([[maybe_unused]] pid_t parent) {
    rlimit const no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
#endif
}

// Times candidates on request, until there is no parent to ask for it. The first answer, to nobody's request, says that
// the untuned kernel is built and has run.
template <class = void>
class timing_worker {
public:
    timing_worker(int socket, pid_t parent, timing_board<>& board) : socket_(socket), parent_(parent), board_(board) {
        timeval const second{1, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    }

    // With so many threads of its own: those of executors do not cross a fork, and a pool has none in a copy.
    void run(tuning_task const& task, isa const& on, timing_options options, std::size_t threads) {
        std::optional<runtime::thread_pool> pool;
        if (threads > 1) pool.emplace(runtime::thread_pool_options{.threads = threads});
        options.threads = pool ? &*pool : nullptr;
        if (options.jit.threads) options.jit.threads = options.threads;
        options.jit.observe = nullptr;
        options.on_step = [this](timing_phase phase, std::size_t i) { board_.write(phase, i); };
        std::optional<kernel_timer> timer;
        auto const begun = [&] {
            timer.emplace(task, on, options);
            return message_of(answer_head{}, {});
        };
        auto alive = send_answer(answer_by(0, begun));
        while (alive && timer) alive = serve(*timer);
    }

private:
    [[nodiscard]] bool send_answer(std::vector<std::byte> const& message) {
        board_.wait();
        return send_all(socket_, message);
    }
    // Whether the parent is alive.
    [[nodiscard]] bool serve(kernel_timer const& timer) {
        std::array<std::byte, sizeof(request_head)> bytes;
        if (!receive_all(socket_, bytes, parent_)) return false;
        auto const head = head_of<request_head>(bytes);
        std::vector<std::byte> request(head.length);
        if (!receive_all(socket_, request, parent_)) return false;
        return send_answer(answer_by(head.ticket, [&] {
            std::span<std::byte const> rest{request};
            auto const longer = take_bytes<std::uint64_t>(rest).value();
            std::vector<candidate> all;
            while (auto const c = take_bytes<candidate>(rest)) all.push_back(*c);
            auto const told = bytes_of(timer.measure(all, longer));
            return message_of(answer_head{head.ticket, 0, 0, static_cast<std::uint32_t>(told.size())}, told);
        }));
    }

    int socket_;
    pid_t parent_;
    timing_board<>& board_;
};

} // namespace gsub::tune::detail
