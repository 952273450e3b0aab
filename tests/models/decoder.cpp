#include "models/network_checks.hpp"
#include "models/written_weights.hpp"
#include <gsub/models/decoder.hpp>

namespace decoder_test {
using namespace gsub;
using namespace network_checks;
using written_weights::initializer;
namespace w = onnx_writer;

models::decoder_options small(std::int64_t tokens, std::int64_t past, std::uint64_t seed = 1) {
    return {.seed = seed,
            .tokens = tokens,
            .past = past,
            .layers = 2,
            .hidden = 24,
            .heads = 6,
            .key_heads = 2,
            .intermediate = 40,
            .positions = 16};
}
// The mask and what it was added to, shares, and statistics: numbers of a size of their own.
bool no_activation(any_graph const& g, node_id n) {
    auto const name = g.name({n, 0});
    auto const& t = g.type({n, 0});
    return name.find(".mask") != name.npos || name.ends_with(".softmax") || name.find("_rotary.cos") != name.npos ||
           name.find("_rotary.sin") != name.npos || t.rank() == 0 || t.dims.back() == dim{1};
}
tensor part_of(tensor const& t, std::size_t axis, std::int64_t from, std::int64_t to) {
    graph g;
    graph_builder b{g};
    shape dims;
    for (auto const d : t.dims()) dims.push_back(dim{d});
    auto const x = b.input(t.element(), dims, "x");
    b.outputs({b.add<ops::slice>(
        {.starts = {from}, .ends = {to}, .axes = {static_cast<std::int64_t>(axis)}, .steps = {1}}, {x})});
    return evaluate_graph(g, std::vector{t}).value()[0];
}

} // namespace decoder_test

TEST_CASE("the decoder has blocks of SmolLM2-135M, a cache of each, and as many parameters as are published") {
    using namespace decoder_test;
    auto const g = models::decoder();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 2 + 2 * 8);
    CHECK(g.name({g.inputs()[0], 0}) == "hidden_states");
    CHECK(to_string(g.type({g.inputs()[1], 0})) == "i64[1,1]");
    CHECK(g.name({g.inputs()[5], 0}) == "past_key_values.1.value");
    CHECK(to_string(g.type({g.inputs()[5], 0})) == "f32[1,3,127,64]");
    REQUIRE(g.output_count() == 1 + 2 * 8);
    CHECK(g.info().output_names[4] == "present.1.value");
    CHECK(to_string(g.type(g.output(0))) == "f32[1,1,576]");
    CHECK(to_string(g.type(g.output(4))) == "f32[1,3,128,64]");
    CHECK(count<ops::mat_mul>(g) == 8 * 9);
    CHECK(count<ops::softmax>(g) == 8);
    CHECK(count<ops::sigmoid>(g) == 8);
    CHECK(type_of(g, "model.layers.3.self_attn.softmax") == "f32[1,3,3,128]"); // three queries of each head of keys
    CHECK(type_of(g, "model.layers.7.mlp.gated") == "f32[1,1,1536]");
    // 30 blocks, the last normalisation, and an embedding of 49152 words that is the classifier too.
    auto const one = parameters(models::decoder({.layers = 1})), two = parameters(models::decoder({.layers = 2}));
    CHECK(one + 29 * (two - one) + 49'152 * 576 == 134'515'008);
    CHECK(parameters(g) == one + 7 * (two - one));
}

TEST_CASE("the decoder keeps its activations alive") {
    using namespace decoder_test;
    keeps_activations_alive(models::decoder({.tokens = 4, .past = 4, .layers = 3}), &no_activation);
    keeps_activations_alive(models::decoder({.tokens = 8, .past = 0, .layers = 2}), &no_activation);
}

TEST_CASE("the decoder depends on its seed and survives ONNX") {
    using namespace decoder_test;
    for (std::int64_t const past : {0, 5}) {
        auto const g = models::decoder(small(3, past, 5));
        CHECK(g.hash() == models::decoder(small(3, past, 5)).hash());
        CHECK_FALSE(g.hash() == models::decoder(small(3, past, 6)).hash());
        survives_onnx(g);
    }
}

