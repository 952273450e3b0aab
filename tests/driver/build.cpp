#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace build_test {

using namespace gsub;
using models::network_builder;
using models::weight_source;

auto const evaluators = table_of<eval_row, standard_ops>();

struct listener : observer {
    std::vector<std::string> notes;
    void on_note(std::string_view text) override { notes.emplace_back(text); }
};

std::vector<isa const*> sets() {
    std::vector<isa const*> found{&isa::baseline};
    if (host().has(isa::sse42)) found.push_back(&isa::sse42);
    if (host().has(isa::avx2)) found.push_back(&isa::avx2);
    if (host().has(isa::avx512)) found.push_back(&isa::avx512);
    return found;
}

runtime::executable built(any_graph const& g, isa const* isa = nullptr) {
    build_options options;
    options.jit.use_cache = false;
    options.isa = isa;
    return build(g, evaluators, host(), options).value();
}

// Largest error over the outputs, against the reference runtime.
double error_of(any_graph const& g, runtime::executable const& e, std::vector<tensor> const& inputs) {
    auto const want = evaluate_graph(g, evaluators, inputs).value();
    auto const got = e.run(inputs).value();
    REQUIRE(got.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        auto const d = compare(got[i], want[i]).value();
        CHECK(d.same_specials);
        worst = std::max(worst, d.max_relative);
    }
    return worst;
}

std::set<std::string> kinds(runtime::executable const& e) {
    std::set<std::string> found;
    for (auto const& s : e.steps()) found.insert(kind_of(s));
    return found;
}

