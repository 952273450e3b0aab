#include "tuned_network.hpp"
#include "worker_processes.hpp"
#include <gsub/core/hash.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/isolated_timer.hpp>
#include <gsub/tune/records_source.hpp>
#include <gsub/tune/tuner.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace isolated_timer_test {

using namespace tuned_network;
using namespace worker_processes;
using tune::candidate;
using tune::measure_error;

// ---- an emitter of kernels that do what they should not
// -----------------------------------------------------------------------------------------------------

enum class deed {
    fine,
    wrong,
    trap,
    null_store,
    leave,
    hang,
    once,
    poison,
    victim,
    slow,
    emit_trap,
    emit_hang,
    fault,
    refused
};

// What kernels do by their text, and others by the hash of theirs, where there are such.
struct plan {
    std::map<std::string, deed> known{};
    std::vector<deed> others{deed::fine};
    [[nodiscard]] deed of(std::string const& text) const {
        if (auto const found = known.find(text); found != known.end()) return found->second;
        return others[static_cast<std::size_t>(hash_bytes(std::as_bytes(std::span{text})).low % others.size())];
    }
};
plan plan_of_test;
std::size_t result_buffer = 0; // set as kernels are emitted, in a worker
bool poisoned = false;         // a worker
std::atomic<int>* shared = nullptr;

[[noreturn]] void hang() {
    for (int const volatile nothing = 0;;) static_cast<void>(nothing);
}
template <deed D>
void kernel(void* const* buffers, std::int64_t, std::int64_t) {
    if constexpr (D == deed::trap) ::raise(SIGILL);
    if constexpr (D == deed::null_store) ::raise(SIGSEGV);
    if constexpr (D == deed::leave) ::_exit(0);
    if constexpr (D == deed::hang) {
        if (shared) ++*shared;
        hang();
    }
    if constexpr (D == deed::poison) poisoned = true;
    if (D == deed::victim && poisoned) ::raise(SIGSEGV);
    if (D == deed::once && shared->fetch_add(1) == 0) ::raise(SIGKILL);
    if constexpr (D == deed::slow) {
        ::usleep(50); // others are awake by then
        if (::gettid() != ::getpid()) ++*shared;
    }
    *static_cast<float*>(buffers[result_buffer]) = D == deed::wrong ? 100.f : 1.f;
}
template <deed D>
void* function_of() {
    return reinterpret_cast<void*>(&kernel<D>);
}
result<runtime::loaded_kernel> emit_planned(codegen::kernel const& k, isa const&) {
    auto const what = plan_of_test.of(to_string(k));
    for (std::size_t i = 0; i < k.buffers.size(); ++i)
        if (k.buffers[i].written && !k.buffers[i].workspace) result_buffer = i;
    switch (what) {
    case deed::emit_trap:
        ::raise(SIGILL);
        break;
    case deed::emit_hang:
        hang();
    case deed::fault:
        return error{error_code::internal, "broken"};
    case deed::refused:
        return error{error_code::unsupported, "nothing"};
    default:
        break;
    }
    static void* const functions[] = {function_of<deed::fine>(),   function_of<deed::wrong>(),
                                      function_of<deed::trap>(),   function_of<deed::null_store>(),
                                      function_of<deed::leave>(),  function_of<deed::hang>(),
                                      function_of<deed::once>(),   function_of<deed::poison>(),
                                      function_of<deed::victim>(), function_of<deed::slow>()};
    return runtime::loaded_kernel{nullptr, functions[static_cast<std::size_t>(what)]};
}

std::string text_of(tune::tuning_task const& t, candidate const& c, isa const& on) {
    auto g = t.alone;
    g.ops.front() = t.with(c);
    return to_string(*emit(std::move(g), on).value().kernels.front().ir);
}
// Candidates of a task with kernels of their own, which do these deeds. The untuned one is fine.
std::vector<candidate> candidates_that(tune::tuning_task const& t, isa const& on, std::vector<deed> const& deeds) {
    plan_of_test = {};
    plan_of_test.known[text_of(t, t.untuned, on)] = deed::fine;
    std::vector<candidate> out;
    auto const& space = *t.algorithms[0].space;
    for (std::uint64_t i = 0; i < space.size() && out.size() < deeds.size(); ++i)
        if (space.allows(space.at(i)) &&
            plan_of_test.known.try_emplace(text_of(t, {0, i}, on), deeds[out.size()]).second)
            out.push_back({0, i});
    REQUIRE(out.size() == deeds.size());
    return out;
}

tune::timing_options quick() {
    tune::timing_options o{.rounds = 2, .least_seconds = 0, .evict_bytes = 0};
    o.emitter = emit_planned, o.compiler = "/no/compiler";
    return o;
}
// Long enough for kernels that do something on a busy machine under sanitizers, and waited for by those that hang.
constexpr tune::isolation_options soon{.timeout_seconds = 1};

