#include "models/network_checks.hpp"
#include <gsub/models/test_graphs.hpp>

namespace test_graphs_test {

using namespace gsub;
using namespace network_checks;

graph build(std::string_view name, std::uint64_t seed = 1) {
    for (auto const& entry : models::test_graph_entries)
        if (entry.name == name) return entry.build(seed);
    FAIL("no test graph is called " << name);
    return {};
}

} // namespace test_graphs_test

TEST_CASE("test graphs are legal, alive, small enough to be computed and survive ONNX") {
    using namespace test_graphs_test;
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const g = entry.build(1);
        for (auto const& p : check(g, stage::imported)) FAIL_CHECK(to_string(p));
        activations a;
        evaluate_options options;
        options.on_node = &activations::note;
        options.context = &a;
        auto const first = evaluate_graph(g, random_inputs(g, 1), options).value();
        auto const second = evaluate_graph(g, random_inputs(g, 2)).value();
        INFO("deviations from " << a.least << " at " << a.least_at << " to " << a.most << " at " << a.most_at);
        CHECK(a.least >= 0.05);
        CHECK(a.most <= 20);
        for (std::size_t i = 0; i < first.size(); ++i) CHECK(compare(first[i], second[i])->max_relative > 0.01);
        survives_onnx(g);
    }
}

TEST_CASE("weights of a test graph depend on its seed, its structure does not") {
    using namespace test_graphs_test;
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const first = entry.build(5), other = entry.build(6);
        CHECK(first.hash() == entry.build(5).hash());
        CHECK(first.size() == other.size());
        // The one graph without weights is the same for every seed.
        CHECK((first.hash() == other.hash()) == (entry.name == "t9"));
    }
}

TEST_CASE("every node of a test graph has a name of its own, inputs and outputs too") {
    using namespace test_graphs_test;
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const g = entry.build(1);
        std::set<std::string> names;
        for (auto n : g.order())
            if (n != g.return_node()) CHECK(names.insert(g.display_name(n)).second);
        CHECK(g.info().output_names.size() == g.output_count());
        CHECK_FALSE(g.info().name.empty());
    }
}

TEST_CASE("a negative test graph and its twin differ in what the law asks for, and in nothing else") {
    using namespace test_graphs_test;
    for (auto const& [negative, twin] : {std::pair{"t15", "t15_unpadded"},
                                         {"t16", "t16_wide"},
                                         {"t17", "t17_ungrouped"},
                                         {"t20", "t20_independent"},
                                         {"t14_relu", "t14"}}) {
        auto const a = build(negative), b = build(twin);
        INFO(negative);
        CHECK_FALSE(a.hash() == b.hash());
        CHECK(a.inputs().size() == b.inputs().size());
        CHECK(a.type({a.inputs()[0], 0}) == b.type({b.inputs()[0], 0}));
        CHECK(a.output_count() == b.output_count());
        CHECK(count<ops::conv>(a) == count<ops::conv>(b));
        CHECK(count<ops::mat_mul>(a) == count<ops::mat_mul>(b));
    }
    auto const padded = build("t15"), grouped = build("t17"), dependent = build("t20");
    CHECK(padded.attributes<ops::conv>(find(padded, "conv3x3")).pads == ints{1, 1, 1, 1});
    CHECK(padded.operand_count(find(padded, "conv1x1")) == 3);
    CHECK(grouped.attributes<ops::conv>(find(grouped, "first")).group == 2);
    CHECK(dependent.operand(find(dependent, "second"), 1).node == find(dependent, "relu"));
    CHECK(type_of(build("t16"), "down") == "f32[256,8]");
    CHECK(type_of(build("t16_wide"), "down") == "f32[256,2048]");
}

TEST_CASE("residual modules have the sizes of the figure") {
    using namespace test_graphs_test;
    CHECK(type_of(build("resnet_module"), "add") == "f32[1,256,7,7]");
    CHECK(type_of(build("resnet_module_14"), "add") == "f32[1,256,14,14]");
    CHECK(type_of(build("t1"), "add") == "f32[1,64,7,7]");
    CHECK(build("t1").hash() == models::residual_module(1, 64, 7).hash());
}

TEST_CASE("the recurrent cell has eight gates, each the sum of two products") {
    using namespace test_graphs_test;
    auto const g = models::recurrent_cell(1);
    CHECK(g.output_count() == 8);
    CHECK(count<ops::mat_mul>(g) == 16);
    CHECK(count<ops::add>(g) == 8);
    CHECK(to_string(g.type(g.output(7))) == "f32[1,512]");
}