// Stem, maximum, a residual block with a stride, depthwise and grouped convolutions, mean, classifier.
graph small_net() {
    graph g;
    network_builder net{g, weight_source{3}};
    auto x = net.input(dtype::f32, {1, 3, 23, 19}, "x");
    x = net.relu("r0", net.conv("c0", x, {24, {7, 7}, {2, 2}, {3, 3}, 1, true}));
    x = net.max_pool("m", x, {{3, 3}, {2, 2}, {1, 1}});
    auto const a = net.relu("r1", net.conv("c1", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const b = net.conv("c2", a, {24, {1, 1}, {1, 1}, {0, 0}, 1, true});
    x = net.relu("r2", net.sum("s", b, x));
    x = net.relu6("r3", net.conv("dw", x, {24, {3, 3}, {2, 2}, {1, 1}, 24, true}));
    x = net.conv("c3", x, {40, {1, 1}, {1, 1}, {0, 0}, 1, false});
    net.output(net.linear("fc", net.pooled_features(x), 11), "y");
    return g;
}

TEST_CASE("a GPU that is no device here is planned for, and not built for") {
    graph g;
    network_builder net{g, weight_source{1}};
    net.output(net.relu("r", net.conv("c", net.input(dtype::f32, {1, 3, 9, 9}, "x"), {8, {3, 3}, {1, 1}, {1, 1}})),
               "y");
    auto const machine = parse_target("sm_90").value();
    auto const made = plan(g, evaluators, machine).value();
    REQUIRE_FALSE(made.kernels.empty());
    for (auto const& k : made.kernels) CHECK(k.ir->lanes == isa::warp.lanes());
    CHECK(build(g, machine).error().id() == errors::no_device);
    build_options options;
    options.isa = &isa::baseline;
    auto const refused = plan(g, evaluators, machine, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == error_code::usage);
}

} // namespace build_test

TEST_CASE("what is built computes what the graph does, on every instruction set") {
    using namespace build_test;
    auto const g = small_net();
    for (auto const* isa : sets()) {
        INFO(isa->name);
        auto const e = built(g, isa);
        for (std::uint64_t seed = 1; seed < 4; ++seed) CHECK(error_of(g, e, random_inputs(g, seed)) < 1e-5);
        for (auto const& kind : kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
    }
}

TEST_CASE("activation, bias and residual are part of a convolution's kernel") {
    using namespace build_test;
    std::size_t convolutions = 0, elementwise = 0;
    auto const planned = plan(small_net(), evaluators, isa::baseline).value();
    for (auto const& s : planned.steps) {
        auto const* const call = std::get_if<runtime::kernel_call>(&s.what);
        if (!call) continue;
        REQUIRE(call->computes);
        convolutions += std::holds_alternative<kernels::conv2d_shape>(*call->computes) ||
                        std::holds_alternative<kernels::winograd_shape>(*call->computes);
        elementwise += std::holds_alternative<kernels::elementwise_shape>(*call->computes) ||
                       std::holds_alternative<kernels::row_reduction_shape>(*call->computes);
    }
    CHECK(convolutions == 5);
    CHECK(elementwise == 0);
}

TEST_CASE("where operators are not to be grouped, each is a step of its own, to the same effect") {
    using namespace build_test;
    build_options alone;
    alone.jit.use_cache = false;
    alone.group = false;
    graph attending;
    {
        network_builder net{attending, weight_source{2}};
        auto const q = net.input(dtype::f32, {1, 2, 40, 16}, "q"), k = net.input(dtype::f32, {1, 2, 16, 40}, "k"),
                   v = net.input(dtype::f32, {1, 2, 40, 16}, "v");
        auto const p = net.add<ops::softmax>({.axis = -1}, {net.add<ops::mat_mul>({}, {q, k})});
        net.output(net.add<ops::mat_mul>({}, {p, v}), "y");
    }
    auto const steps = [](graph const& g, build_options const& options) {
        std::map<std::string, int> found;
        auto const made = plan(g, evaluators, isa::baseline, options).value();
        for (auto const& s : made.steps) ++found[kind_of(s)];
        return found;
    };
    CHECK(steps(attending, {})["attention"] == 1);
    CHECK(steps(attending, alone)["attention"] == 0);
    CHECK(steps(attending, alone)["matmul"] == 2);
    CHECK(steps(small_net(), alone)["separable conv2d"] == 0);
    CHECK(steps(small_net(), alone)["elementwise"] == 5); // four activations and a sum
    for (auto const& g : {small_net(), attending})
        CHECK(error_of(g, build(g, evaluators, host(), alone).value(), random_inputs(g, 1)) < 1e-5);
}

TEST_CASE("operators without a generator run on the reference runtime, and say so") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {2, 6, 5, 5}, "x");
    auto const a = net.conv("c", x, {10, {3, 3}, {1, 1}, {1, 1}});
    auto const y = net.add<ops::softmax>({.axis = 1}, {net.concat("j", {a, x})});
    auto const whole = net.add<ops::cast>({.to = dtype::i32}, {x});
    net.output(net.add<ops::add>(
                   y, net.add<ops::cast>({.to = dtype::f32},
                                         {net.add<ops::reduce_max>({.axes = {1}}, {net.add<ops::pow>(whole, whole)})})),
               "y");
    auto const e = built(g);
    CHECK(error_of(g, e, random_inputs(g, 5)) < 1e-5);
    CHECK(kinds(e).contains("conv2d"));
    CHECK(kinds(e).contains("concat"));
    CHECK(kinds(e).contains("reference Pow"));
}

TEST_CASE("whole blocks of channels are joined and split without a copy") {
    using namespace build_test;
    for (std::int64_t const batch : {1, 2}) {
        graph g;
        network_builder net{g, weight_source{1}};
        auto const x = net.input(dtype::f32, {batch, 16, 6, 5}, "x");
        auto const a = net.relu("a", net.conv("c", x, {48, {3, 3}, {1, 1}, {1, 1}, 1, true}));
        auto const parts = net.add<ops::split>({.axis = 1, .sizes = {16, 32}}, {a}, 2);
        auto const b = net.conv("d", {parts.node, 1}, {16, {3, 3}, {1, 1}, {1, 1}});
        auto const d = net.conv("e", parts, {32, {1, 1}});
        auto const inner = net.concat("j", {b, d, parts});
        auto const outer = net.concat("k", {inner, net.max_pool("m", b, {{3, 3}, {1, 1}, {1, 1}})});
        net.outputs({net.conv("f", outer, {16, {1, 1}}), inner});
        for (auto const* isa : sets()) {
            auto const e = built(g, isa);
            CHECK(error_of(g, e, random_inputs(g, 3)) < 1e-5);
            std::size_t copies = 0;
            for (auto const& s : e.steps()) copies += kind_of(s) == "copy" || kind_of(s) == "reference Split";
            if (batch == 1) CHECK(copies == 1); // of the part that is split off before it is joined
        }
    }
}

