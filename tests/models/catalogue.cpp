#include "catch.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/models/catalogue.hpp>

TEST_CASE("every model of the catalogue is found by its name, others are not") {
    for (auto const& entry : gsub::models::catalogue()) {
        auto const* found = gsub::models::find_model(entry.name);
        REQUIRE(found);
        CHECK(found->build);
        CHECK(found->name == entry.name);
    }
    CHECK_FALSE(gsub::models::find_model("resnet51"));
    CHECK_FALSE(gsub::models::find_model(""));
    static_assert(gsub::models::find_model("resnet50")->summary.starts_with("ResNet-50"));
}

TEST_CASE("every model of the catalogue is legal, has inputs and outputs and is built from its seed") {
    for (auto const& entry : gsub::models::catalogue()) {
        INFO(entry.name);
        auto const g = entry.build(1);
        CHECK(check(g, gsub::stage::imported).empty());
        CHECK(g.output_count() > 0);
        CHECK_FALSE(g.inputs().empty());
        // Networks of many weights are built twice by their own tests, with smaller settings.
        std::size_t weights = 0;
        for (auto n : g.order())
            if (g.is<gsub::ops::constant>(n)) weights += g.constant_data(n).size_bytes();
        if (weights < std::size_t{110} << 20) CHECK(g.hash() == entry.build(1).hash());
    }
}

TEST_CASE("a model of the catalogue is the one that its builder makes") {
    CHECK(gsub::models::find_model("squeezenet1_1")->build(3).hash() ==
          gsub::models::squeezenet1_1({.seed = 3}).hash());
    CHECK(gsub::models::find_model("mobilenet_v2")->build(3).hash() == gsub::models::mobilenet_v2({.seed = 3}).hash());
}
