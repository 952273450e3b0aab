#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/core/random.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/lower/schedule.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace emit_test {

using namespace kernel_graphs;

// exp(x w) of [20, 12] and [12, 33], made by hand: no operator, no graph.
kernel_graph product_by_hand(tensor weights) {
    using role = runtime::memory_role;
    auto const type = [](std::int64_t rows, std::int64_t columns) {
        return tensor_type{dtype::f32, ints{rows, columns}};
    };
    auto const stored = [&](kernel_value v) {
        v.bytes = static_cast<std::size_t>(*v.type.elements()) * sizeof(float);
        return v;
    };
    kernel_graph k;
    k.stage = lowering_stage::laid_out;
    k.values.push_back(stored({.name = "x", .type = type(20, 12), .role = role::input}));
    k.values.push_back(stored({.name = "w", .type = type(12, 33), .role = role::constant, .data = std::move(weights)}));
    k.values.push_back(stored({.name = "product", .type = type(20, 33)}));
    k.values.push_back(stored({.name = "y", .type = type(20, 33), .role = role::output}));
    kernels::matmul_shape product{.m = 20, .n = 33, .k = 12};
    k.ops.push_back({.computes = product, .operands = {{0, {}, {}}, {1, {}, weight_packing{}}}, .results = {2}});
    kernels::row_reduction_shape exponentials{.dims = {20, 33}};
    exponentials.arrays.push_back(kernels::array_view::contiguous(exponentials.dims));
    exponentials.ops.push_back({.what = {.op = loop::scalar_op::exponential}});
    exponentials.results.push_back({.value = 1});
    k.ops.push_back({.computes = exponentials, .operands = {{2, {}, {}}}, .results = {3}});
    k.outputs = {3};
    k.inputs = {type(20, 12)}, k.results = {type(20, 33)};
    k.input_names = {"x"}, k.output_names = {"y"};
    return k;
}
tensor filled(ints const& dims, std::uint64_t seed) {
    auto t = tensor::zeros(dtype::f32, dims);
    fill_random(t, random_stream{seed});
    return t;
}
// What is said of a graph that is not emitted.
std::string refusal(kernel_graph k, isa const& isa = isa::avx512) {
    auto const made = emit(std::move(k), isa);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::usage);
    return made.error().message();
}

} // namespace emit_test

TEST_CASE("a kernel graph that is made by hand is scheduled, emitted and run") {
    using namespace emit_test;
    auto const& isa = isa_of(host());
    auto const w = filled({12, 33}, 2), x = filled({20, 12}, 3);
    auto const by_hand = product_by_hand(w);
    REQUIRE(check(by_hand).empty());
    auto scheduled = schedule(by_hand, isa, counting_heuristic{}).value();
    REQUIRE(check(scheduled).empty());
    auto const program = loaded(emit(std::move(scheduled), isa).value());
    CHECK(program.steps().size() == 2);
    CHECK(program.output_names()[0] == "y");

    graph g;
    network_builder net{g, weight_source{1}};
    auto const in = net.input(dtype::f32, {20, 12}, "x");
    net.output(net.add<ops::exp>(net.add<ops::mat_mul>({}, {in, net.constant(w, "w")})), "y");
    std::vector<tensor> const inputs{x};
    CHECK(difference_of(program.run(inputs).value(), evaluate_graph(any_graph{g}, evaluators, inputs).value()) < 1e-5);
}

