// One of several units of a program, each compiled for another instruction set: UNIT is what its function is called.
#include <gsub/gsub.hpp>

#include <span>
#include <vector>

/// What a small network gives: by the evaluator, optimized and read back from a file too, by the reference runtime, by
/// kernels for any processor and for the one that the program finds itself on.
std::vector<float> UNIT() {
    using namespace gsub;
    using namespace gsub::models;
    graph g;
    network_builder net{g, weight_source{3}};
    auto x = net.input(dtype::f32, {1, 3, 23, 19}, "x");
    x = net.relu("r0", net.conv("c0", x, {24, {7, 7}, {2, 2}, {3, 3}, 1, true}));
    x = net.max_pool("m", x, {{3, 3}, {2, 2}, {1, 1}});
    auto const a = net.relu("r1", net.conv("c1", x, {24, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.relu6("r2", net.conv("dw", net.sum("s", a, x), {24, {3, 3}, {2, 2}, {1, 1}, 24, true}));
    net.output(net.linear("fc", net.pooled_features(x), 11), "y");
    auto const inputs = random_inputs(g, 1);
    runtime::thread_pool threads{{.threads = 2}};
    std::vector<float> out;
    auto const keep = [&](tensor const& y) { out.insert(out.end(), y.data<float>().begin(), y.data<float>().end()); };
    keep(evaluate_graph(g, inputs).value().at(0));
    auto const better = optimize(g, {.alpha = 1.05, .budget = {20}, .verify = true}).value();
    auto const text = io::to_onnx(better).value();
    keep(evaluate_graph(io::load_onnx(std::as_bytes(std::span{text})).value(), inputs).value().at(0));
    for (auto const* isa : {static_cast<isa const*>(nullptr), &isa::baseline, &isa_of(host())}) {
        build_options options;
        options.generate = isa != nullptr;
        options.isa = isa;
        options.threads = &threads;
        keep(build(g, host(), options).value().run(inputs, &threads).value().at(0));
    }
    return out;
}
