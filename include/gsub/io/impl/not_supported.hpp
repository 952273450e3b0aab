// not_supported: why a node of a file has to stay opaque.
#pragma once

#include <gsub/core/result.hpp>

namespace gsub::io::detail {

/// What `onnx_import_context::unsupported` throws; the importer makes the node opaque.
struct not_supported {
    problem what;
};

} // namespace gsub::io::detail
