#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::models {

namespace detail {

/// What follows a normalisation in networks of Inception.
enum class rectifier { relu, relu6 };

/// Convolution, normalisation and rectifier, named `<name>.conv`, `.bn`, `.relu`.
GSUB_INLINE value_id inception_unit(network_builder& net, std::string const& name, value_id x, conv_layer const& layer,
                                    rectifier end = rectifier::relu) {
    x = net.batch_norm(name + ".bn", net.conv(name + ".conv", x, layer), {.epsilon = 1e-3});
    return end == rectifier::relu ? net.relu(name + ".relu", x) : net.relu6(name + ".relu", x);
}

/// A module of Inception v2: channels of its branches. `one` is the 1x1 branch; where it is 0, the module has none and
/// halves the size. `three` and `twice` end the branches of one and of two 3x3 kernels, behind a 1x1 kernel each.
struct inception_v2_module {
    std::string_view name;
    std::int64_t one, three_inner, three, twice_inner, twice;
    std::int64_t pool = 0; ///< behind the pool of a module that keeps the size
    bool largest = false;  ///< whether that pool takes the maximum instead of the mean
};

inline constexpr std::array<inception_v2_module, 10> inception_v2_modules{{
    {"Mixed_3b", 64, 64, 64, 64, 96, 32},
    {"Mixed_3c", 64, 64, 96, 64, 96, 64},
    {"Mixed_4a", 0, 128, 160, 64, 96},
    {"Mixed_4b", 224, 64, 96, 96, 128, 128},
    {"Mixed_4c", 192, 96, 128, 96, 128, 128},
    {"Mixed_4d", 160, 128, 160, 128, 160, 96},
    {"Mixed_4e", 96, 128, 192, 160, 192, 96},
    {"Mixed_5a", 0, 128, 192, 192, 256},
    {"Mixed_5b", 352, 192, 320, 160, 224, 128},
    {"Mixed_5c", 352, 192, 320, 192, 224, 128, true},
}};

/// Feature maps of Inception v2, a sixteenth and a thirty-second of the image's size.
struct inception_v2_features {
    value_id mixed_4c, mixed_5c;
};

/// The layers of Inception v2.
class inception_v2_builder {
public:
    inception_v2_builder(network_builder& net, rectifier end) : net_(net), end_(end) {}

    inception_v2_features features(value_id x) {
        x = net_.conv("Conv2d_1a_7x7.depthwise", x,
                      {.outputs = 24, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}, .group = 3});
        x = unit("Conv2d_1a_7x7", x, {.outputs = 64});
        x = largest("MaxPool_2a_3x3", x, 2);
        x = unit("Conv2d_2b_1x1", x, {.outputs = 64});
        x = unit("Conv2d_2c_3x3", x, three_by_three(192));
        x = largest("MaxPool_3a_3x3", x, 2);
        auto mixed_4c = x;
        for (auto const& m : inception_v2_modules) {
            x = module(m, x);
            if (m.name == "Mixed_4c") mixed_4c = x;
        }
        return {mixed_4c, x};
    }

    value_id unit(std::string const& name, value_id x, conv_layer const& layer) {
        return inception_unit(net_, name, x, layer, end_);
    }
    static conv_layer three_by_three(std::int64_t outputs, std::int64_t stride = 1) {
        return {.outputs = outputs, .kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}};
    }

private:
    value_id largest(std::string const& name, value_id x, std::int64_t stride) {
        return net_.max_pool(name, x, {.kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}});
    }

    value_id module(inception_v2_module const& m, value_id x) {
        auto const halves = m.one == 0;
        auto const stride = halves ? 2 : 1;
        std::vector<value_id> parts;
        auto const layer = [&](std::string_view name) {
            return format_text("{}.Branch_{}.{}", m.name, parts.size(), name);
        };
        if (!halves) parts.push_back(unit(layer("Conv2d_0a_1x1"), x, {.outputs = m.one}));
        auto y = unit(layer("Conv2d_0a_1x1"), x, {.outputs = m.three_inner});
        parts.push_back(unit(layer(halves ? "Conv2d_1a_3x3" : "Conv2d_0b_3x3"), y, three_by_three(m.three, stride)));
        y = unit(layer("Conv2d_0a_1x1"), x, {.outputs = m.twice_inner});
        y = unit(layer("Conv2d_0b_3x3"), y, three_by_three(m.twice));
        parts.push_back(unit(layer(halves ? "Conv2d_1a_3x3" : "Conv2d_0c_3x3"), y, three_by_three(m.twice, stride)));
        if (halves)
            y = largest(layer("MaxPool_1a_3x3"), x, 2);
        else if (m.largest)
            y = unit(layer("Conv2d_0b_1x1"), largest(layer("MaxPool_0a_3x3"), x, 1), {.outputs = m.pool});
        else
            y = unit(layer("Conv2d_0b_1x1"),
                     net_.average_pool(layer("AvgPool_0a_3x3"), x, {.kernel = {3, 3}, .pad = {1, 1}}),
                     {.outputs = m.pool});
        parts.push_back(y);
        return net_.apply<ops::concat>(format_text("{}.concat", m.name), parts, {.axis = 1});
    }

    network_builder& net_;
    rectifier end_;
};

