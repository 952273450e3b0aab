// Definition of process_scorer: forked workers behind pairs of sockets, one thread that waits for all of them.
#pragma once

#include <gsub/tune/impl/point_dispatch.hpp>
#include <gsub/tune/impl/remote_message.hpp>
#include <gsub/tune/impl/worker_process.hpp>
#include <gsub/tune/process_scorer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>

namespace gsub::tune {

namespace detail {

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

template <class = void>
class process_workers final : public remote_workers {
    using clock = point_dispatch<>::clock;

public:
    process_workers(remote_objective objective, remote_options const& o)
        : objective_(std::move(objective)),
          o_(o),
          all_(o.workers ? o.workers : hardware_threads()),
          points_(all_.size(), o) {
        for (auto& w : all_) begin(w);
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
    void begin(worker_process<>& w) {
        w.begin(all_, [this](int socket, pid_t parent) { work_in_process(socket, parent, objective_); });
    }
    static std::size_t hardware_threads() { return std::max(std::thread::hardware_concurrency(), 1u); }

    // Gives every worker that has room what waits. In turns, so that points are spread.
    void send(std::span<std::vector<std::byte> const> points) {
        for (auto& w : all_)
            if (!w.alive()) begin(w); // the system gave none before
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
        begin(all_[i]);
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
