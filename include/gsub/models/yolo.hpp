// YOLO: finds objects in one pass, and leaves those that overlap better ones out.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of YOLO. Input `image` is `f32[batch, 3, image, image]`. Outputs are `boxes`, `f32[batch, n, 4]`: centre,
/// width and height in pixels, n = 63 (image / 32)^2; `scores`, `f32[batch, classes, n]`, between 0 and 1; and
/// `selected`, `i64[?, 3]`: batch, class and box of each object. The image decides how many objects there are.
struct yolo_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    std::int64_t image = 640;   ///< height and width: a multiple of 32
    std::int64_t channels = 16; ///< of the first layer: 16 is YOLOv5n, 32 YOLOv5s
    std::int64_t classes = 80;
    std::int64_t objects = 300; ///< at most, of a class

    /// What can be asked for by name.
    static constexpr std::array<option_field<yolo_options>, 5> fields{{
        {"batch", "inputs at once", &yolo_options::batch, 1, 4096},
        {"image", "height and width of images", &yolo_options::image, 32, 4096},
        {"channels", "channels of the first layer", &yolo_options::channels, 1, 256},
        {"classes", "classes that are told apart", &yolo_options::classes, 1, 100'000},
        {"objects", "objects of a class", &yolo_options::objects, 1, 1'000'000},
    }};
    /// What is wrong with them together, or null.
    [[nodiscard]] constexpr char const* fault() const {
        return image % 32 == 0 ? nullptr : "an image is a multiple of 32";
    }
};

/// YOLOv5n at inference, version 6: 1.9 million parameters, 2.2 billion multiplications and 25200 boxes at 640 pixels.
/// Cross-stage partial blocks with SiLU as Sigmoid and Mul, batch normalisations as nodes of their own; a pyramid of
/// maxima; a neck that leads up through nearest Resizes by 2, written as the importer reads them: a Gather of rows and
/// one of columns; and down again; heads of three boxes a position on maps of 1/8, 1/16 and 1/32 of the image. Boxes
/// are decoded in the graph, and a `NonMaxSuppression` selects those of scores above 0.25 that overlap no better one by
/// more than 0.45. The biases of the heads make objects rare, as those of a trained network do. Layers are named as in
/// the published code (`model.2.m.0.cv1.conv`, `model.24.m.0`). *Source* Redmon and Farhadi, "YOLOv3: an incremental
/// improvement", 2018; Jocher, "YOLOv5 by Ultralytics", 2020, models yolov5n and yolov5s; Wang et al., "CSPNet", 2019.
[[nodiscard]] graph yolo(yolo_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/yolo.ipp>
#endif
