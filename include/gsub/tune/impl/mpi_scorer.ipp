// Definition of mpi_scorer: points and scores as messages between rank 0 and the others.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/impl/point_dispatch.hpp>
#include <gsub/tune/impl/remote_message.hpp>
#include <gsub/tune/mpi_scorer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <limits>
#include <thread>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1 // not the bindings for C++, which have left MPI
#endif
#include <mpi.h>

namespace gsub::tune {

namespace detail {

inline constexpr int request_tag = 1, answer_tag = 2, closing_tag = 3;

// Waits for a message without a core of its own, since MPI's calls that wait take one: looks for some time, then sleeps
// between looks, first 10 us, then 200.
class mpi_patience {
public:
    void wait() {
        if (++rounds_ < 32)
            gsub::detail::relax(); // a message that has come is often seen at the second look only
        else if (rounds_ < 64)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds{rounds_ < 256 ? 10 : 200});
    }

private:
    int rounds_ = 0;
};

// The next message of a tag, where there is one; tells the rank that it is from.
GSUB_LAZY [[nodiscard]] bool receive_message(MPI_Comm all, int tag, std::vector<std::byte>& message, int& from) {
    int there = 0;
    MPI_Status status;
    ::MPI_Iprobe(MPI_ANY_SOURCE, tag, all, &there, &status);
    if (!there) return false;
    int count = 0;
    ::MPI_Get_count(&status, MPI_BYTE, &count);
    message.resize(static_cast<std::size_t>(std::max(count, 0)));
    from = status.MPI_SOURCE;
    ::MPI_Recv(message.data(), count, MPI_BYTE, from, tag, all, MPI_STATUS_IGNORE);
    return true;
}

// Waits until a message of a tag has come.
GSUB_LAZY void await_message(MPI_Comm all, int tag) {
    std::vector<std::byte> message;
    int from = 0;
    for (mpi_patience patience; !receive_message(all, tag, message, from);) patience.wait();
}

// Messages on their way: MPI reads their bytes until they have left.
template <class = void>
class mpi_outbox {
public:
    void send(MPI_Comm all, int to, int tag, std::vector<std::byte> message) {
        while (!open_.empty() && left(open_.front())) open_.pop_front();
        open_.push_back({std::move(message), MPI_REQUEST_NULL});
        auto& o = open_.back();
        ::MPI_Isend(o.bytes.data(), static_cast<int>(o.bytes.size()), MPI_BYTE, to, tag, all, &o.request);
    }

private:
    struct outgoing {
        std::vector<std::byte> bytes;
        MPI_Request request;
    };
    static bool left(outgoing& o) {
        int done = 0;
        ::MPI_Test(&o.request, &done, MPI_STATUS_IGNORE);
        return done != 0;
    }
    std::deque<outgoing> open_;
};

// A session: its communicator, and what is on its way, which stays where a rank hangs.
struct mpi_job {
    MPI_Comm communicator = MPI_COMM_NULL;
    bool own = false;          // MPI was begun here
    std::uint64_t scorers = 0; // that rank 0 has made
    std::size_t hanging = 0;   // ranks that did not answer when the last one ended
    mpi_outbox<> out;
};

template <class = void>
class mpi_workers final : public remote_workers {
    using clock = point_dispatch<>::clock;

public:
    mpi_workers(mpi_job& job, int size, remote_objective objective, remote_options const& o)
        : job_(job),
          ranks_(static_cast<std::size_t>(size - 1)),
          objective_(std::move(objective)),
          o_(o),
          number_(++job.scorers),
          points_(ranks_, o, number_ << 40) {}
    ~mpi_workers() override { end(); }

    [[nodiscard]] std::size_t workers() const noexcept override { return std::max<std::size_t>(ranks_, 1); }
    [[nodiscard]] remote_statistics statistics() const noexcept override {
        auto counts = points_.statistics();
        counts.scored += scored_here_;
        return counts;
    }