TEST_CASE("a joined value is read when all of its pieces are there") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 32, 6, 5}, "x");
    auto const a = net.conv("a", x, {16, {1, 1}});
    auto const mean = net.add<ops::reduce_mean>({.axes = {3}}, {x}); // planned between the two pieces
    auto const b = net.conv("b", x, {16, {1, 1}});
    auto const joined = net.concat("j", {a, b});
    net.outputs({net.add<ops::sub>(joined, mean)});
    for (auto const* isa : sets()) CHECK(error_of(g, built(g, isa), random_inputs(g, 3)) < 1e-5);
}

TEST_CASE("a piece of a joined value may be an output") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 16, 3, 3}, "x");
    auto const a = net.apply<ops::global_average_pool>("g", {net.conv("c", x, {32, {1, 1}})});
    auto const b = net.apply<ops::global_average_pool>("h", {net.conv("d", x, {16, {3, 3}})});
    net.outputs({b, net.concat("j", {a, b}), a});
    for (auto const* isa : sets()) CHECK(error_of(g, built(g, isa), random_inputs(g, 3)) < 1e-5);
}

TEST_CASE("layouts in a graph's types change nothing for its caller") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 16, 4, 4}, "x");
    auto const a = net.apply<ops::layout_transform>("t", {x}, {.to = "NCHW16c"});
    net.output(net.relu("r", net.conv("c", a, {16, {3, 3}, {1, 1}, {1, 1}})), "y");
    auto const e = built(g);
    CHECK(error_of(g, e, random_inputs(g, 4)) < 1e-5);
    CHECK(e.outputs()[0] == tensor_type{dtype::f32, ints{1, 16, 4, 4}});
}

TEST_CASE("random graphs run as they are evaluated") {
    using namespace build_test;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        INFO("seed " << seed);
        auto const g = random_graph::make<standard_ops>(seed, 14);
        CHECK(error_of(g, built(g), random_inputs(g, seed)) < 1e-4);
    }
}

