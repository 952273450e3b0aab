#include "models/network_checks.hpp"
#include <gsub/models/nasrnn.hpp>

namespace nasrnn_test {
using namespace gsub;
using namespace network_checks;
} // namespace nasrnn_test

TEST_CASE("NasRNN has five steps of eight gates that share their weights") {
    using namespace nasrnn_test;
    auto const g = models::nasrnn();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 6);
    CHECK(g.name({g.inputs()[4], 0}) == "x4");
    CHECK(g.name({g.inputs()[5], 0}) == "h");
    CHECK(g.info().output_names == std::vector<std::string>{"state"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,512]");
    CHECK(count<ops::mat_mul>(g) == 5 * 16);
    CHECK(count<ops::sigmoid>(g) == 5 * 5);
    CHECK(count<ops::tanh>(g) == 5 * 8);
    CHECK(count<ops::relu>(g) == 5 * 2);
    CHECK(count<ops::add>(g) == 5 * 11);
    CHECK(count<ops::mul>(g) == 5 * 4);
    CHECK(parameters(g) == 16 * 512 * 512);
}

TEST_CASE("NasRNN keeps its activations alive") {
    using namespace nasrnn_test;
    keeps_activations_alive(models::nasrnn());
}

TEST_CASE("NasRNN depends on its seed and survives ONNX") {
    using namespace nasrnn_test;
    auto const g = models::nasrnn({.seed = 5, .width = 16});
    CHECK(g.hash() == models::nasrnn({.seed = 5, .width = 16}).hash());
    CHECK_FALSE(g.hash() == models::nasrnn({.seed = 6, .width = 16}).hash());
    survives_onnx(g);
}

TEST_CASE("NasRNN's state after a step is what the next step starts from") {
    using namespace nasrnn_test;
    auto const once = models::nasrnn({.steps = 1, .width = 16}), twice = models::nasrnn({.steps = 2, .width = 16});
    auto inputs = random_inputs(twice, 3); // x0, x1, h
    auto const middle = evaluate_graph(once, std::vector{inputs[0], inputs[2]}).value()[0];
    auto const chained = evaluate_graph(once, std::vector{inputs[1], middle}).value()[0];
    CHECK(compare(chained, evaluate_graph(twice, inputs).value()[0])->max_relative < 1e-6);
}