    std::size_t score(std::span<std::vector<std::byte> const> points, std::span<double> scores,
                      function_ref<bool()> interrupted, function_ref<void(std::size_t)> arrived) override {
        GSUB_ASSERT(points.size() == scores.size(), "there are as many scores as points");
        if (ranks_ == 0) return score_here(points, scores, interrupted, arrived);
        points_.begin(scores);
        last_event_ = clock::now();
        mpi_patience patience;
        for (;;) {
            send(points);
            if (points_.done() || interrupted()) return points_.scored_in_front();
            if (receive(arrived))
                patience = {};
            else
                patience.wait();
            look_for_late(arrived);
        }
    }

private:
    std::size_t score_here(std::span<std::vector<std::byte> const> points, std::span<double> scores,
                           function_ref<bool()> interrupted, function_ref<void(std::size_t)> arrived) {
        std::size_t i = 0;
        for (; i < points.size() && !interrupted(); ++i) {
            auto const bytes = answer_to(0, points[i], objective_);
            auto const head = head_of<answer_head>(bytes);
            if (head.code != 0) rethrow_answer(head, std::span{bytes}.subspan(sizeof head));
            scores[i] = head.score;
            ++scored_here_;
            arrived(i);
        }
        return i;
    }
    void send(std::span<std::vector<std::byte> const> points) {
        for (bool any = true; any;) {
            any = false;
            for (std::size_t w = 0; w < ranks_; ++w)
                if (auto const t = points_.next(w, clock::now())) {
                    any = true;
                    auto const& bytes = points[t->point];
                    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) / 2)
                        throw error{error_code::usage,
                                    format_text("a point has {} bytes, a message of MPI takes 2^31", bytes.size())};
                    send(w, message_of(request_head{t->number, bytes.size()}, bytes));
                }
        }
    }
    void send(std::size_t worker, std::vector<std::byte> message) {
        job_.out.send(job_.communicator, static_cast<int>(worker) + 1, request_tag, std::move(message));
    }
    // Takes the answers that are there; whether there was one.
    bool receive(function_ref<void(std::size_t)> arrived) {
        bool any = false;
        int from = 0;
        while (!points_.done() && receive_message(job_.communicator, answer_tag, message_, from)) {
            any = true;
            auto const now = last_event_ = clock::now();
            auto const worker = static_cast<std::size_t>(from) - 1;
            if (message_.size() < sizeof(answer_head)) continue;
            auto const head = head_of<answer_head>(message_);
            if (head.ticket == 0) continue; // of an earlier scorer
            if (head.code == 0) {
                if (auto const point = points_.answer(worker, head.ticket, head.score, now)) arrived(*point);
            } else if (points_.refuse(worker, head.ticket, now)) {
                rethrow_answer(head, std::span{message_}.subspan(sizeof head));
            }
        }
        return any;
    }
    void look_for_late(function_ref<void(std::size_t)> arrived) {
        auto const now = clock::now();
        bool all_late = true;
        for (std::size_t w = 0; w < ranks_; ++w) {
            if (points_.overdue(w, now)) {
                points_.late(w, arrived);
                last_event_ = now;
            }
            all_late = all_late && points_.is_late(w);
        }
        if (all_late && !points_.done() && now - last_event_ > o_.timeout)
            throw error{{errors::worker_lost,
                         {},
                         {},
                         format_text("none of {} ranks answers", ranks_),
                         "a longer timeout, or an objective that returns"}};
    }
    // Tells all ranks that nothing more comes, and waits until they say so. Those that do not in time hang.
    void end() {
        for (std::size_t w = 0; w < ranks_; ++w) send(w, message_of(request_head{0, number_}, {}));
        auto const begin = clock::now();
        std::size_t ended = 0;
        int from = 0;
        mpi_patience patience;
        auto const most = std::max<std::chrono::nanoseconds>(o_.timeout, std::chrono::seconds{1});
        while (ended < ranks_ && clock::now() - begin <= most) {
            if (!receive_message(job_.communicator, answer_tag, message_, from)) {
                patience.wait();
                continue;
            }
            auto const head = message_.size() < sizeof(answer_head) ? answer_head{} : head_of<answer_head>(message_);
            if (head.ticket == 0 && head.score == static_cast<double>(number_)) ++ended;
        }
        job_.hanging = ranks_ - ended;
    }

    mpi_job& job_;
    std::size_t ranks_; // beside this one
    remote_objective objective_;
    remote_options o_;
    std::uint64_t number_; // of the scorer, from 1
    point_dispatch<> points_;
    std::vector<std::byte> message_;
    clock::time_point last_event_{};
    std::uint64_t scored_here_ = 0;
};

} // namespace detail

