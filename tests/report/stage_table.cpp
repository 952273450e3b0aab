#include "catch.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/report/stage_table.hpp>

namespace stage_table_test {

using namespace gsub;
using report::stages_of;

report::network_stage const& at(std::vector<report::network_stage> const& stages, std::string_view size) {
    auto const found = std::ranges::find(stages, size, &report::network_stage::size);
    REQUIRE(found != stages.end());
    return *found;
}

TEST_CASE("ResNet-50's stages are those of its paper: 3, 4, 6 and 3 blocks") {
    auto const stages = stages_of(models::resnet50_v1({}));
    CHECK(at(stages, "112x112").operators == "7x7 64");
    CHECK(at(stages, "56x56").operators == "max pool 3x3, [1x1 64, 3x3 64, 1x1 256] x 3");
    CHECK(at(stages, "28x28").operators == "[1x1 128, 3x3 128, 1x1 512] x 4");
    CHECK(at(stages, "14x14").operators == "[1x1 256, 3x3 256, 1x1 1024] x 6");
    CHECK(at(stages, "7x7").operators == "[1x1 512, 3x3 512, 1x1 2048] x 3");
    CHECK(at(stages, "7x7").beside == "1x1 2048");
    CHECK(at(stages, "1x1").operators == "global average pool");
    CHECK(at(stages, "1").operators == "dense 1000");
    std::size_t all = 0;
    for (auto const& s : stages) all += s.count;
    CHECK(all == 53 + 2 + 1);
}

TEST_CASE("repeats within repeats") {
    CHECK(at(stages_of(models::resnet18({})), "14x14").operators == "[3x3 256 x 2] x 2");
}

TEST_CASE("MobileNetV2's bottlenecks: expansion, depthwise, projection") {
    auto const stages = stages_of(models::mobilenet_v2({}));
    CHECK(at(stages, "112x112").operators == "3x3 32, 3x3 depthwise 32, 1x1 16, 1x1 96");
    CHECK(at(stages, "7x7").operators == "3x3 depthwise 576, 1x1 160, [1x1 960, 3x3 depthwise 960, 1x1 160] x 2, "
                                         "1x1 960, 3x3 depthwise 960, 1x1 320, 1x1 1280");
}

TEST_CASE("a text encoder's layers are one repeat") {
    auto const stages = stages_of(models::bert_base({.layers = 3, .vocabulary = 100}));
    REQUIRE(stages.size() == 1);
    CHECK(stages[0].operators == "[dense 768 x 3, product x 2, dense 768, dense 3072, dense 768] x 3");
    CHECK(report::stage_table(stages).text().find("dense 3072") != std::string::npos);
}

} // namespace stage_table_test
