#include "codegen/kernel_program.hpp"
#include "driver/built_graph.hpp"
#include "runtime/opencl_here.hpp"
#include "tuned_network.hpp"
#include <gsub/cost/assembled_times.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/records_source.hpp>
#include <gsub/tune/tuner.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace tuner_test {

using namespace tuned_network;
using namespace gsub::tune;

// Keeps what a tuner says.
struct listener : tuning_observer {
    database records{};
    std::vector<std::size_t> begun{}, done{};
    std::size_t predicted = 0, measured = 0;
    void on_task(std::size_t i, tuning_task const&, std::size_t, std::size_t) override { begun.push_back(i); }
    void on_tuned(std::size_t i, tuning_task const&, tuned_task const&) override { done.push_back(i); }
    void on_record(record const& r) override {
        (is_predicted(r) ? predicted : measured) += 1;
        records.add(r);
    }
};

// What a task tells of all that was scored and timed agrees with what it tells of the best.
void check_trials(tuned_task const& t, tuning_task const& task, cost::lowered const& model) {
    for (std::size_t i = 1; i < t.history.size(); ++i) {
        CHECK(t.history[i].steps > t.history[i - 1].steps);
        CHECK(t.history[i].cost < t.history[i - 1].cost);
    }
    if (!t.history.empty()) CHECK(t.history.back().steps <= t.scored);
    CHECK(t.timed.size() == t.trials);
    std::set<candidate> distinct;
    std::size_t failed = 0;
    auto least = std::numeric_limits<double>::infinity();
    for (auto const& c : t.timed) {
        distinct.insert(c.what), failed += !c.measured;
        least = std::min(least, c.measured.value_or(least));
        CHECK(c.predicted == model.of_kernel(task.alone, task.with(c.what)).seconds);
    }
    CHECK(distinct.size() == t.timed.size());
    CHECK(failed == t.failed);
    if (t.timed.empty()) return;
    CHECK(t.timed.front().what == task.untuned);
    CHECK(t.untuned_measured); // anew, beside the best of the others
    auto const chosen = std::find_if(t.timed.begin(), t.timed.end(), [&](auto const& c) { return c.what == t.best; });
    REQUIRE(chosen != t.timed.end());
    // Others were as good at first, but few were better.
    std::size_t better = 0;
    for (auto const& c : t.timed) better += c.measured && chosen->measured && *c.measured < *chosen->measured;
    CHECK((t.best == task.untuned || better < 3));
    CHECK(least > 0);
}

tuning_options small(tuning_method method) {
    tuning_options o;
    o.method = method, o.points = 60, o.trials = 4, o.batch = 4;
    o.timing.rounds = 2, o.timing.least_seconds = 0;
    return o;
}
bool same(tuned_task const& a, tuned_task const& b) {
    return a.best == b.best && a.predicted == b.predicted && a.scored == b.scored &&
           a.history.size() == b.history.size();
}

TEST_CASE("a static tuner finds the same for any number of threads, nothing runs, and nothing gets worse") {
    auto const all = tasks(isa::avx512);
    auto const machine = parse_target("x86-64-avx512,threads=2").value();
    auto const model = cost::lowered::on(machine);
    listener heard;
    auto const one = tune::tune(all, model, machine, small(tuning_method::predicted), heard).value();
    REQUIRE(one.tasks.size() == all.size());
    CHECK(one.tuned == all.size());
    CHECK(heard.measured == 0);
    CHECK(heard.begun == heard.done);
    CHECK(std::set(heard.begun.begin(), heard.begun.end()).size() == all.size());
    std::size_t changed = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& t = one.tasks[i];
        CAPTURE(kernels::to_string(all[i].what()));
        changed += t.best != all[i].untuned;
        CHECK(t.scored > 0);
        CHECK(t.trials == 0);
        CHECK_FALSE(t.measured);
        CHECK(t.predicted <= t.untuned_predicted);
        CHECK((t.best == all[i].untuned || t.predicted < 0.95 * t.untuned_predicted));
        CHECK(all[i].algorithms[t.best.algorithm].space->allows(all[i].point(t.best)));
        CHECK(t.ratio() <= 1);
        check_trials(t, all[i], model);
        REQUIRE_FALSE(t.history.empty());
        if (t.best != all[i].untuned) CHECK(t.history.back().cost == t.predicted);
    }
    CHECK(heard.predicted == changed);
    auto const totals = totals_of(all, one);
    CHECK(totals.seconds < totals.untuned_seconds);
    CHECK(totals.ratio() == totals.seconds / totals.untuned_seconds);
    CHECK(totals.scored > 0);
    CHECK(totals.trials + totals.failed == 0);

    fork_join_executor threads{3};
    auto options = small(tuning_method::predicted);
    options.threads = &threads;
    auto const three = tune::tune(all, model, machine, options).value();
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(same(one.tasks[i], three.tasks[i]));
    // A space that is smaller than the number of points is scored whole.
    options.points = 1u << 20;
    for (auto const& t : all)
        if (t.algorithms.size() == 1 && t.algorithms[0].space->size() < 3000) {
            auto const whole = tune::tune(std::vector{t}, model, machine, options).value().tasks[0];
            CHECK(whole.scored == t.algorithms[0].space->size());
        }
}

