// Model catalogue: every network that gsub can build, by name.
#pragma once

#include <gsub/models/bert.hpp>
#include <gsub/models/catalogue_entry.hpp>
#include <gsub/models/cnn_options.hpp>
#include <gsub/models/densenet.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/nasnet.hpp>
#include <gsub/models/nasrnn.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/squeezenet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/models/vgg.hpp>

#include <span>

namespace gsub::models {

namespace detail {
/// A network with its published sizes.
template <auto Builder>
[[nodiscard]] graph from_seed(std::uint64_t seed) {
    return Builder({.seed = seed});
}
} // namespace detail

/// Image classifiers.
inline constexpr std::array classifier_entries{
    catalogue_entry{"resnet18", "ResNet-18: residual blocks of two 3x3 convolutions", &detail::from_seed<&resnet18>},
    catalogue_entry{"resnet50", "ResNet-50 v1.5: residual bottleneck blocks", &detail::from_seed<&resnet50>},
    catalogue_entry{"resnet50_v1", "ResNet-50 v1: strides in the 1x1 convolutions of its blocks",
                    &detail::from_seed<&resnet50_v1>},
    catalogue_entry{"resnet101", "ResNet-101 v1.5: residual bottleneck blocks", &detail::from_seed<&resnet101>},
    catalogue_entry{"resnext50_32x4d", "ResNeXt-50: residual bottleneck blocks in 32 groups of 4 channels",
                    &detail::from_seed<&resnext50_32x4d>},
    catalogue_entry{"vgg16", "VGG-16: plain 3x3 convolutions, a large classifier", &detail::from_seed<&vgg16>},
    catalogue_entry{"vgg19", "VGG-19: plain 3x3 convolutions, a large classifier", &detail::from_seed<&vgg19>},
    catalogue_entry{"densenet121", "DenseNet-121: every layer reads all before it in its block",
                    &detail::from_seed<&densenet121>},
    catalogue_entry{"mobilenet_v2", "MobileNetV2: inverted residuals, depthwise convolutions, ReLU6",
                    &detail::from_seed<&mobilenet_v2>},
    catalogue_entry{"inception_v3", "Inception v3: parallel branches, 1x7 and 7x1 convolutions",
                    &detail::from_seed<&inception_v3>},
    catalogue_entry{"squeezenet1_1", "SqueezeNet 1.1: fire modules, no normalisation",
                    &detail::from_seed<&squeezenet1_1>},
    catalogue_entry{"nasnet_a", "NASNet-A (4 @ 1056): searched cells of separable convolutions and pools",
                    &detail::from_seed<&nasnet_a>},
};

/// Networks for other tasks.
inline constexpr std::array task_entries{
    catalogue_entry{"ssd_resnet50", "SSD on ResNet-50: objects in images of 300 x 300",
                    &detail::from_seed<&ssd_resnet50>},
    catalogue_entry{"nasrnn", "NasRNN: a searched recurrent cell of 8 gates, 5 time steps of width 512",
                    &detail::from_seed<&nasrnn>},
    catalogue_entry{"bert_base", "BERT-base: a text encoder, 12 layers, 128 words", &detail::from_seed<&bert_base>},
    catalogue_entry{"bert_small", "BERT-small: a text encoder, 4 layers of width 512, 128 words", &bert_small},
};

/// Catalogue entries of all tables. A header with models of its own adds its table here.
inline constexpr auto catalogue_entries = join(classifier_entries, task_entries, test_graph_entries);
static_assert(well_formed(catalogue_entries), "two entries of the catalogue share a name, or one is incomplete");

/// Every entry, in the order of the tables.
[[nodiscard]] constexpr std::span<catalogue_entry const> catalogue() noexcept {
    return catalogue_entries;
}

/// The entry of a name, or null.
[[nodiscard]] constexpr catalogue_entry const* find_model(std::string_view name) noexcept {
    for (auto const& entry : catalogue_entries)
        if (entry.name == name) return &entry;
    return nullptr;
}

} // namespace gsub::models
