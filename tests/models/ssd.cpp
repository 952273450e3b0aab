#include "models/network_checks.hpp"
#include <gsub/models/ssd.hpp>

namespace ssd_test {
using namespace gsub;
using namespace network_checks;
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
