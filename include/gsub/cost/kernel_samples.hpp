// Kernel samples: a calibration file, which holds measured kernels with their features, one JSON object a line.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/linear_score.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::cost {

/// Most samples of a file.
inline constexpr std::size_t most_kernel_samples = 1'000'000;

/// Line of a calibration file, without its end:
///
///     {"kernel": "matmul ...", "schedule": "tile_m=14 ...", "isa": "avx512", "machine": "...", "gigahertz": 4.1,
///      "seconds": 1.2e-5, "threads": 1, "part": 1, "ilp": "blocks", "features": {"fma": [131072, 65536], "call": [1,
///      287]}}
///
/// A feature has its count and its cycles; those with neither are left out.
[[nodiscard]] std::string to_json_line(kernel_sample const& s);

/// Reads the samples of a calibration file; `name` stands for the file in errors. Blank lines are passed over.
/// *Errors* `invalid_input` naming the line that is no JSON object, has an unknown or missing key or feature, or a
/// number that is negative or not finite, a time or clock of 0; or that is one more than `most_kernel_samples`.
[[nodiscard]] result<std::vector<kernel_sample>> parse_kernel_samples(std::string_view text, std::string_view name);

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/kernel_samples.ipp>
#endif
