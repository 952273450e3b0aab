// Worker process: a copy of this process behind a pair of sockets, and what both ends send and receive.
#pragma once

#include <gsub/tune/impl/remote_message.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace gsub::tune::detail {

// ---- in a worker
// -----------------------------------------------------------------------------------------------------

// Whether all bytes came; not where the parent has ended. Its end of the socket may live on in a copy of it, so that it
// is asked for itself each second.
template <class = void>
[[nodiscard]] bool receive_all(int socket, std::span<std::byte> to, pid_t parent) {
    while (!to.empty()) {
        auto const n = ::recv(socket, to.data(), to.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && ::getppid() == parent) continue;
        if (n <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(n));
    }
    return true;
}
template <class = void>
[[nodiscard]] bool send_all(int socket, std::span<std::byte const> from) {
    while (!from.empty()) {
        auto const n = ::send(socket, from.data(), from.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from = from.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

// ---- in its parent
// ---------------------------------------------------------------------------------------------------

// A worker as its parent sees it: a process, a socket, what waits to be sent and what has come of an answer.
template <class = void>
class worker_process {
public:
    worker_process() = default;
    worker_process(worker_process const&) = delete;
    worker_process& operator=(worker_process const&) = delete;
    ~worker_process() { end(); }

    // Begins a process, in which `work(socket, parent)` runs and does not return. It closes the sockets of others,
    // which would keep those from seeing that this process has ended.
    template <class Work>
    void begin(std::span<worker_process const> all, Work const& work) {
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
            work(sockets[1], parent);
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
            {errors::worker_lost,
             {},
             {},
             "the system gives no " + std::string{what} + " for a worker: " + std::generic_category().message(number),
             "fewer workers"}};
    }
    pid_t child_ = 0;
    int socket_ = -1;
    std::vector<std::byte> out_, in_;
};

} // namespace gsub::tune::detail
