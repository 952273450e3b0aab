#include "io/function_checks.hpp"

#include <cstddef>
#include <numeric>
#include <utility>

namespace onnx_functions_of_images_test {

using namespace function_checks;

tensor counting(ints const& dims) {
    auto t = tensor::zeros(dtype::f32, dims);
    std::iota(t.mutable_data<float>().begin(), t.mutable_data<float>().end(), 1.0f);
    return t;
}

TEST_CASE("sequences are turned around up to their lengths") {
    auto const x = counting({3, 2});
    CHECK(near(result_of({"ReverseSequence", 10}, {x, whole({2}, {2, 3})}), floats({3, 2}, {3, 6, 1, 4, 5, 2})));
    w::texts const rows{w::integer("batch_axis", 0), w::integer("time_axis", 1)};
    CHECK(near(result_of({"ReverseSequence", 10, rows, {list({1, 0, 2})}}, {x}), floats({3, 2}, {1, 2, 3, 4, 6, 5})));
    CHECK(reason({"ReverseSequence", 10, {w::integer("batch_axis", 0)}}, {x, whole({3}, {1, 1, 1})}) ==
          "invalid input");
    CHECK(reason({"ReverseSequence", 10, {w::integer("time_axis", 2)}}, {x, whole({2}, {1, 1})}) == "invalid input");
}

TEST_CASE("a cache is written from a place on, and around its end") {
    auto const cache = counting({2, 3, 1}), updates = floats({2, 2, 1}, {10, 20, 30, 40});
    CHECK(near(result_of({"TensorScatter", 24}, {cache, updates}), floats({2, 3, 1}, {10, 20, 3, 30, 40, 6})));
    CHECK(near(result_of({"TensorScatter", 24}, {cache, updates, whole({2}, {1, 0})}),
               floats({2, 3, 1}, {1, 10, 20, 30, 40, 6})));
    CHECK(near(result_of({"TensorScatter", 24, {w::word("mode", "circular")}}, {cache, updates, whole({2}, {2, 4})}),
               floats({2, 3, 1}, {20, 2, 10, 4, 30, 40})));
    CHECK(reason({"TensorScatter", 24}, {updates, cache}) == "invalid input");
    CHECK(reason({"TensorScatter", 24, {w::integer("axis", 0)}}, {cache, updates}) == "invalid input");
    CHECK(reason({"TensorScatter", 24, {w::word("mode", "other")}}, {cache, updates}) == "invalid input");
}

TEST_CASE("what a pool has taken goes back to its place") {
    auto const x = floats({1, 1, 2}, {5, 6});
    w::texts const two{w::integer_list("kernel_shape", {2}), w::integer_list("strides", {2})};
    auto const places = whole({1, 1, 2}, {1, 2});
    CHECK(near(result_of({"MaxUnpool", 11, two}, {x, places}), floats({1, 1, 4}, {0, 5, 6, 0})));
    CHECK(near(result_of({"MaxUnpool", 11, two, {list({1, 1, 4})}}, {x, places}), floats({1, 1, 4}, {0, 5, 6, 0})));
    CHECK(reason({"MaxUnpool", 11, two, {list({1, 1, 5})}}, {x, places}) == "another shape than the kernel tells");
    CHECK(reason({"MaxUnpool", 11, two}, {x, places, whole({3}, {1, 1, 4})}) == "a shape that is no constant");
    CHECK(reason({"MaxUnpool", 11}, {x, places}) == "invalid input");
}

TEST_CASE("elements are kept where a condition holds, a constant or not") {
    auto const x = counting({2, 3});
    auto const condition = [](std::vector<std::uint8_t> const& v) {
        return w::raw_tensor("", w::boolean, {static_cast<std::int64_t>(v.size())}, w::raw(v));
    };
    CHECK(near(result_of({"Compress", 11, {w::integer("axis", 1)}, {condition({1, 0, 1})}}, {x}),
               floats({2, 2}, {1, 3, 4, 6})));
    CHECK(near(result_of({"Compress", 11, {w::integer("axis", -2)}, {condition({0, 1})}}, {x}),
               floats({1, 3}, {4, 5, 6})));
    CHECK(near(result_of({"Compress", 9, {}, {condition({0, 1, 0, 0, 1})}}, {x}), floats({2}, {2, 5})));
    CHECK(reason({"Compress", 9, {w::integer("axis", 0)}, {condition({0, 0, 1})}}, {x}) == "invalid input");
    CHECK(reason({"Compress", 9}, {x, tensor::zeros(dtype::i64, ints{6})}) == "invalid input");
    auto const holds = tensor::from<bool>({3}, {true, false, true});
    CHECK(near(result_of({"Compress", 11, {w::integer("axis", 1)}}, {x, holds}), floats({2, 2}, {1, 3, 4, 6})));
    CHECK(near(result_of({"Compress", 9}, {x, holds}), floats({2}, {1, 3})));
}

TEST_CASE("blocks are added where they lie in an image") {
    random_stream r{2};
    constexpr std::int64_t channels = 2, height = 4, width = 5, rows = 2, columns = 3;
    for (std::int64_t const stride : {1, 2})
        for (std::int64_t const dilation : {1, 2}) {
            std::int64_t const pad = 1; // on all sides
            auto const down = (height + 2 * pad - (rows - 1) * dilation - 1) / stride + 1;
            auto const across = (width + 2 * pad - (columns - 1) * dilation - 1) / stride + 1;
            auto const x = random_floats(r, {1, channels * rows * columns, down * across});
            auto want = tensor::zeros(dtype::f32, ints{1, channels, height, width});
            std::size_t i = 0;
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t a = 0; a < rows; ++a)
                    for (std::int64_t b = 0; b < columns; ++b)
                        for (std::int64_t d = 0; d < down; ++d)
                            for (std::int64_t e = 0; e < across; ++e, ++i) {
                                auto const row = d * stride + a * dilation - pad,
                                           column = e * stride + b * dilation - pad;
                                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                                want.mutable_data<float>()[static_cast<std::size_t>((c * height + row) * width +
                                                                                    column)] += x.data<float>()[i];
                            }
            INFO(stride << ", " << dilation);
            CHECK(near(result_of({"Col2Im",
                                  18,
                                  {w::integer_list("strides", {stride, stride}), w::integer_list("pads", {1, 1, 1, 1}),
                                   w::integer_list("dilations", {dilation, dilation})},
                                  {list({height, width}), list({rows, columns})}},
                                 {x}),
                       want));
        }
    auto const x = counting({1, 4, 4});
    CHECK(reason({"Col2Im", 18, {}, {list({4, 4}), list({2, 2})}}, {x}) == "invalid input"); // it has nine blocks
    CHECK(reason({"Col2Im", 18, {}, {list({1, 1}), list({2, 2})}}, {x}) == "invalid input");
    CHECK(reason({"Col2Im", 18}, {x, whole({2}, {3, 3}), whole({2}, {2, 2})}) == "shapes that are no constants");
}