TEST_CASE("what is tuned by the clock is built from its records, and computes the same numbers") {
    auto const here = host();
    auto const& isa = isa_of(here);
    auto const g = network();
    auto const all = tune::tuning_tasks_of(scheduled(g, isa), isa);
    auto const model = cost::lowered::on(here);
    runtime::thread_pool pool;
    for (auto const method : {tuning_method::hybrid, tuning_method::measured}) {
        CAPTURE(std::string{to_string(method)});
        auto options = small(method);
        options.threads = &pool, options.timing.threads = &pool, options.timing.jit.threads = &pool;
        options.sure_measured = 1e-9; // nothing is so much better
        listener heard;
        auto done = tune::tune(all, model, here, options, heard).value();
        CHECK(heard.measured > all.size());
        CHECK(heard.predicted == 0);
        for (std::size_t i = 0; i < all.size(); ++i) {
            CHECK(done.tasks[i].best == all[i].untuned);
            CHECK(done.tasks[i].trials >= 1);
            CHECK(done.tasks[i].failed == 0);
            REQUIRE(done.tasks[i].measured);
            CHECK(done.tasks[i].ratio() == 1);
            check_trials(done.tasks[i], all[i], model);
        }
        options.sure_measured = 1;
        done = tune::tune(all, model, here, options).value();
        for (std::size_t i = 0; i < all.size(); ++i) {
            CHECK(done.tasks[i].ratio() <= 1);
            check_trials(done.tasks[i], all[i], model);
        }

        record_lookup const lookup{heard.records, here};
        records_source<> const schedules{lookup};
        recorded_algorithms<> const algorithms{lookup};
        auto const untuned = build(g, here).value(), tuned = build(g, here, schedules, algorithms).value();
        auto const x = random_inputs(g, 3);
        CHECK(compare(tuned.run(x).value()[0], untuned.run(x).value()[0]).value().max_relative < 1e-3);
        CHECK(schedules.report().missing == 0);
        CHECK(schedules.report().unfit == 0);
    }
}

TEST_CASE("a tuner ends when it is told to, when its time is up, and says so") {
    auto const all = tasks(isa::avx512);
    auto const machine = parse_target("x86-64-avx512").value();
    auto const model = cost::lowered::on(machine);
    auto options = small(tuning_method::predicted);
    options.seconds = 0;
    auto done = tune::tune(all, model, machine, options).value();
    CHECK(done.tuned == 0);
    CHECK(done.why == search::stop_reason::time);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(done.tasks[i].best == all[i].untuned);

    std::stop_source stop;
    struct stopping : tuning_observer {
        std::stop_source* stop = nullptr;
        void on_tuned(std::size_t, tuning_task const&, tuned_task const&) override { stop->request_stop(); }
    } observe;
    observe.stop = &stop;
    options = small(tuning_method::predicted);
    options.stop = stop.get_token();
    done = tune::tune(all, model, machine, options, observe).value();
    CHECK(done.tuned == 1);
    CHECK(done.why == search::stop_reason::cancelled);
}

