// What each pass of the library does to a small module: the examples in docs/passes.md.
#pragma once

#include <gsub/passes/manager/manager.hpp>

#include <string>
#include <vector>

namespace cli {

/// A module before and after a pass. A line a value that is read several times, and one for the results of a function;
/// constants of the same contents have one name in both.
struct pass_example {
    std::vector<std::string> before, after;
};

/// Runs a pass of `known` on the module that shows it. *Errors* throws `error` (`internal`) where there is no example.
pass_example example_of(gsub::pass_manager const& known, gsub::any_pass const& p);

} // namespace cli