TEST_CASE("a grid of places is turned and moved by a matrix") {
    auto const moved = floats({1, 2, 3}, {1, 0, 10, 0, 2, 20});
    CHECK(near(result_of({"AffineGrid", 20, {}, {list({1, 1, 2, 2})}}, {moved}),
               floats({1, 2, 2, 2}, {9.5f, 19, 10.5f, 19, 9.5f, 21, 10.5f, 21})));
    CHECK(near(result_of({"AffineGrid", 20, {w::integer("align_corners", 1)}, {list({1, 1, 2, 3})}}, {moved}),
               floats({1, 2, 3, 2}, {9, 18, 10, 18, 11, 18, 9, 22, 10, 22, 11, 22})));
    auto const swapped = floats({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0});
    CHECK(near(result_of({"AffineGrid", 20, {}, {list({1, 1, 2, 1, 1})}}, {swapped}),
               floats({1, 2, 1, 1, 3}, {-0.5f, 0, 0, 0.5f, 0, 0})));
    CHECK(reason({"AffineGrid", 20, {w::integer("align_corners", 1)}, {list({1, 1, 1, 3})}}, {moved}) ==
          "one pixel between two corners");
    CHECK(reason({"AffineGrid", 20}, {moved, whole({4}, {1, 1, 2, 2})}) == "a size that is no constant");
    CHECK(reason({"AffineGrid", 20, {}, {list({2, 1, 2, 2})}}, {moved}) == "invalid input");
}

