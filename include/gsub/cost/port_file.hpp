// Port files: measured ports of a machine on disk, as JSON; `gsub calibrate --ports` writes them.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/target/measured_ports.hpp>

#include <string>
#include <string_view>

namespace gsub::cost {

/// Text of a measurement: an object with `format` (`gsub ports 1`), `core`, `machine`, `date`, `made_by`, `issue`,
/// `accumulate_latency` and `uses`, objects of `class`, `bytes`, `latency`, `cycles` and `ports`, a list of numbers.
[[nodiscard]] std::string to_json(measured_ports const& found);

/// Parses what `to_json` writes; fields in any order, other ones are passed over. *Errors* `invalid_input` naming the
/// use by its number, the field, and what it may be: for a text of more than 1 MiB, a class that there is none of, a
/// number that is not finite or out of its range, a port above 31, a class without a use, more than 1000 uses.
[[nodiscard]] result<measured_ports> parse_ports(std::string_view text);

/// Reads a port file. *Errors* `environment` where it cannot be read; those of `parse_ports` with its name.
[[nodiscard]] result<measured_ports> read_ports(std::string const& path);
/// Writes a port file. *Errors* `environment`.
[[nodiscard]] result<void> write_ports(std::string const& path, measured_ports const& found);

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/port_file.ipp>
#endif
