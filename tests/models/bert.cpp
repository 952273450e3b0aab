#include "models/network_checks.hpp"
#include <gsub/models/bert.hpp>

namespace bert_test {

using namespace gsub;
using namespace network_checks;

models::bert_options small(std::uint64_t seed = 1) {
    return {.seed = seed, .sequence = 16, .layers = 2, .vocabulary = 100};
}

// The mask and what it was added to, attention's weights, and the statistics of normalisations: numbers of a size of
// their own.
bool no_activation(any_graph const& g, node_id n) {
    auto const name = g.name({n, 0});
    auto const& t = g.type({n, 0});
    return name.starts_with("mask") || name.ends_with(".masked") || name.ends_with(".softmax") ||
           (t.rank() > 0 && t.dims.back() == dim{1});
}

tensor numbers(ints const& dims, ints const& values) {
    return tensor::from<std::int64_t>(dims, values);
}

} // namespace bert_test

TEST_CASE("BERT-base has the published layers and parameters, of primitive operators alone") {
    using namespace bert_test;
    auto const g = models::bert_base();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        constexpr std::string_view names[] = {"input_ids", "attention_mask", "token_type_ids"};
        CHECK(g.name({g.inputs()[i], 0}) == names[i]);
        CHECK(to_string(g.type({g.inputs()[i], 0})) == "i64[1,128]");
    }
    CHECK(g.info().output_names == std::vector<std::string>{"last_hidden_state"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,128,768]");
    CHECK(parameters(g) == 108'891'648); // 109.5 million with the pooler
    CHECK(count<ops::mat_mul>(g) == 12 * 8);
    CHECK(count<ops::softmax>(g) == 12);
    CHECK(count<ops::erf>(g) == 12);
    CHECK(count<ops::pow>(g) == 25);
    CHECK(count<ops::reduce_mean>(g) == 50);
    CHECK(count<ops::gather>(g) == 3);
    CHECK(type_of(g, "encoder.layer.3.attention.self.softmax") == "f32[1,12,128,128]");
    CHECK(type_of(g, "encoder.layer.11.intermediate.dense") == "f32[1,128,3072]");
}

TEST_CASE("BERT-small has the published layers and parameters") {
    using namespace bert_test;
    auto const g = models::bert_small();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 3);
    CHECK(to_string(g.type({g.inputs()[0], 0})) == "i64[1,128]");
    CHECK(to_string(g.type(g.output(0))) == "f32[1,128,512]");
    CHECK(parameters(g) == 28'500'992); // 28.8 million with the pooler
    CHECK(count<ops::softmax>(g) == 4);
    CHECK(type_of(g, "encoder.layer.3.attention.self.softmax") == "f32[1,8,128,128]");
    CHECK(type_of(g, "encoder.layer.3.intermediate.dense") == "f32[1,128,2048]");
    CHECK_FALSE(g.hash() == models::bert_small(2).hash());
}

TEST_CASE("BERT keeps its activations alive") {
    using namespace bert_test;
    keeps_activations_alive(models::bert_base(small()), &no_activation);
}

TEST_CASE("BERT depends on its seed and survives ONNX") {
    using namespace bert_test;
    auto const g = models::bert_base(small(5));
    CHECK(g.hash() == models::bert_base(small(5)).hash());
    CHECK_FALSE(g.hash() == models::bert_base(small(6)).hash());
    survives_onnx(g);
}

TEST_CASE("BERT does not see words that the mask takes out, and sees all others") {
    using namespace bert_test;
    auto const g = models::bert_base(
        {.sequence = 4, .layers = 2, .hidden = 24, .heads = 3, .intermediate = 48, .vocabulary = 10, .positions = 4});
    auto const run = [&](ints const& words, ints const& mask) {
        auto const y =
            evaluate_graph(g, std::vector{numbers({1, 4}, words), numbers({1, 4}, mask), numbers({1, 4}, {0, 0, 1, 1})})
                .value()[0];
        return tensor::from<float>(ints{24}, y.data<float>().first(24)); // of the first word
    };
    CHECK(run({1, 2, 3, 4}, {1, 1, 0, 1}).hash() == run({1, 2, 7, 4}, {1, 1, 0, 1}).hash());
    for (ints const& other : {ints{5, 2, 3, 4}, ints{1, 5, 3, 4}, ints{1, 2, 3, 5}})
        CHECK_FALSE(run({1, 2, 3, 4}, {1, 1, 0, 1}).hash() == run(other, {1, 1, 0, 1}).hash());
    CHECK_FALSE(run({1, 2, 3, 4}, {1, 1, 1, 1}).hash() == run({1, 2, 7, 4}, {1, 1, 1, 1}).hash());
}

TEST_CASE("each text of a batch is on its own") {
    using namespace bert_test;
    auto options = small();
    auto const one = models::bert_base(options);
    options.batch = 2;
    auto const two = models::bert_base(options);
    auto const inputs = random_inputs(two, 3);
    std::vector<tensor> second;
    for (auto const& t : inputs)
        second.push_back(tensor::from<std::int64_t>(ints{1, 16}, t.data<std::int64_t>().last(16)));
    auto const both = evaluate_graph(two, inputs).value()[0];
    auto const alone = evaluate_graph(one, second).value()[0];
    CHECK(
        compare(tensor::from<float>(ints{1, 16, 768}, both.data<float>().last(16 * 768)), alone).value().max_relative <
        1e-5);
}