GSUB_INLINE mpi_session::mpi_session() : job_(std::make_unique<detail::mpi_job>()) {
    int flag = 0;
    ::MPI_Finalized(&flag);
    if (flag) throw error{errors::worker_lost, "MPI has ended in this process, and begins once only"};
    ::MPI_Initialized(&flag);
    job_->own = !flag;
    int level = 0;
    if (job_->own) ::MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    ::MPI_Comm_dup(MPI_COMM_WORLD, &job_->communicator);
    ::MPI_Comm_rank(job_->communicator, &rank_);
    ::MPI_Comm_size(job_->communicator, &size_);
}

GSUB_INLINE mpi_session::~mpi_session() {
    if (rank_ == 0 && job_->scorers == 0 && size_ > 1) // others wait for one that never came
        static_cast<void>(workers([](std::span<std::byte const>) { return 0.; }));
    if (job_->hanging > 0) {
        std::fflush(nullptr);
        ::MPI_Abort(job_->communicator, static_cast<int>(error_code::environment));
    }
    // The job is not aborted any more. Until rank 0 says so, no rank ends MPI: of 60 jobs that were aborted while a
    // rank waited in MPI_Finalize, mpirun of Open MPI 4.1 hung or crashed itself in 9.
    if (rank_ == 0)
        for (int other = 1; other < size_; ++other)
            ::MPI_Send(nullptr, 0, MPI_BYTE, other, detail::closing_tag, job_->communicator);
    else
        detail::await_message(job_->communicator, detail::closing_tag);
    ::MPI_Comm_free(&job_->communicator);
    if (job_->own) ::MPI_Finalize();
}

GSUB_INLINE void mpi_session::serve_bytes(remote_objective const& objective) {
    GSUB_ASSERT(rank_ != 0, "rank 0 searches, the others serve it");
    std::vector<std::byte> message;
    int from = 0;
    detail::mpi_patience patience;
    for (;;) {
        if (!detail::receive_message(job_->communicator, detail::request_tag, message, from)) {
            patience.wait();
            continue;
        }
        patience = {};
        auto const head = detail::head_of<detail::request_head>(message);
        auto const answer = head.ticket == 0
                                ? detail::message_of(detail::answer_head{0, static_cast<double>(head.length)}, {})
                                : detail::answer_to(head.ticket, std::span{message}.subspan(sizeof head), objective);
        ::MPI_Send(answer.data(), static_cast<int>(answer.size()), MPI_BYTE, from, detail::answer_tag,
                   job_->communicator);
        if (head.ticket == 0) return;
    }
}

GSUB_INLINE std::unique_ptr<remote_workers> mpi_session::workers(remote_objective objective,
                                                                 remote_options const& options) {
    GSUB_ASSERT(rank_ == 0, "rank 0 searches, the others serve it");
    GSUB_ASSERT(options.timeout > std::chrono::nanoseconds{0}, "a rank has some time for a point");
    GSUB_ASSERT(options.attempts >= 1, "a point is tried at least once");
    return std::make_unique<detail::mpi_workers<>>(*job_, size_, std::move(objective), options);
}

} // namespace gsub::tune
