#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/schedule_table.hpp>

#include <string>
#include <variant>

namespace schedule_table_test {

using namespace kernel_graphs;

graph network() {
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 32, 28, 28}, "x");
    x = net.relu("r", net.conv("c", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    net.output(net.linear("fc", net.add<ops::flatten>({}, {x}), 24), "y");
    return g;
}
kernel_graph lowered(graph const& g, isa const& isa, schedule_table const& table) {
    lowering_options options;
    auto const schedules = [&](kernels::descriptor const& d, gsub::isa const& on, loop::config_space const& space) {
        return table.choose(d, on, space);
    };
    auto const algorithms = [&](std::span<kernels::descriptor const> all, gsub::isa const& on) {
        return table.choose(all, on);
    };
    options.schedules = schedule_function{schedules};
    options.algorithms = algorithm_function{algorithms};
    return lower_graph(g, evaluators, isa, options).value();
}
std::vector<problem> problems_of(std::string_view text) {
    auto const read = schedule_table::parse(text, isa::avx512);
    return read ? std::vector<problem>{}
                : std::vector<problem>(read.error().problems().begin(), read.error().problems().end());
}

static_assert(schedule_source<schedule_table>);
static_assert(algorithm_choice<schedule_table>);

TEST_CASE("what is written of tasks is read back, and lowers to the same kernels") {
    auto const g = network();
    for (auto const* isa : {&isa::avx512, &isa::avx2}) {
        auto const counted = lowered(g, *isa, schedule_table{});
        CHECK(hash_of(counted) == hash_of(lower_graph(g, evaluators, *isa).value()));
        auto const text = schedule_table::to_text(tasks_of(counted), *isa);
        auto const table = schedule_table::parse(text, *isa).value();
        CHECK(table.size() >= 2);
        auto const again = lowered(g, *isa, table);
        CHECK(hash_of(again) == hash_of(counted));
        CHECK(schedule_table::to_text(tasks_of(again), *isa) == text);
    }
}

TEST_CASE("an edited table changes the kernels that stand in it, and what they compute stays") {
    auto const g = network();
    auto const& isa = isa_of(host());
    auto const counted = lowered(g, isa, schedule_table{});
    auto tasks = tasks_of(counted);
    std::vector<loop::config_space> spaces;
    spaces.reserve(tasks.size());
    random_stream random{5};
    std::string text = "# tried by hand\ntarget " + std::string{isa.name} + "\n\n";
    for (auto const& t : tasks) {
        if (t.space->knobs().empty()) continue;
        auto const point = t.space->at(*t.space->draw(random));
        text += kernels::to_string(t.what) + " = " + loop::to_string(point) + "\r\n";
    }
    auto const table = schedule_table::parse(text, isa).value();
    auto const changed = lowered(g, isa, table);
    CHECK_FALSE(hash_of(changed) == hash_of(counted));
    auto const inputs = random_inputs(g, 3);
    auto const want = evaluate_graph(any_graph{g}, evaluators, inputs).value();
    auto const made = build(g, host(), table, table).value();
    CHECK(difference_of(made.run(inputs).value(), want) < 1e-4);
    CHECK(made.steps().size() == changed.ops.size());
}

TEST_CASE("the algorithm that stands in a table is taken") {
    auto const g = network();
    auto const& isa = isa::avx512;
    auto const is_winograd = [&](schedule_table const& table) {
        for (auto const& op : lowered(g, isa, table).ops)
            if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
                d && std::holds_alternative<kernels::winograd_shape>(*d))
                return true;
        return false;
    };
    CHECK(is_winograd(schedule_table{}));
    kernels::conv2d_shape direct;
    for (auto const& t : tasks_of(lowered(g, isa, schedule_table{})))
        if (auto const* const w = std::get_if<kernels::winograd_shape>(&t.what)) direct = w->conv;
    auto const space = kernels::space_of(direct, isa);
    auto const text = "target avx512\n" + kernels::to_string(kernels::descriptor{direct}) + " = " +
                      loop::to_string(kernels::counted(direct, isa, space)) + "\n";
    CHECK_FALSE(is_winograd(schedule_table::parse(text, isa).value()));
}

TEST_CASE("what is wrong with a table is told by line and name, all of it, and nothing is built") {
    std::string const conv = "conv2d{in_channels=16 out_channels=16 in=[8,8]}";
    kernels::descriptor const d = kernels::parse_descriptor(conv).value();
    auto const space = kernels::space_of(d, isa::avx512);
    auto const point = loop::to_string(kernels::counted(d, isa::avx512, space));
    auto const table = [&](std::string const& line) { return problems_of("target avx512\n\n" + line + "\n"); };
    CHECK(table(conv + " = " + point).empty());
    auto const told = [&](std::string const& line, std::string const& why) {
        auto const found = table(line);
        CAPTURE(line);
        REQUIRE(found.size() == 1);
        CHECK(found[0].id == errors::kernel_graph_text);
        CHECK_THAT(found[0].reason, Catch::Matchers::StartsWith("line 3: "));
        CHECK_THAT(found[0].reason, Catch::Matchers::Contains(why));
    };
    told("conv3d{} = tile_ow=1", "conv3d");
    told("nonsense", "nonsense");
    told(conv + " " + point, "=");
    told(conv + " = " + point + " tile_iw=4", "tile_iw");
    told(conv + " = tile_ow=1", "tile_oh");
    told(conv + " = " + with(point, "tile_oh=1", "tile_oh=77"), "77");
    CHECK(problems_of("target avx512\n" + conv + " = " + point + "\n" + conv + " = " + point + "\nx\n").size() == 2);
    CHECK_THAT(problems_of("target avx2\n").at(0).reason, Catch::Matchers::Contains("avx2"));
    CHECK_THAT(problems_of(conv + " = " + point).at(0).reason, Catch::Matchers::Contains("target"));
    CHECK(problems_of("").empty());
    CHECK(problems_of("# nothing\n\n").empty());
}

} // namespace schedule_table_test
