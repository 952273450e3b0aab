#include "built_graph.hpp"
#include "catch.hpp"
#include "runtime/opencl_here.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace devices_test {

using namespace gsub;
using models::network_builder;
using models::weight_source;

struct listener : observer {
    std::vector<std::string> notes;
    void on_note(std::string_view text) override { notes.emplace_back(text); }
};

// Convolutions of three kinds with what follows them, poolings, a product and a softmax.
graph small_network() {
    graph g;
    network_builder net{g, weight_source{3}};
    auto x = net.input(dtype::f32, {1, 3, 13, 9}, "x");
    x = net.relu("r0", net.conv("c0", x, {8, {3, 3}, {2, 2}, {1, 1}, 1, true}));
    auto const a = net.relu("r1", net.conv("c1", x, {8, {1, 1}, {1, 1}, {0, 0}, 1, true}));
    x = net.sum("s", net.conv("dw", a, {8, {3, 3}, {1, 1}, {1, 1}, 8, true}), x);
    x = net.max_pool("m", x, {{2, 2}, {2, 2}, {0, 0}});
    x = net.linear("fc", net.pooled_features(x), 5);
    net.output(net.add<ops::softmax>({.axis = 1}, {x}), "y");
    return g;
}

TEST_CASE("a network computes on a device of OpenCL what the evaluator does, and nothing of it on the host") {
    auto const on = opencl_here::device();
    if (!on) return;
    build_options options;
    options.device_only = true;
    auto const g = small_network();
    auto const e = build(g, on, options).value();
    CHECK(e.on() == on.get());
    CHECK(built_graph::error_of(g, e) < 1e-5);
    // Runs of several threads have memory of their own.
    auto const inputs = random_inputs(g, 5);
    auto const want = e.run(inputs).value();
    for (int i = 0; i < 3; ++i) CHECK(compare(e.run(inputs).value()[0], want[0]).value().max_relative == 0);
    std::array<double, 3> errors{};
    {
        std::vector<std::jthread> threads;
        for (auto& worst : errors)
            threads.emplace_back([&] {
                for (int i = 0; i < 3; ++i)
                    worst = std::max(worst, compare(e.run(inputs).value()[0], want[0]).value().max_relative);
            });
    }
    // A driver for processors may round otherwise where memory lies elsewhere.
    for (auto const worst : errors) CHECK(worst < 1e-6);
}

// Rows of a table that integers choose, and a sorting, which has no kernel.
graph sorted_rows() {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {6, 5}, "x"), at = b.input(dtype::i64, {3}, "at");
    auto const rows = b.add<ops::gather>({.axis = 0}, {b.add<ops::exp>(x), at});
    auto const sorted = b.add<ops::top_k>({.k = 2, .axis = 1}, {rows}, 2);
    b.outputs({b.add<ops::neg>(sorted), rows});
    return g;
}

TEST_CASE("what a device of OpenCL has no kernel for runs on the host, which is told or refused") {
    auto const on = opencl_here::device();
    if (!on) return;
    auto const g = sorted_rows();
    listener heard;
    build_options options;
    options.observe = &heard;
    auto const e = build(g, on, options).value();
    REQUIRE(heard.notes.size() == 1);
    CHECK(heard.notes[0].find("TopK") != std::string::npos);
    auto inputs = random_inputs(g, 1);
    inputs[1] = tensor::from<std::int64_t>({3}, {-1, 0, 5});
    auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(compare(got[i], want[i]).value().max_relative < 1e-5);
    options.device_only = true;
    auto const refused = build(g, on, options);
    REQUIRE(!refused);
    CHECK(refused.error().id() == errors::device_kernels_alone);
    CHECK(refused.error().message().find("TopK") != std::string::npos);
}

TEST_CASE("an integer that chooses nothing is an error of the run on a device of OpenCL") {
    auto const on = opencl_here::device();
    if (!on) return;
    auto const g = sorted_rows();
    auto const e = build(g, on).value();
    auto inputs = random_inputs(g, 1);
    for (std::int64_t const wrong : {-7, 6}) {
        inputs[1] = tensor::from<std::int64_t>({3}, {0, wrong, 5});
        auto const ran = e.run(inputs);
        REQUIRE(!ran);
        CHECK(ran.error().id() == errors::index_out_of_range);
    }
    inputs[1] = tensor::from<std::int64_t>({3}, {0, 1, 5});
    CHECK(e.run(inputs)); // the one after it is right again
}

} // namespace devices_test
