#include "models/network_checks.hpp"
#include <gsub/models/mobilenet.hpp>

namespace mobilenet_test {
using namespace gsub;
using namespace network_checks;
} // namespace mobilenet_test

TEST_CASE("MobileNetV2 has the published layers and parameters") {
    using namespace mobilenet_test;
    auto const g = models::mobilenet_v2();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 3'504'872);
    CHECK(count<ops::conv>(g) == 52);
    CHECK(count<ops::batch_norm>(g) == 52);
    CHECK(count<ops::clip>(g) == 35);
    CHECK(count<ops::add>(g) == 10);
    CHECK(type_of(g, "features.0.2") == "f32[1,32,112,112]");
    CHECK(type_of(g, "features.17.conv.3") == "f32[1,320,7,7]");
}

TEST_CASE("MobileNetV2's depthwise convolutions have one channel a group, its activations end at six") {
    using namespace mobilenet_test;
    auto const g = models::mobilenet_v2({.image = 32});
    CHECK(g.attributes<ops::conv>(find(g, "features.1.conv.0.0")).group == 32); // no expansion in the first block
    CHECK(g.attributes<ops::conv>(find(g, "features.2.conv.1.0")).group == 96);
    auto const& clip = g.attributes<ops::clip>(find(g, "features.2.conv.1.2"));
    CHECK(clip.min == 0);
    CHECK(clip.max == 6);
    CHECK(g.is<ops::add>(find(g, "features.3.add")));
}

TEST_CASE("MobileNetV2 keeps its activations alive") {
    using namespace mobilenet_test;
    keeps_activations_alive(models::mobilenet_v2());
}

TEST_CASE("MobileNetV2 depends on its seed") {
    using namespace mobilenet_test;
    depends_on_its_seed(&models::mobilenet_v2);
}

TEST_CASE("MobileNetV2 survives ONNX") {
    using namespace mobilenet_test;
    survives_onnx(models::mobilenet_v2());
}

TEST_CASE("MobileNetV2 takes images of any size") {
    using namespace mobilenet_test;
    takes_images(&models::mobilenet_v2, 50);
    takes_images(&models::mobilenet_v2, 1);
}
