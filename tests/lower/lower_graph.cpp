#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/lower_graph.hpp>

#include <string>

TEST_CASE("lowering goes through all stages in order, each of them legal") {
    using namespace kernel_graphs;
    for (auto const& g : graphs()) {
        auto const all = stages(g, isa::avx512);
        REQUIRE(all.size() == 4);
        for (std::size_t i = 0; i < all.size(); ++i) {
            CHECK(all[i].stage == static_cast<lowering_stage>(i));
            CHECK(check(all[i]).empty());
        }
        CHECK(to_text(lower_graph(g, evaluators, isa::avx512).value()) == to_text(all[3]));
    }
}

TEST_CASE("what is lowered computes what the graph does, as far as kernels go or by the evaluator alone") {
    using namespace kernel_graphs;
    auto const& isa = isa_of(host());
    for (auto const& g : graphs())
        for (auto const generate : {true, false}) {
            lowering_options options;
            options.generate = generate;
            auto inputs = random_inputs(g, 5);
            for (auto& t : inputs)
                if (t.element() == dtype::i64) t = tensor::from<std::int64_t>({3}, {-1, 0, 5});
            auto k = lower_graph(g, evaluators, isa, options).value();
            if (!generate)
                for (auto const& op : k.ops) CHECK_FALSE(std::holds_alternative<kernels::descriptor>(op.computes));
            CHECK(difference_of(loaded(emit(std::move(k), isa).value()).run(inputs).value(),
                                evaluate_graph(any_graph{g}, evaluators, inputs).value()) < 1e-4);
        }
}

TEST_CASE("schedules come from the source that is given") {
    using namespace kernel_graphs;
    std::size_t asked = 0;
    auto const first = [&](kernels::descriptor const&, isa const&, loop::config_space const& space) {
        ++asked;
        return space.at(0);
    };
    lowering_options options;
    options.schedules = schedule_function{first};
    auto const k = lower_graph(small_net(), evaluators, isa::baseline, options).value();
    CHECK(asked > 0);
    for (auto const& op : k.ops)
        if (op.schedule) CHECK(op.schedule->index() == 0);
}

TEST_CASE("what cannot be lowered is refused by name") {
    using namespace kernel_graphs;
    graph open;
    network_builder net{open, weight_source{1}};
    any_graph const dynamic = graph_of(R"(
        %0 "x": f32[?,3] = input
        %1 "r": f32[?,3] = Relu(%0)
        return %1
    )");
    auto const made = lower_graph(dynamic, evaluators, isa::avx512);
    REQUIRE_FALSE(made);
    CHECK(made.error().id() == errors::open_shape);
    CHECK_THAT(made.error().message(),
               Catch::Matchers::Contains("node \"x\"") && Catch::Matchers::Contains("static shapes"));
}

TEST_CASE("what is larger than the evaluator computes is refused before anything is planned") {
    using namespace kernel_graphs;
    any_graph const large = graph_of(R"(
        %0 "x": f32[65536,1] = input
        %1 "y": f32[1,131072] = input
        %2 "s": f32[65536,131072] = Add(%0, %1)
        %3 "r": f32[65536,131072] = Relu(%2)
        return %3
    )");
    auto const made = lower_graph(large, evaluators, isa::avx512);
    REQUIRE_FALSE(made);
    CHECK(made.error().id() == errors::memory_limit);
    CHECK(made.error().problems().size() == 2);
    CHECK_THAT(made.error().message(),
               Catch::Matchers::Contains("node \"s\"") && Catch::Matchers::Contains("f32[65536,131072]"));
}

TEST_CASE("without the layout pass each kernel changes layouts for itself, and with it types decide") {
    using namespace kernel_graphs;
    graph g;
    models::network_builder net{g, weight_source{1}};
    auto x = net.input(dtype::f32, {1, 32, 6, 6}, "x");
    for (auto const* name : {"a", "b", "c"}) x = net.relu(name, net.conv(name, x, {32, {3, 3}, {1, 1}, {1, 1}}));
    net.output(x, "y");
    auto const conversions = [](any_graph const& of, bool lay_out) {
        auto const k = lower_graph(of, evaluators, isa::avx512, {.lay_out = lay_out}).value();
        return std::count_if(k.ops.begin(), k.ops.end(), [](kernel_op const& op) { return !op.moves.empty(); });
    };
    CHECK(conversions(any_graph{g}, true) == 2);
    CHECK(conversions(any_graph{g}, false) == 6);
    // A graph that names layouts has been laid out.
    auto const first = passes::lay_out_graph(any_graph{g}, target{}, [](passes::layout_query const& q) {
        auto const is_first = q.is<ops::conv>() && q.graph.is<ops::input>(q.graph.operand(q.node, 0).node);
        return std::optional<layout>{is_first ? layout{"NCHW16c"} : layout{}};
    });
    CHECK(conversions(first.graph, true) == 6);
    CHECK(conversions(passes::lay_out_graph(any_graph{g}, target{}, kernel_layouts{&isa::avx512}).graph, false) == 2);
    // Kernels of another set have no such blocks.
    CHECK(conversions(passes::lay_out_graph(any_graph{g}, target{}, kernel_layouts{&isa::avx2}).graph, false) == 6);
}
