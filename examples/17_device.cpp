// A network on a GPU, or another device: built for it, run, compared with the processor; and what it costs on a GPU
// that need not be here. Without a device it says so.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>

namespace {

using namespace gsub;

// An image of eight channels through a convolution, a maximum and a classifier.
graph network() {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    auto x = net.input(dtype::f32, {1, 8, 12, 12}, "image");
    x = net.relu("act", net.conv("conv", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.max_pool("pool", x, {{2, 2}, {2, 2}, {0, 0}});
    net.output(net.linear("fc", net.pooled_features(x), 10), "scores");
    return g;
}

} // namespace

int main(int argc, char** argv) {
    auto const graph = network();
    auto const costs = gsub::cost::lowered::of(graph, gsub::parse_target("h200").value());
    std::cout << costs(graph).amount * 1e6 << " us predicted for an H200\n";

    auto const device = runtime::open_device(argc > 1 ? argv[1] : "cuda:0");
    if (!device) {
        std::cout << device.error().message() << "\n";
        return 0;
    }
    build_options options;
    options.device_only = true; // no step may run on the host
    auto const there = build(graph, *device, options).value();
    auto const inputs = random_inputs(graph, 1);
    auto const scores = there.run(inputs).value();
    auto const expected = evaluate_graph(graph, inputs).value();
    auto const error = compare(scores[0], expected[0]).value().max_relative;
    std::cout << there.steps().size() << " steps on " << there.on()->title() << ", error " << error << "\n";
    require(error < 1e-5, "a device computes what the evaluator does");
}
