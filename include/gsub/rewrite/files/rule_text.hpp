// The rule text format: how a person writes a rule that is loaded at run time.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/rewrite/files/rule_description.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Parses rules from text, one operator per line:
///
///     # two products of one matrix
///     rule merge_rows
///       p = mat_mul(x, w)
///       q = mat_mul(y, w)
///     =>
///       both = concat(x, y, axis=0, rank=2)
///       product = mat_mul(both, w)
///       p2, q2 = split(product, axis=0)
///       replace p by p2
///       replace q by q2
///
/// Operators are `rule_words`; a name that no line defines is an input. Parameters: of `conv` `kernel=3x3` (without:
/// any), `strides=2x2` (1x1), `pads=none` (or `same`), `act=relu` (or `sigmoid`, `tanh`, `none`); of `concat` and
/// `split` `axis=1` (needed) and `rank=4` (any). *Errors* `invalid_input` naming rule and line, and as
/// `check(rule_description)`.
GSUB_LAZY [[nodiscard]] result<std::vector<rule_description>> parse_rules(std::string_view text);

/// Parses rules from a file of at most 16 MB, which errors name. *Errors* `environment` and `unsupported` too, as
/// `io::read_file`.
GSUB_LAZY [[nodiscard]] result<std::vector<rule_description>> load_rules(std::string const& path);

/// Prints a rule in the form that `parse_rules` reads.
GSUB_LAZY [[nodiscard]] std::string to_text(rule_description const& rule);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/files/impl/rule_text.ipp>
#endif
