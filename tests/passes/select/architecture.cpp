#include "catch.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/passes/select/architecture.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace architecture_test {

using namespace gsub;

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
