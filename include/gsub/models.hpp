// Layer models: builders of networks of the literature, with seeded weights.
#pragma once

#include <gsub/models/bert.hpp>
#include <gsub/models/builder_options.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/catalogue_entry.hpp>
#include <gsub/models/cnn_options.hpp>
#include <gsub/models/decoder.hpp>
#include <gsub/models/densenet.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/lstm_lm.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/nasnet.hpp>
#include <gsub/models/nasrnn.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/squeezenet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/models/unet.hpp>
#include <gsub/models/vgg.hpp>
#include <gsub/models/weights.hpp>
#include <gsub/models/yolo.hpp>