TEST_CASE("equal kernels are compiled once") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto x = net.input(dtype::f32, {1, 32, 8, 8}, "x");
    for (auto const* name : {"a", "b", "c"})
        x = net.relu(name, net.conv(name, x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    net.output(x, "y");
    CHECK(plan(g, evaluators, isa::baseline).value().kernels.size() == 3); // with changes of blocks, there and back
}

TEST_CASE("a call of a kernel says what it computes, and the kernel's IR makes its text") {
    using namespace build_test;
    auto const p = plan(small_net(), evaluators, isa::baseline).value();
    REQUIRE(p.kernels.size() > 1);
    for (auto const& k : p.kernels) {
        REQUIRE(k.ir);
        CHECK(codegen::emit_cpp(*k.ir, k.source.symbol) == k.source.text);
    }
    std::size_t calls = 0;
    for (auto const& s : p.steps)
        if (auto const* const call = std::get_if<runtime::kernel_call>(&s.what)) {
            ++calls;
            REQUIRE(call->computes);
            CHECK(kernels::kind_of(*call->computes) == kind_of(s));
            auto const& ir = *p.kernels[static_cast<std::size_t>(call->kernel)].ir;
            CHECK(call->launch.positions == ir.parallel_extent);
            CHECK(call->workspace == codegen::workspace_bytes(ir));
        }
    CHECK(calls >= p.kernels.size());
}

TEST_CASE("calls of one kernel keep what each of them computes") {
    using namespace build_test;
    graph g;
    graph_builder b{g};
    // The same elements, one after the other, in two shapes.
    auto const x = b.input(dtype::f32, {6, 4}, "x"), y = b.input(dtype::f32, {2, 12}, "y");
    b.outputs({b.add<ops::tanh>(x), b.add<ops::tanh>(y)});
    auto const p = plan(g, evaluators, isa::baseline).value();
    REQUIRE(p.steps.size() == 2);
    CHECK(p.kernels.size() == 1);
    std::vector<std::vector<std::int64_t>> dims;
    for (auto const& s : p.steps)
        dims.push_back(std::get<kernels::row_reduction_shape>(*std::get<runtime::kernel_call>(s.what).computes).dims);
    CHECK(dims[0] == std::vector<std::int64_t>{6, 4});
    CHECK(dims[1] == std::vector<std::int64_t>{2, 12});
}

TEST_CASE("a program reads its inputs and writes its outputs in the host's memory") {
    using namespace build_test;
    auto const p = plan(small_net(), evaluators, isa::baseline).value();
    std::map<runtime::memory_role, std::size_t> found;
    for (auto const& v : p.values) {
        CHECK(v.where.device == runtime::host_cpu);
        ++found[v.where.role];
    }
    CHECK(found[runtime::memory_role::input] == p.inputs.size());
    CHECK(found[runtime::memory_role::output] == p.outputs.size());
    CHECK(found[runtime::memory_role::constant] > 0);
}

TEST_CASE("NaN and infinities come out as the evaluator has them") {
    using namespace build_test;
    auto const special = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()};
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 16, 6, 6}, "x");
    auto const a = net.relu6("r", net.conv("c", x, {16, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const b = net.relu("q", net.sum("s", x, net.relu6("t", x)));
    auto const c = net.max_pool("m", x, {{3, 3}, {2, 2}, {1, 1}});
    auto const d = net.average_pool("p", x, {{2, 2}, {2, 2}, {0, 0}});
    net.outputs({a, b, c, d});
    auto const e = built(g);
    for (auto const bad : special) {
        auto inputs = random_inputs(g, 1);
        inputs[0].mutable_data<float>()[77] = bad;
        CHECK(error_of(g, e, inputs) < 1e-5);
    }
}

TEST_CASE("Winograd kernels have NaN and infinities where the evaluator has them") {
    using namespace build_test;
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    std::int64_t const height = 15, width = 14, area = height * width;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 64, height, width}, "x");
    auto const a = net.conv("plain", x, {51, {3, 3}, {1, 1}, {1, 1}, 1, false});
    auto const b = net.relu6("clipped", net.conv("c", x, {64, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const c = net.relu("r", net.sum("s", net.conv("d", x, {64, {3, 3}, {1, 1}, {1, 1}, 1, true}), x));
    net.outputs({a, b, c});
    // Facts of one machine, whichever this is: they decide between the algorithms.
    auto machine = host();
    machine.name.clear(), machine.threads = 1, machine.l2_bytes = std::uint64_t{2} << 20;
    for (auto const* isa : sets())
        for (auto const accuracy : {kernels::winograd_accuracy::f2, kernels::winograd_accuracy::f4}) {
            build_options options;
            options.jit.use_cache = false;
            options.isa = isa;
            options.winograd.accuracy = accuracy;
            auto const e = build(g, evaluators, machine, options).value();
            CAPTURE(isa->name, static_cast<int>(accuracy));
            CHECK(kinds(e).contains(accuracy == kernels::winograd_accuracy::f2 ? "winograd F2" : "winograd F4"));
            for (std::uint64_t seed = 1; seed < 9; ++seed) {
                CAPTURE(seed);
                random_stream r{seed};
                auto inputs = random_inputs(g, seed);
                auto const values = inputs[0].mutable_data<float>();
                // A corner of the image, a border of tiles, anywhere.
                for (auto const place : {std::int64_t{0}, 4 * width + 3, static_cast<std::int64_t>(r.below(210))}) {
                    float const specials[] = {nan, infinity, -infinity, 1e30f, 2e38f, 0};
                    values[r.below(64) * static_cast<std::size_t>(area) + static_cast<std::size_t>(place)] =
                        specials[r.below(6)];
                }
                CHECK(error_of(g, e, inputs) < 1e-3);
            }
        }
}

TEST_CASE("a machine's program has the algorithms that its predicted times are least with") {
    using namespace build_test;
    // Deep layers, whose transformed weights come from memory or from a cache.
    graph g;
    graph_builder b{g};
    auto x = b.input(dtype::f32, {1, 256, 7, 7}, "x");
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    for (int i = 0; i < 3; ++i)
        x = b.add<ops::conv>(a, {x, b.constant(tensor::zeros(dtype::f32, ints{256, 256, 3, 3}))});
    b.outputs({x});
    std::set<std::string> kinds;
    for (auto const* const text : {"x86-64-avx512,threads=1,l1=48K,l2=2M,l3=64M,cpu=granite-rapids",
                                   "x86-64-avx512,threads=1,l1=48K,l2=1M,l3=2M,cpu=granite-rapids"}) {
        auto const machine = parse_target(text).value();
        auto const costs = cost::lowered::of(g, machine);
        double sum = 0;
        auto const add = [&](kernel_graph const& k) {
            if (k.stage != lowering_stage::scheduled) return;
            for (auto const& op : k.ops) {
                sum += costs.of_kernel(k, op).seconds;
                auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
                if (d && op.operands.size() > 1) kinds.insert(kernels::kind_of(*d));
            }
        };
        build_options options;
        options.on_stage = function_ref<void(kernel_graph const&)>{add};
        static_cast<void>(plan(g, evaluators, machine, options).value());
        CHECK(sum == Approx(costs.exactly(g).value().amount));
    }
    CHECK(kinds.size() == 2);
    build_options exact;
    exact.winograd.accuracy = kernels::winograd_accuracy::off;
    kinds.clear();
    auto const see = [&](kernel_graph const& k) {
        for (auto const& op : k.ops)
            if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes))
                kinds.insert(kernels::kind_of(*d));
    };
    exact.on_stage = function_ref<void(kernel_graph const&)>{see};
    static_cast<void>(plan(g, evaluators, parse_target("x86-64-avx512,threads=1").value(), exact).value());
    CHECK_FALSE(kinds.empty());
    for (auto const& kind : kinds) CHECK(kind.find("winograd") == kind.npos);
}

TEST_CASE("weights that are not finite, or too large to be transformed, are never those of a Winograd kernel") {
    using namespace build_test;
    for (auto const bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 1e38f}) {
        graph g;
        network_builder net{g, weight_source{1}};
        auto const x = net.input(dtype::f32, {1, 64, 14, 14}, "x");
        std::vector<float> weights(64 * 64 * 9, 0.01f);
        weights[777] = bad;
        std::int64_t const dims[] = {64, 64, 3, 3};
        auto const w = g.add_constant(tensor::from(std::span{dims}, std::span<float const>{weights}));
        attributes_of<ops::conv> same;
        same.strides = same.dilations = {1, 1}, same.pads = {0, 0, 0, 0};
        net.output(net.add<ops::conv>(same, {x, w}), "y");
        auto const e = built(g);
        CHECK_FALSE(kinds(e).contains("winograd F2"));
        CHECK_FALSE(kinds(e).contains("winograd F4"));
        CHECK(error_of(g, e, random_inputs(g, 1)) < 1e-5);
    }
}