void check(tune::measurement const& m, measure_error expected) {
    CHECK(m.error == expected);
    CHECK(m.costs.size() == (expected == measure_error::none ? 1 : 0));
    CHECK(m.timestamp > 1e9);
    CHECK(m.all_cost >= 0);
}

// The task with most schedules.
tune::tuning_task const& task() {
    static auto const largest = [] {
        auto const all = tasks(isa_of(host()));
        return *std::max_element(all.begin(), all.end(), [](auto const& a, auto const& b) {
            return a.algorithms[0].space->size() < b.algorithms[0].space->size();
        });
    }();
    return largest;
}

TEST_CASE("of candidates that are timed together those fail that crash, hang or err, and the others have times") {
    auto const& on = isa_of(host());
    auto const& t = task();
    std::vector<std::pair<deed, measure_error>> const cases{
        {deed::fine, measure_error::none},
        {deed::trap, measure_error::runtime_device},
        {deed::hang, measure_error::run_timeout},
        {deed::wrong, measure_error::wrong_answer},
        {deed::null_store, measure_error::runtime_device},
        {deed::leave, measure_error::runtime_device},
        {deed::emit_trap, measure_error::compile_host},
        {deed::emit_hang, measure_error::build_timeout},
        {deed::refused, measure_error::compile_host},
        {deed::fine, measure_error::none},
    };
    std::vector<deed> deeds;
    for (auto const& [what, error] : cases) deeds.push_back(what);
    auto const all = candidates_that(t, on, deeds);
    cleanly([&] {
        tune::isolated_timer const timer{t, on, quick(), soon};
        auto const measured = timer.measure(all);
        REQUIRE(measured.size() == cases.size());
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(i);
            check(measured[i], cases[i].second);
            CHECK(tune::record_of(t.algorithms[0].computes, host(), t.point(all[i]), measured[i])->error ==
                  cases[i].second);
        }
        auto const lost = timer.statistics();
        CHECK(lost.crashed + lost.late >= 2 * 6); // each once with others, once alone; more where the machine is busy
        CHECK(lost.late >= 2 * 2);
        CHECK(lost.begun == 1 + lost.crashed + lost.late);
        // The next batch goes on, and one candidate is a batch.
        CHECK(timer.measure({}).empty());
        candidate const next[] = {t.untuned};
        check(timer.measure(next, 2)[0], measure_error::none);
        check(timer.measure(std::span{all}.subspan(1, 1))[0], measure_error::runtime_device);
    });
}

TEST_CASE("where workers are lost, but by no candidate alone, each has its time") {
    auto const& on = isa_of(host());
    auto const& t = task();
    cleanly([&] {
        // A worker that others kill, and a kernel that another one's writing kills.
        shared_counter killed;
        auto all = candidates_that(t, on, {deed::fine, deed::once, deed::fine});
        shared = &killed.get();
        {
            tune::isolated_timer const timer{t, on, quick()};
            for (auto const& m : timer.measure(all)) check(m, measure_error::none);
            CHECK(timer.statistics() == tune::isolation_statistics{.begun = 2, .crashed = 1});
        }
        shared = nullptr;
        all = candidates_that(t, on, {deed::fine, deed::poison, deed::victim, deed::trap});
        tune::isolated_timer const timer{t, on, quick()};
        auto const measured = timer.measure(all);
        for (std::size_t i = 0; i < 3; ++i) check(measured[i], measure_error::none);
        check(measured[3], measure_error::runtime_device);
    });
}

TEST_CASE("nothing is compared with an untuned kernel that crashes or hangs") {
    auto const& on = isa_of(host());
    auto const& t = task();
    auto all = candidates_that(t, on, {deed::fine});
    all.push_back(t.untuned);
    cleanly([&] {
        for (auto const& [what, error] : {std::pair{deed::trap, measure_error::runtime_device},
                                          std::pair{deed::hang, measure_error::run_timeout}}) {
            plan_of_test.known[text_of(t, t.untuned, on)] = what;
            tune::isolated_timer const timer{t, on, quick(), soon};
            auto const measured = timer.measure(all);
            check(measured[0], measure_error::unknown);
            check(measured[1], error);
            CHECK(timer.statistics().begun == 2);
        }
    });
}

TEST_CASE("what building throws in a worker is thrown here") {
    auto const& on = isa_of(host());
    auto const& t = task();
    auto const all = candidates_that(t, on, {deed::fault});
    cleanly([&] {
        {
            tune::isolated_timer const timer{t, on, quick()};
            CHECK_THROWS_WITH(timer.measure(all),
                              "internal error: the worker that times kernels: internal error: broken");
            candidate const next[] = {t.untuned};
            check(timer.measure(next)[0], measure_error::none);
        }
        plan_of_test.known[text_of(t, t.untuned, on)] = deed::fault;
        CHECK_THROWS_AS((tune::isolated_timer{t, on, quick()}), error);
        plan_of_test.known[text_of(t, t.untuned, on)] = deed::refused;
        CHECK_THROWS_AS((tune::isolated_timer{t, on, quick()}), error); // there is no compiler
    });
}

