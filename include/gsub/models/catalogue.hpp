// Model catalogue: every network that gsub can build, by name.
#pragma once

#include <gsub/models/bert.hpp>
#include <gsub/models/catalogue_entry.hpp>
#include <gsub/models/cnn_options.hpp>
#include <gsub/models/decoder.hpp>
#include <gsub/models/densenet.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/lstm_lm.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/nasnet.hpp>
#include <gsub/models/nasrnn.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/squeezenet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/models/unet.hpp>
#include <gsub/models/vgg.hpp>
#include <gsub/models/yolo.hpp>

#include <span>

namespace gsub::models {

/// Image classifiers.
inline constexpr std::array classifier_entries{
    network_entry<&resnet18, cnn_options{.image = 224}>("resnet18",
                                                        "ResNet-18: residual blocks of two 3x3 convolutions"),
    network_entry<&resnet50, cnn_options{.image = 224}>("resnet50", "ResNet-50 v1.5: residual bottleneck blocks"),
    network_entry<&resnet50_v1, cnn_options{.image = 224}>(
        "resnet50_v1", "ResNet-50 v1: strides in the 1x1 convolutions of its blocks"),
    network_entry<&resnet101, cnn_options{.image = 224}>("resnet101", "ResNet-101 v1.5: residual bottleneck blocks"),
    network_entry<&resnext50_32x4d, cnn_options{.image = 224}>(
        "resnext50_32x4d", "ResNeXt-50: residual bottleneck blocks in 32 groups of 4 channels"),
    network_entry<&vgg16, cnn_options{.image = 224}, 32>("vgg16", "VGG-16: plain 3x3 convolutions, a large classifier"),
    network_entry<&vgg19, cnn_options{.image = 224}, 32>("vgg19", "VGG-19: plain 3x3 convolutions, a large classifier"),
    network_entry<&densenet121, cnn_options{.image = 224}, 29>(
        "densenet121", "DenseNet-121: every layer reads all before it in its block"),
    network_entry<&mobilenet_v2, cnn_options{.image = 224}>(
        "mobilenet_v2", "MobileNetV2: inverted residuals, depthwise convolutions, ReLU6"),
    network_entry<&inception_v2, cnn_options{.image = 224}>("inception_v2",
                                                            "Inception v2: parallel branches of 3x3 convolutions"),
    network_entry<&inception_v3, cnn_options{.image = 299}, 75>(
        "inception_v3", "Inception v3: parallel branches, 1x7 and 7x1 convolutions"),
    network_entry<&squeezenet1_1, cnn_options{.image = 224}, 25>("squeezenet1_1",
                                                                 "SqueezeNet 1.1: fire modules, no normalisation"),
    network_entry<&nasnet_a, nasnet_options{}>(
        "nasnet_a", "NASNet-A (4 @ 1056): searched cells of separable convolutions and pools"),
};

/// Networks for other tasks.
inline constexpr std::array task_entries{
    network_entry<&ssd_resnet50, ssd_options{.classes = 81}, 257>("ssd_resnet50",
                                                                  "SSD on ResNet-50: objects in images of 300 x 300"),
    network_entry<&ssd_mobilenet_v2, ssd_options{.classes = 91}>("ssd_mobilenet_v2",
                                                                 "SSD on MobileNetV2: objects in images of 300 x 300"),
    network_entry<&ssd_inception_v2, ssd_options{.classes = 91}>("ssd_inception_v2",
                                                                 "SSD on Inception v2: objects in images of 300 x 300"),
    network_entry<&yolo, yolo_options{}>("yolo",
                                         "YOLOv5n: objects in images of 640 x 640, boxes and suppression included"),
    network_entry<&unet, unet_options{}>("unet", "U-Net: what each pixel of an image of 256 x 256 belongs to"),
    network_entry<&nasrnn, nasrnn_options{}>("nasrnn",
                                             "NasRNN: a searched recurrent cell of 8 gates, 5 time steps of width 512"),
    network_entry<&bert_base, bert_options{}>("bert_base", "BERT-base: a text encoder, 12 layers, 128 words"),
    network_entry<&bert_base, bert_small_options>("bert_small",
                                                  "BERT-small: a text encoder, 4 layers of width 512, 128 words"),
    network_entry<&lstm_lm, lstm_lm_options{}>("lstm_lm",
                                               "a language model of 2 LSTM layers of width 650, 35 words out of 10000"),
    network_entry<&decoder, decoder_options{}>(
        "decoder", "8 blocks of a decoder as Llama has them, of SmolLM2-135M: a token behind 127 others"),
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