/// The modules of Inception v3, each over one input `x` and under one name.
class inception_builder {
public:
    explicit inception_builder(network_builder& net) : net_(net) {}

    value_id unit(std::string const& name, value_id x, conv_layer const& layer) {
        return inception_unit(net_, name, x, layer);
    }

    /// Branches of 1x1, 5x5 and two 3x3 kernels over the 35 x 35 grid.
    value_id module_a(std::string const& name, value_id x, std::int64_t pool_channels) {
        auto const one = unit(name + ".branch1x1", x, {.outputs = 64});
        auto five = unit(name + ".branch5x5_1", x, {.outputs = 48});
        five = unit(name + ".branch5x5_2", five, {.outputs = 64, .kernel = {5, 5}, .pad = {2, 2}});
        auto twice = unit(name + ".branch3x3dbl_1", x, {.outputs = 64});
        twice = unit(name + ".branch3x3dbl_2", twice, {.outputs = 96, .kernel = {3, 3}, .pad = {1, 1}});
        twice = unit(name + ".branch3x3dbl_3", twice, {.outputs = 96, .kernel = {3, 3}, .pad = {1, 1}});
        return net_.concat(name + ".concat", {one, five, twice, pool_branch(name, x, pool_channels)});
    }

    /// From the 35 x 35 to the 17 x 17 grid.
    value_id reduction_b(std::string const& name, value_id x) {
        auto const three = unit(name + ".branch3x3", x, {.outputs = 384, .kernel = {3, 3}, .stride = {2, 2}});
        auto twice = unit(name + ".branch3x3dbl_1", x, {.outputs = 64});
        twice = unit(name + ".branch3x3dbl_2", twice, {.outputs = 96, .kernel = {3, 3}, .pad = {1, 1}});
        twice = unit(name + ".branch3x3dbl_3", twice, {.outputs = 96, .kernel = {3, 3}, .stride = {2, 2}});
        return net_.concat(name + ".concat", {three, twice, strided_pool(name, x)});
    }

    /// 7x7 kernels as products of 1x7 and 7x1, over the 17 x 17 grid. `inner` is the width inside of the branches.
    value_id module_c(std::string const& name, value_id x, std::int64_t inner) {
        auto const one = unit(name + ".branch1x1", x, {.outputs = 192});
        auto once = unit(name + ".branch7x7_1", x, {.outputs = inner});
        once = unit(name + ".branch7x7_2", once, along_row(inner));
        once = unit(name + ".branch7x7_3", once, along_column(192));
        auto twice = unit(name + ".branch7x7dbl_1", x, {.outputs = inner});
        twice = unit(name + ".branch7x7dbl_2", twice, along_column(inner));
        twice = unit(name + ".branch7x7dbl_3", twice, along_row(inner));
        twice = unit(name + ".branch7x7dbl_4", twice, along_column(inner));
        twice = unit(name + ".branch7x7dbl_5", twice, along_row(192));
        return net_.concat(name + ".concat", {one, once, twice, pool_branch(name, x, 192)});
    }

    /// From the 17 x 17 to the 8 x 8 grid.
    value_id reduction_d(std::string const& name, value_id x) {
        auto three = unit(name + ".branch3x3_1", x, {.outputs = 192});
        three = unit(name + ".branch3x3_2", three, {.outputs = 320, .kernel = {3, 3}, .stride = {2, 2}});
        auto seven = unit(name + ".branch7x7x3_1", x, {.outputs = 192});
        seven = unit(name + ".branch7x7x3_2", seven, along_row(192));
        seven = unit(name + ".branch7x7x3_3", seven, along_column(192));
        seven = unit(name + ".branch7x7x3_4", seven, {.outputs = 192, .kernel = {3, 3}, .stride = {2, 2}});
        return net_.concat(name + ".concat", {three, seven, strided_pool(name, x)});
    }