TEST_CASE("a worker has as many threads as the timer is given, which are its own") {
    if (!child_may_start_threads) {
        WARN("skipped: the thread sanitizer cannot follow threads that the child of a fork starts");
        return;
    }
    auto const& on = isa_of(host());
    auto const t = tasks(on).front(); // a convolution, which is worth threads
    runtime::thread_pool pool{{.threads = 3}};
    auto const all = candidates_that(t, on, {deed::slow, deed::trap});
    plan_of_test.known[text_of(t, t.untuned, on)] = deed::slow;
    shared_counter by_others;
    shared = &by_others.get();
    auto options = quick();
    options.threads = options.jit.threads = &pool;
    options.rounds = 20;
    options.on_step = [](tune::timing_phase, std::size_t) { FAIL("a step is told in the worker alone"); };
    auto const before = open_descriptors();
    {
        tune::isolated_timer const timer{t, on, options};
        auto const measured = timer.measure(all);
        check(measured[0], measure_error::none);
        check(measured[1], measure_error::runtime_device);
    }
    CHECK(by_others.get() > 0);
    CHECK(open_descriptors() == before);
    shared = nullptr;
}

#ifdef __linux__
TEST_CASE("a worker whose kernel hangs ends when the timer's process is killed") {
    auto const& on = isa_of(host());
    auto const& t = task();
    auto const all = candidates_that(t, on, {deed::hang});
    shared_counter hangs;
    shared = &hangs.get();
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) { // its worker inherits the end of the pipe that is written to, and holds it open while it lives
        tune::isolated_timer const timer{t, on, quick(), {.timeout_seconds = 600}};
        static_cast<void>(timer.measure(all));
        ::_exit(0);
    }
    ::close(pipe_ends[1]);
    while (hangs.get() == 0) std::this_thread::yield();
    CHECK(::kill(child, SIGKILL) == 0);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    char c;
    CHECK(::read(pipe_ends[0], &c, 1) == 0); // the end of the file: no writer is left
    ::close(pipe_ends[0]);
    shared = nullptr;
}
#endif

// Keeps what a tuner writes.
struct listener : tune::tuning_observer {
    tune::database records{};
    std::map<measure_error, std::size_t> count{};
    void on_record(tune::record const& r) override {
        ++count[r.error];
        records.add(r);
    }
};

TEST_CASE("a tuner goes on behind candidates that crash, hang or err, writes them down, and chooses none of them") {
    auto const here = host();
    auto const& on = isa_of(here);
    auto const all = std::vector{task()};
    auto const& t = all.front();
    auto const model = cost::lowered::on(here);
    std::map<measure_error, std::size_t> failed; // by either method
    for (auto const method : {tune::tuning_method::hybrid, tune::tuning_method::measured}) {
        CAPTURE(std::string{to_string(method)});
        static_cast<void>(candidates_that(t, on, {}));
        plan_of_test.others = {deed::trap, deed::wrong, deed::fine, deed::trap, deed::wrong, deed::fine};
        if (method == tune::tuning_method::hybrid) plan_of_test.others.push_back(deed::hang);
        tune::tuning_options options;
        options.method = method, options.points = 40, options.trials = 12, options.batch = 4;
        options.timing = quick(), options.sure_measured = 10;
        options.isolation = soon;
        listener heard;
        cleanly([&] {
            auto const done = tune::tune(all, model, here, options, heard).value().tasks[0];
            std::map<measure_error, std::size_t> expected;
            auto const error_of = [&](candidate const& c) {
                auto const what = plan_of_test.of(text_of(t, c, on));
                return what == deed::trap    ? measure_error::runtime_device
                       : what == deed::wrong ? measure_error::wrong_answer
                       : what == deed::hang  ? measure_error::run_timeout
                                             : measure_error::none;
            };
            for (auto const& c : done.timed) {
                ++expected[error_of(c.what)];
                CHECK(c.measured.has_value() == (error_of(c.what) == measure_error::none));
            }
            ++expected[measure_error::none]; // the best one, measured anew
            CHECK(heard.count == expected);
            failed[measure_error::runtime_device] += heard.count[measure_error::runtime_device];
            failed[measure_error::wrong_answer] += heard.count[measure_error::wrong_answer];
            CHECK(done.failed < done.trials);
            CHECK(error_of(done.best) == measure_error::none);
            tune::record_lookup const lookup{heard.records, here};
            auto const& a = t.algorithms[done.best.algorithm];
            auto const chosen = lookup.find(a.computes, on, *a.space);
            REQUIRE(chosen);
            CHECK(chosen->index() == done.best.index);
        });
    }
    CHECK(failed[measure_error::runtime_device] > 0);
    CHECK(failed[measure_error::wrong_answer] > 0);
}

} // namespace isolated_timer_test
