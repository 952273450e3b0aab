#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/core/random.hpp>
#include <gsub/lower/schedule.hpp>

#include <set>
#include <string>

namespace schedule_test {

using namespace kernel_graphs;

graph conv_and_product() {
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 8, 9, 11}, "x");
    x = net.relu("r", net.conv("c", x, {24, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.conv("d", x, {24, {3, 3}, {2, 2}, {1, 1}, 24});
    net.output(net.linear("fc", net.add<ops::flatten>({}, {x}), 21), "y");
    return g;
}

// Any point that is allowed.
struct random_source {
    random_stream* random;
    loop::configuration choose(kernels::descriptor const&, isa const&, loop::config_space const& space) const {
        return space.at(space.draw(*random).value());
    }
};
static_assert(schedule_source<random_source>);

kernel_graph laid_out(any_graph const& g, isa const& isa) {
    return stages(g, isa)[2];
}

} // namespace schedule_test

TEST_CASE("any allowed points compute what the counted ones do") {
    using namespace schedule_test;
    auto const& isa = isa_of(host());
    auto const g = conv_and_product();
    auto const inputs = random_inputs(g, 3);
    auto const want = evaluate_graph(any_graph{g}, evaluators, inputs).value();
    auto const before = laid_out(g, isa);
    auto const run = [&](kernel_graph k) { return loaded(emit(std::move(k), isa).value()).run(inputs).value(); };
    CHECK(difference_of(run(schedule(before, isa, counting_heuristic{}).value()), want) < 1e-5);
    random_stream random{11};
    std::set<hash128> seen;
    for (int round = 0; round < 4; ++round) {
        auto const k = schedule(before, isa, random_source{&random}).value();
        CHECK(check(k).empty());
        seen.insert(hash_of(k));
        CHECK(difference_of(run(k), want) < 1e-5);
    }
    CHECK(seen.size() > 1);
}

TEST_CASE("a source that chooses what is not allowed is refused by the name of the kernel") {
    using namespace schedule_test;
    auto const k = laid_out(conv_and_product(), isa::avx512);
    struct forbidden {
        loop::configuration choose(kernels::descriptor const&, isa const&, loop::config_space const& space) const {
            for (std::uint64_t i = 0; i < space.size(); ++i)
                if (!space.allows(space.at(i))) return space.at(i);
            return space.at(0);
        }
    };
    auto const made = schedule(k, isa::avx512, forbidden{});
    REQUIRE_FALSE(made);
    CHECK(made.error().id() == errors::kernel_schedule);
    CHECK_THAT(made.error().message(), Catch::Matchers::Contains("the schedule of c is no point of its space: "));
    // A point of another space is none either.
    loop::config_space other;
    other.choice("tile_ow", {1});
    auto const foreign = [&](kernels::descriptor const&, isa const&, loop::config_space const&) { return other.at(0); };
    CHECK_THAT(schedule(k, isa::avx512, schedule_function{foreign}).error().message(),
               Catch::Matchers::Contains("is no point of its space"));
    // What a source throws is an error of the pass.
    auto const failing = [](kernels::descriptor const&, isa const&, loop::config_space const&) -> loop::configuration {
        throw error{error_code::environment, "no clock"};
    };
    CHECK(schedule(k, isa::avx512, schedule_function{failing}).error().code() == error_code::environment);
}

TEST_CASE("a source is asked once for a descriptor, and only where there is something to choose") {
    using namespace schedule_test;
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 16, 5, 5}, "x");
    for (auto const* name : {"a", "b", "c"}) x = net.conv(name, x, {16, {1, 1}});
    net.output(net.add<ops::softmax>({.axis = 3}, {x}), "y");
    std::size_t asked = 0;
    auto const counting = [&](kernels::descriptor const& d, isa const& isa, loop::config_space const& space) {
        ++asked;
        return kernels::counted(d, isa, space);
    };
    auto const k = schedule(laid_out(g, isa::avx512), isa::avx512, schedule_function{counting}).value();
    CHECK(asked == 1);
    for (auto const& op : k.ops) {
        REQUIRE(op.schedule);
        CHECK(&op.schedule->space() == op.space.get());
    }
}

TEST_CASE("a kernel of the application has the first point that its space allows") {
    using namespace schedule_test;
    auto k = parsed("kernel graph laid-out\n= custom \"mine\"\n");
    auto& own = std::get<custom_kernel>(k.ops[0].computes);
    auto least = 3;
    own.space = [&](isa const&) {
        loop::config_space space;
        space.choice("tile", {1, 2, 3, 4});
        space.constrain([&](loop::configuration const& c) { return c.choice("tile").number() >= least; });
        return space;
    };
    CHECK(schedule(k, isa::avx512, counting_heuristic{}).value().ops[0].schedule->choice("tile").number() == 3);
    least = 9;
    CHECK_THAT(schedule(k, isa::avx512, counting_heuristic{}).error().message(),
               Catch::Matchers::Contains("the space of mine allows no point"));
}
