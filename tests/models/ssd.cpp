#include "models/network_checks.hpp"
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/ssd.hpp>

namespace ssd_test {
using namespace gsub;
using namespace network_checks;

std::int64_t normalised_channels(any_graph const& g) {
    std::int64_t channels = 0;
    for (auto n : g.order())
        if (g.is<ops::batch_norm>(n)) channels += g.constant_data(g.operand(n, 1).node).elements();
    return channels;
}

} // namespace ssd_test

TEST_CASE("SSD-ResNet50 has the layers, parameters and boxes of NVIDIA's export") {
    using namespace ssd_test;
    auto const g = models::ssd_resnet50();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 1);
    CHECK(g.name({g.inputs()[0], 0}) == "image");
    CHECK(g.info().output_names == std::vector<std::string>{"locations", "scores"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,4,8732]");
    CHECK(to_string(g.type(g.output(1))) == "f32[1,81,8732]");
    CHECK(parameters(g) == 22'894'902);
    CHECK(multiplications(g) / 10'000'000 == 2015);
    CHECK(count<ops::conv>(g) == 65);
    CHECK(count<ops::batch_norm>(g) == 53);
    CHECK(count<ops::relu>(g) == 50);
    CHECK(count<ops::concat>(g) == 2);
    CHECK(type_of(g, "f.6.5.relu3") == "f32[1,1024,38,38]");
    CHECK(type_of(g, "add.1.5") == "f32[1,512,10,10]");
    CHECK(type_of(g, "add.4.5") == "f32[1,256,1,1]");
    CHECK(type_of(g, "conf.5") == "f32[1,324,1,1]");
}

TEST_CASE("SSD-ResNet50 keeps its activations alive") {
    using namespace ssd_test;
    keeps_activations_alive(models::ssd_resnet50());
}

TEST_CASE("SSD-ResNet50 depends on its seed and survives ONNX") {
    using namespace ssd_test;
    auto const g = models::ssd_resnet50({.seed = 5});
    CHECK(g.hash() == models::ssd_resnet50({.seed = 5}).hash());
    CHECK_FALSE(g.hash() == models::ssd_resnet50({.seed = 6}).hash());
    survives_onnx(g);
}

TEST_CASE("SSD-ResNet50 has fewer boxes in smaller images, for any number of classes") {
    using namespace ssd_test;
    auto const g = models::ssd_resnet50({.batch = 2, .image = 257, .classes = 5});
    CHECK(to_string(g.type(g.output(1))) == "f32[2,5,6766]");
    CHECK(complaint([] { return models::ssd_resnet50({.image = 256}); }).find("does not fit") != std::string::npos);
}

