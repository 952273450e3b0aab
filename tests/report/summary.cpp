#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/report/summary.hpp>

namespace summary_test {

using namespace gsub;
using report::summarize;
using report::to_text;

bool has(std::string const& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("a summary counts every node of a graph once") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        auto const s = summarize(g);
        std::size_t listed = 0;
        for (auto const& entry : s.operators) listed += entry.second;
        CHECK(listed == s.nodes);
        CHECK(s.nodes + s.constants + s.inputs.size() + 1 == g.size());
        std::int64_t elements = 0;
        double weights = 0;
        for (auto n : g.order())
            if (g.is<ops::constant>(n))
                elements += g.constant_data(n).elements(), weights += double(g.constant_data(n).size_bytes());
        CHECK(s.parameters == elements);
        CHECK(s.weight_bytes == weights);
        CHECK(s.flop == cost::flop_cost{}(g).amount);
        CHECK(s.bytes == cost::byte_cost{}(g).amount);
        CHECK(s.peak_bytes == cost::peak_memory{}(g).amount);
        CHECK(s.outputs.size() == g.output_count());
    }
}

TEST_CASE("a summary tells inputs, outputs and operators by name, unknown operators as such") {
    graph g;
    auto const x = g.add_input(tensor_type{dtype::f32, {dim{symbol{"batch"}}, 2}}, "image");
    auto const type = g.type_of(x);
    auto const strange = g.add_opaque({.domain = "com.example", .op_type = "Strange"},
                                      tensor::zeros(dtype::u8, ints{1}), std::vector{x}, std::vector{type});
    graph_builder b{g};
    auto const y = b.add<ops::relu>(value_id{strange, 0});
    b.outputs({y, b.add<ops::relu>(y)}, {"first"}); // the second has no name
    auto const s = summarize(g);
    CHECK(s.operators == std::map<std::string, std::size_t>{{"Relu", 2}, {"Strange (unknown)", 1}});
    CHECK(s.inputs == std::vector<std::pair<std::string, std::string>>{{"image", "f32[batch,2]"}});
    REQUIRE(s.outputs.size() == 2);
    CHECK(s.outputs[0].first == "first");
    CHECK(s.outputs[1].first == "output_1");
    auto const text = to_text(s);
    for (auto const* part : {"image", "f32[batch,2]", "first", "3 nodes", "Strange (unknown)"}) CHECK(has(text, part));
    // The operator with the most nodes first.
    CHECK(text.find("Relu") < text.find("Strange"));
}

TEST_CASE("an optimization is told with costs, kernels, rules and the verdict") {
    auto const r = optimize(models::fire_module(1), cost::roofline{}, {.alpha = 1.05, .verify = true}).value().report;
    auto const text = to_text(r);
    CAPTURE(text);
    for (auto const* part : {"26.1 us -> 5.63 us", "kernels  5 -> 1", "graphs expanded", "stopped: exhausted",
                             "2 x fuse_conv_relu", "1 x enlarge_and_merge_convs", "verified: equal", "prime field"})
        CHECK(has(text, part));
    auto const silent = optimize(models::fire_module(1), cost::roofline{}).value().report;
    CHECK_FALSE(has(to_text(silent), "verified"));
    CHECK(to_text(silent.verification).empty());
}

TEST_CASE("a difference is told in capitals, with its notes") {
    verification_report v;
    v.attempted = true, v.different = true, v.on_numbers = true, v.max_relative_error = 0.5;
    v.notes = {"numbers: output 0 differs by 0.5"};
    auto const text = to_text(v);
    CHECK(has(text, "NOT EQUAL"));
    CHECK(has(text, "output 0 differs"));
    CHECK_FALSE(has(text, "prime field"));
    v = {};
    v.attempted = true, v.rewrites_skipped = 2;
    CHECK(has(to_text(v), "NOT VERIFIED"));
    CHECK_FALSE(has(to_text(v), "EQUAL"));
    v.equal = true;
    CHECK(has(to_text(v), "in part"));
    v.rewrites_checked = 3, v.rewrites_skipped = 1, v.whole_in_field = true, v.reduced_to = "f32[1,3,8,8]";
    CHECK(has(to_text(v), "3 of 4 rewrites"));
    CHECK(has(to_text(v), "reduced to f32[1,3,8,8]"));
}

TEST_CASE("an empty graph and one that cost nothing have a summary") {
    CHECK(has(to_text(summarize(graph{})), "0 nodes"));
    optimize_report nothing;
    nothing.unit = "s";
    CHECK(has(to_text(nothing), "0 s -> 0 s"));
}

} // namespace summary_test
