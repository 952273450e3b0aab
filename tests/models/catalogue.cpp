#include "catch.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/models/catalogue.hpp>

#include <string>

TEST_CASE("every model of the catalogue is found by its name, others are not") {
    for (auto const& entry : gsub::models::catalogue()) {
        auto const* found = gsub::models::find_model(entry.name);
        REQUIRE(found);
        CHECK(found->make);
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

TEST_CASE("networks of the catalogue are as published where nothing is asked for") {
    using namespace gsub::models;
    CHECK(find_model("inception_v3")->options[1].usual == 299);
    CHECK(find_model("resnet18")->options[1].usual == 224);
    CHECK(find_model("ssd_resnet50")->options[2].usual == 81);
    CHECK(find_model("ssd_mobilenet_v2")->options[2].usual == 91);
    CHECK(find_model("bert_small")->options[2].usual == 4);
    CHECK(find_model("nasrnn")->build(3).hash() == nasrnn({.seed = 3}).hash());
    CHECK(find_model("inception_v2")->build({.options = {{"classes", 9}}}).value().hash() ==
          inception_v2({.classes = 9}).hash());
    CHECK(find_model("t2")->options.empty());
}

TEST_CASE("every option of every struct reaches its builder") {
    using namespace gsub::models;
    struct small_network {
        std::string_view name;
        std::vector<option_value> options;
    };
    std::vector<small_network> const networks{
        {"squeezenet1_1", {{"image", 25}, {"classes", 3}}},
        {"ssd_mobilenet_v2", {{"image", 20}, {"classes", 3}}},
        {"nasnet_a", {{"image", 16}, {"classes", 3}, {"cells", 1}, {"filters", 4}, {"stem", 4}}},
        {"yolo", {{"image", 32}, {"channels", 2}, {"classes", 2}}},
        {"unet", {{"image", 8}, {"channels", 2}, {"depth", 1}, {"classes", 2}}},
        {"nasrnn", {{"width", 8}, {"steps", 2}}},
        {"lstm_lm", {{"width", 8}, {"steps", 2}, {"vocabulary", 5}}},
        {"decoder",
         {{"tokens", 2},
          {"past", 3},
          {"layers", 1},
          {"hidden", 32},
          {"heads", 4},
          {"key_heads", 2},
          {"intermediate", 8},
          {"positions", 16}}},
        {"bert_base",
         {{"sequence", 4},
          {"layers", 1},
          {"hidden", 8},
          {"heads", 2},
          {"intermediate", 8},
          {"vocabulary", 5},
          {"positions", 8}}}};
    for (auto const& [name, given] : networks) {
        auto const& entry = *find_model(name);
        auto const value = [&, &small = given](gsub::models::option_info const& o) {
            for (auto const& v : small)
                if (v.name == o.name) return v.value;
            return o.usual;
        };
        auto const usual = entry.build({.options = given}).value().hash();
        CHECK(usual == entry.build({.options = given}).value().hash());
        CHECK_FALSE(usual == entry.build({.seed = 2, .options = given}).value().hash());
        for (auto const& changed : entry.options) {
            INFO(name << " " << changed.name);
            std::vector<option_value> options;
            for (auto const& o : entry.options) {
                auto const factor = o.name == changed.name ? 2 : 1; // heads still divide, filters stay multiples of 4
                options.push_back({std::string{o.name}, factor * value(o)});
            }
            CHECK_FALSE(usual == entry.build({.options = options}).value().hash());
        }
    }
}

TEST_CASE("a classifier of 244 pixels can be asked for") {
    auto const g =
        gsub::models::find_model("squeezenet1_1")->build({.options = {{"image", 244}, {"batch", 3}}}).value();
    CHECK(to_string(g.type({g.inputs()[0], 0})) == "f32[3,3,244,244]");
}

TEST_CASE("the least image of a network is one that its windows fit") {
    for (auto const* name :
         {"mobilenet_v2", "densenet121", "inception_v3", "squeezenet1_1", "nasnet_a", "ssd_resnet50"}) {
        INFO(name);
        auto const& entry = *gsub::models::find_model(name);
        auto const least = entry.options[1].least;
        CHECK(entry.build({.options = {{"image", least}, {"classes", 1}}}));
        auto const smaller = entry.build({.options = {{"image", least - 1}}});
        REQUIRE_FALSE(smaller);
        CHECK(smaller.error().code() == gsub::error_code::usage);
    }
}
