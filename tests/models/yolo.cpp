#include "models/network_checks.hpp"
#include <gsub/models/yolo.hpp>

#include <set>

namespace yolo_test {
using namespace gsub;
using namespace network_checks;

// Shares and pixels of boxes: numbers of a size of their own.
bool no_activation(any_graph const& g, node_id n) {
    static std::set<std::string_view> const named{"centres", "extents", "certainties", "classes",
                                                  "boxes",   "likely",  "scores"};
    auto const name = g.name({n, 0});
    return named.contains(name) || (name.starts_with("model.24") && !name.ends_with(".apart"));
}
tensor image(std::int64_t size, std::uint64_t seed) {
    return random_inputs(models::yolo({.image = size, .channels = 2, .classes = 1}), seed)[0];
}

} // namespace yolo_test

TEST_CASE("YOLO has the layers, boxes and parameters of YOLOv5n, and of YOLOv5s with twice the channels") {
    using namespace yolo_test;
    auto const g = models::yolo();
    CHECK(check(g, stage::imported).empty());
    REQUIRE(g.inputs().size() == 1);
    CHECK(g.name({g.inputs()[0], 0}) == "image");
    CHECK(g.info().output_names == std::vector<std::string>{"boxes", "scores", "selected"});
    CHECK(to_string(g.type(g.output(0))) == "f32[1,25200,4]");
    CHECK(to_string(g.type(g.output(1))) == "f32[1,80,25200]");
    CHECK(to_string(g.type(g.output(2))) == "i64[?,3]");
    CHECK(parameters(g) == 1'872'157);
    // Published are 4.5 GFLOP, two a multiplication.
    CHECK(multiplications(g) / 10'000'000 == 223);
    CHECK(count<ops::conv>(g) == 57 + 3);
    CHECK(count<ops::batch_norm>(g) == 57);
    CHECK(count<ops::max_pool>(g) == 3);
    CHECK(count<ops::gather>(g) == 4);
    CHECK(count<ops::non_max_suppression>(g) == 1);
    CHECK(type_of(g, "model.9.cv2.act") == "f32[1,256,20,20]");
    CHECK(type_of(g, "model.11") == "f32[1,128,40,40]");
    CHECK(type_of(g, "model.17.cv3.act") == "f32[1,64,80,80]");
    CHECK(type_of(g, "model.24.m.2") == "f32[1,255,20,20]");
    CHECK(parameters(models::yolo({.image = 32, .channels = 32})) == 7'235'389);
}

TEST_CASE("YOLO keeps its activations alive") {
    using namespace yolo_test;
    auto const g = models::yolo({.image = 128});
    activations a;
    a.exempt = &no_activation;
    evaluate_options options;
    fork_join_executor threads{2};
    options.threads = &threads;
    auto const others = evaluate_graph(g, std::vector{image(128, 22)}, options).value();
    options.on_node = &activations::note;
    options.context = &a;
    auto const outputs = evaluate_graph(g, std::vector{image(128, 21)}, options).value();
    INFO("deviations from " << a.least << " at " << a.least_at << " to " << a.most << " at " << a.most_at);
    CHECK(a.least >= 0.05);
    CHECK(a.most <= 20);
    CHECK(a.seen > 200);
    for (std::size_t k = 0; k < 2; ++k) {
        auto const d = compare(outputs[k], others[k]).value();
        CHECK(d.max_absolute > (k == 0 ? 10 : 0.05));
    }
}

TEST_CASE("YOLO finds some objects, other ones in other images, and few of its boxes are any") {
    using namespace yolo_test;
    auto const g = models::yolo({.image = 128});
    auto const first = evaluate_graph(g, std::vector{image(128, 1)}).value(),
               second = evaluate_graph(g, std::vector{image(128, 2)}).value();
    auto const found = first[2].dims()[0];
    INFO(found << " objects and " << second[2].dims()[0]);
    CHECK(found > 0);
    CHECK(found < 500);
    CHECK_FALSE(first[2].hash() == second[2].hash());
    // Each has a score above the bound.
    auto const chosen = first[2].data<std::int64_t>();
    auto const scores = first[1].data<float>();
    auto const boxes = static_cast<std::size_t>(first[1].dims()[2]);
    for (std::size_t i = 0; i < chosen.size(); i += 3)
        CHECK(scores[static_cast<std::size_t>(chosen[i + 1]) * boxes + static_cast<std::size_t>(chosen[i + 2])] >
              0.25f);
}

TEST_CASE("YOLO's boxes lie where their pixels are, in the sizes of their anchors") {
    using namespace yolo_test;
    auto const g = models::yolo({.image = 64, .channels = 2, .classes = 2});
    auto const boxes = evaluate_graph(g, std::vector{image(64, 3)}).value()[0];
    REQUIRE(to_string(boxes.type()) == "f32[1,252,4]");
    auto const v = boxes.data<float>();
    // The first map has 3 * 8 * 8 boxes of 8 pixels: anchor, row, column.
    constexpr float wide[] = {10, 16, 33}, high[] = {13, 30, 23};
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t row = 0; row < 8; ++row)
            for (std::size_t column = 0; column < 8; ++column) {
                auto const at = 4 * ((a * 8 + row) * 8 + column);
                CHECK(std::abs(v[at] - 8 * (static_cast<float>(column) + 0.5f)) <= 8);
                CHECK(std::abs(v[at + 1] - 8 * (static_cast<float>(row) + 0.5f)) <= 8);
                CHECK(v[at + 2] <= 4 * wide[a]);
                CHECK(v[at + 3] <= 4 * high[a]);
            }
}

TEST_CASE("YOLO depends on its seed, takes images of a multiple of 32 pixels and survives ONNX") {
    using namespace yolo_test;
    auto const build = [](std::uint64_t seed) {
        return models::yolo({.seed = seed, .batch = 2, .image = 64, .channels = 4, .classes = 3});
    };
    CHECK(build(5).hash() == build(5).hash());
    CHECK_FALSE(build(5).hash() == build(6).hash());
    CHECK(to_string(build(5).type(build(5).output(1))) == "f32[2,3,252]");
    survives_onnx(build(5));
    static_assert(!models::yolo_options{}.fault() && models::yolo_options{.image = 100}.fault());
}
