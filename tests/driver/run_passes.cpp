#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/lower/grouped_graph.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <algorithm>

namespace run_passes_test {

using namespace gsub;

gsub::module small() {
    gsub::module m;
    m.add("main", models::fire_module(1));
    return m;
}

TEST_CASE("with verification each pass that changes something is compared") {
    auto m = small();
    pass_context cx;
    run_passes_options options;
    options.verify = true;
    auto const done = run_passes(m, passes::standard_passes(), "dce, fuse-ops", cx, options).value();
    CHECK_FALSE(done.records[0].verdict.compared);
    CHECK(done.records[1].verdict.equal);
}

// ---- what a list makes is what is built

// A graph behind a list, whose order may be any; nothing where a pass refuses what another has made.
std::optional<gsub::module> tried(any_graph const& g, std::string_view list) {
    gsub::module m;
    m.add("main", g);
    pass_context cx;
    cx.machine = host();
    run_passes_options how;
    how.run.order = order_policy::ignore;
    if (!run_passes(m, compiler_passes(), list, cx, how)) return std::nullopt;
    return m;
}
gsub::module after(any_graph const& g, std::string_view list) {
    return tried(g, list).value();
}
// Kernels by what they compute, of a graph, or of a module by its own groups alone.
std::string kernels_of(any_graph g, lowering_options options) {
    auto const evaluators = table_of<eval_row, standard_ops>();
    return summary(lower_graph(std::move(g), evaluators, isa_of(host()), options).value());
}
// The same of what a build does without a list.
std::string kernels_built(any_graph g) {
    std::string last;
    auto const keep = [&](kernel_graph const& k) { last = summary(k); };
    build_options options;
    options.on_stage = keep;
    static_cast<void>(plan(std::move(g), table_of<eval_row, standard_ops>(), isa_of(host()), options).value());
    return last;
}
std::string kernels_of(gsub::module const& m) {
    auto grouped = inline_groups(m).value();
    lowering_options options;
    options.within = as_span(grouped.within);
    options.group = !grouped.within.empty();
    options.lay_out = false;
    return kernels_of(std::move(grouped.graph), options);
}

TEST_CASE("the list `default` makes the kernels that a build makes without one") {
    for (auto const* name : {"resnet18", "squeezenet1_1", "mobilenet_v2", "bert_small", "nasrnn", "nasnet_a"}) {
        CAPTURE(name);
        auto const g = models::find_model(name)->build(1);
        CHECK(kernels_of(after(g, "default")) == kernels_built(g));
    }
}

TEST_CASE("FuseOps in a list groups what is built, and without it every operator has a kernel of its own") {
    auto const g = models::find_model("squeezenet1_1")->build(1);
    lowering_options alone, rows;
    alone.group = false;
    alone.lay_out = rows.lay_out = false;
    CHECK(kernels_of(after(g, "none")) == kernels_of(g, alone));
    CHECK(kernels_of(after(g, "fuse-ops")) == kernels_of(g, rows));
    CHECK(kernels_of(after(g, "fuse-ops, defuse-ops")) == kernels_of(g, alone));
    CHECK(kernels_of(g, rows) != kernels_of(g, alone));
}

TEST_CASE("AlterOpLayout in a list says how values lie, and without it kernels change that for themselves") {
    auto const g = models::find_model("squeezenet1_1")->build(1);
    auto const steps = [&](std::string_view list) {
        auto grouped = inline_groups(after(g, list)).value();
        lowering_options options;
        options.within = as_span(grouped.within);
        options.lay_out = false;
        auto const k =
            lower_graph(std::move(grouped.graph), table_of<eval_row, standard_ops>(), isa_of(host()), options);
        return std::ranges::count_if(k.value().ops, [](kernel_op const& op) { return !op.moves.empty(); });
    };
    CHECK(steps("alter-op-layout, fuse-ops") <= 2);
    CHECK(steps("fuse-ops") > 40);
    CHECK(steps("fuse-ops, alter-op-layout") > 40); // values between functions are row-major
}

TEST_CASE("a layout that no kernel reads is told by name, and its values stay row-major") {
    struct listener : observer {
        std::vector<std::string> notes;
        void on_note(std::string_view text) override { notes.emplace_back(text); }
    };
    auto const g = models::find_model("t2")->build(1);
    auto const evaluators = table_of<eval_row, standard_ops>();
    for (auto const& [list, told] : {std::pair{"convert-layout(NCHW2c)", 1}, std::pair{"alter-op-layout", 0}}) {
        CAPTURE(list);
        auto const m = after(g, list);
        listener heard;
        build_options options;
        options.observe = &heard;
        auto const e = build(m, evaluators, host(), options, grouping::by_passes).value();
        auto const about =
            std::ranges::count_if(heard.notes, [](std::string const& n) { return n.find("\"NCHW2c\"") != n.npos; });
        CHECK(about == told);
        auto const inputs = random_inputs(g, 1);
        CHECK(compare(e.run(inputs).value()[0], evaluate_graph(g, evaluators, inputs).value()[0]).value().max_relative <
              1e-4);
    }
}

TEST_CASE("a graph that stands in NHWC around its convolutions gets the kernels of the same graph in NCHW") {
    // As exporters of TensorFlow write it: explicit borders, a bias for the last dimension, a mean over pixels.
    auto const net = [](bool last) {
        graph g;
        models::network_builder b{g, models::weight_source{1}};
        auto const turned = [&](value_id v, ints perm) {
            return last ? b.add<ops::transpose>({.perm = std::move(perm)}, {v}) : v;
        };
        auto x = last ? b.input(dtype::f32, {1, 12, 12, 32}, "x") : b.input(dtype::f32, {1, 32, 12, 12}, "x");
        auto const bias = tensor::from(last ? ints{32} : ints{32, 1, 1}, as_span(std::vector<float>(32, 0.5f)));
        auto const layer = [&](std::string const& name, value_id v) {
            auto const bordered =
                b.add<ops::pad>({.pads = last ? ints{0, 1, 1, 0, 0, 1, 1, 0} : ints{0, 0, 1, 1, 0, 0, 1, 1}}, {v});
            auto const c = b.conv(name, turned(bordered, {0, 3, 1, 2}), {32, {3, 3}});
            return b.relu(name + "r", b.sum(name + "b", turned(c, {0, 2, 3, 1}), b.constant(bias)));
        };
        x = b.sum("s", layer("b", layer("a", x)), x);
        b.output(b.add<ops::reduce_mean>({.axes = last ? ints{1, 2} : ints{2, 3}, .keepdims = false}, {x}), "y");
        return any_graph{g};
    };
    for (std::string_view const list :
         {"convert-layout, fold-constant, fold-explicit-padding, alter-op-layout, fuse-ops", "auto", "default"}) {
        CAPTURE(list);
        auto const first = after(net(false), list), last = after(net(true), list);
        std::size_t transposes = 0;
        auto const flat = inline_groups(last).value().graph;
        for (auto n : flat.order()) transposes += flat.is<ops::transpose>(n) && !flat.constant(n);
        CHECK(transposes <= 1);
        auto const lines = [](std::string const& text) { return std::ranges::count(text, '\n'); };
        CHECK(lines(kernels_of(last)) <= lines(kernels_of(first)) + 1);
    }
}

} // namespace run_passes_test