TEST_CASE("an output may be an input, a constant, or named twice") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {2, 3}, "x");
    auto const c = net.constant(tensor::from<float>({2}, {1, 2}));
    auto const y = net.relu("r", x);
    auto const flat = net.add<ops::flatten>({.axis = 0}, {y});
    net.outputs({x, c, y, y, flat});
    CHECK(error_of(g, built(g), random_inputs(g, 2)) == 0);
}

TEST_CASE("inputs that do not fit are refused before anything runs") {
    using namespace build_test;
    auto const g = small_net();
    build_options options;
    options.generate = false;
    auto const e = build(g, evaluators, host(), options).value();
    auto const good = random_inputs(g, 1);
    std::vector<tensor> const none, two{good[0], good[0]}, narrow{tensor::zeros(dtype::f32, ints{1, 3, 23, 18})},
        wide{good[0].converted_to(dtype::f64)};
    for (auto const& inputs : {none, two, narrow, wide}) {
        auto const r = e.run(inputs);
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::given_inputs);
    }
    auto context = e.make_context();
    std::vector<tensor> outputs{tensor::zeros(dtype::f32, ints{1, 12})};
    inline_executor alone;
    CHECK(e.run(context, good, outputs, alone).error().id() == errors::given_inputs);
}

TEST_CASE("without a compiler the reference runtime computes the same, with one note") {
    using namespace build_test;
    auto const g = small_net();
    listener l;
    build_options options;
    options.compiler = "/nonexistent/compiler";
    options.observe = &l;
    auto const e = build(g, evaluators, host(), options).value();
    CHECK(error_of(g, e, random_inputs(g, 1)) < 1e-6);
    CHECK(l.notes.size() == 1);
    for (auto const& kind : kinds(e)) CHECK(kind.starts_with("reference"));
}

