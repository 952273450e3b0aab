#include "models/network_checks.hpp"
#include <gsub/models/inception.hpp>

namespace inception_test {
using namespace gsub;
using namespace network_checks;
} // namespace inception_test

TEST_CASE("Inception v3 has the published layers and parameters") {
    using namespace inception_test;
    auto const g = models::inception_v3();
    is_well_made(g, "f32[1,3,299,299]", "f32[1,1000]");
    CHECK(parameters(g) == 23'834'568);
    CHECK(count<ops::conv>(g) == 94);
    CHECK(count<ops::batch_norm>(g) == 94);
    CHECK(count<ops::concat>(g) == 15); // eleven modules, two more in each of the last two
    CHECK(count<ops::average_pool>(g) == 9);
    CHECK(count<ops::max_pool>(g) == 4);
    CHECK(type_of(g, "maxpool2") == "f32[1,192,35,35]");
    CHECK(type_of(g, "Mixed_5d.concat") == "f32[1,288,35,35]");
    CHECK(type_of(g, "Mixed_6a.concat") == "f32[1,768,17,17]");
    CHECK(type_of(g, "Mixed_7a.concat") == "f32[1,1280,8,8]");
    CHECK(type_of(g, "Mixed_7c.concat") == "f32[1,2048,8,8]");
}

TEST_CASE("Inception v3's long kernels keep the size, its mean pools count their border") {
    using namespace inception_test;
    auto const g = models::inception_v3({.image = 75});
    auto const row = find(g, "Mixed_6b.branch7x7_2.conv"), column = find(g, "Mixed_6b.branch7x7_3.conv");
    CHECK(to_string(g.type(g.operand(row, 1))) == "f32[128,128,1,7]");
    CHECK(g.attributes<ops::conv>(row).pads == ints{0, 3, 0, 3});
    CHECK(to_string(g.type(g.operand(column, 1))) == "f32[192,128,7,1]");
    CHECK(g.attributes<ops::conv>(column).pads == ints{3, 0, 3, 0});
    CHECK(g.attributes<ops::average_pool>(find(g, "Mixed_6b.avgpool")).count_include_pad);
    CHECK(g.attributes<ops::batch_norm>(find(g, "Mixed_6b.branch1x1.bn")).epsilon == double(1e-3f));
}

TEST_CASE("Inception v3 keeps its activations alive") {
    using namespace inception_test;
    keeps_activations_alive(models::inception_v3());
}

TEST_CASE("Inception v3 depends on its seed") {
    using namespace inception_test;
    depends_on_its_seed(&models::inception_v3);
}

TEST_CASE("Inception v3 survives ONNX") {
    using namespace inception_test;
    survives_onnx(models::inception_v3());
}

TEST_CASE("Inception v3 takes images down to 75 pixels and says why not smaller ones") {
    using namespace inception_test;
    takes_images(&models::inception_v3, 75);
    CHECK(complaint([] { return models::inception_v3({.image = 74}); }).find("does not fit") != std::string::npos);
}

TEST_CASE("Inception v2 has the published layers and parameters") {
    using namespace inception_test;
    auto const g = models::inception_v2();
    is_well_made(g, "f32[1,3,224,224]", "f32[1,1000]");
    CHECK(parameters(g) == 11'188'288);
    CHECK(multiplications(g) == 1'934'857'216);
    CHECK(count<ops::conv>(g) == 70);
    CHECK(count<ops::batch_norm>(g) == 69);
    CHECK(count<ops::relu>(g) == 69);
    CHECK(count<ops::concat>(g) == 10);
    CHECK(count<ops::average_pool>(g) == 7);
    CHECK(count<ops::max_pool>(g) == 5); // two of the stem, two that halve, that of the last module
    CHECK(type_of(g, "MaxPool_3a_3x3") == "f32[1,192,28,28]");
    CHECK(type_of(g, "Mixed_3b.concat") == "f32[1,256,28,28]");
    CHECK(type_of(g, "Mixed_3c.concat") == "f32[1,320,28,28]");
    for (std::string const name : {"a", "b", "c", "d", "e"})
        CHECK(type_of(g, "Mixed_4" + name + ".concat") == "f32[1,576,14,14]");
    for (std::string const name : {"a", "b", "c"}) CHECK(type_of(g, "Mixed_5" + name + ".concat") == "f32[1,1024,7,7]");
    CHECK(g.is<ops::max_pool>(find(g, "Mixed_5c.Branch_3.MaxPool_0a_3x3")));
    CHECK_FALSE(g.attributes<ops::average_pool>(find(g, "Mixed_5b.Branch_3.AvgPool_0a_3x3")).count_include_pad);

    // Slim states 10,173,112 numbers before the classifier, running statistics among them and scales not: three for
    // each channel that is normalised. There the 64 of the first convolution have a bias in place of them.
    std::int64_t numbers = 0;
    for (auto n : g.order()) {
        if (g.is<ops::conv>(n)) numbers += g.constant_data(g.operand(n, 1).node).elements();
        if (g.is<ops::batch_norm>(n)) numbers += 3 * g.constant_data(g.operand(n, 1).node).elements();
    }
    CHECK(numbers - 2 * 64 == 10'173'112);
}

TEST_CASE("Inception v2 keeps its activations alive, depends on its seed and survives ONNX") {
    using namespace inception_test;
    keeps_activations_alive(models::inception_v2());
    depends_on_its_seed(&models::inception_v2, 33);
    survives_onnx(models::inception_v2({.image = 33}));
}

TEST_CASE("Inception v2 takes images of any size") {
    using namespace inception_test;
    takes_images(&models::inception_v2, 50);
    takes_images(&models::inception_v2, 1);
}
