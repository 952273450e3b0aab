// What a kernel computes, as a line of text that reads back: for files, for keys, and to tell two kernels apart.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/record_text.hpp>

#include <string>
#include <string_view>

namespace gsub::kernels {

/// One line: the word of the template (`conv2d`, `winograd`, `separable`, `matmul`, `attention`, `pool2d`,
/// `elementwise`, `rows`, `reduction`, `local_response_norm`, `movement`), then the fields by their names in the
/// structs without those that have their default value, as `print_value` writes them. *Requires* enumerators that
/// exist. *Example* `conv2d{in_channels=64 out_channels=64 in=[56,56] kernel=[3,3] pads=[1,1,1,1] low=0}`
GSUB_LAZY [[nodiscard]] std::string to_string(descriptor const& d);

/// Reads what `to_string` writes; spaces may stand between tokens, fields in any order, each once. The values may be
/// such that there is no kernel of them. *Errors* `invalid_input` with the column, from 1, and the reason.
/// *Complexity* linear; texts may come from strangers.
GSUB_LAZY [[nodiscard]] result<descriptor> parse_descriptor(std::string_view text);

/// Reads a descriptor at the beginning of a longer text, up to its closing brace, and takes it off; in front of it
/// spaces may stand. *Errors* as of `parse_descriptor`, with columns of the text as it was given; the text then stays.
GSUB_LAZY [[nodiscard]] result<descriptor> read_descriptor(std::string_view& text);

/// The same in the middle of a line, whose columns errors then have; before and behind it the caller reads values of
/// other kinds with `read_value`. *Errors* throws `error` (`invalid_input`).
GSUB_LAZY [[nodiscard]] descriptor read_descriptor(record_reader& in);

/// Whether two descriptors have one text. Zeros differ by sign; every NaN is the same.
GSUB_LAZY [[nodiscard]] bool equal(descriptor const& a, descriptor const& b);

/// The hash of the text: a field that a later version adds changes no hash as long as it has its default value.
GSUB_LAZY [[nodiscard]] hash128 hash_of(descriptor const& d);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/descriptor_text.ipp>
#endif