TEST_CASE("a graph without static shapes is refused by name") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {dim{symbol{"batch"}}, 3}, "x");
    net.output(net.relu("r", x), "y");
    auto const r = plan(g, evaluators, isa::baseline);
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::open_shape);
    CHECK(r.error().message().find("batch") != std::string::npos);
}

TEST_CASE("sizes that data decide are those of each run, and kernels compute what comes before") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    graph_builder b{g};
    auto const x = net.input(dtype::f32, {1, 3, 9, 9}, "x");
    auto const features = net.relu("r", net.conv("c", x, {16, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const at = b.add<ops::non_zero>(features);
    auto const channels = b.add<ops::gather>({}, {at, b.constant(tensor::from<std::int64_t>({1}, {1}))});
    auto const counts = b.add<ops::unique>({}, {channels}, 4);
    auto const total = b.add<ops::reduce_sum>({.keepdims = false}, {value_id{counts.node, 3}});
    auto const twice = b.add<ops::add>(total, total); // of static type again
    b.outputs({at, counts, value_id{counts.node, 3}, twice, at, features});
    auto const same = [](std::vector<tensor> const& got, std::vector<tensor> const& want) {
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i + 1 < got.size(); ++i) CHECK(got[i].hash() == want[i].hash());
        CHECK(compare(got.back(), want.back()).value().max_relative < 1e-5);
    };
    for (auto const generate : {true, false}) {
        build_options options;
        options.generate = generate;
        auto const e = build(g, evaluators, host(), options).value();
        CHECK(to_string(e.outputs()[0]) == "i64[4,?]");
        std::size_t kernels = 0;
        for (auto const& kind : kinds(e)) kernels += !kind.starts_with("reference") && kind != "copy";
        CHECK((kernels >= 2) == generate); // the convolution, and the sum of what is static
        auto context = e.make_context();
        auto outputs = e.make_outputs();
        inline_executor alone;
        std::set<std::int64_t> lengths;
        for (std::uint64_t seed = 1; seed < 4; ++seed) {
            auto const inputs = random_inputs(g, seed);
            auto const want = evaluate_graph(g, inputs).value();
            same(e.run(inputs).value(), want);
            REQUIRE(e.run(context, inputs, {outputs.data(), outputs.size()}, alone)); // over those of the run before
            same(outputs, want);
            lengths.insert(outputs[0].dims()[1]);
        }
        CHECK(lengths.size() > 1);
        CHECK(e.profile(random_inputs(g, 1), alone, 2).value().size() == e.steps().size());
    }
}

TEST_CASE("a view of unknown sizes lasts as long as its reader wants") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    graph_builder b{g};
    auto const x = net.input(dtype::f32, {2, 6}, "x"), to = net.input(dtype::i64, {2}, "to");
    auto const y = b.add<ops::relu>(x);
    auto const view = b.add<ops::reshape>({}, {y, to}); // of memory that later steps write to
    auto z = y;
    for (int i = 0; i < 3; ++i) z = b.add<ops::softmax>({.axis = 1}, {b.add<ops::exp>(z)});
    b.outputs({view, z});
    auto const e = built(g);
    std::vector const inputs{random_inputs(g, 1)[0], tensor::from<std::int64_t>({2}, {4, 3})};
    auto const want = evaluate_graph(g, inputs).value();
    auto const got = e.run(inputs).value();
    CHECK(got[0].hash() == want[0].hash());
    CHECK(compare(got[1], want[1]).value().max_relative < 1e-5);
}

TEST_CASE("what has a size of constants alone has a kernel") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    graph_builder b{g};
    auto const x = net.input(dtype::f32, {4, 5}, "x");
    auto const mask = tensor::from<bool>({1, 5}, {true, false, true, true, false});
    auto const at = b.add<ops::slice>({.starts = {1}, .ends = {2}, .axes = {0}, .steps = {1}},
                                      {b.add<ops::non_zero>(b.constant(mask))});
    auto const columns = b.add<ops::gather>({.axis = 1}, {x, b.add<ops::reshape>({.shape = {-1}}, {at})});
    net.output(b.add<ops::exp>(columns), "y");
    CHECK_FALSE(g.type(columns).is_static());
    auto const e = built(g);
    for (auto const& kind : kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
    CHECK(to_string(e.outputs()[0]) == "f32[4,3]");
    CHECK(error_of(g, e, random_inputs(g, 1)) < 1e-5);
}

