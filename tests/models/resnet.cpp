#include "models/network_checks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/models/resnet.hpp>

namespace resnet_test {
using namespace gsub;
using namespace network_checks;
} // namespace resnet_test

TEST_CASE("ResNet-18 has the published layers and parameters") {
    using namespace resnet_test;
    auto const g = models::resnet18();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 11'689'512);
    CHECK(count<ops::conv>(g) == 20);
    CHECK(count<ops::batch_norm>(g) == 20);
    CHECK(count<ops::add>(g) == 8);
    CHECK(type_of(g, "maxpool") == "f32[1,64,56,56]");
    CHECK(type_of(g, "layer4.1.relu2") == "f32[1,512,7,7]");
}

TEST_CASE("ResNet-50 has the published layers and parameters") {
    using namespace resnet_test;
    auto const g = models::resnet50();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 25'557'032);
    CHECK(count<ops::conv>(g) == 53);
    CHECK(count<ops::batch_norm>(g) == 53);
    CHECK(count<ops::relu>(g) == 49);
    CHECK(count<ops::add>(g) == 16);
    CHECK(type_of(g, "layer1.2.relu3") == "f32[1,256,56,56]");
    CHECK(type_of(g, "layer4.2.relu3") == "f32[1,2048,7,7]");
}

TEST_CASE("ResNet-101 has the published layers and parameters") {
    using namespace resnet_test;
    auto const g = models::resnet101({.image = 64});
    is_well_made(g, "f32[1,3,64,64]", "f32[1,1000]");
    CHECK(parameters(g) == 44'549'160);
    CHECK(count<ops::conv>(g) == 104);
    CHECK(count<ops::add>(g) == 33);
    CHECK(type_of(g, "layer3.22.relu3") == "f32[1,1024,4,4]");
}

TEST_CASE("ResNeXt-50 32x4d has the published layers and parameters") {
    using namespace resnet_test;
    auto const g = models::resnext50_32x4d();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 25'028'904);
    CHECK(count<ops::conv>(g) == 53);
    CHECK(count<ops::batch_norm>(g) == 53);
    for (int stage = 1; stage <= 4; ++stage)
        CHECK(g.attributes<ops::conv>(find(g, fmt::format("layer{}.0.conv2", stage))).group == 32);
    CHECK(type_of(g, "layer1.0.conv1") == "f32[1,128,56,56]");
    CHECK(type_of(g, "layer4.2.conv2") == "f32[1,1024,7,7]");
}

TEST_CASE("ResNet-50 strides in its 3x3 convolutions") {
    using namespace resnet_test;
    auto const g = models::resnet50({.image = 64});
    CHECK(g.attributes<ops::conv>(find(g, "layer2.0.conv1")).strides == ints{1, 1});
    CHECK(g.attributes<ops::conv>(find(g, "layer2.0.conv2")).strides == ints{2, 2});
    CHECK(g.attributes<ops::conv>(find(g, "layer2.1.conv2")).strides == ints{1, 1});
}

TEST_CASE("ResNet-50 v1 strides in the first 1x1 convolutions, and is v1.5 else") {
    using namespace resnet_test;
    auto const g = models::resnet50_v1({.image = 64}), late = models::resnet50({.image = 64});
    is_well_made(g, "f32[1,3,64,64]", "f32[1,1000]");
    CHECK(parameters(g) == 25'557'032);
    for (auto n : late.order()) {
        if (!late.is<ops::conv>(n)) continue;
        std::string const name{late.name({n, 0})};
        CAPTURE(name);
        auto expected = late.attributes<ops::conv>(n);
        auto const in_first_block = name.size() == 14 && name.substr(6, 7) == ".0.conv" && name[5] != '1';
        if (in_first_block && name.back() == '1') expected.strides = {2, 2};
        if (in_first_block && name.back() == '2') expected.strides = {1, 1};
        CHECK(intern<ops::conv>(g.attributes<ops::conv>(find(g, name))) == intern<ops::conv>(expected));
    }
    CHECK(type_of(g, "layer2.0.conv1") == "f32[1,128,8,8]");
    CHECK(type_of(g, "layer4.2.relu3") == "f32[1,2048,2,2]");
}

TEST_CASE("plans between the published ones give residual networks too") {
    using namespace resnet_test;
    auto const g = models::resnet({{3, 4, 6, 3}, false}, {.image = 64});
    is_well_made(g, "f32[1,3,64,64]", "f32[1,1000]");
    CHECK(parameters(g) == 21'797'672); // ResNet-34
}

TEST_CASE("residual networks keep their activations alive") {
    using namespace resnet_test;
    SECTION("18") {
        keeps_activations_alive(models::resnet18());
    }
    SECTION("50") {
        keeps_activations_alive(models::resnet50());
    }
    SECTION("50, strides first") {
        keeps_activations_alive(models::resnet50_v1());
    }
    SECTION("101") {
        keeps_activations_alive(models::resnet101());
    }
    SECTION("in groups") {
        keeps_activations_alive(models::resnext50_32x4d());
    }
}

TEST_CASE("residual networks depend on their seed") {
    using namespace resnet_test;
    SECTION("18") {
        depends_on_its_seed(&models::resnet18);
    }
    SECTION("50") {
        depends_on_its_seed(&models::resnet50);
    }
}

TEST_CASE("residual networks survive ONNX") {
    using namespace resnet_test;
    SECTION("18") {
        survives_onnx(models::resnet18());
    }
    SECTION("50") {
        survives_onnx(models::resnet50());
    }
    SECTION("50, strides first") {
        survives_onnx(models::resnet50_v1({.image = 64}));
    }
    SECTION("in groups") {
        survives_onnx(models::resnext50_32x4d({.image = 64}));
    }
}

TEST_CASE("residual networks take images of any size") {
    using namespace resnet_test;
    SECTION("18") {
        takes_images(&models::resnet18, 1);
    }
    SECTION("50") {
        takes_images(&models::resnet50, 45);
    }
    SECTION("50, strides first") {
        takes_images(&models::resnet50_v1, 45);
    }
}
