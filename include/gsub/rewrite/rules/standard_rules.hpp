// The standard rule set. Include a family, `rules/conv.hpp` and so on, for a rule by its name.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// Every rule of the library, internal ones included.
[[nodiscard]] std::span<rule_program const> standard_rules() noexcept;

/// Selects rules by a list such as `fuse_conv_bn,merge_conv_siblings` (these alone), `-enlarge_conv` (all but it),
/// `atomic` (no macro rules), `all`, `none`. Internal rules take part only where they are named, timed rules also where
/// `timed` says that costs are measured. *Errors* `usage` for a name that no rule has.
[[nodiscard]] result<std::vector<rule_program>> choose_rules(std::span<rule_program const> from,
                                                             std::string_view list = "all", bool timed = false);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/standard_rules.ipp>
#endif