TEST_CASE("a size that data decide and that contradicts another one ends the run with an error") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{1}};
    graph_builder b{g};
    auto const x = net.input(dtype::f32, {4}, "x");
    auto const at = b.add<ops::reshape>({.shape = {-1}}, {b.add<ops::non_zero>(x)});
    net.output(b.add<ops::add>(at, b.constant(tensor::from<std::int64_t>({3}, {1, 2, 3}))), "y");
    auto const e = built(g);
    CHECK(e.run(std::vector{tensor::from<float>({4}, {1, 0, 2, 3})}).value()[0].data<std::int64_t>()[2] == 6);
    auto const wrong = e.run(std::vector{tensor::from<float>({4}, {1, 0, 2, 0})});
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code() == error_code::invalid_input);
}

TEST_CASE("many threads use one executable, bit by bit as one does") {
    using namespace build_test;
    auto const g = small_net();
    auto const e = built(g);
    runtime::thread_pool pool;
    std::vector<std::vector<tensor>> inputs, want;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        inputs.push_back(random_inputs(g, seed));
        want.push_back(e.run(inputs.back()).value());
    }
    std::vector<int> wrong(8, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                for (std::size_t i = 0; i < 20; ++i) {
                    auto const k = (t + i) % inputs.size();
                    wrong[t] += e.run(inputs[k], t % 2 ? &pool : nullptr).value()[0].hash() != want[k][0].hash();
                }
            });
    }
    for (auto w : wrong) CHECK(w == 0);
}

TEST_CASE("weights packed in pieces by several threads are those packed by one, and the graph's are freed") {
    using namespace build_test;
    auto const weights = [](ints const& dims, std::vector<std::weak_ptr<tensor>>& observe) {
        auto const owner = std::make_shared<tensor>(tensor::zeros(dtype::f32, dims));
        fill_random(*owner, random_stream{observe.size() + 1});
        observe.push_back(owner);
        return tensor::borrowed(dtype::f32, dims, owner->raw().data(), owner);
    };
    auto const made = [&](std::vector<std::weak_ptr<tensor>>& observe) {
        graph g;
        graph_builder b{g};
        auto const image = b.input(dtype::f32, {1, 70, 9, 9}, "image"), rows = b.input(dtype::f32, {3, 200}, "rows");
        auto const weight = [&](ints const& dims) { return b.constant(weights(dims, observe)); };
        attributes_of<ops::conv> same, point;
        same.strides = same.dilations = {1, 1}, same.pads = {1, 1, 1, 1};
        point = same, point.pads = {0, 0, 0, 0};
        attributes_of<ops::gemm> half;
        half.alpha = 0.5, half.transpose_b = true;
        b.outputs({b.add<ops::conv>(same, {image, weight({90, 70, 3, 3})}),
                   b.add<ops::conv>(point, {image, weight({330, 70, 1, 1})}),
                   b.add<ops::mat_mul>(rows, weight({200, 301})), b.add<ops::gemm>(half, {rows, weight({301, 200})})});
        return g;
    };
    runtime::thread_pool pool{{.threads = 3}};
    for (auto const* isa : sets()) {
        std::vector<std::weak_ptr<tensor>> observe, ignored;
        build_options options;
        auto const alone = plan(made(observe), evaluators, *isa, options).value();
        for (auto const& w : observe) CHECK(w.expired());
        options.threads = &pool;
        auto const together = plan(made(ignored), evaluators, *isa, options).value();
        REQUIRE(alone.values.size() == together.values.size());
        for (std::size_t i = 0; i < alone.values.size(); ++i)
            CHECK(alone.values[i].data.hash() == together.values[i].data.hash());
        std::vector<std::weak_ptr<tensor>> again;
        auto const g = made(again);
        CHECK(error_of(g, built(g, isa), random_inputs(g, 1)) < 1e-4);
    }
}