TEST_CASE("a prompt and the steps behind it give what the whole text gives") {
    using namespace decoder_test;
    auto const whole = models::decoder(small(5, 0)), prompt = models::decoder(small(3, 0)),
               step = models::decoder(small(2, 3));
    auto const text = random_inputs(whole, 3)[0];
    auto const places = tensor::from<std::int64_t>(ints{1, 5}, ints{0, 1, 2, 3, 4});
    auto const all = evaluate_graph(whole, std::vector{text, places}).value();
    auto const first = evaluate_graph(prompt, std::vector{part_of(text, 1, 0, 3), part_of(places, 1, 0, 3)}).value();
    std::vector<tensor> given{part_of(text, 1, 3, 5), part_of(places, 1, 3, 5)};
    given.insert(given.end(), first.begin() + 1, first.end());
    auto const second = evaluate_graph(step, given).value();
    CHECK(compare(first[0], part_of(all[0], 1, 0, 3))->max_relative < 1e-4); // no token sees a later one
    CHECK(compare(second[0], part_of(all[0], 1, 3, 5))->max_relative < 1e-4);
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(compare(second[i], all[i])->max_relative < 1e-4);
}

TEST_CASE("the decoder is what a file with operators of set 23 is read as") {
    using namespace decoder_test;
    for (std::int64_t const past : {0, 5}) {
        INFO("past " << past);
        auto options = small(3, past);
        options.layers = 1;
        auto const g = models::decoder(options);
        w::model m;
        m.opset = 23;
        m.in("hidden_states", {1, 3, 24}).in("position_ids", {1, 3}, w::i64);
        if (past > 0) m.in("past_k", {1, 2, past, 4}).in("past_v", {1, 2, past, 4});
        m.out("y").out("k").out("v");
        std::string const layer = "model.layers.0";
        for (auto const* table : {"model.rotary_emb.cos", "model.rotary_emb.sin"}) m.weight(initializer(g, table));
        auto const norm = [&](std::string const& name, std::string const& from, std::string const& to) {
            m.weight(initializer(g, name + ".weight")).add("RMSNormalization", {from, name + ".weight"}, {to});
        };
        auto const linear = [&](std::string const& name, std::string const& from) {
            m.weight(initializer(g, name + ".weight")).add("MatMul", {from, name + ".weight"}, {name});
            return name;
        };
        norm(layer + ".input_layernorm", "hidden_states", "x");
        auto const q = linear(layer + ".self_attn.q_proj", "x"), k = linear(layer + ".self_attn.k_proj", "x"),
                   v = linear(layer + ".self_attn.v_proj", "x");
        auto const rotary = [&](std::string const& from, std::string const& to, std::int64_t heads) {
            m.add("RotaryEmbedding", {from, "model.rotary_emb.cos", "model.rotary_emb.sin", "position_ids"}, {to},
                  {w::integer("num_heads", heads)});
        };
        rotary(q, "q_turned", 6), rotary(k, "k_turned", 2);
        w::texts operands{"q_turned", "k_turned", v};
        if (past > 0) operands.insert(operands.end(), {"", "past_k", "past_v"});
        m.add("Attention", operands, {"attended", "k", "v"},
              {w::integer("is_causal", 1), w::integer("q_num_heads", 6), w::integer("kv_num_heads", 2)});
        m.add("Add", {"hidden_states", linear(layer + ".self_attn.o_proj", "attended")}, {"h"});
        norm(layer + ".post_attention_layernorm", "h", "z");
        auto const gate = linear(layer + ".mlp.gate_proj", "z");
        m.add("Sigmoid", {gate}, {"open"}).add("Mul", {gate, "open"}, {"silu"});
        m.add("Mul", {"silu", linear(layer + ".mlp.up_proj", "z")}, {"inner"});
        m.add("Add", {"h", linear(layer + ".mlp.down_proj", "inner")}, {"block"});
        norm("model.norm", "block", "y");
        CHECK(model_checks::loaded(m).hash() == g.hash());
    }
}

TEST_CASE("sizes of a decoder that do not go together are told") {
    using models = gsub::models::decoder_options;
    static_assert(!models{}.fault() && models{.past = 2048}.fault() && models{.heads = 7}.fault());
    static_assert(models{.key_heads = 2}.fault() && models{.hidden = 27}.fault());
    auto const made = gsub::models::decoder({.tokens = 128, .past = 0, .layers = 1, .key_heads = 9});
    CHECK(made.inputs().size() == 2);
}
