#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/passes/select/selection.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace selection_test {

using namespace gsub;

module as_module(any_graph g) {
    module m;
    m.add("main", std::move(g));
    return m;
}
TEST_CASE("the classes of each pass are those of table 4") {
    auto const known = passes::standard_passes();
    struct row {
        std::string_view pass, classes;
    };
    for (auto const& [pass, classes] : {row{"AlterOpLayout", "BL RN MN SSD BR"},
                                        row{"AnnotateSpans", "AD"},
                                        row{"BatchingOps", "BR"},
                                        row{"CanonicalizeCast", "BL RN"},
                                        row{"CanonicalizeOps", "BL"},
                                        row{"CombineParallelConv2D", "RN"},
                                        row{"CombineParallelDense", "RN"},
                                        row{"ConvertLayout", "BL"},
                                        row{"DeadCodeElimination", "RN MN SSD"},
                                        row{"DefuseOps", "BL"},
                                        row{"DynamicToStatic", "AD"},
                                        row{"EliminateCommonSubexpr", "BL RN MN"},
                                        row{"FakeQuantizationToInteger", "AD"},
                                        row{"FastMath", "MN BR SSD"},
                                        row{"FirstOrderGradient", "MN"},
                                        row{"FoldConstant", "RN MN SSD"},
                                        row{"FoldExplicitPadding", "RN SSD"},
                                        row{"ForwardFoldScaleAxis", "BR"},
                                        row{"FuseOps", "RN MN SSD BR"},
                                        row{"MergeComposite", "RN MN SSD"},
                                        row{"PartitionGraph", "AD"},
                                        row{"RemoveUnusedFunctions", "SSD"},
                                        row{"SimplifyExpr", "RN MN SSD"},
                                        row{"SimplifyFCTranspose", "MN BR"},
                                        row{"SimplifyInference", "RN MN SSD"},
                                        row{"ToANormalForm", "AD"},
                                        row{"ToGraphNormalForm", "RN MN"},
                                        row{"ToMixedPrecision", "AD"}}) {
        CAPTURE(pass);
        auto const found = known.find(pass);
        REQUIRE(found);
        std::string have;
        for (auto c : found->info().classes) have += fmt::format("{}{}", have.empty() ? "" : " ", c);
        CHECK(have == classes);
    }
}

// The operator that makes the only output becomes another.
template <operation From, operation To>
result<pass_outcome> exchanged(any_graph& g) {
    auto const y = g.output(0);
    if (!g.is<From>(y.node)) return pass_outcome{};
    graph_builder b{g};
    g.set_outputs(std::vector<value_id>{b.add<To>(g.operand(y.node, 0))});
    g.erase_dead();
    return pass_outcome{.changed = true, .matches = 1};
}
struct climbing { // tanh costs 2, sigmoid 3, relu 1
    static constexpr auto facts = pass_facts("climbing", exactness::approximate, {}, {.preserves_semantics = false});
    result<pass_outcome> operator()(any_graph& g, pass_context&) const { return exchanged<ops::tanh, ops::sigmoid>(g); }
};
struct falling {
    static constexpr auto facts = pass_facts("falling", exactness::approximate, {}, {.preserves_semantics = false});
    result<pass_outcome> operator()(any_graph& g, pass_context&) const { return exchanged<ops::sigmoid, ops::relu>(g); }
};
struct idle {
    static constexpr pass_facts facts{"idle", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph&, pass_context&) const { return pass_outcome{}; }
};

constexpr auto cost = [](module const& m) {
    auto const h = histogram_of(m);
    return static_cast<double>(2 * h.count<ops::tanh>() + 3 * h.count<ops::sigmoid>() + h.count<ops::relu>());
};
template <operation Op>
module one() {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<Op>(b.input(dtype::f32, {2}, "x"))});
    return as_module(std::move(g));
}

TEST_CASE("a relaxed search climbs to the list that a greedy one does not see") {
    pass_manager known;
    known.add(idle{}).add(falling{}).add(climbing{});
    pass_context cx;
    auto const m = one<ops::tanh>();
    auto const found = [&](selection_options const& o) {
        return search_passes(known, known.passes(), m, cx, cost, o).value();
    };
    CHECK(found({.method = selection_method::greedy}).list.empty());
    CHECK(found({.search = {.alpha = 1}}).list.empty());
    auto const best = found({.search = {.alpha = 2}});
    CHECK(best.list == "climbing, falling");
    CHECK(best.cost_before == 2);
    CHECK(best.cost_after == 1);
    CHECK(best.runs >= 4);
    CHECK(found({.longest = 1, .search = {.alpha = 2}}).list.empty());
    auto const near =
        search_passes(known, known.passes(), one<ops::sigmoid>(), cx, cost, {.method = selection_method::greedy});
    CHECK(near.value().list == "falling");
}

TEST_CASE("random lists follow from the seed, and are tried as often as was said") {
    pass_manager known;
    known.add(idle{}).add(falling{}).add(climbing{});
    pass_context cx;
    auto const run = [&](std::uint64_t seed) {
        return search_passes(known, known.passes(), one<ops::tanh>(), cx, cost,
                             {.method = selection_method::random, .seed = seed, .trials = 30, .longest = 4})
            .value();
    };
    CHECK(run(1).list == run(1).list);
    CHECK(run(1).runs == run(1).runs);
    CHECK(run(1).cost_after == 1);
    CHECK(run(1).runs <= 30 * 4);
}

TEST_CASE("what was found is remembered by structure, and survives as text") {
    selection_memory memory;
    auto const m = one<ops::tanh>();
    CHECK_FALSE(memory.find(m));
    memory.remember(m, {"climbing, falling", 2.5, 1.25, 7});
    memory.remember(one<ops::relu>(), {"", 1, 1, 3});
    auto const again = selection_memory::from_text(memory.to_text()).value();
    CHECK(again.size() == 2);
    CHECK(again.to_text() == memory.to_text());
    auto const* const found = again.find(one<ops::tanh>());
    REQUIRE(found);
    CHECK(found->list == "climbing, falling");
    CHECK(found->cost_before == 2.5);
    CHECK(found->cost_after == 1.25);
    CHECK(found->runs == 7);
    CHECK_FALSE(again.find(one<ops::sigmoid>()));
    for (std::string const bad : {"x\n", "0123 1 2 3 a\n", "\n"})
        CHECK(selection_memory::from_text(memory.to_text() + bad).error().code() == error_code::invalid_input);
}

} // namespace selection_test
