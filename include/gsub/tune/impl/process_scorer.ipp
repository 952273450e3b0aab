// Definition of process_scorer: forked workers behind pairs of sockets, one thread that waits for all of them.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/impl/point_dispatch.hpp>
#include <gsub/tune/impl/remote_message.hpp>
#include <gsub/tune/process_scorer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace gsub::tune {

namespace detail {

// ---- in a worker
// -----------------------------------------------------------------------------------------------------

// Whether all bytes came; not where the parent has ended. Its end of the socket may live on in a copy of it, so that it
// is asked for itself each second.
GSUB_LAZY [[nodiscard]] bool receive_all(int socket, std::span<std::byte> to, pid_t parent) {
    while (!to.empty()) {
        auto const n = ::recv(socket, to.data(), to.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && ::getppid() == parent) continue;
        if (n <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(n));
    }
    return true;
}
GSUB_LAZY [[nodiscard]] bool send_all(int socket, std::span<std::byte const> from) {
    while (!from.empty()) {
        auto const n = ::send(socket, from.data(), from.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from = from.subspan(static_cast<std::size_t>(n));
    }
    return true;
}
// Scores points until the search ends. What a process does as it exits is the parent's business, not that of its
// copies.
GSUB_LAZY [[noreturn]] void work_in_process(int socket, pid_t parent, remote_objective const& objective) {
    timeval const second{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    std::vector<std::byte> point;
    for (;;) {
        std::array<std::byte, sizeof(request_head)> bytes;
        if (!receive_all(socket, bytes, parent)) ::_exit(0);
        auto const head = head_of<request_head>(bytes);
        point.resize(head.length);
        if (!receive_all(socket, point, parent) || !send_all(socket, answer_to(head.ticket, point, objective)))
            ::_exit(0);
    }
}

// ---- in the search
// ---------------------------------------------------------------------------------------------------

// A worker as its parent sees it: a process, a socket, what waits to be sent and what has come of an answer.
template <class = void>
class worker_process {
public:
    worker_process() = default;
    worker_process(worker_process const&) = delete;
    worker_process& operator=(worker_process const&) = delete;
    ~worker_process() { end(); }

    // Begins a process. It closes the sockets of others, which would keep those from seeing that this process has
    // ended.
    void begin(std::span<worker_process const> all, remote_objective const& objective) {
        int sockets[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) refuse("a pair of sockets", errno);
        auto const parent = ::getpid();
        auto const child = ::fork();
        if (child == 0) {
            for (auto const& w : all)
                if (w.socket_ >= 0) ::close(w.socket_);
            ::close(sockets[0]);
            // What the program does as it crashes or is told to end is not for its copies to do again.
            for (int const number : {SIGTERM, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) std::signal(number, SIG_DFL);
            std::signal(SIGINT, SIG_IGN);
            work_in_process(sockets[1], parent, objective);
        }
        auto const fault = errno;
        ::close(sockets[1]);
        if (child < 0) {
            ::close(sockets[0]);
            refuse("a process", fault);
        }
        child_ = child;
        socket_ = sockets[0];
    }
    [[nodiscard]] bool alive() const noexcept { return child_ > 0; }
    [[nodiscard]] int socket() const noexcept { return socket_; }

    void queue(std::span<std::byte const> message) { out_.insert(out_.end(), message.begin(), message.end()); }
    [[nodiscard]] bool has_more_to_send() const noexcept { return !out_.empty(); }
    // Sends as much as the socket takes. Nothing to a worker that has ended: its answers are received before that is
    // seen.
    void send() {
        while (!out_.empty()) {
            auto const n = ::send(socket_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
            if (n < 0) return out_.clear();
            out_.erase(out_.begin(), out_.begin() + n);
        }
    }
    // Receives what is there. False where the worker has ended.
    bool receive() {
        std::array<std::byte, 4096> bytes;
        for (;;) {
            auto const n = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
            if (n == 0) return false;
            in_.insert(in_.end(), bytes.begin(), bytes.begin() + n);
        }
    }
    // Takes the next whole answer out of what has come.
    template <class Use>
    bool take(Use const& use) {
        if (in_.size() < sizeof(answer_head)) return false;
        auto const head = head_of<answer_head>(in_);
        auto const whole = sizeof head + std::min<std::size_t>(head.length, most_text);
        if (in_.size() < whole) return false;
        std::vector<std::byte> const text(in_.begin() + sizeof head, in_.begin() + static_cast<std::ptrdiff_t>(whole));
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(whole));
        use(head, std::span<std::byte const>{text});
        return true;
    }

    // Tells the worker that nothing more comes: it ends when it has no point.
    void stop() noexcept {
        if (alive()) ::shutdown(socket_, SHUT_WR);
    }
    // Whether it has ended by itself.
    [[nodiscard]] bool has_ended() noexcept {
        if (!alive()) return true;
        auto const n = ::waitpid(child_, nullptr, WNOHANG);
        if (n == 0 || (n < 0 && errno == EINTR)) return false;
        child_ = 0; // ended and taken note of; or somebody else has
        end();
        return true;
    }
    // Kills the worker if it is alive, and leaves neither a process nor a descriptor.
    void end() noexcept {
        if (alive()) {
            ::kill(child_, SIGKILL);
            while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
        }
        if (socket_ >= 0) ::close(socket_);
        child_ = 0, socket_ = -1;
        in_.clear(), out_.clear();
    }

private:
    [[noreturn]] static void refuse(std::string_view what, int number) {
        throw error{
            {error_code::environment,
             {},
             {},
             format_text("the system gives no {} for a worker: {}", what, std::generic_category().message(number)),
             "fewer workers"}};
    }
    pid_t child_ = 0;
    int socket_ = -1;
    std::vector<std::byte> out_, in_;
};

template <class = void>
class process_workers final : public remote_workers {
    using clock = point_dispatch<>::clock;

public:
    process_workers(remote_objective objective, remote_options const& o)
        : objective_(std::move(objective)),
          o_(o),
          all_(o.workers ? o.workers : hardware_threads()),
          points_(all_.size(), o) {
        for (auto& w : all_) w.begin(all_, objective_);
    }
    ~process_workers() override {
        for (auto& w : all_) w.stop();
        auto const begin = clock::now();
        auto const ended = [](worker_process<>& w) { return w.has_ended(); };
        while (!std::all_of(all_.begin(), all_.end(), ended) && clock::now() - begin < std::chrono::milliseconds{100})
            std::this_thread::sleep_for(std::chrono::microseconds{200});
    }

    [[nodiscard]] std::size_t workers() const noexcept override { return all_.size(); }
    [[nodiscard]] remote_statistics statistics() const noexcept override { return points_.statistics(); }

    std::size_t score(std::span<std::vector<std::byte> const> points, std::span<double> scores,
                      function_ref<bool()> interrupted, function_ref<void(std::size_t)> arrived) override {
        GSUB_ASSERT(points.size() == scores.size(), "there are as many scores as points");
        points_.begin(scores);
        for (;;) {
            send(points);
            if (points_.done() || interrupted()) break;
            wait();
            for (std::size_t i = 0; i < all_.size(); ++i) receive(i, arrived);
        }
        return points_.scored_in_front();
    }

private:
    static std::size_t hardware_threads() { return std::max(std::thread::hardware_concurrency(), 1u); }

    // Gives every worker that has room what waits. In turns, so that points are spread.
    void send(std::span<std::vector<std::byte> const> points) {
        for (auto& w : all_)
            if (!w.alive()) w.begin(all_, objective_); // the system gave none before
        for (bool any = true; any && !points_.done();) {
            any = false;
            for (std::size_t i = 0; i < all_.size(); ++i)
                if (auto const t = points_.next(i, clock::now())) {
                    auto const& bytes = points[t->point];
                    all_[i].queue(message_of(request_head{t->number, bytes.size()}, bytes));
                    any = true;
                }
            for (auto& w : all_) w.send();
        }
    }
    // Waits until a worker has something, for as long as nobody can be late or interrupt.
    void wait() {
        polled_.clear();
        for (auto const& w : all_)
            polled_.push_back({w.socket(), static_cast<short>(w.has_more_to_send() ? POLLIN | POLLOUT : POLLIN), 0});
        auto const most = std::clamp<std::chrono::nanoseconds>(o_.timeout / 4, std::chrono::milliseconds{1},
                                                               std::chrono::milliseconds{20});
        ::poll(polled_.data(), polled_.size(),
               static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(most).count()));
    }
    void receive(std::size_t i, function_ref<void(std::size_t)> arrived) {
        auto const now = clock::now();
        if (polled_[i].revents != 0) {
            auto const alive = all_[i].receive();
            while (all_[i].take([&](answer_head const& head, std::span<std::byte const> text) {
                if (head.code != 0) return fail(i, head, text);
                if (auto const point = points_.answer(i, head.ticket, head.score, now)) arrived(*point);
            })) {}
            if (!alive) return replace(i, arrived);
        }
        if (points_.overdue(i, now)) {
            points_.late(i, arrived);
            replace(i, arrived);
        }
    }
    // The objective threw. A point of a search that was interrupted concerns nobody any more.
    void fail(std::size_t i, answer_head const& head, std::span<std::byte const> text) {
        if (points_.refuse(i, head.ticket, clock::now())) rethrow_answer(head, text);
    }
    void replace(std::size_t i, function_ref<void(std::size_t)> arrived) {
        all_[i].end();
        points_.lost(i, arrived);
        all_[i].begin(all_, objective_);
    }

    remote_objective objective_;
    remote_options o_;
    std::vector<worker_process<>> all_;
    point_dispatch<> points_;
    std::vector<pollfd> polled_;
};

} // namespace detail

GSUB_LAZY_BODY std::unique_ptr<remote_workers> fork_workers(remote_objective objective, remote_options const& options) {
    GSUB_ASSERT(options.timeout > std::chrono::nanoseconds{0}, "a worker has some time for a point");
    GSUB_ASSERT(options.attempts >= 1, "a point is tried at least once");
    return std::make_unique<detail::process_workers<>>(std::move(objective), options);
}

} // namespace gsub::tune
