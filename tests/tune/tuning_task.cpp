#include "tuned_network.hpp"
#include <gsub/lower/kernel_task.hpp>

#include <algorithm>

namespace tuning_task_test {

using namespace tuned_network;

TEST_CASE("tasks are the kernels with a choice, each with all of its algorithms and the way that the network has") {
    auto const g = scheduled(network(), isa::avx512);
    auto const all = tune::tuning_tasks_of(g, isa::avx512);
    std::size_t kernels = 0;
    for (auto const& t : all) {
        kernels += t.kernels;
        CAPTURE(kernels::to_string(t.what()));
        REQUIRE(!t.algorithms.empty());
        CHECK((t.algorithms.size() > 1 || t.algorithms[0].space->size() > 1));
        REQUIRE(t.untuned.algorithm < t.algorithms.size());
        for (auto const& a : t.algorithms) CHECK(a.space->allows(a.counted));
        auto const op = t.with(t.untuned);
        CHECK(std::any_of(g.ops.begin(), g.ops.end(), [&](kernel_op const& o) {
            auto const* const d = std::get_if<kernels::descriptor>(&o.computes);
            return d && kernels::equal(*d, std::get<kernels::descriptor>(op.computes)) && *o.schedule == *op.schedule;
        }));
        CHECK(t.weight_bytes > 0);
    }
    auto const conv = std::find_if(
        all.begin(), all.end(), [](auto const& t) { return std::holds_alternative<kernels::conv2d_shape>(t.what()); });
    REQUIRE(conv != all.end());
    CHECK(conv->kernels == 2);
    CHECK(conv->algorithms.size() == 3); // direct, Winograd of two sizes
    CHECK(to_string(*conv) == kernels::to_string(conv->what()));
    for (std::size_t a = 0; a < 3; ++a)
        CHECK(kind_of(*conv, {a, 0}) == std::vector<std::string>{"conv2d", "winograd F2", "winograd F4"}[a]);

    auto const with_all = tune::tuning_tasks_of(g, isa::avx512, {.only_choices = false});
    CHECK(with_all.size() == tasks_of(g).size());
    CHECK(kernels < g.ops.size());
}

TEST_CASE("a task's kernel alone is a legal graph for each of its candidates, and a program") {
    for (auto const* on : {&isa::avx512, &isa::avx2}) {
        for (auto const& t : tasks(*on)) {
            CAPTURE(kernels::to_string(t.what()), on->name);
            CHECK(t.alone.ops.size() == 1);
            for (std::size_t a = 0; a < t.algorithms.size(); ++a) {
                auto g = t.alone;
                g.ops.front() = t.with({a, t.algorithms[a].counted.index()});
                CHECK(check(g).empty());
                auto const p = emit(std::move(g), *on);
                REQUIRE(p);
                CHECK(p->steps.size() == 1);
            }
        }
    }
}

TEST_CASE("weights that Winograd's kernels may not have leave one algorithm") {
    graph g;
    network_builder net{g, weight_source{4}};
    auto const x = net.input(dtype::f32, {1, 16, 14, 14}, "x");
    auto weights = tensor::zeros(dtype::f32, ints{16, 16, 3, 3});
    weights.mutable_data<float>()[0] = 3e38f;
    auto const w = g.add_constant(weights);
    attributes_of<ops::conv> like;
    like.strides = {1, 1}, like.dilations = {1, 1}, like.pads = {1, 1, 1, 1};
    net.output(net.add<ops::conv>(like, {x, w}), "y");
    auto const all = tune::tuning_tasks_of(scheduled(g, isa::avx512), isa::avx512);
    REQUIRE(all.size() == 1);
    CHECK(all[0].algorithms.size() == 1);
}

} // namespace tuning_task_test
