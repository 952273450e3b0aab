#include "models/network_checks.hpp"
#include <gsub/models/vgg.hpp>

namespace vgg_test {
using namespace gsub;
using namespace network_checks;
} // namespace vgg_test

TEST_CASE("VGG-16 has the published layers and parameters") {
    using namespace vgg_test;
    auto const g = models::vgg16();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 138'357'544);
    CHECK(count<ops::conv>(g) == 13);
    CHECK(count<ops::max_pool>(g) == 5);
    CHECK(count<ops::relu>(g) == 15);
    CHECK(type_of(g, "features.28") == "f32[1,512,14,14]");
    CHECK(type_of(g, "classifier.3") == "f32[1,4096]");
}

TEST_CASE("VGG-19 has the published layers and parameters, and is alive") {
    using namespace vgg_test;
    auto const g = models::vgg19({.image = 64});
    CHECK(count<ops::conv>(g) == 16);
    CHECK(type_of(g, "features.34") == "f32[1,512,4,4]");
    keeps_activations_alive(g, nullptr, 40);
    CHECK(parameters(models::vgg19()) == 143'667'240);
}

TEST_CASE("VGG-16 keeps its activations alive") {
    using namespace vgg_test;
    keeps_activations_alive(models::vgg16({.image = 64}), nullptr, 35);
}

TEST_CASE("VGG-16 depends on its seed") {
    using namespace vgg_test;
    depends_on_its_seed(&models::vgg16, 32);
}

TEST_CASE("VGG-16 survives ONNX") {
    using namespace vgg_test;
    survives_onnx(models::vgg16({.image = 32}));
}

TEST_CASE("VGG-16 takes images of any size from 32 pixels on") {
    using namespace vgg_test;
    takes_images(&models::vgg16, 40);
    CHECK(complaint([] { return models::vgg16({.image = 31}); }).find("does not fit") != std::string::npos);
}
