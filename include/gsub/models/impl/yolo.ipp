#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/yolo.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub::models {

namespace detail {

/// The layers of YOLOv5.
class yolo_builder {
public:
    yolo_builder(network_builder& net, yolo_options const& options) : net_(net), o_(options) {}

    /// Convolution, normalisation and SiLU. Weights make up for what SiLU takes of a rectifier's second moment.
    value_id unit(std::string const& name, value_id x, std::int64_t outputs, std::int64_t kernel = 1,
                  std::int64_t stride = 1, norm_place place = norm_place::chain) {
        auto const pad = kernel == 6 ? 2 : kernel / 2;
        x = conv(name + ".conv", x,
                 {.outputs = outputs, .kernel = {kernel, kernel}, .stride = {stride, stride}, .pad = {pad, pad}});
        x = net_.batch_norm(name + ".bn", x, {.epsilon = 1e-3, .place = place});
        return net_.apply<ops::mul>(name + ".act", {x, net_.apply<ops::sigmoid>(name + ".sigmoid", {x})});
    }

    /// Cross-stage partial block: a chain of bottlenecks on one half, beside the other.
    value_id block(std::string const& name, value_id x, std::int64_t outputs, std::int64_t count, bool residual) {
        auto y = unit(name + ".cv1", x, outputs / 2);
        for (std::int64_t i = 0; i < count; ++i) {
            auto const part = format_text("{}.m.{}", name, i);
            auto const z = unit(part + ".cv2", unit(part + ".cv1", y, outputs / 2), outputs / 2, 3, 1,
                                residual ? norm_place::branch_end : norm_place::chain);
            y = residual ? net_.sum(part + ".add", y, z) : z;
        }
        auto const beside = unit(name + ".cv2", x, outputs / 2);
        return unit(name + ".cv3", net_.concat(name + ".concat", {y, beside}), outputs);
    }

    /// Maxima of windows of 5, 9 and 13 pixels, beside what they are of.
    value_id pyramid(std::string const& name, value_id x, std::int64_t outputs) {
        auto const first = unit(name + ".cv1", x, net_.channels(x) / 2);
        auto const wider = [&](int i, value_id v) {
            return net_.max_pool(format_text("{}.m.{}", name, i), v, {.kernel = {5, 5}, .pad = {2, 2}});
        };
        auto const second = wider(0, first), third = wider(1, second), fourth = wider(2, third);
        return unit(name + ".cv2", net_.concat(name + ".concat", {first, second, third, fourth}), outputs);
    }

    /// Twice as many rows and columns, each pixel four times.
    value_id twice(std::string const& name, value_id x) {
        auto const along = [&](std::string const& of, value_id v, std::size_t axis) {
            ints places;
            for (std::int64_t i = 0; i < 2 * net_.type_of(v)->dims[axis].size(); ++i) places.push_back(i / 2);
            auto const count = static_cast<std::int64_t>(places.size());
            auto const from = net_.constant(tensor::from<std::int64_t>(ints{count}, places), of + ".places");
            return net_.apply<ops::gather>(of, {v, from}, {.axis = static_cast<std::int64_t>(axis)});
        };
        return along(name, along(name + ".rows", x, 2), 3);
    }

    /// Boxes and scores of three maps.
    void detect(std::array<value_id, 3> const& maps) {
        std::vector<value_id> centres, extents, certainties, classes;
        for (std::size_t i = 0; i < maps.size(); ++i) {
            auto const name = format_text("model.24.m.{}", i);
            auto const size = net_.type_of(maps[i])->dims[2].size();
            auto y = net_.apply<ops::reshape>(name + ".apart", {head(name, maps[i])},
                                              {.shape = {o_.batch, 3, 5 + o_.classes, size, size}});
            y = net_.apply<ops::transpose>(name + ".last", {y}, {.perm = {0, 1, 3, 4, 2}});
            y = net_.apply<ops::sigmoid>(name + ".sigmoid", {y});
            auto const part = [&](std::string_view what, std::int64_t from, std::int64_t count) {
                return net_.apply<ops::slice>(format_text("{}.{}", name, what), {y},
                                              {.starts = {from}, .ends = {from + count}, .axes = {4}, .steps = {1}});
            };
            auto const flat = [&](std::string_view what, value_id v, std::int64_t count) {
                return net_.apply<ops::reshape>(format_text("{}.{}", name, what), {v},
                                                {.shape = {o_.batch, -1, count}});
            };
            centres.push_back(flat("centres", centre(name, i, part("xy", 0, 2), size), 2));
            extents.push_back(flat("extents", extent_of(name, i, part("wh", 2, 2)), 2));
            certainties.push_back(flat("certainties", part("object", 4, 1), 1));
            classes.push_back(flat("classes", part("class", 5, o_.classes), o_.classes));
        }
        auto const all = [&](std::string_view name, std::vector<value_id> const& parts) {
            return net_.apply<ops::concat>(name, std::span<value_id const>{parts}, {.axis = 1});
        };
        auto const xy = all("centres", centres), wh = all("extents", extents);
        auto const boxes = net_.apply<ops::concat>("boxes", {xy, wh}, {.axis = 2});
        auto const object = all("certainties", certainties), kind = all("classes", classes);
        auto const likely = net_.apply<ops::mul>("likely", {kind, object});
        auto const scores = net_.apply<ops::transpose>("scores", {likely}, {.perm = {0, 2, 1}});
        auto const most = net_.constant(tensor::from<std::int64_t>(ints{1}, ints{o_.objects}), "objects");
        auto const overlap = number("overlap", 0.45f, 1), least = number("least", 0.25f, 1);
        auto const selected =
            net_.apply<ops::non_max_suppression>("selected", {boxes, scores, most, overlap, least}, {.center = true});
        net_.outputs({boxes, scores, selected}, {"boxes", "scores", "selected"});
    }

private:
    static constexpr std::array<std::int64_t, 3> strides{8, 16, 32};
    static constexpr std::array<std::array<float, 6>, 3> anchors{
        {{10, 13, 16, 30, 33, 23}, {30, 61, 62, 45, 59, 119}, {116, 90, 156, 198, 373, 326}}};

