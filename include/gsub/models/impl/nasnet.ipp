#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/nasnet.hpp>
#include <gsub/models/network_builder.hpp>

#include <string>

namespace gsub::models {

namespace detail {

/// The cells of NASNet-A. `x` is what the cell before gave, `p` what the one before that gave.
class nasnet_builder {
public:
    explicit nasnet_builder(network_builder& net) : net_(net) {}

    // Nodes are made in the order of statements, the right operand first: compilers evaluate arguments in any order.
    value_id normal_cell(std::string const& name, value_id x, value_id p, std::int64_t filters) {
        p = fitted(name + ".prev", p, x, filters);
        auto const h = pointwise(name + ".cur", x, filters);
        // The two means of block 4 are one: the search that found the cell chose the same operation twice.
        auto const mean = [&](std::string const& of, value_id v) { return average(name + of, v, 1); };
        auto const right1 = separable(name + ".1.right", p, filters, 3);
        auto const b1 = sum(name + ".1", separable(name + ".1.left", h, filters, 5), right1);
        auto const right2 = separable(name + ".2.right", p, filters, 3);
        auto const b2 = sum(name + ".2", separable(name + ".2.left", p, filters, 5), right2);
        auto const b3 = sum(name + ".3", mean(".3.left", h), p);
        auto const right4 = mean(".4.right", p);
        auto const b4 = sum(name + ".4", mean(".4.left", p), right4);
        auto const b5 = sum(name + ".5", separable(name + ".5.left", h, filters, 3), h);
        return net_.concat(name + ".concat", {p, b1, b2, b3, b4, b5});
    }

    value_id reduction_cell(std::string const& name, value_id x, value_id p, std::int64_t filters) {
        p = fitted(name + ".prev", p, x, filters);
        auto const h = pointwise(name + ".cur", x, filters);
        auto const right1 = separable(name + ".1.right", p, filters, 7, 2);
        auto const b1 = sum(name + ".1", separable(name + ".1.left", h, filters, 5, 2), right1);
        auto const right2 = separable(name + ".2.right", p, filters, 7, 2);
        auto const b2 = sum(name + ".2", largest(name + ".2.left", h), right2);
        auto const right3 = separable(name + ".3.right", p, filters, 5, 2);
        auto const b3 = sum(name + ".3", average(name + ".3.left", h, 2), right3);
        auto const b4 = sum(name + ".4", b2, average(name + ".4.right", b1, 1));
        auto const right5 = largest(name + ".5.right", h);
        auto const b5 = sum(name + ".5", separable(name + ".5.left", b1, filters, 3), right5);
        return net_.concat(name + ".concat", {b2, b3, b4, b5});
    }

    value_id normal(std::string const& name, value_id x, norm_place place = norm_place::chain) {
        return net_.batch_norm(name, x, {.epsilon = 1e-3, .place = place});
    }

private:
    value_id sum(std::string const& name, value_id a, value_id b) { return net_.sum(name + ".add", a, b); }

    /// Rectifier, 1x1 convolution and normalisation.
    value_id pointwise(std::string const& name, value_id x, std::int64_t filters,
                       norm_place place = norm_place::chain) {
        x = net_.conv(name + ".conv", net_.relu(name + ".relu", x), {.outputs = filters});
        return normal(name + ".bn", x, place);
    }

    /// Rectifier, depthwise and pointwise convolution and normalisation, twice; the first one strides.
    value_id separable(std::string const& name, value_id x, std::int64_t filters, std::int64_t kernel,
                       std::int64_t stride = 1) {
        for (int half = 1; half <= 2; ++half) {
            auto const part = format_text("{}.{}", name, half);
            x = net_.conv(part + ".depthwise", net_.relu(part + ".relu", x),
                          {.outputs = net_.channels(x),
                           .kernel = {kernel, kernel},
                           .stride = {stride, stride},
                           .pad = {kernel / 2, kernel / 2},
                           .group = net_.channels(x)});
            x = net_.conv(part + ".pointwise", x, {.outputs = filters});
            // Sums of branches follow each other through all cells, hence the small scale.
            x = normal(part + ".bn", x, norm_place::branch_end);
            stride = 1;
        }
        return x;
    }

    value_id average(std::string const& name, value_id x, std::int64_t stride) {
        return net_.average_pool(name + ".avgpool", x, {.kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}});
    }
    value_id largest(std::string const& name, value_id x) {
        return net_.max_pool(name + ".maxpool", x, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    }

    /// p with the size of x and `filters` channels; p itself where it has both, or is x. A cell passes it on, adds it
    /// and doubles it, hence the small scale.
    value_id fitted(std::string const& name, value_id p, value_id x, std::int64_t filters) {
        if (p == x) return p;
        if (net_.type_of(p)->dims[2] == net_.type_of(x)->dims[2])
            return net_.channels(p) == filters ? p : pointwise(name, p, filters, norm_place::branch_end);
        // Every second pixel, and every second pixel of the image moved by one, each to half of the channels.
        p = net_.relu(name + ".relu", p);
        auto const every_second = [&](std::string const& path, value_id v) {
            v = net_.average_pool(path + ".avgpool", v, {.kernel = {1, 1}, .stride = {2, 2}});
            return net_.conv(path + ".conv", v, {.outputs = filters / 2});
        };
        auto const moved = net_.apply<ops::pad>(name + ".path2.pad", {p}, {.pads = {0, 0, -1, -1, 0, 0, 1, 1}});
        return normal(
            name + ".bn",
            net_.concat(name + ".concat", {every_second(name + ".path1", p), every_second(name + ".path2", moved)}),
            norm_place::branch_end);
    }

    network_builder& net_;
};

} // namespace detail

GSUB_INLINE graph nasnet_a(nasnet_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.image > 2 && options.classes > 0, "a classifier has images and classes");
    GSUB_ASSERT(options.cells > 0 && options.filters > 0 && options.stem > 0, "NASNet has cells and filters");
    GSUB_ASSERT(!options.fault(), options.fault());
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::nasnet_builder part{net};
    auto p = net.input(dtype::f32, {options.batch, 3, options.image, options.image}, "image");
    p = part.normal("stem.bn", net.conv("stem.conv", p, {.outputs = options.stem, .kernel = {3, 3}, .stride = {2, 2}}));
    auto x = part.reduction_cell("stem.cell1", p, p, options.filters / 4);
    auto const follow = [&](value_id next) { p = x, x = next; };
    follow(part.reduction_cell("stem.cell2", x, p, options.filters / 2));
    for (std::int64_t stage = 0; stage < 3; ++stage) {
        auto const filters = options.filters << stage;
        if (stage > 0) follow(part.reduction_cell(format_text("reduction{}", stage), x, p, filters));
        for (std::int64_t i = 0; i < options.cells; ++i)
            follow(part.normal_cell(format_text("stage{}.cell{}", stage + 1, i + 1), x, p, filters));
    }
    net.output(net.linear("classifier", net.pooled_features(net.relu("relu", x)), options.classes), "logits");
    return g;
}

} // namespace gsub::models
