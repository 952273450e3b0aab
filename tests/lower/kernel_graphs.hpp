// Graphs that lowering has something to do with, and what each of its passes makes of them.
#pragma once

#include "catch.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/lower/kernel_graph_text.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernel_graphs {

using namespace gsub;
using models::network_builder;
using models::weight_source;

inline auto const evaluators = table_of<eval_row, standard_ops>();

/// The graphs behind fuse, select, layout and schedule.
inline std::vector<kernel_graph> stages(any_graph g, isa const& isa, lowering_options options = {}) {
    std::vector<kernel_graph> all;
    auto const keep = [&](kernel_graph const& k) { all.push_back(k); };
    options.on_stage = keep;
    static_cast<void>(lower_graph(std::move(g), evaluators, isa, options).value());
    return all;
}

/// One with all of its constants' elements, so that it loses nothing.
inline std::string whole_text(kernel_graph const& g) {
    return to_text(g, {.max_constant_elements = static_cast<std::size_t>(-1)});
}
inline kernel_graph parsed(std::string_view text, isa const& isa = isa::avx512) {
    return parse_kernel_graph(text, {.isa = &isa}).value();
}
/// What is said of a text that is none of a kernel graph.
inline std::string complaint(std::string_view text, isa const& isa = isa::avx512) {
    auto const made = parse_kernel_graph(text, {.isa = &isa});
    return made ? std::string{} : made.error().message();
}
/// The text with a piece of it replaced.
inline std::string with(std::string text, std::string_view piece, std::string_view by) {
    auto const at = text.find(piece);
    INFO(text);
    INFO("lacks " << piece);
    REQUIRE(at != std::string::npos);
    return text.replace(at, piece.size(), by);
}

/// Stem, pooling, a residual block, depthwise and pointwise, a joined pair, a classifier.
inline graph small_net() {
    graph g;
    network_builder net{g, weight_source{3}};
    auto x = net.input(dtype::f32, {1, 3, 23, 19}, "x");
    x = net.relu("r0", net.conv("c0", x, {24, {7, 7}, {2, 2}, {3, 3}, 1, true}));
    x = net.max_pool("m", x, {{3, 3}, {2, 2}, {1, 1}});
    auto const a = net.relu("r1", net.conv("c1", x, {32, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const b = net.conv("c2", a, {24, {1, 1}, {1, 1}, {0, 0}, 1, true});
    x = net.relu("r2", net.sum("s", b, x));
    x = net.relu6("r3", net.conv("dw", x, {24, {3, 3}, {2, 2}, {1, 1}, 24, true}));
    x = net.concat("j", {net.conv("c3", x, {32, {1, 1}}), net.conv("c4", x, {16, {3, 3}, {1, 1}, {1, 1}})});
    net.output(net.linear("fc", net.pooled_features(x), 11), "y");
    return g;
}
/// Products, attention, a normalisation of rows.
inline graph attending() {
    graph g;
    network_builder net{g, weight_source{2}};
    auto const x = net.input(dtype::f32, {1, 20, 32}, "x");
    auto const heads = [&](std::string const& name, ints const& perm) {
        auto const p = net.linear(name, net.add<ops::reshape>({.shape = {20, 32}}, {x}), 32);
        return net.add<ops::transpose>({.perm = perm}, {net.add<ops::reshape>({.shape = {1, 20, 2, 16}}, {p})});
    };
    auto const values = heads("v", {0, 2, 1, 3}); // there by the time of the scores
    auto const scores = net.add<ops::mat_mul>({}, {heads("q", {0, 2, 1, 3}), heads("k", {0, 2, 3, 1})});
    auto const mixed = net.add<ops::mat_mul>({}, {net.add<ops::softmax>({.axis = -1}, {scores}), values});
    auto const mean = net.add<ops::reduce_mean>({.axes = {-1}}, {mixed});
    net.outputs({net.add<ops::sub>(mixed, mean), net.add<ops::reduce_max>({.axes = {1}}, {mixed})});
    return g;
}
/// What moves elements, integers, and an operator without a kernel.
inline graph moving() {
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {2, 6, 5, 5}, "x");
    auto const at = net.input(dtype::i64, {3}, "at");
    auto const padded = net.add<ops::pad>({.mode = "reflect", .pads = {0, 0, 1, 2, 0, 0, 1, 0}}, {x});
    auto const turned = net.add<ops::transpose>({.perm = {0, 2, 3, 1}}, {padded});
    auto const taken = net.add<ops::gather>({.axis = 3}, {turned, at});
    auto const parts = net.add<ops::split>({.axis = 1, .sizes = {2, 4}}, {x}, 2);
    auto const joined = net.concat("j", {{parts.node, 1}, x, parts});
    auto const whole = net.add<ops::cast>({.to = dtype::i32}, {joined});
    net.outputs({taken, net.add<ops::softmax>({.axis = 1}, {joined}), net.add<ops::pow>(whole, whole),
                 net.add<ops::lrn>({.size = 3}, {joined})});
    return g;
}
inline std::vector<graph> graphs() {
    std::vector<graph> all;
    all.push_back(small_net()), all.push_back(attending()), all.push_back(moving());
    return all;
}

/// What fuse makes of a graph.
inline kernel_graph fused(any_graph const& g, isa const& isa = isa::avx512, fuse_context cx = {}) {
    cx.evaluators = evaluators, cx.isa = &isa;
    if (cx.rows.empty()) cx.rows = table_of<lowering_row, standard_ops>();
    if (cx.scalars.empty()) cx.scalars = table_of<scalar_row, standard_ops>();
    cx.laid_out = true;
    return fuse(passes::lay_out_graph(g, target{}, kernel_layouts{&isa}).graph, cx).value();
}
inline any_graph graph_of(std::string_view body) {
    return any_graph{parse_graph<standard_ops>("graph \"\" {\n" + std::string{body} + "}\n").value()};
}

/// The program with its kernels compiled.
inline runtime::executable loaded(runtime::program p) {
    runtime::jit_options options;
    options.use_cache = false;
    auto kernels = runtime::load_kernels(runtime::sources_of(p.kernels), runtime::find_compiler().value(), options);
    return {std::move(p), std::move(kernels).value()};
}
/// The largest relative difference between what two compute.
inline double difference_of(std::vector<tensor> const& got, std::vector<tensor> const& want) {
    REQUIRE(got.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, compare(got[i], want[i]).value().max_relative);
    return worst;
}

} // namespace kernel_graphs
