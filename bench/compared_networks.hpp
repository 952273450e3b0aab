// The networks that gsub is held against other engines with: benches that name none run all of them, and compare.py
// reads them here.
#pragma once

#include <array>
#include <string_view>

namespace bench {

/// Built-in models of published sizes.
inline constexpr std::array<std::string_view, 18> compared_networks{
    "resnet50", "mobilenet_v2", "inception_v3", "squeezenet1_1", "ssd_resnet50",    "bert_base",
    "vgg16",    "densenet121",  "resnet18",     "resnet101",     "resnext50_32x4d", "nasrnn",
    "nasnet_a", "bert_small",   "yolo",         "unet",          "lstm_lm",         "decoder",
};

} // namespace bench
