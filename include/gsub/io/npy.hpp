// NumPy .npy files: reads and writes tensors for the command line.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gsub::io {

/// Reads a .npy file of format 1 to 3. *Errors* `environment` where it cannot be read; `invalid_input` where it is no
/// .npy file or shorter than its header says; `unsupported` for column-major or big-endian data and for element types
/// that gsub does not compute with, and for more than `max_bytes`.
[[nodiscard]] result<tensor> load_npy(std::string const& path, std::uint64_t max_bytes = std::uint64_t{16} << 30);
/// Parses a .npy file in memory.
[[nodiscard]] result<tensor> parse_npy(std::span<std::byte const> data);
/// Writes a .npy file as a whole. bf16, which NumPy lacks, is written as f32. *Errors* `environment`.
result<void> save_npy(std::string const& path, tensor const& t);

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/npy.ipp>
#endif
