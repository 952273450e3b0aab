// tensor_reader: turns tensors of a model into ours, wherever their elements lie.
#pragma once

#include <gsub/io/file.hpp>
#include <gsub/io/impl/options_fwd.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gsub::io::detail {

/// Turns `TensorProto`s into tensors, wherever their elements lie.
template <class = void>
class tensor_reader {
public:
    tensor_reader(onnx_model const& model, std::string const* path, load_options const& options)
        : model_(model), path_(path), options_(options) {}

    /// *Errors* throws `error`; `not_supported` for an element type that gsub does not compute with.
    tensor read(onnx_tensor const& t);

private:
    static constexpr std::uint64_t large = std::uint64_t{64} << 10; // bytes; from here on a tensor has pages of its own
    static void check_length(std::uint64_t given, std::uint64_t needed, ints const& dims);
    static tensor finish(tensor t);
    static tensor uninitialized(dtype element, ints const& dims, std::uint64_t needed);
    static tensor read_typed(onnx_tensor const& t, dtype element, std::size_t count);
    tensor read_raw(onnx_tensor const& t, dtype element, std::uint64_t needed) const;
    tensor read_external(onnx_tensor const& t, dtype element, std::uint64_t needed);
    tensor from_file(input_file const& file, std::uint64_t offset, dtype element, ints const& dims,
                     std::uint64_t needed) const;

    onnx_model const& model_;
    std::string const* path_; // of the model's file, null: it is in memory
    load_options const& options_;
    std::optional<folder> folder_;
    std::map<std::string_view, input_file> files_;
};

} // namespace gsub::io::detail