    /// Branches that end in a 1x3 and a 3x1 kernel side by side, over the 8 x 8 grid.
    value_id module_e(std::string const& name, value_id x) {
        auto const one = unit(name + ".branch1x1", x, {.outputs = 320});
        auto three = unit(name + ".branch3x3_1", x, {.outputs = 384});
        three = cross(name + ".branch3x3_2", three);
        auto twice = unit(name + ".branch3x3dbl_1", x, {.outputs = 448});
        twice = unit(name + ".branch3x3dbl_2", twice, {.outputs = 384, .kernel = {3, 3}, .pad = {1, 1}});
        twice = cross(name + ".branch3x3dbl_3", twice);
        return net_.concat(name + ".concat", {one, three, twice, pool_branch(name, x, 192)});
    }

    /// Maximum over 3x3 windows, every second one, nothing beyond the border.
    value_id pool(std::string const& name, value_id x) {
        return net_.max_pool(name, x, {.kernel = {3, 3}, .stride = {2, 2}});
    }

private:
    static conv_layer along_row(std::int64_t outputs) { return {.outputs = outputs, .kernel = {1, 7}, .pad = {0, 3}}; }
    static conv_layer along_column(std::int64_t outputs) {
        return {.outputs = outputs, .kernel = {7, 1}, .pad = {3, 0}};
    }
    value_id cross(std::string const& name, value_id x) {
        auto const row = unit(name + "a", x, {.outputs = 384, .kernel = {1, 3}, .pad = {0, 1}});
        auto const column = unit(name + "b", x, {.outputs = 384, .kernel = {3, 1}, .pad = {1, 0}});
        return net_.concat(name + ".concat", {row, column});
    }
    value_id pool_branch(std::string const& name, value_id x, std::int64_t outputs) {
        x = net_.average_pool(name + ".avgpool", x, {.kernel = {3, 3}, .pad = {1, 1}, .count_include_pad = true});
        return unit(name + ".branch_pool", x, {.outputs = outputs});
    }
    value_id strided_pool(std::string const& name, value_id x) { return pool(name + ".maxpool", x); }

    network_builder& net_;
};

} // namespace detail

GSUB_INLINE graph inception_v2(cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::inception_v2_builder part{net, detail::rectifier::relu};
    auto const x = part.features(detail::classifier_images(net, options, 224)).mixed_5c;
    net.output(net.linear("Logits", net.pooled_features(x), options.classes), "logits");
    return g;
}

GSUB_INLINE graph inception_v3(cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::inception_builder part{net};
    auto x = detail::classifier_images(net, options, 299);
    x = part.unit("Conv2d_1a_3x3", x, {.outputs = 32, .kernel = {3, 3}, .stride = {2, 2}});
    x = part.unit("Conv2d_2a_3x3", x, {.outputs = 32, .kernel = {3, 3}});
    x = part.unit("Conv2d_2b_3x3", x, {.outputs = 64, .kernel = {3, 3}, .pad = {1, 1}});
    x = part.pool("maxpool1", x);
    x = part.unit("Conv2d_3b_1x1", x, {.outputs = 80});
    x = part.unit("Conv2d_4a_3x3", x, {.outputs = 192, .kernel = {3, 3}});
    x = part.pool("maxpool2", x);
    x = part.module_a("Mixed_5b", x, 32);
    x = part.module_a("Mixed_5c", x, 64);
    x = part.module_a("Mixed_5d", x, 64);
    x = part.reduction_b("Mixed_6a", x);
    x = part.module_c("Mixed_6b", x, 128);
    x = part.module_c("Mixed_6c", x, 160);
    x = part.module_c("Mixed_6d", x, 160);
    x = part.module_c("Mixed_6e", x, 192);
    x = part.reduction_d("Mixed_7a", x);
    x = part.module_e("Mixed_7b", x);
    x = part.module_e("Mixed_7c", x);
    net.output(net.linear("fc", net.pooled_features(x), options.classes), "logits");
    return g;
}

} // namespace gsub::models
