// Layer io: ONNX models, .npy files, files as such.
// JSON is a header of its own, `io/json.hpp`.
#pragma once

#include <gsub/io/file.hpp>
#include <gsub/io/npy.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_functions.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/io/onnx_ops.hpp>
#include <gsub/io/onnx_traits.hpp>
