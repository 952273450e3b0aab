// Text form of kernel descriptors: a line that reads back, for files, for keys, and to tell two kernels apart.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/record_text.hpp>

#include <string>
#include <string_view>

namespace gsub::kernels {

/// Prints a descriptor as one line: the word of the template (`conv2d`, `winograd`, `separable`, `matmul`, `attention`,
/// `pool2d`, `elementwise`, `row_reduction`, `reduction`, `local_response_norm`, `movement`, `scatter`), then the
/// fields by their names in the structs, those with their default value left out, as `print_value` writes them.
/// *Requires* enumerators that exist. *Example* `conv2d{in_channels=64 out_channels=64 in=[56,56] kernel=[3,3]
/// pads=[1,1,1,1] low=0}`
GSUB_LAZY [[nodiscard]] std::string to_string(descriptor const& d);

/// Parses what `to_string` writes; spaces may stand between tokens, fields in any order, each once. They may describe
/// no kernel. *Errors* `invalid_input` with the column, from 1, and the reason. *Complexity* linear; texts may come
/// from strangers.
GSUB_LAZY [[nodiscard]] result<descriptor> parse_descriptor(std::string_view text);

/// Parses a descriptor at the beginning of a longer text, up to its closing brace, and removes it; spaces may precede
/// it. *Errors* as of `parse_descriptor`, with columns of the text as it was given; the text then stays.
GSUB_LAZY [[nodiscard]] result<descriptor> read_descriptor(std::string_view& text);

/// Parses a descriptor in the middle of a line; errors then have the columns of the line. Before and after it the
/// caller reads values of other kinds with `read_value`. *Errors* throws `error` (`invalid_input`).
GSUB_LAZY [[nodiscard]] descriptor read_descriptor(record_reader& in);

/// Whether two descriptors have one text. Zeros differ by sign; every NaN is the same.
GSUB_LAZY [[nodiscard]] bool equal(descriptor const& a, descriptor const& b);

/// Hash of the text: a field that a later version adds changes no hash as long as it has its default value.
GSUB_LAZY [[nodiscard]] hash128 hash_of(descriptor const& d);

/// Hash of a kernel however its images lie: the layout pass, which comes behind the choice of an algorithm, says how.
GSUB_LAZY [[nodiscard]] hash128 hash_without_layouts(descriptor d);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/descriptor_text.ipp>
#endif