TEST_CASE("a profile names each step, its kind and its work") {
    using namespace build_test;
    auto const g = small_net();
    auto const e = built(g);
    inline_executor alone;
    auto const steps = e.profile(random_inputs(g, 1), alone, 3).value();
    REQUIRE(steps.size() == e.steps().size());
    double operations = 0;
    for (auto const& s : steps) {
        CHECK(s.seconds >= 0);
        CHECK_FALSE(s.kind.empty());
        operations += s.operations;
    }
    CHECK(operations > 1e6);
}

TEST_CASE("the groups of a module's primitive functions are its kernels") {
    using namespace build_test;
    graph g;
    network_builder net{g, weight_source{5}};
    auto const x = net.input(dtype::f32, {1, 16, 9, 9}, "x");
    auto const y = net.relu("r", net.batch_norm("n", net.conv("c", x, {16, {3, 3}, {1, 1}, {1, 1}})));
    net.output(net.add<ops::tanh>(net.max_pool("p", y, {{3, 3}, {2, 2}})), "y");
    auto const kernels_after = [&](passes::fuse_ops const& pass) {
        module m;
        m.add("main", g);
        pass_context cx;
        cx.machine = host();
        static_cast<void>(run_pass(pass, m, cx).value());
        build_options options;
        options.jit.use_cache = false;
        auto const e = build(m, evaluators, host(), options).value();
        auto const inputs = random_inputs(g, 1);
        CHECK(error_of(g, e, inputs) <= 1e-5);
        std::size_t kernels = 0;
        for (auto const& s : e.steps()) {
            auto const kind = kind_of(s);
            kernels += kind != "layout transform to blocks" && kind != "layout transform from blocks";
        }
        return kernels;
    };
    CHECK(kernels_after({.groups = &kernel_groups_for}) == 3); // the convolution with three, the pool, tanh
    CHECK(kernels_after({}) == 3); // tanh is in the group of the pool, whose kernel takes nothing
    CHECK(kernels_after({.max_ops = 1}) == 5);
}

TEST_CASE("any module is built as its graph computes, whatever groups its passes have made") {
    using namespace build_test;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        for (auto const& pass :
             {passes::fuse_ops{}, passes::fuse_ops{.max_ops = 3}, passes::fuse_ops{.groups = &kernel_groups_for}}) {
            module m;
            m.add("main", g);
            static_cast<void>(run_pass(pass, m).value());
            build_options options;
            options.jit.use_cache = false;
            auto const e = build(m, evaluators, host(), options).value();
            CHECK(error_of(g, e, random_inputs(g, seed)) <= 1e-4);
        }
    }
}

TEST_CASE("values a row without their dimensions broadcast to the last dimensions, as arrays do") {
    using namespace build_test;
    for (auto const& dims : {ints{6, 6}, ints{4, 6, 4, 6}, ints{3, 3, 3}})
        for (auto const reduced_first : {true, false}) {
            CAPTURE(to_string(tensor_type{dtype::f32, dims}), reduced_first);
            graph g;
            graph_builder b{g};
            auto const x = g.add_input(tensor_type{dtype::f32, dims}, "x");
            auto const y = g.add_input(tensor_type{dtype::f32, dims}, "y");
            ints axes;
            for (std::size_t d = dims.size() / 2; d < dims.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
            auto const r = b.add<ops::abs>(b.add<ops::reduce_max>({.axes = axes, .keepdims = false}, {x}));
            auto const rows = g.add_input(g.type(r), "rows");
            auto const full = reduced_first ? b.add<ops::sub>(r, y) : b.add<ops::sub>(y, r);
            b.outputs({full, b.add<ops::mul>(r, rows), b.add<ops::add>(r, r)});
            auto const e = built(g);
            CHECK(error_of(g, e, random_inputs(g, 1)) <= 1e-5);
        }
}

TEST_CASE("what is computed from values without elements and from known ones is known") {
    using namespace build_test;
    graph g;
    graph_builder b{g};
    auto const nothing = b.input(dtype::u64, {0}, "nothing");
    auto const ones = b.add<ops::fill>({.shape = {5}, .element = dtype::u64, .value = -1.5, .integer = 1}, {});
    b.outputs({b.add<ops::concat>({.axis = 0}, {ones, nothing})});
    auto const e = built(g);
    CHECK(error_of(g, e, random_inputs(g, 1)) == 0);
}