// The image between its pixels; 0 for those outside, or nothing beyond one pixel outside of it and its edge up to
// there.
double between(tensor const& image, std::int64_t channel, double y, double x, bool zeros) {
    auto const height = image.dims()[2], width = image.dims()[3];
    auto const pixel = [&](double row, double column) {
        if (row < 0 || row >= static_cast<double>(height) || column < 0 || column >= static_cast<double>(width))
            return 0.0;
        return static_cast<double>(image.data<float>()[static_cast<std::size_t>(
            (channel * height + static_cast<std::int64_t>(row)) * width + static_cast<std::int64_t>(column))]);
    };
    if (!zeros) {
        if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return 0;
        y = std::clamp(y, 0.0, static_cast<double>(height - 1)), x = std::clamp(x, 0.0, static_cast<double>(width - 1));
    }
    auto const row = std::floor(y), column = std::floor(x), down = y - row, across = x - column;
    return (1 - down) * ((1 - across) * pixel(row, column) + across * pixel(row, column + 1)) +
           down * ((1 - across) * pixel(row + 1, column) + across * pixel(row + 1, column + 1));
}

TEST_CASE("regions are means of samples between the pixels of an image") {
    random_stream r{8};
    auto const image = random_floats(r, {1, 2, 5, 6});
    float const corners[][4] = {{1, 1, 4, 3}, {-3, -2, 3, 9}, {2, 2, 2.25f, 2.5f}};
    auto regions = tensor::zeros(dtype::f32, ints{3, 4});
    for (std::size_t i = 0; i < 12; ++i) regions.mutable_data<float>()[i] = corners[i / 4][i % 4];
    for (bool const shifted : {false, true}) {
        auto want = tensor::zeros(dtype::f32, ints{3, 2, 2, 3});
        std::size_t i = 0;
        for (auto const& region : corners)
            for (std::int64_t c = 0; c < 2; ++c)
                for (int row = 0; row < 2; ++row)
                    for (int column = 0; column < 3; ++column, ++i) {
                        auto const corner = [&](int k) { return region[k] * 0.75 - (shifted ? 0.5 : 0); };
                        auto across = corner(2) - corner(0), down = corner(3) - corner(1);
                        if (!shifted) across = std::max(across, 1.0), down = std::max(down, 1.0);
                        double sum = 0;
                        for (int a = 0; a < 2; ++a)
                            for (int b = 0; b < 2; ++b)
                                sum += between(image, c, corner(1) + down / 2 * (row + (a + 0.5) / 2),
                                               corner(0) + across / 3 * (column + (b + 0.5) / 2), false);
                        want.mutable_data<float>()[i] = static_cast<float>(sum / 4);
                    }
        w::texts const how{w::integer("output_height", 2), w::integer("output_width", 3),
                           w::integer("sampling_ratio", 2), w::real("spatial_scale", 0.75f),
                           w::word("coordinate_transformation_mode", shifted ? "half_pixel" : "output_half_pixel")};
        CHECK(near(result_of({"RoiAlign", 16, how}, {image, regions, whole({3}, {0, 0, 0})}), want));
    }
    // Of several images; the greatest of weighted pixels.
    auto const images = floats({2, 1, 1, 2}, {1, 1, 4, 8});
    w::texts const greatest{w::word("mode", "max"), w::integer("sampling_ratio", 1)};
    CHECK(near(
        result_of({"RoiAlign", 10, greatest}, {images, floats({2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), whole({2}, {1, 0})}),
        floats({2, 1, 1, 1}, {4, 0.5f})));
    CHECK(reason({"RoiAlign", 16}, {image, regions, whole({3}, {0, 0, 0})}) ==
          "as many samples as a region has pixels");
    CHECK(reason({"RoiAlign", 16, greatest}, {image, image, whole({3}, {0, 0, 0})}) == "invalid input");
}

TEST_CASE("a deformed convolution reads each tap where its offset says") {
    random_stream r{4};
    constexpr std::int64_t channels = 4, made = 2, height = 4, width = 5, group = 2, moved = 2, rows = 2, columns = 3;
    constexpr std::int64_t taps = rows * columns, down = 3, across = 3; // strides 2 and 1, dilations 1 and 2, pads 1
    auto const x = random_floats(r, {1, channels, height, width}),
               weight = random_floats(r, {made, channels / group, rows, columns});
    auto offsets = random_floats(r, {1, moved * taps * 2, down, across});
    for (auto& v : offsets.mutable_data<float>()) v *= 3;
    auto const mask = random_floats(r, {1, moved * taps, down, across}), bias = random_floats(r, {made});
    auto want = tensor::zeros(dtype::f32, ints{1, made, down, across});
    auto const of = [](tensor const& t, std::int64_t i) {
        return static_cast<double>(t.data<float>()[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t m = 0; m < made; ++m)
        for (std::int64_t i = 0; i < down; ++i)
            for (std::int64_t j = 0; j < across; ++j) {
                auto sum = of(bias, m);
                for (std::int64_t c = 0; c < channels / group; ++c)
                    for (std::int64_t t = 0; t < taps; ++t) {
                        auto const channel = m / (made / group) * (channels / group) + c;
                        auto const tap = channel / (channels / moved) * taps + t, place = i * across + j;
                        auto const y =
                            static_cast<double>(i * 2 - 1 + t / columns) + of(offsets, 2 * tap * down * across + place);
                        auto const z = static_cast<double>(j - 1 + t % columns * 2) +
                                       of(offsets, (2 * tap + 1) * down * across + place);
                        sum += of(weight, (m * channels / group + c) * taps + t) *
                               of(mask, tap * down * across + place) * between(x, channel, y, z, true);
                    }
                want.mutable_data<float>()[static_cast<std::size_t>((m * down + i) * across + j)] =
                    static_cast<float>(sum);
            }
    w::texts const how{w::integer("group", group), w::integer("offset_group", moved),
                       w::integer_list("strides", {2, 1}), w::integer_list("dilations", {1, 2}),
                       w::integer_list("pads", {1, 1, 1, 1})};
    CHECK(near(result_of({"DeformConv", 19, how}, {x, weight, offsets, bias, mask}), want, 1e-4));
    auto const row = counting({1, 1, 3});
    CHECK(reason({"DeformConv", 19}, {row, row, row}) == "images of 1 dimensions");
    CHECK(reason({"DeformConv", 19}, {x, weight, offsets}) == "invalid input");
}

TEST_CASE("determinants are those of elimination, with rows in any order") {
    CHECK(near(result_of({"Det", 11}, {floats({2, 2}, {0, 2, 3, 4})}), tensor::scalar(-6.0f)));
    CHECK(near(result_of({"Det", 11}, {floats({2, 1, 1}, {5, -7})}), floats({2}, {5, -7})));
    CHECK(near(result_of({"Det", 11}, {floats({2, 3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4, 0, 0, 1, 0, 1, 0, 1, 0, 0})}),
               floats({2}, {18, -1})));
    CHECK(near(result_of({"Det", 11}, {floats({3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, 5})}), tensor::scalar(0.0f)));
    CHECK(near(result_of({"Det", 11}, {tensor::zeros(dtype::f32, ints{1, 4, 4})}), floats({1}, {0})));
    // A matrix of a permutation of five with one number on its places.
    auto turned = tensor::zeros(dtype::f32, ints{5, 5});
    for (std::size_t i = 0; i < 5; ++i) turned.mutable_data<float>()[i * 5 + (i + 2) % 5] = 2;
    CHECK(near(result_of({"Det", 11}, {turned}), tensor::scalar(32.0f)));
    CHECK(reason({"Det", 11}, {counting({2, 3})}) == "invalid input");
    CHECK(reason({"Det", 11}, {tensor::zeros(dtype::f32, ints{65, 65})}) ==
          "a matrix of 65 rows; at most 64 are written one by one");
}

TEST_CASE("pads that wrap around, and the greatest of truth values") {
    auto const x = counting({2, 3});
    w::texts const wrap{w::word("mode", "wrap")};
    CHECK(near(result_of({"Pad", 19, wrap, {list({1, 4, 0, -1})}}, {x}),
               floats({3, 6}, {6, 4, 5, 6, 4, 5, 3, 1, 2, 3, 1, 2, 6, 4, 5, 6, 4, 5})));
    CHECK(near(result_of({"Pad", 19, wrap, {list({0, 0, 0, 0})}}, {x}), x));
    CHECK(reason({"Pad", 19, wrap}, {x, whole({4}, {1, 0, 0, 0})}) == "mode \"wrap\" with pads that are no constants");
    CHECK(reason({"Pad", 19, wrap, {list({0, -4, 0, 0})}}, {x}) == "invalid input");
    CHECK(reason({"Pad", 19, wrap, {list({0, 1, 0, 0})}}, {tensor::zeros(dtype::f32, ints{2, 0})}) == "invalid input");
    auto const bits = floats({2, 2}, {0, 1, 0, 0}).converted_to(dtype::boolean);
    CHECK(near(result_of({"ReduceMax", 20, {w::integer("keepdims", 0)}, {list({1})}}, {bits}),
               floats({2}, {1, 0}).converted_to(dtype::boolean)));
}

} // namespace onnx_functions_of_images_test
