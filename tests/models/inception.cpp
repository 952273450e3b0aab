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
