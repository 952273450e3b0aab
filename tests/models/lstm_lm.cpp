#include "models/network_checks.hpp"
#include "models/written_weights.hpp"
#include <gsub/models/lstm_lm.hpp>

namespace lstm_lm_test {
using namespace gsub;
using namespace network_checks;
using written_weights::initializer;
namespace w = onnx_writer;

models::lstm_lm_options small(std::uint64_t seed = 1) {
    return {.seed = seed, .batch = 2, .steps = 3, .width = 8, .vocabulary = 12};
}

} // namespace lstm_lm_test

TEST_CASE("the language model has the layers and parameters of the published one of medium size") {
    using namespace lstm_lm_test;
    auto const g = models::lstm_lm();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 3);
    CHECK(to_string(g.type({g.inputs()[0], 0})) == "i64[35,1]");
    CHECK(g.name({g.inputs()[1], 0}) == "h0");
    CHECK(to_string(g.type({g.inputs()[2], 0})) == "f32[2,1,650]");
    CHECK(g.info().output_names == std::vector<std::string>{"logits", "hn", "cn"});
    CHECK(to_string(g.type(g.output(0))) == "f32[35,1,10000]");
    CHECK(to_string(g.type(g.output(1))) == "f32[2,1,650]");
    CHECK(parameters(g) == 19'775'200 + 2 * 4 * 650); // a second bias for each gate
    CHECK(count<ops::mat_mul>(g) == 2 * (1 + 35) + 1);
    CHECK(count<ops::sigmoid>(g) == 2 * 35 * 3);
    CHECK(count<ops::tanh>(g) == 2 * 35 * 2);
    CHECK(type_of(g, "rnn.1") == "f32[35,1,650]");
    CHECK(type_of(g, "rnn.0.step34.cell") == "f32[1,650]");
}

TEST_CASE("the language model keeps its activations alive") {
    using namespace lstm_lm_test;
    // Nodes from the weights alone are biases and matrices that are turned around.
    keeps_activations_alive(models::lstm_lm({.steps = 8, .width = 200, .vocabulary = 100}),
                            [](any_graph const& g, node_id n) {
                                return g.name({n, 0}).find(".bias") != g.name({n, 0}).npos ||
                                       g.name({n, 0}).find(".transposed") != g.name({n, 0}).npos ||
                                       g.name({n, 0}).ends_with(".slice") || g.name({n, 0}).ends_with(".one");
                            });
}

TEST_CASE("the language model depends on its seed and survives ONNX") {
    using namespace lstm_lm_test;
    CHECK(models::lstm_lm(small(5)).hash() == models::lstm_lm(small(5)).hash());
    CHECK_FALSE(models::lstm_lm(small(5)).hash() == models::lstm_lm(small(6)).hash());
    survives_onnx(models::lstm_lm(small(5)));
}

TEST_CASE("the language model is what a file with LSTM operators is read as") {
    using namespace lstm_lm_test;
    auto const g = models::lstm_lm(small());
    w::model m;
    m.in("input_ids", {3, 2}, w::i64).in("h0", {2, 2, 8}).in("c0", {2, 2, 8}).out("logits").out("hn").out("cn");
    for (auto const* name : {"encoder.weight", "decoder.weight", "decoder.bias"}) m.weight(initializer(g, name));
    m.weight(w::integers("none", {0})).weight(w::integers("one", {1})).weight(w::integers("two", {2}));
    m.add("Gather", {"encoder.weight", "input_ids"}, {"x0"});
    for (std::string const i : {"0", "1"}) {
        auto const next = i == "0" ? "1" : "2";
        auto const from = i == "0" ? "none" : "one", to = i == "0" ? "one" : "two";
        for (auto const* what : {".input.weight", ".state.weight", ".bias"})
            m.weight(initializer(g, "rnn." + i + what));
        for (std::string const state : {"h", "c"}) m.add("Slice", {state + "0", from, to, "none"}, {state + "0_" + i});
        m.add("LSTM",
              {"x" + i, "rnn." + i + ".input.weight", "rnn." + i + ".state.weight", "rnn." + i + ".bias", "", "h0_" + i,
               "c0_" + i},
              {"y" + i, "hn_" + i, "cn_" + i}, {w::integer("hidden_size", 8)});
        m.add("Squeeze", {"y" + i, "one"}, {std::string{"x"} + next});
    }
    m.add("MatMul", {"x2", "decoder.weight"}, {"products"}).add("Add", {"products", "decoder.bias"}, {"logits"});
    m.add("Concat", {"hn_0", "hn_1"}, {"hn"}, {w::integer("axis", 0)});
    m.add("Concat", {"cn_0", "cn_1"}, {"cn"}, {w::integer("axis", 0)});
    CHECK(model_checks::loaded(m).hash() == g.hash());
}

TEST_CASE("the language model goes on where its last states are given") {
    using namespace lstm_lm_test;
    auto options = small();
    options.steps = 4;
    auto const whole = models::lstm_lm(options);
    options.steps = 2;
    auto const half = models::lstm_lm(options);
    auto inputs = random_inputs(whole, 3);
    auto const words = inputs[0].data<std::int64_t>();
    auto const part = [&](bool last) {
        auto const of = last ? words.last(4) : words.first(4);
        return tensor::from<std::int64_t>(ints{2, 2}, ints(of.begin(), of.end()));
    };
    auto const all = evaluate_graph(whole, inputs).value();
    auto const first = evaluate_graph(half, std::vector{part(false), inputs[1], inputs[2]}).value();
    auto const second = evaluate_graph(half, std::vector{part(true), first[1], first[2]}).value();
    CHECK(compare(second[1], all[1])->max_relative < 1e-5);
    CHECK(compare(second[2], all[2])->max_relative < 1e-5);
    auto const last = all[0].data<float>().last(second[0].data<float>().size());
    CHECK(compare(second[0], tensor::from<float>(second[0].dims(), last))->max_relative < 1e-4);
}
