// What every network of the literature must pass; each network's test calls these.
#pragma once

#include "catch.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/models/cnn_options.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace network_checks {

using namespace gsub;
using builder = graph (*)(models::cnn_options const&);

/// What an `error` thrown by `f` says; empty where it throws none.
template <class F>
std::string complaint(F&& f) {
    try {
        static_cast<void>(f());
    } catch (error const& e) { return e.what(); }
    return {};
}

/// Elements of weights and biases, without running statistics: what papers count.
inline std::int64_t parameters(any_graph const& g) {
    std::int64_t count = 0;
    for (auto n : g.order()) {
        auto const name = g.result_count(n) == 1 ? g.name({n, 0}) : std::string_view{};
        if (g.is<ops::constant>(n) && (name.ends_with(".weight") || name.ends_with(".bias")))
            count += g.constant_data(n).elements();
    }
    return count;
}

/// Multiplications of convolutions and linear layers: what papers count as multiply-adds.
inline std::int64_t multiplications(any_graph const& g) {
    std::int64_t sum = 0;
    for (auto n : g.order()) {
        if (!g.is<ops::conv>(n) && !g.is<ops::gemm>(n)) continue;
        std::int64_t each = 1, values = 1; // of a result, results
        auto const& weight = g.type(g.operand(n, 1)).dims;
        for (std::size_t i = 1; i < weight.size(); ++i) each *= weight[i].size();
        for (auto const& d : g.type({n, 0}).dims) values *= d.size();
        sum += each * values;
    }
    return sum;
}

template <operation Op>
std::size_t count(any_graph const& g) {
    auto const order = g.order();
    return static_cast<std::size_t>(std::count_if(order.begin(), order.end(), [&](auto n) { return g.is<Op>(n); }));
}

/// The first node with a source name.
inline node_id find(any_graph const& g, std::string_view source) {
    for (auto n : g.order())
        if (auto const names = g.sources(n); !names.empty() && names.front() == source) return n;
    FAIL("no node comes from " << source);
    return {};
}

/// Type of a layer's result.
inline std::string type_of(any_graph const& g, std::string_view source) {
    return to_string(g.type({find(g, source), 0}));
}

/// Legal, with the promised signature, and every value and every layer has a name of its own.
inline void is_well_made(any_graph const& g, std::string const& image, std::string const& logits) {
    for (auto const& p : check(g, stage::imported)) FAIL_CHECK(to_string(p));
    REQUIRE(g.inputs().size() == 1);
    REQUIRE(g.output_count() == 1);
    CHECK(g.name({g.inputs()[0], 0}) == "image");
    CHECK(to_string(g.type({g.inputs()[0], 0})) == image);
    CHECK(g.info().output_names == std::vector<std::string>{"logits"});
    CHECK(to_string(g.type(g.output(0))) == logits);
    std::set<std::string> values, layers;
    for (auto n : g.order()) {
        if (n == g.return_node()) continue;
        INFO(g.display_name(n));
        CHECK(values.insert(std::string{g.name({n, 0})}).second);
        if (g.is<ops::input>(n) || g.is<ops::constant>(n)) continue;
        CHECK(g.sources(n).size() == 1);
        CHECK(layers.insert(g.display_name(n)).second);
    }
    CHECK_FALSE(values.contains(""));
}

/// Equal seeds give equal graphs, other seeds other weights.
inline void depends_on_its_seed(builder build, std::int64_t image = 96) {
    auto const first = build({.seed = 5, .image = image}), again = build({.seed = 5, .image = image});
    auto const other = build({.seed = 6, .image = image});
    CHECK(first.hash() == again.hash());
    CHECK_FALSE(first.hash() == other.hash());
    CHECK(first.size() == other.size());
}

/// What the activations of one run are like.
struct activations {
    double least = 1e30, most = 0; ///< standard deviations
    std::string least_at, most_at;
    std::size_t seen = 0;

    bool (*exempt)(any_graph const& g, node_id n) = nullptr; ///< nodes of which nothing is asked

    static void note(void* context, any_graph const& g, node_id n, std::span<tensor const> results) {
        auto& a = *static_cast<activations*>(context);
        if (g.constant(n) || (a.exempt && a.exempt(g, n))) return;
        for (auto const& t : results) {
            if (t.element() != dtype::f32) continue;
            double sum = 0, squares = 0;
            for (auto x : t.data<float>()) sum += double(x), squares += double(x) * double(x);
            auto const mean = sum / double(t.elements());
            auto const deviation = std::sqrt(std::max(squares / double(t.elements()) - mean * mean, 0.0));
            ++a.seen;
            if (!(deviation >= a.least)) a.least = deviation, a.least_at = g.display_name(n); // NaN too
            if (!(deviation <= a.most)) a.most = deviation, a.most_at = g.display_name(n);
        }
    }
};

/// No layer dies or explodes, and every output depends on the inputs.
inline void keeps_activations_alive(graph const& g, bool (*exempt)(any_graph const&, node_id) = nullptr,
                                    std::size_t layers = 60) {
    fork_join_executor threads{2};
    activations a;
    a.exempt = exempt;
    evaluate_options options;
    options.threads = &threads;
    auto const others = evaluate_graph(g, random_inputs(g, 22), options).value();
    options.on_node = &activations::note;
    options.context = &a;
    auto const outputs = evaluate_graph(g, random_inputs(g, 21), options).value();
    INFO("deviations from " << a.least << " at " << a.least_at << " to " << a.most << " at " << a.most_at);
    CHECK(a.least >= 0.05);
    CHECK(a.most <= 20);
    CHECK(a.seen > layers);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        auto const x = outputs[k].data<float>(), y = others[k].data<float>();
        auto const [low, high] = std::minmax_element(x.begin(), x.end());
        float moved = 0;
        for (std::size_t i = 0; i < x.size(); ++i) moved = std::max(moved, std::abs(x[i] - y[i]));
        INFO("output " << k << " from " << *low << " to " << *high << " moved by " << moved);
        CHECK(moved > 0.01f * (*high - *low));
    }
}

/// Export and import give the same graph.
inline void survives_onnx(graph const& g) {
    auto const text = io::to_onnx(g).value();
    auto const back = io::load_onnx(std::as_bytes(std::span{text})).value();
    CHECK(back.hash() == g.hash());
    CHECK(back.info().output_names == g.info().output_names);
    CHECK(parameters(back) == parameters(g));
}

/// An image of another size and a batch of two go through, and each image of a batch is on its own.
inline void takes_images(builder build, std::int64_t size) {
    auto const g = build({.batch = 2, .image = size, .classes = 10});
    auto const one = build({.image = size, .classes = 10});
    auto const batch = random_inputs(g, 3)[0];
    auto const pixels = batch.data<float>();
    auto const alone = tensor::from<float>(ints{1, 3, size, size}, pixels.last(pixels.size() / 2));
    auto const both = evaluate_graph(g, std::vector{batch}).value()[0];
    auto const single = evaluate_graph(one, std::vector{alone}).value()[0];
    REQUIRE(to_string(both.type()) == "f32[2,10]");
    auto const d = compare(tensor::from<float>(ints{1, 10}, both.data<float>().last(10)), single).value();
    CHECK(d.max_relative < 1e-5);
}

} // namespace network_checks