TEST_CASE("what would read or write beyond its values is not emitted") {
    using namespace emit_test;
    auto const& isa = isa::avx512;
    auto const k = schedule(product_by_hand(filled({12, 33}, 2)), isa, counting_heuristic{}).value();
    using Catch::Matchers::Contains;
    auto wide = k; // a descriptor that reads more than there is
    std::get<kernels::matmul_shape>(std::get<kernels::descriptor>(wide.ops[0].computes)).m = 21;
    wide.ops[0].moves = "wide";
    wide = schedule(std::move(wide), isa, counting_heuristic{}).value();
    CHECK_THAT(refusal(wide), Contains("matmul (node \"wide\"): its kernel takes 1008 bytes as a, and is given 960"));
    auto narrow = k;
    auto& rows = std::get<kernels::row_reduction_shape>(std::get<kernels::descriptor>(narrow.ops[1].computes));
    rows.arrays[0].elements = 661;
    CHECK_THAT(refusal(narrow), Contains("its kernel takes 2644 bytes as") && Contains("and is given 2640"));
    auto none = k;
    none.values[1].data = {};
    CHECK_THAT(refusal(none), Contains("weights %1 have no elements"));
    auto unscheduled = k;
    unscheduled.ops[0].schedule.reset();
    CHECK_THAT(refusal(unscheduled), Contains("expected a schedule, found none"));
    // A kernel of the application is held to its values too.
    auto own = k;
    custom_kernel c{.name = "mine"};
    c.nest = [](loop::configuration const&, gsub::isa const&) -> loop::fused_nest {
        loop::expression_builder e{"mine"};
        auto const i = e.spatial("i", 700);
        auto const in = e.input("in", {700}), out = e.output("out", {700});
        return loop::schedule{e.store(out, {i}, e.at(in, {i}))}.finish();
    };
    own.ops[1].computes = c;
    own = schedule(std::move(own), isa, counting_heuristic{}).value();
    CHECK_THAT(refusal(own), Contains("mine: its kernel takes 2800 bytes as in, and is given 2640"));
    std::get<custom_kernel>(own.ops[1].computes).nest = [](loop::configuration const&,
                                                           gsub::isa const&) -> loop::fused_nest {
        loop::expression_builder e{"mine"};
        auto const i = e.spatial("i", 3);
        auto const in = e.input("in", {3}), other = e.input("other", {3}), out = e.output("out", {3});
        return loop::schedule{e.store(out, {i}, e.at(in, {i}) + e.at(other, {i}))}.finish();
    };
    CHECK_THAT(refusal(own), Contains("its kernel does not write other"));
    std::get<custom_kernel>(own.ops[1].computes).nest = nullptr;
    CHECK_THAT(refusal(own), Contains("the kernel of the application has no function"));
}

TEST_CASE("kernels of one text are one, and so are weights that several kernels read in one order") {
    using namespace emit_test;
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {4, 8}, "x");
    auto const w = net.constant(filled({8, 8}, 5), "w");
    for (int i = 0; i < 3; ++i) x = net.add<ops::mat_mul>({}, {x, w});
    net.output(x, "y");
    auto const& isa = isa_of(host());
    auto const k = stages(g, isa).back();
    auto program = emit(k, isa).value();
    CHECK(program.steps.size() == 3);
    CHECK(program.kernels.size() == 1);
    for (auto const& s : program.steps) CHECK(s.values[1] == program.steps[0].values[1]);
    auto const inputs = random_inputs(g, 1);
    CHECK(difference_of(loaded(std::move(program)).run(inputs).value(),
                        evaluate_graph(any_graph{g}, evaluators, inputs).value()) < 1e-5);
}

TEST_CASE("weights that kernels read in other orders are packed for each order") {
    using namespace emit_test;
    graph g;
    network_builder net{g, weight_source{4}};
    auto const x = net.input(dtype::f32, {16, 16}, "x");
    auto const w = net.constant(filled({16, 16}, 5), "w");
    attributes_of<ops::gemm> turn, halve;
    turn.transpose_b = true, halve.alpha = 0.5;
    auto const turned = net.add<ops::gemm>(turn, {x, w}), halved = net.add<ops::gemm>(halve, {x, w});
    auto const plain = net.add<ops::mat_mul>({}, {x, w}), again = net.add<ops::mat_mul>({}, {turned, w});
    auto const image = net.input(dtype::f32, {1, 8, 12, 12}, "image");
    auto const filters = net.constant(filled({8, 8, 3, 3}, 6), "filters");
    attributes_of<ops::conv> same;
    same.strides = {1, 1}, same.dilations = {2, 2}, same.pads = {2, 2, 2, 2};
    auto last = image;
    for (int i = 0; i < 3; ++i) last = net.add<ops::conv>(same, {last, filters});
    value_id const outputs[] = {halved, plain, again, last};
    g.set_outputs(outputs);
    auto const& isa = isa_of(host());
    auto program = emit(stages(g, isa).back(), isa).value();
    std::map<std::int32_t, std::set<std::string>> readers; // of weights
    for (auto const& s : program.steps)
        for (auto const v : s.values) {
            auto const& stored = program.values[static_cast<std::size_t>(v)];
            if (stored.where.role == runtime::memory_role::constant && stored.size > 64) readers[v].insert(s.name);
        }
    std::multiset<std::size_t> counts;
    for (auto const& [v, names] : readers) counts.insert(names.size());
    CHECK(counts == std::multiset<std::size_t>{1, 1, 2, 3}); // of w turned, halved, as it is; filters
    auto const inputs = random_inputs(g, 1);
    CHECK(difference_of(loaded(std::move(program)).run(inputs).value(),
                        evaluate_graph(any_graph{g}, evaluators, inputs).value()) < 1e-4);
}