    // A number, as a tensor of `rank` dimensions.
    value_id number(std::string const& name, float value, std::size_t rank = 0) {
        return net_.constant(tensor::from<float>(ints(rank, 1), std::vector<float>{value}), name);
    }
    value_id conv(std::string const& name, value_id x, conv_layer const& layer) {
        auto const weight = name + ".weight";
        ints const sizes{layer.outputs, net_.channels(x), layer.kernel[0], layer.kernel[1]};
        auto w = net_.weights().convolution(weight, sizes);
        for (auto& v : w.mutable_data<float>()) v *= gain;
        attributes_of<ops::conv> const a{window(layer.stride, layer.pad)};
        return net_.apply<ops::conv>(name, {x, net_.constant(std::move(w), weight)}, a);
    }
    static constexpr float gain = 1.04f;

    // A 1x1 convolution to the logits of three boxes a position, each centre, extent, object and classes.
    value_id head(std::string const& name, value_id x) {
        auto const weight = name + ".weight", shift = name + ".bias";
        auto const each = 5 + o_.classes;
        auto const deviation = 0.15 / std::sqrt(static_cast<double>(net_.channels(x)));
        auto const w =
            net_.constant(net_.weights().normal(weight, {3 * each, net_.channels(x), 1, 1}, deviation), weight);
        auto b = net_.weights().bias(shift, 3 * each);
        auto const values = b.mutable_data<float>();
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto const at = i % static_cast<std::size_t>(each);
            if (at == 4) values[i] -= rare_object;
            if (at > 4) values[i] -= rare_class;
        }
        return net_.apply<ops::conv>(name, {x, w, net_.constant(std::move(b), shift)},
                                     attributes_of<ops::conv>{window({1, 1}, {0, 0})});
    }
    static constexpr float rare_object = 2, rare_class = 3;

    // (2 x - 0.5 + position) * stride. *Shapes* `[batch, 3, size, size, 2]`.
    value_id centre(std::string const& name, std::size_t map, value_id x, std::int64_t size) {
        std::vector<float> places;
        for (std::int64_t row = 0; row < size; ++row)
            for (std::int64_t column = 0; column < size; ++column)
                places.push_back(static_cast<float>(column) - 0.5f), places.push_back(static_cast<float>(row) - 0.5f);
        auto const grid = net_.constant(tensor::from<float>(ints{1, 1, size, size, 2}, places), name + ".grid");
        auto const wide = net_.apply<ops::mul>(name + ".xy.wide", {x, number(name + ".xy.two", 2)});
        auto const placed = net_.sum(name + ".xy.placed", wide, grid);
        return net_.apply<ops::mul>(name + ".xy.pixels",
                                    {placed, number(name + ".stride", static_cast<float>(strides[map]))});
    }
    // (2 x)^2 * anchor. *Shapes* `[batch, 3, size, size, 2]`.
    value_id extent_of(std::string const& name, std::size_t map, value_id x) {
        auto const sizes = net_.constant(
            tensor::from<float>(ints{1, 3, 1, 1, 2}, std::vector<float>(anchors[map].begin(), anchors[map].end())),
            name + ".anchors");
        auto const wide = net_.apply<ops::mul>(name + ".wh.wide", {x, number(name + ".wh.two", 2)});
        auto const square = net_.apply<ops::pow>(name + ".wh.square", {wide, number(name + ".wh.exponent", 2)});
        return net_.apply<ops::mul>(name + ".wh.pixels", {square, sizes});
    }

    network_builder& net_;
    yolo_options const& o_;
};

} // namespace detail

GSUB_INLINE graph yolo(yolo_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.image > 0 && options.channels > 0 && options.classes > 0,
                "a detector has images, pixels, channels and classes");
    GSUB_ASSERT(!options.fault(), options.fault());
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::yolo_builder part{net, options};
    auto const c = options.channels;
    auto x = net.input(dtype::f32, {options.batch, 3, options.image, options.image}, "image");
    x = part.unit("model.0", x, c, 6, 2);
    x = part.block("model.2", part.unit("model.1", x, 2 * c, 3, 2), 2 * c, 1, true);
    auto const eighth = part.block("model.4", part.unit("model.3", x, 4 * c, 3, 2), 4 * c, 2, true);
    auto const sixteenth = part.block("model.6", part.unit("model.5", eighth, 8 * c, 3, 2), 8 * c, 3, true);
    x = part.block("model.8", part.unit("model.7", sixteenth, 16 * c, 3, 2), 16 * c, 1, true);
    x = part.pyramid("model.9", x, 16 * c);
    auto const coarse = part.unit("model.10", x, 8 * c);
    x = net.concat("model.12", {part.twice("model.11", coarse), sixteenth});
    auto const middle = part.unit("model.14", part.block("model.13", x, 8 * c, 1, false), 4 * c);
    x = net.concat("model.16", {part.twice("model.15", middle), eighth});
    auto const small = part.block("model.17", x, 4 * c, 1, false);
    x = net.concat("model.19", {part.unit("model.18", small, 4 * c, 3, 2), middle});
    auto const medium = part.block("model.20", x, 8 * c, 1, false);
    x = net.concat("model.22", {part.unit("model.21", medium, 8 * c, 3, 2), coarse});
    auto const large = part.block("model.23", x, 16 * c, 1, false);
    part.detect({small, medium, large});
    return g;
}

} // namespace gsub::models
