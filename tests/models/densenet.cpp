#include "models/network_checks.hpp"
#include <gsub/models/densenet.hpp>

namespace densenet_test {
using namespace gsub;
using namespace network_checks;
} // namespace densenet_test

TEST_CASE("DenseNet-121 has the published layers and parameters") {
    using namespace densenet_test;
    auto const g = models::densenet121();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 7'978'856);
    CHECK(count<ops::conv>(g) == 120);
    CHECK(count<ops::batch_norm>(g) == 121);
    CHECK(count<ops::average_pool>(g) == 3);
    CHECK(type_of(g, "features.denseblock1.concat") == "f32[1,256,56,56]");
    CHECK(type_of(g, "features.denseblock4.denselayer16.concat") == "f32[1,992,7,7]");
    CHECK(type_of(g, "features.norm5") == "f32[1,1024,7,7]");
}

TEST_CASE("a layer of DenseNet reads every layer of its block before it") {
    using namespace densenet_test;
    auto const g = models::densenet121({.image = 32});
    for (auto const& [name, parts] : {std::pair{"features.denseblock1.denselayer4.concat", 4},
                                      {"features.denseblock3.denselayer24.concat", 24},
                                      {"features.denseblock2.concat", 13}})
        CHECK(g.operand_count(find(g, name)) == static_cast<std::size_t>(parts));
}

TEST_CASE("DenseNet-121 keeps its activations alive") {
    using namespace densenet_test;
    keeps_activations_alive(models::densenet121());
}

TEST_CASE("DenseNet-121 depends on its seed") {
    using namespace densenet_test;
    depends_on_its_seed(&models::densenet121);
}

TEST_CASE("DenseNet-121 survives ONNX") {
    using namespace densenet_test;
    survives_onnx(models::densenet121());
}

TEST_CASE("DenseNet-121 takes images of any size from 29 pixels on") {
    using namespace densenet_test;
    takes_images(&models::densenet121, 45);
    CHECK(complaint([] { return models::densenet121({.image = 29}); }).empty());
    CHECK(complaint([] { return models::densenet121({.image = 28}); }).find("does not fit") != std::string::npos);
}
