#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/optimize/optimize.hpp>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace measured_kernels_test {

using namespace gsub;
using models::network_builder;
using models::weight_source;

static_assert(cost_model<measured_kernels>);
static_assert(!additive_cost_model<measured_kernels>);

struct scratch_file {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("gsub-kernels-{}.jsonl", static_cast<int>(::getpid()));
    ~scratch_file() { std::filesystem::remove(path); }
};

measured_kernels timer(cost::profile p = {}, cost::measure_options measuring = {}, isa const* isa = nullptr) {
    build_options building;
    building.jit.use_cache = false;
    building.isa = isa;
    return measured_kernels::over<standard_ops>(std::move(p), measuring, building).value();
}
constexpr cost::measure_options quick{.least_runs = 1, .least_seconds = 0};

enum class parts { both, convolution, activation };

// A convolution to wide images and an activation, in one graph or one of them alone, `times` side by side.
graph conv_relu(parts which, int times = 1, std::int64_t channels = 32) {
    graph g;
    network_builder net{g, weight_source{1}};
    std::vector<value_id> out;
    for (int i = 0; i < times; ++i) {
        auto const last = which == parts::activation;
        auto x = net.input(dtype::f32, {1, last ? channels : 16, 96, 96}, fmt::format("x{}", i));
        if (!last) x = net.conv(fmt::format("c{}", i), x, {channels, {1, 1}, {1, 1}, {0, 0}, 1, true});
        if (which != parts::convolution) x = net.relu(fmt::format("r{}", i), x);
        out.push_back(x);
    }
    g.set_outputs(out);
    return g;
}

} // namespace measured_kernels_test

TEST_CASE("what one kernel computes costs less than its parts in kernels of their own") {
    using namespace measured_kernels_test;
    auto const model = timer({}, {.least_runs = 20, .least_seconds = 0.05});
    auto const both = model(conv_relu(parts::both)).amount;
    auto const convolution = model(conv_relu(parts::convolution)).amount;
    auto const activation = model(conv_relu(parts::activation)).amount;
    CHECK(model.runs() == 3);
    CHECK(activation > 0);
    CHECK(both < convolution + activation);
}

TEST_CASE("a graph costs the sum of its groups, equal groups are timed once, whatever their weights") {
    using namespace measured_kernels_test;
    auto const model = timer({}, quick);
    auto const one = model(conv_relu(parts::both)).amount;
    CHECK(one > 0);
    CHECK(model(conv_relu(parts::both, 3)).amount == Approx(3 * one));
    CHECK(model.runs() == 1);
    CHECK(model(conv_relu(parts::both, 1, 24)).amount > 0);
    CHECK(model.runs() == 2);
    CHECK(model.unmeasured() == 0);
}

TEST_CASE("times are read from a profile, and those of other backends, sets and threads are not taken for them") {
    using namespace measured_kernels_test;
    scratch_file const file;
    auto const open = [&] { return cost::profile::open(file.path.string()).value(); };
    auto const g = conv_relu(parts::both);
    auto const reference = cost::measured::over<standard_ops>({}, quick);
    auto const first = timer(open(), quick);
    auto const cost = first(g).amount;
    CHECK(first.runs() == 1);
    auto const second = timer(open(), quick);
    CHECK(second(g).amount == cost);
    CHECK(second.runs() == 0);

    auto const slow = cost::measured::over<standard_ops>(open(), quick);
    CHECK(slow(g).amount > 0);
    CHECK(slow.runs() == 2);
    CHECK(open().size() == 3);
    CHECK(timer(open(), quick)(g).amount == cost);
    if (host().has(isa::avx2)) {
        auto const narrow = timer(open(), quick, &isa::baseline);
        CHECK(narrow(g).amount > 0);
        CHECK(narrow.runs() == 1);
    }
    fork_join_executor threads{2};
    auto const parallel = timer(open(), {.least_runs = 1, .least_seconds = 0, .threads = &threads});
    CHECK(parallel(g).amount > 0);
    CHECK(parallel.runs() == 1);
}

TEST_CASE("views and weight arithmetic cost nothing, and what cannot be built is costed by the roofline") {
    using namespace measured_kernels_test;
    auto const model = timer({}, quick);
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x");
    b.outputs(
        {b.add<ops::reshape>({.shape = {24}}, {x}), b.add<ops::relu>(b.constant(tensor::zeros(dtype::f32, ints{8})))});
    CHECK(model(g).amount == 0);
    CHECK(model.runs() == 0);

    graph unknown;
    graph_builder u{unknown};
    u.outputs({u.add<ops::relu>(u.input(dtype::f32, {dim{symbol{"n"}}, 6}, "x"))});
    CHECK(model(unknown).amount == cost::roofline{}(unknown).amount);
    CHECK(model.unmeasured() == 1);
    CHECK(model.runs() == 0);
}

TEST_CASE("every random graph has a cost, and the same one again without a run") {
    using namespace measured_kernels_test;
    auto const model = timer({}, quick);
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
        auto const g = random_graph::make<standard_ops>(seed, 10);
        auto const cost = model(g).amount;
        auto const runs = model.runs();
        CHECK(cost >= 0);
        CHECK(model(g).amount == cost);
        CHECK(model.runs() == runs);
    }
}

TEST_CASE("without a compiler there is no model, since the reference runtime would be timed") {
    using namespace measured_kernels_test;
    build_options building;
    building.compiler = "no-such-compiler";
    auto const model = measured_kernels::over<standard_ops>({}, quick, building);
    REQUIRE_FALSE(model);
    CHECK(model.error().code() == error_code::environment);
}

TEST_CASE("a search under the times of generated kernels keeps what the graph computes") {
    using namespace measured_kernels_test;
    graph g;
    network_builder net{g, weight_source{5}};
    auto const x = net.input(dtype::f32, {1, 16, 14, 14}, "x");
    auto const a = net.conv("a", x, {16, {1, 1}, {1, 1}, {0, 0}, 1, true});
    auto const b = net.conv("b", x, {16, {1, 1}, {1, 1}, {0, 0}, 1, true});
    net.output(net.relu("r", net.concat("j", {a, b})), "y");
    auto const model = timer({}, quick);
    auto const better = optimize(g, model, {.budget = {20}, .verify = true}).value();
    CHECK(better.report.verification.equal);
    CHECK(better.report.cost_after <= better.report.cost_before);
    CHECK(better.report.unit == "s");
}