TEST_CASE("SSD-MobileNetV2 has the layers, boxes, published parameters and multiplications of TensorFlow's zoo") {
    using namespace ssd_test;
    auto const g = models::ssd_mobilenet_v2();
    CHECK(check(g, stage::imported).empty());
    CHECK(g.name({g.inputs()[0], 0}) == "image");
    CHECK(g.info().output_names == std::vector<std::string>{"locations", "scores"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,4,1917]");
    CHECK(to_string(g.type(g.output(1))) == "f32[1,91,1917]");
    CHECK(parameters(g) == 16'837'567);
    // Open Model Zoo counts a normalisation as one number a channel, and states 16.818 million.
    CHECK(parameters(g) - normalised_channels(g) == 16'818'207);
    // It states 3.775 GFLOP: two a multiplication, and what is no convolution.
    CHECK(multiplications(g) == 1'875'065'840);
    CHECK(count<ops::conv>(g) == 52 + 4 * 3 + 6 * 2);
    CHECK(count<ops::clip>(g) == 35 + 4 * 3);
    CHECK(type_of(g, "features.14.conv.0.2") == "f32[1,576,19,19]");
    CHECK(type_of(g, "features.18.2") == "f32[1,1280,10,10]");
    CHECK(type_of(g, "layer_19_2_Conv2d_2_3x3_s2_512.2") == "f32[1,512,5,5]");
    CHECK(type_of(g, "layer_19_2_Conv2d_5_3x3_s2_128.2") == "f32[1,128,1,1]");
    CHECK(g.attributes<ops::conv>(find(g, "layer_19_2_Conv2d_3_3x3_s2_256_depthwise.0")).group == 128);
    CHECK(type_of(g, "BoxPredictor_0.BoxEncodingPredictor") == "f32[1,12,19,19]");
    CHECK(type_of(g, "BoxPredictor_1.ClassPredictor") == "f32[1,546,10,10]");
    // The maps are those that the heads read.
    CHECK(g.operand(find(g, "BoxPredictor_0.ClassPredictor"), 0).node == find(g, "features.14.conv.0.2"));
    CHECK(g.operand(find(g, "BoxPredictor_1.ClassPredictor"), 0).node == find(g, "features.18.2"));
}

TEST_CASE("SSD-MobileNetV2 has the backbone of MobileNetV2, weights and all") {
    using namespace ssd_test;
    auto const g = models::ssd_mobilenet_v2({.seed = 3, .image = 64}),
               whole = models::mobilenet_v2({.seed = 3, .image = 64});
    for (auto const* name : {"features.0.0", "features.14.conv.0.0", "features.18.0"}) {
        INFO(name);
        CHECK(g.constant_data(g.operand(find(g, name), 1).node).hash() ==
              whole.constant_data(whole.operand(find(whole, name), 1).node).hash());
    }
}

TEST_CASE("SSD-Inception v2 has the layers, parameters and boxes of TensorFlow's zoo") {
    using namespace ssd_test;
    auto const g = models::ssd_inception_v2();
    CHECK(check(g, stage::imported).empty());
    CHECK(g.info().output_names == std::vector<std::string>{"locations", "scores"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,4,1917]");
    CHECK(to_string(g.type(g.output(1))) == "f32[1,91,1917]");
    CHECK(parameters(g) == 25'030'231);
    CHECK(multiplications(g) == 4'797'869'984);
    CHECK(count<ops::conv>(g) == 70 + 4 * 2 + 6 * 2);
    CHECK(count<ops::relu>(g) == 0);
    CHECK(count<ops::clip>(g) == 69 + 4 * 2);
    CHECK(type_of(g, "Mixed_4c.concat") == "f32[1,576,19,19]");
    CHECK(type_of(g, "Mixed_5c.concat") == "f32[1,1024,10,10]");
    CHECK(type_of(g, "Mixed_5c_1_Conv2d_2_1x1_256.relu") == "f32[1,256,10,10]");
    CHECK(type_of(g, "Mixed_5c_2_Conv2d_5_3x3_s2_128.relu") == "f32[1,128,1,1]");
    CHECK(g.operand(find(g, "BoxPredictor_0.ClassPredictor"), 0).node == find(g, "Mixed_4c.concat"));
    CHECK(g.operand(find(g, "BoxPredictor_1.ClassPredictor"), 0).node == find(g, "Mixed_5c.concat"));
}

TEST_CASE("the detectors of TensorFlow's zoo keep their activations alive") {
    using namespace ssd_test;
    keeps_activations_alive(models::ssd_mobilenet_v2({.image = 150}));
    keeps_activations_alive(models::ssd_inception_v2({.image = 150}));
}

TEST_CASE("the detectors of TensorFlow's zoo depend on their seed, take any image and survive ONNX") {
    using namespace ssd_test;
    for (auto* const build : {&models::ssd_mobilenet_v2, &models::ssd_inception_v2}) {
        auto const g = build({.seed = 5, .image = 33, .classes = 3});
        CHECK(g.hash() == build({.seed = 5, .image = 33, .classes = 3}).hash());
        CHECK_FALSE(g.hash() == build({.seed = 6, .image = 33, .classes = 3}).hash());
        survives_onnx(g);
        // Maps of 3, 2, and four times 1 pixel across.
        CHECK(to_string(g.type(g.output(1))) == "f32[1,3,75]");
        auto const least = build({.batch = 2, .image = 1, .classes = 3});
        CHECK(to_string(least.type(least.output(0))) == "f32[2,4,33]");
    }
}
