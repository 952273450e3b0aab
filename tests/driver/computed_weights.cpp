#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/network_builder.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace computed_weights_test {

using namespace gsub;
using built_graph::built;
using built_graph::count;
using built_graph::error_of;
using built_graph::kinds;

struct form {
    ints image;                  // [N, C, ...]
    std::int64_t group, filters; // filters of all groups
    ints taps, strides, dilations, pads;
};
attributes_of<ops::conv> window_of(form const& f) {
    attributes_of<ops::conv> a;
    a.group = f.group, a.strides = f.strides, a.dilations = f.dilations, a.pads = f.pads;
    return a;
}
ints weights_of(form const& f) {
    ints all{f.filters, f.image[1] / f.group};
    all.append(f.taps);
    return all;
}
value_id convolution(graph& g, form const& f) {
    graph_builder b{g};
    auto const input = [&](ints const& dims) { return b.input(dtype::f32, shape(dims.begin(), dims.end()), {}); };
    auto const x = input(f.image);
    return b.add<ops::conv>(window_of(f), {x, input(weights_of(f))});
}
graph by_input(form const& f) {
    graph g;
    value_id const results[] = {convolution(g, f)};
    g.set_outputs(results);
    return g;
}
bool has_kernels(runtime::executable const& e) {
    auto const all = kinds(e);
    return std::none_of(all.begin(), all.end(), [](auto const& k) { return k.starts_with("reference"); });
}

TEST_CASE("convolutions by computed weights have kernels, whatever their windows are") {
    struct groups {
        std::int64_t channels, group, filters;
    };
    for (std::size_t rank = 1; rank <= 4; ++rank)
        for (auto const& [channels, group, filters] : {groups{3, 1, 5}, groups{20, 1, 33}, groups{6, 2, 4},
                                                       groups{6, 3, 3}, groups{7, 7, 7}, groups{5, 5, 10}}) {
            graph g;
            std::vector<value_id> results;
            for (std::int64_t const taps : {1, 2, 3})
                for (std::int64_t const stride : {1, 2})
                    for (std::int64_t const dilation : {1, 2})
                        for (auto const padded : {false, true}) {
                            if ((taps == 1 && dilation == 2) || (rank > 2 && stride != dilation)) continue;
                            form f{{2, channels},
                                   group,
                                   filters,
                                   ints(rank, taps),
                                   ints(rank, stride),
                                   ints(rank, dilation),
                                   ints(2 * rank, 0)};
                            for (std::size_t d = 0; d < rank; ++d) {
                                f.image.push_back((rank > 2 ? 5 : 8) + static_cast<std::int64_t>(d));
                                if (padded) f.pads[d] = 1, f.pads[rank + d] = static_cast<std::int64_t>(2 * d);
                            }
                            results.push_back(convolution(g, f));
                        }
            g.set_outputs(results);
            CAPTURE(rank, channels, group, filters);
            auto const e = built(g);
            CHECK(has_kernels(e));
            CHECK(error_of(g, e) < 1e-5);
        }
}

TEST_CASE("windows need not be alike in all directions") {
    for (auto const& f : {
             form{{1, 16, 9, 40}, 1, 24, {1, 7}, {1, 3}, {1, 2}, {0, 3, 0, 5}},
             form{{2, 9, 40, 9}, 9, 9, {7, 1}, {2, 1}, {1, 1}, {3, 0, 0, 0}},
             form{{1, 6, 20, 21}, 6, 18, {2, 5}, {3, 1}, {2, 3}, {1, 4, 0, 2}},
             form{{1, 40, 6, 5}, 1, 18, {6, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}},        // one window
             form{{3, 4, 1, 19, 18}, 4, 8, {1, 6, 6}, {1, 1, 1}, {1, 1, 1}, ints(6)}, // a sum of six products
             form{{1, 3, 9, 9, 9}, 3, 3, {7, 7, 7}, {1, 1, 1}, {1, 1, 1}, ints(6)},   // they would be too many
         }) {
        CAPTURE(f.image.size(), f.filters, f.taps[0]);
        auto const g = by_input(f);
        auto const e = built(g);
        CHECK(has_kernels(e));
        CHECK(error_of(g, e) < 1e-5);
    }
}

TEST_CASE("windows are copied where they overlap alone, and images stay row-major") {
    using steps = std::vector<std::string>;
    auto const kinds_of = [](form const& f) { return kinds(built(by_input(f))); };
    ints const ones{1, 1}, none(4), one(4, 1);
    CHECK(kinds_of({{2, 32, 9, 9}, 1, 32, ones, ones, ones, none}) == steps{"matmul"});
    CHECK(kinds_of({{2, 32, 9, 9}, 4, 32, ones, ones, ones, none}) == steps{"matmul"});
    CHECK(kinds_of({{2, 32, 9, 9}, 1, 32, {3, 3}, ones, ones, none}) == steps{"copy", "matmul"});
    CHECK(kinds_of({{2, 32, 9, 9}, 1, 32, {3, 3}, ones, ones, one}) == steps{"pad", "copy", "matmul"});
    CHECK(kinds_of({{2, 32, 9, 9}, 32, 32, {2, 3}, ones, ones, one}) == steps{"pad", "matmul", "matmul"});
    CHECK(kinds_of({{2, 32, 9, 9}, 32, 64, {2, 3}, ones, ones, one}) == steps{"pad", "matmul", "matmul"});
    CHECK(kinds_of({{1, 1, 99}, 1, 32, {7}, {1}, {1}, {0, 0}}) == steps{"matmul"});
}

TEST_CASE("a convolution by what others compute stands among them, as in networks that find an object again") {
    for (auto const depthwise : {false, true}) {
        graph g;
        models::network_builder net{g, models::weight_source{3}};
        auto const seen = net.input(dtype::f32, {1, 3, 33, 31}, "x"),
                   wanted = net.input(dtype::f32, {1, 3, 15, 13}, "z");
        auto const features = [&](std::string const& name, value_id v) {
            return net.relu(name + "r", net.conv(name, v, {.outputs = 32, .kernel = {3, 3}, .stride = {2, 2}}));
        };
        auto const x = features("a", seen), z = features("b", wanted);
        auto const group = depthwise ? 32 : 1;
        auto const filters = net.add<ops::reshape>({.shape = {group, 32 / group, 7, 6}}, {z});
        attributes_of<ops::conv> a;
        a.group = group, a.strides = a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        auto const scores = net.relu("s", g.add<ops::conv>(a, {x, filters}));
        net.output(net.conv("c", scores, {.outputs = 8, .kernel = {1, 1}}), "y");
        auto const e = built(g);
        CAPTURE(depthwise, kinds(e));
        CHECK(has_kernels(e));
        CHECK(count(e, "layout transform from blocks") <= 3); // of x and z, and of the result
        CHECK(error_of(g, e) < 1e-5);
    }
}

TEST_CASE("large windows are copied in pieces") {
    // Nine taps of two channels at 4 million positions would be 288 MB.
    auto const g = by_input({{1, 2, 4'000'000}, 1, 1, {9}, {1}, {1}, {4, 4}});
    auto const e = built(g);
    CHECK(count(e, "matmul") == 2);
    CHECK(has_kernels(e));
    CHECK(e.arena_bytes() < std::size_t{1} << 28);
    CHECK(error_of(g, e) < 1e-5);
}

} // namespace computed_weights_test
