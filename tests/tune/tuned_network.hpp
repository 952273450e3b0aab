// A small network for tests of tuning, and the tasks of its kernels.
#pragma once

#include "lower/kernel_graphs.hpp"
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <string>
#include <vector>

namespace tuned_network {

using namespace kernel_graphs;

/// Two 3x3 convolutions of one size, a depthwise and a pointwise one, a pool and a matrix product.
inline graph network() {
    graph g;
    network_builder net{g, weight_source{4}};
    auto x = net.input(dtype::f32, {1, 32, 14, 14}, "x");
    x = net.relu("r", net.conv("c", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.relu("s", net.conv("d", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.max_pool("p", x, {{2, 2}, {2, 2}});
    net.output(net.linear("fc", net.add<ops::flatten>({}, {x}), 24), "y");
    return g;
}
inline kernel_graph scheduled(graph const& g, isa const& isa) {
    return stages(g, isa).back();
}
inline std::vector<tune::tuning_task> tasks(isa const& isa) {
    return tune::tuning_tasks_of(scheduled(network(), isa), isa);
}

} // namespace tuned_network
