#include "catch.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/architecture.hpp>

#include <string>
#include <vector>

namespace architecture_test {

using namespace gsub;

TEST_CASE("networks of every width and depth are of their class, others of none, all with reasons") {
    auto const is = [](any_graph const& g, architecture kind, std::string const& what) {
        CAPTURE(what);
        auto const c = classify(g);
        CHECK(to_string(c.kind) == to_string(kind));
        CHECK((c.score >= 0.5) == (kind != architecture::other));
        CHECK(c.reasons.size() == 4);
        if (kind != architecture::other) CHECK(c.reasons[0].starts_with(to_string(kind)));
    };
    for (auto const& plan : {models::resnet_plan{{1, 1, 1, 1}, false}, models::resnet_plan{{3, 4, 6, 3}, false},
                             models::resnet_plan{{1, 2, 1, 1}, true}, models::resnet_plan{{3, 8, 36, 3}, true}})
        for (std::int64_t const image : {32, 224})
            is(models::resnet(plan, {.image = image, .classes = 10}), architecture::resnet,
               "blocks " + std::to_string(plan.blocks[1]) + ", image " + std::to_string(image));
    for (std::int64_t const batch : {1, 3})
        is(models::mobilenet_v2({.batch = batch, .image = 96}), architecture::mobilenet, "MobileNetV2");
    for (std::int64_t const image : {300, 512})
        is(models::ssd_resnet50({.image = image}), architecture::ssd, "SSD " + std::to_string(image));
    for (std::int64_t const layers : {1, 3})
        for (std::int64_t const hidden : {24, 48})
            is(models::bert_base({.sequence = 16,
                                  .layers = layers,
                                  .hidden = hidden,
                                  .heads = 2,
                                  .intermediate = 2 * hidden,
                                  .vocabulary = 30}),
               architecture::bert, "BERT " + std::to_string(layers));
    for (auto const* name : {"squeezenet1_1", "t2", "t6", "t9", "t12"})
        is(models::find_model(name)->build(1), architecture::other, name);
}

TEST_CASE("features of known networks are those that their papers tell") {
    auto const of = [](char const* name) { return features_of(models::find_model(name)->build(1)); };
    auto const mobile = of("mobilenet_v2");
    CHECK(mobile.convolutions == 52);
    CHECK(mobile.depthwise == 17);
    CHECK(mobile.separable_blocks == 17);
    CHECK(mobile.residual_blocks == 10);
    auto const residual = of("resnet50");
    CHECK(residual.residual_blocks == 16);
    CHECK(residual.products == 1);
    CHECK(residual.depthwise + residual.attention_blocks + residual.head_maps == 0);
    CHECK(of("ssd_resnet50").head_maps == 6);
    auto const text = of("bert_base");
    CHECK(text.attention_blocks == 12);
    CHECK(text.products == 96);
    CHECK(text.convolutions == 0);
}

struct small {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    value_id x = net.input(dtype::f32, {1, 1, 8, 8}, "x");

    value_id strange(std::string_view type, std::initializer_list<value_id> operands) {
        type_id const t = g.type_of(operands.begin()[0]);
        auto const n = g.add_opaque({.domain = "com.example", .op_type = std::string{type}},
                                    tensor::zeros(dtype::u8, ints{1}), {operands.begin(), operands.size()}, {&t, 1});
        return {n, 0};
    }
};

TEST_CASE("a filter for images of one channel, and one of a pixel a channel, are not depthwise") {
    small s;
    auto const wide = s.net.conv("stem", s.x, {.outputs = 4, .kernel = {3, 3}, .pad = {1, 1}});
    auto const lines = s.net.conv("lines", wide, {.outputs = 4, .group = 4});
    s.net.output(lines, "y");
    CHECK(features_of(s.g).depthwise == 0);
    s.net.output(s.net.conv("real", wide, {.outputs = 4, .kernel = {3, 3}, .group = 4}), "z");
    CHECK(features_of(s.g).depthwise == 1);
}

TEST_CASE("fused operators of other tools count by the names of their types") {
    small s;
    auto const y = s.strange("FusedConv", {s.x});
    auto const attention = s.strange("MultiHeadAttention", {s.strange("FusedMatMul", {y}), y});
    s.net.output(s.strange("SkipLayerNormalization", {attention, y}), "y");
    auto const f = features_of(s.g);
    CHECK(f.nodes == 4);
    CHECK(f.convolutions == 1);
    CHECK(f.products == 1);
    CHECK(f.attention_blocks == 1);
    CHECK(f.residual_blocks == 1);
}

TEST_CASE("arithmetic on constants, known or not, is not part of the network") {
    small s;
    auto const scale = s.net.constant(tensor::zeros(dtype::f32, ints{4, 1, 3, 3}));
    auto const weights = s.strange("DequantizeLinear", {scale});
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
    auto const y = s.net.add<ops::conv>(a, {s.x, weights});
    s.net.output(y, "y");
    auto const f = features_of(s.g);
    CHECK(f.nodes == 1);
    CHECK(f.residual_blocks == 0);
}

} // namespace architecture_test
