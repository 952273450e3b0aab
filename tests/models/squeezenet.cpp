#include "models/network_checks.hpp"
#include <gsub/models/squeezenet.hpp>

namespace squeezenet_test {
using namespace gsub;
using namespace network_checks;
} // namespace squeezenet_test

TEST_CASE("SqueezeNet 1.1 has the published layers and parameters") {
    using namespace squeezenet_test;
    auto const g = models::squeezenet1_1();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 1'235'496);
    CHECK(count<ops::conv>(g) == 26);
    CHECK(count<ops::concat>(g) == 8);
    CHECK(count<ops::max_pool>(g) == 3);
    CHECK(type_of(g, "features.0") == "f32[1,64,111,111]");
    CHECK(type_of(g, "features.5") == "f32[1,128,27,27]");
    CHECK(type_of(g, "features.12.concat") == "f32[1,512,13,13]");
}

TEST_CASE("SqueezeNet's pools round up") {
    using namespace squeezenet_test;
    auto const g = models::squeezenet1_1({.image = 33});
    CHECK(type_of(g, "features.0") == "f32[1,64,16,16]");
    CHECK(type_of(g, "features.2") == "f32[1,64,8,8]"); // 7 without
    CHECK(type_of(g, "features.8") == "f32[1,256,2,2]");
}

TEST_CASE("SqueezeNet 1.1 keeps its activations alive") {
    using namespace squeezenet_test;
    keeps_activations_alive(models::squeezenet1_1());
}

TEST_CASE("SqueezeNet 1.1 depends on its seed") {
    using namespace squeezenet_test;
    depends_on_its_seed(&models::squeezenet1_1);
}

TEST_CASE("SqueezeNet 1.1 survives ONNX") {
    using namespace squeezenet_test;
    survives_onnx(models::squeezenet1_1());
}

TEST_CASE("SqueezeNet 1.1 takes small images and says why not tiny ones") {
    using namespace squeezenet_test;
    takes_images(&models::squeezenet1_1, 25);
    CHECK(complaint([] { return models::squeezenet1_1({.image = 2}); }).find("does not fit") != std::string::npos);
}
