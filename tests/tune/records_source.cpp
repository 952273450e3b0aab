#include "lower/kernel_graphs.hpp"
#include "tune/tuning_records.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/kernel_task.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/records_source.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <map>
#include <string>
#include <vector>

namespace records_source_test {

using namespace kernel_graphs;
using namespace gsub::tune;
using Catch::Matchers::Contains;

graph network() {
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 32, 14, 14}, "x");
    x = net.relu("r", net.conv("c", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    net.output(net.linear("fc", net.add<ops::flatten>({}, {x}), 24), "y");
    return g;
}
template <schedule_source Source>
kernel_graph lowered(graph const& g, isa const& isa, Source const& source) {
    lowering_options options;
    auto const schedules = [&](kernels::descriptor const& d, gsub::isa const& on, loop::config_space const& space) {
        return source.choose(d, on, space);
    };
    options.schedules = schedule_function{schedules};
    return lower_graph(g, evaluators, isa, options).value();
}
target machine(std::string_view text) {
    return parse_target(text).value();
}
record measured(kernel_task const& t, target const& on, std::uint64_t index, double cost,
                measure_error e = measure_error::none) {
    return record_of(t.what, on, t.space->at(index), {{cost}, e}).value();
}
// A task with knobs, and two allowed points of it other than the counted one.
struct choices {
    kernel_task task;
    std::uint64_t counted, one, other;
};
choices choices_of(graph const& g, isa const& isa) {
    for (auto const& t : tasks_of(lowered(g, isa, counting_heuristic{}))) {
        auto const next =
            t.space->knobs().empty() ? std::vector<std::uint64_t>{} : t.space->neighbours(t.schedule->index());
        if (next.size() >= 2) return {t, t.schedule->index(), next[0], next[1]};
    }
    FAIL("no kernel has a choice");
    return {};
}

static_assert(schedule_source<records_source<>>);

TEST_CASE("a network built with recorded schedules has them, and computes the same numbers") {
    auto const g = network();
    auto const here = host();
    database records;
    random_stream random{5};
    std::map<std::string, std::uint64_t> drawn; // by descriptor, of all that a build asks for
    auto const recording = [&](kernels::descriptor const& d, isa const&, loop::config_space const& space) {
        auto point = space.at(*space.draw(random));
        drawn.emplace(kernels::to_string(d), point.index());
        records.add(record_of(d, here, point, {{1e-4}}).value());
        return point;
    };
    build_options options;
    options.schedules = schedule_function{recording};
    static_cast<void>(plan(g, here, options).value());
    REQUIRE(drawn.size() >= 2);

    records_source<> const source{record_lookup{records, here}};
    auto const made = build(g, here, source).value();
    CHECK(source.report().recorded == drawn.size());
    CHECK(source.report().missing == 0);
    std::vector<kernel_task> tasks;
    auto const keep = [&](kernel_graph const& k) {
        if (k.stage == lowering_stage::scheduled) tasks = tasks_of(k);
    };
    auto const choose = [&](kernels::descriptor const& d, isa const& on, loop::config_space const& space) {
        return source.choose(d, on, space);
    };
    options.schedules = schedule_function{choose};
    options.on_stage = keep;
    static_cast<void>(plan(g, here, options).value());
    for (auto const& t : tasks)
        if (t.schedule && !t.space->knobs().empty()) CHECK(t.schedule->index() == drawn.at(kernels::to_string(t.what)));

    auto const inputs = random_inputs(g, 3);
    auto const want = evaluate_graph(any_graph{g}, evaluators, inputs).value();
    CHECK(difference_of(made.run(inputs).value(), want) < 1e-4);
}

TEST_CASE("without a record the other source is asked") {
    auto const g = network();
    database const none;
    records_source<> const source{record_lookup{none, machine("x86-64-avx512")}};
    CHECK(hash_of(lowered(g, isa::avx512, source)) == hash_of(lowered(g, isa::avx512, counting_heuristic{})));
    CHECK(source.report().recorded == 0);
    CHECK(source.report().missing > 0);
}

TEST_CASE("failed records are never chosen, and the cheapest of the others is") {
    auto const g = network();
    auto const here = machine("x86-64-avx512,l1=48K,cpu=this");
    auto const c = choices_of(g, isa::avx512);
    database records;
    records.add(measured(c.task, here, c.one, 1e-9, measure_error::wrong_answer));
    record_lookup const lookup{records, here};
    CHECK_FALSE(lookup.find(c.task.what, isa::avx512, *c.task.space));
    records.add(measured(c.task, here, c.counted, 3e-4));
    records.add(measured(c.task, here, c.other, 2e-4));
    records.add(measured(c.task, here, c.one, 1e-4)); // what gave wrong numbers once
    CHECK(lookup.find(c.task.what, isa::avx512, *c.task.space)->index() == c.other);
    CHECK(lookup.report().recorded == 1);
    CHECK(lookup.report().missing == 1);
}

TEST_CASE("records of another machine or instruction set are used on request alone") {
    auto const g = network();
    auto const here = machine("x86-64-avx512,l1=48K,cpu=this"), there = machine("x86-64-avx512,l1=32K,cpu=that");
    auto const c = choices_of(g, isa::avx512);
    database records;
    records.add(measured(c.task, there, c.one, 1e-4));
    record_lookup const strict{records, here}, lenient{records, here, {.other_machines = true}};
    CHECK_FALSE(strict.find(c.task.what, isa::avx512, *c.task.space));
    CHECK(lenient.find(c.task.what, isa::avx512, *c.task.space)->index() == c.one);
    CHECK(lenient.report().foreign == 1);
    records.add(measured(c.task, here, c.other, 2e-4));
    CHECK(strict.find(c.task.what, isa::avx512, *c.task.space)->index() == c.other);
    CHECK(lenient.find(c.task.what, isa::avx512, *c.task.space)->index() == c.other); // its own, though slower
    CHECK(lenient.report().foreign == 1);
    auto const narrow = kernels::space_of(c.task.what, isa::avx2);
    CHECK_FALSE(lenient.find(c.task.what, isa::avx2, narrow)); // a space of its own
    database of_avx2;
    of_avx2.add(record_of(c.task.what, machine("x86-64-avx2,l1=48K,cpu=this"),
                          kernels::counted(c.task.what, isa::avx2, narrow), {{1e-4}})
                    .value());
    CHECK(record_lookup(of_avx2, here).find(c.task.what, isa::avx2, narrow)); // the same machine, built for less
    CHECK_FALSE(record_lookup(of_avx2, here).find(c.task.what, isa::avx512, *c.task.space));
}

TEST_CASE("records that no longer fit their space are passed over, counted and told") {
    auto const g = network();
    auto const here = machine("x86-64-avx512,l1=48K,cpu=this");
    auto const c = choices_of(g, isa::avx512);
    database records;
    auto moved = measured(c.task, here, c.one, 1e-4);
    moved.index += 1;
    records.add(moved);
    auto unknown = measured(c.task, here, c.one, 2e-4);
    unknown.entity[0].name = "gone";
    records.add(unknown);
    records.add(measured(c.task, here, c.other, 3e-4));
    auto forbidding = *c.task.space;
    auto const other = c.other;
    forbidding.constrain([other](loop::configuration const& p) { return p.index() != other; });
    record_lookup const lookup{records, here};
    CHECK(lookup.find(c.task.what, isa::avx512, *c.task.space)->index() == c.other);
    auto report = lookup.report();
    CHECK(report.unfit == 2);
    REQUIRE(report.warnings.size() == 2);
    CHECK_THAT(report.warnings[0], Contains(kernels::to_string(c.task.what)) && Contains("index"));
    CHECK_THAT(report.warnings[1], Contains("gone"));
    CHECK_FALSE(lookup.find(c.task.what, isa::avx512, forbidding));
    CHECK(lookup.report().unfit == 5);
    CHECK_THAT(lookup.report().warnings[4], Contains("together"));
}

TEST_CASE("records of as many threads come before others, those measured anew before measured and predicted ones") {
    auto const g = network();
    auto const one = machine("x86-64-avx512,threads=1"), two = machine("x86-64-avx512,threads=2");
    auto const c = choices_of(g, isa::avx512);
    database records;
    records.add(measured(c.task, one, c.one, 1e-5));
    CHECK(record_lookup(records, two).find(c.task.what, isa::avx512, *c.task.space)->index() == c.one);
    records.add(measured(c.task, two, c.other, 2e-5));
    CHECK(record_lookup(records, two).find(c.task.what, isa::avx512, *c.task.space)->index() == c.other);
    CHECK(record_lookup(records, one).find(c.task.what, isa::avx512, *c.task.space)->index() == c.one);

    measurement guess;
    guess.costs = {1e-6}, guess.predicted = true;
    auto const predicted = record_of(c.task.what, two, c.task.space->at(c.counted), guess).value();
    CHECK(is_predicted(parse_record(to_string(predicted)).value()));
    records.add(predicted);
    CHECK(record_lookup(records, two).find(c.task.what, isa::avx512, *c.task.space)->index() == c.other);
    measurement again;
    again.costs = {9e-5}, again.confirmed = true;
    records.add(record_of(c.task.what, two, c.task.space->at(c.one), again).value());
    CHECK(record_lookup(records, two).find(c.task.what, isa::avx512, *c.task.space)->index() == c.one);
    database alone;
    alone.add(predicted);
    CHECK(record_lookup(alone, two).find(c.task.what, isa::avx512, *c.task.space)->index() == c.counted);
}

TEST_CASE("of the algorithms of a convolution the one with the best record is chosen, however images lie") {
    auto const g = network();
    auto const here = machine("x86-64-avx512,threads=2");
    for (auto const& t : tuning_tasks_of(lowered(g, isa::avx512, counting_heuristic{}), isa::avx512)) {
        if (t.algorithms.size() < 2) continue;
        std::vector<kernels::descriptor> all;
        for (auto const& a : t.algorithms) all.push_back(a.computes);
        auto const add = [&](database& to, std::size_t i, double seconds) {
            measurement m;
            m.costs = {seconds};
            to.add(record_of(all[i], here, t.algorithms[i].counted, m).value());
        };
        database records;
        CHECK_FALSE(record_lookup(records, here).algorithm(all, isa::avx512));
        add(records, 0, 3e-5);
        CHECK(*record_lookup(records, here).algorithm(all, isa::avx512) == 0);
        add(records, 2, 1e-5), add(records, 1, 2e-5);
        auto const before_layout = algorithms_of(kernels::descriptor{[&] {
            auto s = std::get<kernels::conv2d_shape>(all[0]);
            s.input = kernels::image_layout::planar, s.result = kernels::image_layout::planar;
            return s;
        }()});
        record_lookup const lookup{records, here};
        CHECK(*lookup.algorithm(all, isa::avx512) == 2);
        CHECK(*lookup.algorithm(before_layout, isa::avx512) == 0); // Winograd's kernels take blocks alone
        CHECK_FALSE(lookup.algorithm(all, isa::avx2));
        CHECK_FALSE(record_lookup(records, machine("x86-64-avx512,cpu=another")).algorithm(all, isa::avx512));
        recorded_algorithms<> const choice{lookup};
        static_assert(algorithm_choice<recorded_algorithms<>>);
        CHECK(choice.choose(all, isa::avx512) == 2);
        return;
    }
    FAIL("no kernel has several algorithms");
}

} // namespace records_source_test
