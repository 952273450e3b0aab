#include "models/network_checks.hpp"
#include "models/written_weights.hpp"
#include <gsub/models/unet.hpp>

namespace unet_test {
using namespace gsub;
using namespace network_checks;
using written_weights::initializer;
namespace w = onnx_writer;

} // namespace unet_test

TEST_CASE("U-Net has the layers and parameters that are published for 32 and for 64 channels") {
    using namespace unet_test;
    auto const g = models::unet();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 1);
    CHECK(g.name({g.inputs()[0], 0}) == "image");
    CHECK(to_string(g.type({g.inputs()[0], 0})) == "f32[1,3,256,256]");
    CHECK(g.info().output_names == std::vector<std::string>{"mask"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,1,256,256]");
    CHECK(parameters(g) == 7'763'041);
    CHECK(count<ops::conv>(g) == 18 + 4 + 1);
    CHECK(count<ops::batch_norm>(g) == 18);
    CHECK(count<ops::max_pool>(g) == 4);
    CHECK(count<ops::concat>(g) == 4);
    CHECK(type_of(g, "encoder4.enc4relu2") == "f32[1,256,32,32]");
    CHECK(type_of(g, "bottleneck.bottleneckrelu2") == "f32[1,512,16,16]");
    CHECK(type_of(g, "upconv4") == "f32[1,256,32,32]");
    CHECK(type_of(g, "concat1") == "f32[1,64,256,256]");
    // The first published width, with normalisations, for two classes.
    CHECK(parameters(models::unet({.image = 16, .channels = 64, .classes = 2})) == 31'037'698);
}

TEST_CASE("U-Net keeps its activations alive") {
    using namespace unet_test;
    keeps_activations_alive(models::unet({.image = 64}));
}

TEST_CASE("U-Net depends on its seed and survives ONNX") {
    using namespace unet_test;
    auto const build = [](std::uint64_t seed) { return models::unet({.seed = seed, .image = 16, .channels = 4}); };
    CHECK(build(5).hash() == build(5).hash());
    CHECK_FALSE(build(5).hash() == build(6).hash());
    survives_onnx(build(5));
}

TEST_CASE("U-Net's way up is what a file's ConvTranspose is read as") {
    using namespace unet_test;
    auto const g = models::unet({.batch = 2, .image = 12, .channels = 3, .depth = 1, .classes = 2});
    w::model m;
    m.in("image", {2, 3, 12, 12}).out("mask");
    auto const unit = [&](std::string const& name, std::string const& part, std::string from) {
        for (auto const* i : {"1", "2"}) {
            auto const conv = name + "." + part + "conv" + i, norm = name + "." + part + "norm" + i;
            m.weight(initializer(g, conv + ".weight"));
            m.add("Conv", {from, conv + ".weight"}, {conv}, {w::integer_list("pads", {1, 1, 1, 1})});
            w::texts of{conv};
            for (auto const* suffix : {".weight", ".bias", ".running_mean", ".running_var"})
                m.weight(initializer(g, norm + suffix)), of.push_back(norm + suffix);
            m.add("BatchNormalization", of, {norm});
            from = norm + ".relu";
            m.add("Relu", {norm}, {from});
        }
        return from;
    };
    auto const map = unit("encoder1", "enc1", "image");
    auto const window = w::texts{w::integer_list("kernel_shape", {2, 2}), w::integer_list("strides", {2, 2})};
    m.add("MaxPool", {map}, {"pool"}, window);
    auto const low = unit("bottleneck", "bottleneck", "pool");
    for (auto const* name : {"upconv1.weight", "upconv1.bias", "conv.weight", "conv.bias"})
        m.weight(initializer(g, name));
    m.add("ConvTranspose", {low, "upconv1.weight", "upconv1.bias"}, {"up"}, window);
    m.add("Concat", {"up", map}, {"concat"}, {w::integer("axis", 1)});
    m.add("Conv", {unit("decoder1", "dec1", "concat"), "conv.weight", "conv.bias"}, {"logits"});
    m.add("Sigmoid", {"logits"}, {"mask"});
    CHECK(model_checks::loaded(m).hash() == g.hash());
}

TEST_CASE("an image of a U-Net can be halved as often as it is deep") {
    using namespace unet_test;
    static_assert(!models::unet_options{}.fault() && models::unet_options{.image = 24}.fault());
    static_assert(!models::unet_options{.image = 24, .depth = 3}.fault());
    auto const g = models::unet({.batch = 2, .image = 24, .channels = 4, .depth = 3, .classes = 5});
    CHECK(to_string(g.type(g.output(0))) == "f32[2,5,24,24]");
}