TEST_CASE("records for a processor that is not here are found by a build for it, and their kernels compute the same") {
    auto const with = runtime::find_compiler_for(isa::neon);
    if (!with || std::system("qemu-aarch64 --version > /dev/null 2>&1") != 0) {
        WARN("no compiler for AArch64 here, or no emulator");
        return;
    }
    auto const machine = parse_target("aarch64-neon,threads=2,cpu=neoverse-n1").value();
    auto const all = tasks(isa::neon);
    auto const source = std::make_shared<cost::assembled_times>(*with);
    auto const model = cost::lowered::on(machine),
               assembled = cost::lowered::on(machine, {.model = cost::assembled_cycles(source)});
    auto options = small(tuning_method::predicted);
    options.second_model = &assembled, options.ranked_anew = 4, options.sure_predicted = 1.5; // nearly all are kept
    listener heard;
    auto const done = tune::tune(all, model, machine, options, heard).value();
    CHECK(source->statistics().predicted > all.size());
    CHECK(source->statistics().unknown == 0);
    CHECK(heard.measured == 0);
    REQUIRE(heard.predicted > 0);

    record_lookup const lookup{heard.records, machine};
    records_source<> const schedules{lookup};
    std::vector<codegen::kernel> kernels;
    std::size_t recorded = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& a = all[i].algorithms[done.tasks[i].best.algorithm];
        auto const found = lookup.find(a.computes, isa::neon, *a.space);
        if (found) CHECK(*found == all[i].point(done.tasks[i].best));
        recorded += found.has_value();
        auto const at = schedules.choose(a.computes, isa::neon, *a.space);
        kernels.push_back(
            codegen::lower(kernels::nest_of(a.computes, at, isa::neon), kernels::kind_of(a.computes)).value());
    }
    CHECK(recorded == heard.predicted);
    CHECK(kernel_program::fault(kernels,
                                with->path + " -std=c++20 -O3 -w -static -ffp-contract=fast -fno-math-errno "
                                             "-fno-trapping-math",
                                "qemu-aarch64") == "");
    // On another instruction set they are no one's.
    record_lookup const other{heard.records, parse_target("x86-64-avx2").value(), {.other_machines = true}};
    auto const& a = all[0].algorithms[0];
    CHECK_FALSE(other.find(a.computes, isa::avx2, kernels::space_of(a.computes, isa::avx2)));
}

TEST_CASE("records for a GPU that is not here are found by a build for it, and compute on a device of OpenCL") {
    auto const machine = parse_target("h200").value();
    auto const all = tasks(isa::warp);
    auto const model = cost::lowered::on(machine);
    auto options = small(tuning_method::predicted);
    options.sure_predicted = 1.5; // nearly all are kept
    listener heard;
    auto const done = tune::tune(all, model, machine, options, heard).value();
    CHECK(heard.measured == 0);
    REQUIRE(heard.predicted > 0);
    record_lookup const lookup{heard.records, machine};
    std::size_t recorded = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& t = done.tasks[i];
        auto const& a = all[i].algorithms[t.best.algorithm];
        CHECK(t.predicted == model.of_kernel(all[i].alone, all[i].with(t.best)).seconds);
        auto const found = lookup.find(a.computes, isa::warp, *a.space);
        if (found) CHECK(*found == all[i].point(t.best));
        recorded += found.has_value();
    }
    CHECK(recorded == heard.predicted);
    for (auto const& r : heard.records.records()) {
        CHECK(target_of(r).value() == machine);
        auto const* const unmeasured = r.others.find("modelled_only");
        CHECK((unmeasured && unmeasured->boolean()));
    }
    record_lookup const other{heard.records, parse_target("t4").value()};
    CHECK_FALSE(other.find(all[0].what(), isa::warp, kernels::space_of(all[0].what(), isa::warp)));

    auto const on = opencl_here::device();
    if (!on) return;
    records_source<cost::lowered> const source{lookup, model};
    recorded_algorithms<cost::lowered> const algorithms{lookup, model};
    auto const point = [&](kernels::descriptor const& d, isa const& of, loop::config_space const& space) {
        return source.choose(d, of, space);
    };
    auto const algorithm = [&](std::span<kernels::descriptor const> some, isa const& of) {
        return algorithms.choose(some, of);
    };
    build_options building;
    building.schedules = schedule_function{point}, building.algorithms = algorithm_function{algorithm};
    auto const g = network();
    auto const built = build(g, on, building).value();
    CHECK(source.report().recorded > 0);
    CHECK(built_graph::error_of(g, built) < 1e-5);
}

TEST_CASE("tasks with most to gain come first") {
    auto const all = tasks(isa::avx512);
    auto const machine = parse_target("x86-64-avx512").value();
    auto const model = cost::lowered::on(machine);
    listener heard;
    auto const done = tune::tune(all, model, machine, small(tuning_method::predicted), heard).value();
    auto before = std::numeric_limits<double>::infinity();
    for (auto const i : heard.begun) {
        auto const weight = done.tasks[i].untuned_predicted * static_cast<double>(all[i].kernels);
        CHECK(weight <= before);
        before = weight;
    }
}

} // namespace tuner_test
