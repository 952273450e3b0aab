#include <gsub/models.hpp>
#include <gsub/models/impl/inception.ipp>
#include <gsub/models/impl/mobilenet.ipp>
#include <gsub/models/impl/network_builder.ipp>
#include <gsub/models/impl/resnet.ipp>
#include <gsub/models/impl/squeezenet.ipp>
#include <gsub/models/impl/test_graphs.ipp>
#include <gsub/models/impl/weights.ipp>
