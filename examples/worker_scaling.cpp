// Time of a search over the number of its workers: threads, processes, ranks of MPI. `worker_scaling [POINTS]`; as an
// MPI job (`mpirun -n 5 worker_scaling`) the rows of the job's ranks; `--model` what a thousand machines would do.
#include <gsub/core/executor.hpp>
#include <gsub/core/random.hpp>
#include <gsub/search.hpp>
#include <gsub/tune/process_scorer.hpp>
#ifdef EXAMPLE_WITH_MPI
#include <gsub/tune/mpi_scorer.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace gsub;
using namespace std::chrono_literals;
using point = search::product_space::point;

// An objective that takes a known time: of a core's, or of waiting for what goes on elsewhere.
struct costly {
    std::chrono::microseconds busy{0}, waiting{0};
    double operator()(point const& p) const {
        if (waiting > 0us) std::this_thread::sleep_for(waiting);
        for (auto const end = used() + busy; used() < end;) {}
        return search::rosenbrock(p);
    }
    // Time on a core: that a worker is kept waiting by others does not count.
    static std::chrono::nanoseconds used() {
        timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
    }
};
struct named_cost {
    char const* name;
    costly objective;
};
constexpr named_cost costs[] = {{"nothing", {}}, {"busy 0.2 ms", {.busy = 200us}}, {"waits 2 ms", {.waiting = 2000us}}};

// The search of all rows. A row's time is the least of three.
template <class Workers>
void row(char const* cost, char const* kind, std::size_t count, std::uint64_t points, Workers& workers) {
    auto const space = search::rosenbrock_space(8);
    double best = 0, seconds = 1e300;
    for (int round = 0; round < 3; ++round) {
        auto const found = search::minimize(search::evolution_search{space, {.population = 128, .seed = 1}}, workers,
                                            {.budget = points, .batch = 256});
        best = found.score();
        seconds = std::min(seconds, found.seconds);
    }
    std::printf("| %s | %s | %d | %.0f | %.0f | %.6g |\n", cost, kind, static_cast<int>(count), 1e3 * seconds,
                static_cast<double>(points) / seconds, best);
    std::fflush(stdout);
}

void threads_and_processes(std::uint64_t points) {
    std::printf("| cost of a point | workers | count | ms | points/s | best score |\n|---|---|---|---|---|---|\n");
    for (auto const& [name, objective] : costs)
        for (std::size_t count = 1; count <= 8; count *= 2) {
            {
                tune::process_scorer<point> processes{objective, {.workers = count}};
                row(name, "processes", count, points, processes);
            }
            fork_join_executor pool{count};
            search::thread_scorer threads{objective, &pool};
            row(name, "threads", count, points, threads);
        }
}

#ifdef EXAMPLE_WITH_MPI
void ranks(std::uint64_t points) {
    tune::mpi_session session;
    for (auto const& [name, objective] : costs) {
        if (session.rank() != 0) {
            session.serve<point>(objective);
            continue;
        }
        tune::mpi_scorer<point> workers{session, objective};
        row(name, "ranks", workers.workers(), points, workers);
    }
}
bool is_job() {
    return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE");
}
#else
void ranks(std::uint64_t) {}
bool is_job() {
    return false;
}
#endif

// A batch on many machines: the search spends so much on each point, a message takes so long, a machine works on one
// point at a time and has one more ahead, costs vary uniformly by a half either way. The share of the machines' time
// that goes into points.
double simulated_efficiency(std::size_t machines, std::size_t batch, double cost, double own, double latency) {
    random_stream random{1};
    std::priority_queue<double, std::vector<double>, std::greater<>> free; // when a machine can take its next point
    for (std::size_t i = 0; i < machines; ++i) free.push(0);
    double search = 0, end = 0, work = 0;
    for (std::size_t i = 0; i < batch; ++i) {
        auto const c = cost * random.uniform(0.5, 1.5);
        search += own;
        auto const begin = std::max(free.top(), search + latency);
        free.pop();
        free.push(begin + c);
        work += c;
        end = std::max(end, begin + c + latency);
    }
    return work / (static_cast<double>(machines) * std::max(end, search));
}

void model() {
    std::printf("| cost of a point | points a batch | formula | simulated |\n|---|---|---|---|\n");
    constexpr double machines = 1000, own = 20e-6, latency = 1e-3;
    for (double const cost : {2e-4, 1e-2, 0.1, 1.0, 10.0})
        for (double const batch : {1000., 4000., 16'000.}) {
            auto const time = std::max(batch * own, batch / machines * cost + own * machines + 2 * latency);
            std::printf("| %g s | %.0f | %.3f | %.3f |\n", cost, batch, batch * cost / (machines * time),
                        simulated_efficiency(1000, static_cast<std::size_t>(batch), cost, own, latency));
        }
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view{argv[1]} == "--model") {
        model();
        return 0;
    }
    std::uint64_t const points = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2048;
    if (is_job())
        ranks(points);
    else
        threads_and_processes(points);
}
