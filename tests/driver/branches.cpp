#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/driver/run_passes.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <string>
#include <vector>

namespace branches_test {

using namespace gsub;
using built_graph::kinds;
using models::network_builder;
using models::weight_source;

auto const evaluators = table_of<eval_row, standard_ops>();

TEST_CASE("an If between kernels runs the branch that its condition says") {
    module m;
    auto const branch = [&](std::string const& name, auto&& make) {
        graph g;
        network_builder net{g, weight_source{7}};
        auto const x = net.input(dtype::f32, {1, 16, 5, 5}, "x");
        net.output(make(g, net, x), "y");
        m.add(name, std::move(g));
    };
    branch("left", [](graph&, network_builder& net, value_id x) {
        return net.conv("l", x, {16, {3, 3}, {1, 1}, {1, 1}, 1, true});
    });
    branch("right", [](graph& g, network_builder&, value_id x) { return graph_builder{g}.add<ops::neg>(x); });
    branch("few", [](graph& g, network_builder&, value_id x) {
        return graph_builder{g}.add<ops::slice>({.starts = {0}, .ends = {3}, .axes = {1}, .steps = {1}}, {x});
    });
    graph g;
    network_builder net{g, weight_source{1}};
    graph_builder b{g};
    auto const x = net.input(dtype::f32, {1, 3, 5, 5}, "x"), which = net.input(dtype::boolean, {}, "which");
    auto const first = net.relu("r", net.conv("a", x, {16, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    value_id const same{add_if(g, m, which, "left", "right", std::array{first}), 0};
    value_id const open{add_if(g, m, which, "few", "right", std::array{same}), 0};
    b.outputs({net.relu("s", net.conv("b", same, {8, {3, 3}, {1, 1}, {1, 1}, 1, true})), b.add<ops::exp>(open)});
    m.add("main", std::move(g));
    CHECK_FALSE(build(m.find("main")->body, evaluators, host())); // its branches are functions of the module
    auto passed = m; // functions of groups, which are put in one graph again
    pass_context cx;
    CHECK(run_passes(passed, compiler_passes(), "default, fuse-ops", cx));
    for (auto const taken : {true, false}) {
        std::vector const inputs{random_inputs(m.find("main")->body, 3)[0], tensor::scalar(taken)};
        auto const want = evaluate_module(m, evaluators, inputs).value();
        auto const got = evaluate_module(passed, evaluators, inputs).value();
        for (std::size_t i = 0; i < 2; ++i) CHECK(compare(got[i], want[i]).value().max_relative < 1e-4);
    }
    for (auto const groups : {grouping::by_kernels, grouping::by_passes}) {
        auto const e = build(m, evaluators, host(), {}, groups).value();
        std::size_t kernels = 0;
        for (auto const& kind : kinds(e)) kernels += !kind.starts_with("reference") && kind != "copy";
        CHECK(kernels >= 2);
        for (auto const taken : {true, false}) {
            std::vector const inputs{random_inputs(m.find("main")->body, 3)[0], tensor::scalar(taken)};
            auto const want = evaluate_module(m, evaluators, inputs).value();
            auto const got = e.run(inputs).value();
            for (std::size_t i = 0; i < 2; ++i) {
                REQUIRE(got[i].type() == want[i].type());
                CHECK(compare(got[i], want[i]).value().max_relative < 1e-4);
            }
            CHECK(got[1].dims()[1] == (taken ? 3 : 16));
        }
    }
}

} // namespace branches_test
