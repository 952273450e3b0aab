// Rules from files: what `verify-rules` proves and `optimize` uses beside the library's own.
#pragma once

#include "commands.hpp"
#include <gsub/rewrite/files/loaded_rule.hpp>

#include <string>
#include <vector>

namespace cli {

/// Files that rules are read from; those that are not named are empty.
struct rule_files {
    std::string taso; ///< in TASO's format
    std::string text; ///< in gsub's textual form

    [[nodiscard]] bool given() const noexcept { return !taso.empty() || !text.empty(); }
};

/// All rules of the files, in order.
std::vector<gsub::loaded_rule> load_rules(rule_files const& files);

/// Rules that a search can use, and what has become of the others.
struct usable_rules {
    std::vector<gsub::loaded_rule> rules; ///< proved, and found by the matcher
    std::string text;                     ///< for the answer, a line
    gsub::io::json data;                  ///< the same for its JSON
};
usable_rules prove_rules(rule_files const& files, std::uint64_t seed, session const& s);

} // namespace cli
