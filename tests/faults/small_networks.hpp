// Five small networks as ONNX models: of convolutions, of attention, with branches, with a loop, quantized.
#pragma once

#include "io/onnx_writer.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace small_networks {

using namespace gsub;

inline auto const evaluators = table_of<eval_row, standard_ops>();

struct network {
    std::string name;
    std::string bytes; ///< of the model
    io::load_options loading{};

    [[nodiscard]] std::span<std::byte const> data() const { return std::as_bytes(std::span{bytes}); }
    [[nodiscard]] result<module> read() const {
        return io::load_onnx_module(data(), dialect::of<standard_ops>(), table_of<io::onnx_row, standard_ops>(),
                                    loading);
    }
};

inline network convolutions() {
    graph g;
    models::network_builder net{g, models::weight_source{5}};
    auto x = net.input(dtype::f32, {1, 3, 12, 12}, "x");
    x = net.relu("r", net.batch_norm("n", net.conv("c", x, {16, {3, 3}, {1, 1}, {1, 1}})));
    auto const left = net.relu("s", net.conv("d", x, {8, {1, 1}, {1, 1}, {0, 0}, 1, true}));
    auto const right = net.conv("e", x, {8, {3, 3}, {1, 1}, {1, 1}, 1, true});
    x = net.max_pool("m", net.concat("cat", {left, right}), {{2, 2}, {2, 2}});
    net.output(net.linear("fc", net.pooled_features(x), 10), "y");
    return {"convolutions", io::to_onnx(g).value()};
}

inline network attention() {
    models::bert_options const small{
        .sequence = 8, .layers = 1, .hidden = 16, .heads = 2, .intermediate = 32, .vocabulary = 32, .positions = 8};
    return {"attention", io::to_onnx(models::bert_base(small)).value()};
}

inline network branches() {
    module m;
    auto const branch = [&](std::string const& name, bool left) {
        graph g;
        models::network_builder net{g, models::weight_source{7}};
        auto const x = net.input(dtype::f32, {1, 8, 5, 5}, "x");
        net.output(left ? net.conv("l", x, {8, {3, 3}, {1, 1}, {1, 1}, 1, true}) : net.add<ops::neg>(x), "y");
        m.add(name, std::move(g));
    };
    branch("left", true);
    branch("right", false);
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 3, 5, 5}, "x"), which = net.input(dtype::boolean, {}, "which");
    auto const first = net.relu("r", net.conv("a", x, {8, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    value_id const chosen{add_if(g, m, which, "left", "right", std::array{first}), 0};
    net.output(net.relu("s", net.conv("b", chosen, {4, {1, 1}, {1, 1}, {0, 0}, 1, true})), "y");
    m.add("main", std::move(g));
    return {"branches", io::to_onnx(m, table_of<io::onnx_row, standard_ops>()).value()};
}

// A recurrence over the rows of an input whose sizes bear names, until they are given.
inline network loop() {
    namespace w = onnx_writer;
    w::model body;
    body.inputs = {w::value("s"), w::value("e")};
    body.add("Add", {"s", "e"}, {"next"}).add("Tanh", {"next"}, {"seen"}).out("next").out("seen");
    w::model m;
    m.in("s0", {"width"}).in("x", {"steps", "width"});
    m.add("Scan", {"s0", "x"}, {"last", "all"}, {w::graph("body", body.graph()), w::integer("num_scan_inputs", 1)},
          "sum");
    m.add("Relu", {"all"}, {"y"}).out("last").out("y");
    network out{"loop", m.text()};
    out.loading.dims = {{"width", 8}, {"steps", 5}};
    return out;
}

inline network quantized() {
    graph g;
    models::network_builder net{g, models::weight_source{9}};
    auto const number = [&](double v, dtype element) { return net.constant(tensor::scalar(v).converted_to(element)); };
    auto const q = [&](value_id x, double scale) {
        return net.add<ops::quantize>(x, number(scale, dtype::f32), number(128, dtype::u8));
    };
    auto const dq = [&](value_id x, double scale, double zero, dtype element) {
        return net.add<ops::dequantize>(x, number(scale, dtype::f32), number(zero, element));
    };
    auto weights = tensor::uninitialized(dtype::f32, ints{8, 4, 3, 3});
    std::size_t at = 0;
    for (auto& v : weights.mutable_data<float>()) v = static_cast<float>(at++ * 7 % 41) - 20;
    auto const kernel = dq(net.constant(weights.converted_to(dtype::i8)), 0.02, 0, dtype::i8);
    attributes_of<ops::conv> window;
    window.strides = window.dilations = {1, 1}, window.pads = ints(4, 1);
    auto const x = dq(q(net.input(dtype::f32, {1, 4, 6, 6}, "x"), 0.03), 0.03, 128, dtype::u8);
    auto const y = net.relu("r", net.add<ops::conv>(window, {x, kernel}));
    net.output(dq(q(y, 0.05), 0.05, 128, dtype::u8), "y");
    return {"quantized", io::to_onnx(g).value()};
}

inline std::vector<network> all() {
    return {convolutions(), attention(), branches(), loop(), quantized()};
}

} // namespace small_networks
