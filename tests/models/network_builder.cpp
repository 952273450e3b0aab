#include "models/network_checks.hpp"
#include <gsub/models/network_builder.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace network_builder_test {

using namespace gsub;
using models::network_builder;
using models::norm_place;
using models::weight_source;

struct small_network {
    graph g;
    network_builder net{g, weight_source{1}};
    value_id x = net.input(dtype::f32, {2, 4, 9, 7}, "x");

    std::string type(value_id v) const { return to_string(g.type(v)); }
    tensor const& weight(value_id layer, std::size_t operand) const {
        return g.constant_data(g.operand(layer.node, operand).node);
    }
};

} // namespace network_builder_test

TEST_CASE("layers have the shapes that their settings say") {
    using namespace network_builder_test;
    small_network s;
    auto const wide = s.net.conv("wide", s.x, {.outputs = 6, .kernel = {3, 1}, .stride = {2, 1}, .pad = {1, 0}});
    CHECK(s.type(wide) == "f32[2,6,5,7]");
    CHECK(s.type(s.net.conv("groups", s.x, {.outputs = 8, .group = 4})) == "f32[2,8,9,7]");
    CHECK(s.type(s.net.batch_norm("norm", s.x)) == "f32[2,4,9,7]");
    CHECK(s.type(s.net.max_pool("max", s.x, {.kernel = {2, 2}, .stride = {2, 2}})) == "f32[2,4,4,3]");
    CHECK(s.type(s.net.max_pool("up", s.x, {.kernel = {2, 2}, .stride = {2, 2}, .ceil_mode = true})) == "f32[2,4,5,4]");
    CHECK(s.type(s.net.average_pool("mean", s.x, {.kernel = {3, 3}, .pad = {1, 1}})) == "f32[2,4,9,7]");
    CHECK(s.type(s.net.concat("both", {s.x, s.x})) == "f32[2,8,9,7]");
    CHECK(s.type(s.net.sum("sum", s.x, s.x)) == "f32[2,4,9,7]");
    auto const features = s.net.pooled_features(s.x);
    CHECK(s.type(features) == "f32[2,4]");
    CHECK(s.type(s.net.linear("fc", features, 5)) == "f32[2,5]");
    CHECK(s.net.channels(wide) == 6);
}

TEST_CASE("a layer's name is its source, its result's name and the prefix of its weights") {
    using namespace network_builder_test;
    small_network s;
    auto const y = s.net.conv("block.conv", s.x, {.outputs = 3, .bias = true});
    auto const z = s.net.batch_norm("block.bn", y);
    CHECK(s.g.sources(y.node) == std::vector<std::string>{"block.conv"});
    CHECK(s.g.name(y) == "block.conv");
    CHECK(s.g.name(s.g.operand(y.node, 1)) == "block.conv.weight");
    CHECK(s.g.name(s.g.operand(y.node, 2)) == "block.conv.bias");
    std::vector<std::string> names;
    for (std::size_t i = 1; i < 5; ++i) names.emplace_back(s.g.name(s.g.operand(z.node, i)));
    CHECK(names == std::vector<std::string>{"block.bn.weight", "block.bn.bias", "block.bn.running_mean",
                                            "block.bn.running_var"});
    s.net.output(z, "result");
    CHECK(s.g.name(z) == "result");
    CHECK(s.g.info().output_names == std::vector<std::string>{"result"});
    CHECK(check(s.g, stage::imported).empty());
}

TEST_CASE("weights come from the source under the layer's name") {
    using namespace network_builder_test;
    small_network s;
    weight_source const source{1};
    auto const y = s.net.conv("c", s.x, {.outputs = 8, .kernel = {3, 3}, .group = 2, .bias = true});
    CHECK(s.weight(y, 1).hash() == source.convolution("c.weight", {8, 2, 3, 3}).hash());
    CHECK(s.weight(y, 2).hash() == source.bias("c.bias", 8).hash());
    auto const z = s.net.batch_norm("n", y, {.epsilon = 1e-3, .place = norm_place::branch_end});
    auto const stored = source.batch_norm("n", 8, norm_place::branch_end);
    CHECK(s.weight(z, 1).hash() == stored.scale.hash());
    CHECK(s.weight(z, 2).hash() == stored.shift.hash());
    CHECK(s.weight(z, 3).hash() == stored.mean.hash());
    CHECK(s.weight(z, 4).hash() == stored.variance.hash());
    CHECK(s.g.attributes<ops::batch_norm>(z.node).epsilon == double(1e-3f));
}

TEST_CASE("a linear layer multiplies by the transposed weight and adds the bias") {
    using namespace network_builder_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 3}, "x");
    auto const y = net.linear("fc", x, 2);
    net.output(y, "y");
    auto const w = g.constant_data(g.operand(y.node, 1).node).data<float>();
    auto const b = g.constant_data(g.operand(y.node, 2).node).data<float>();
    auto const out = evaluate_graph(g, std::vector{tensor::from<float>({1, 3}, {1, 10, 100})}).value()[0];
    for (std::size_t i = 0; i < 2; ++i) {
        auto const wanted = w[3 * i] + 10 * w[3 * i + 1] + 100 * w[3 * i + 2] + b[i];
        CHECK(std::abs(out.data<float>()[i] - wanted) < 1e-4f);
    }
}

TEST_CASE("operators without a layer of their own get names through apply") {
    using namespace network_builder_test;
    small_network s;
    auto const y = s.net.apply<ops::softmax>("probabilities", {s.x}, {.axis = 1});
    CHECK(s.g.display_name(y.node) == "probabilities");
    CHECK(s.g.attributes<ops::softmax>(y.node).axis == 1);
    CHECK(s.g.attributes<ops::clip>(s.net.relu6("six", y).node).max == 6);
    CHECK(s.g.is<ops::relu>(s.net.relu("zero", y).node));
}

TEST_CASE("an ill-typed layer throws an error that names operator and reason") {
    using namespace network_builder_test;
    small_network s;
    auto const words = network_checks::complaint([&] {
        return s.net.conv("c", s.x, {.outputs = 1, .kernel = {10, 1}});
    });
    CHECK(words.find("Conv") != std::string::npos);
    CHECK(words.find("a window of extent 10 does not fit dimension 0 of size 9") != std::string::npos);
}
