// Outlining: makes functions of parts of a function.
#pragma once

#include <gsub/ir/module.hpp>
#include <gsub/passes/pass.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// A part of a graph to be outlined.
struct outlined_part {
    std::vector<node_id> nodes; ///< operators, in any order
    std::string stem;           ///< the function is called `stem_0`, or by the least number that makes the name unique
    function_attributes attributes{};
};

struct outline_options {
    /// Constants of at most so many elements go into every function that reads them. Larger ones, and weight
    /// arithmetic, go into the function that alone reads them; where several read them, they are passed. Inlining
    /// leaves one copy of the small constants per function.
    std::int64_t copied_elements = 0;
    std::span<node_id const> left_out{}; ///< nodes to drop. *Requires* that nothing reads them
};

/// Outlines parts of a module's functions: makes functions of them and calls these instead. Inlining the calls gives an
/// equal graph. Names and sources of values are kept; a call has the sources of all its operators. Constants share
/// their elements.
class outliner {
public:
    /// `m` must outlive it, and nothing else may add functions meanwhile.
    GSUB_LAZY explicit outliner(module& m);

    /// Outlines parts of one function; returns the names of the functions made, in the order of the parts. Operands of
    /// a function are in the order in which its nodes read them, results in that of the nodes that make them. Other
    /// nodes keep their order. *Requires* a function of that name; parts that are not empty, of live operators, that
    /// share no node and of which something is read elsewhere. *Errors* throws `error` (`internal`) where parts do not
    /// contract to a graph without cycles. *Complexity* O((n + e) log n).
    GSUB_LAZY std::vector<std::string> operator()(std::string_view function, std::span<outlined_part const> parts,
                                                  outline_options const& options = {});
    /// Makes a name that no function has, and reserves it.
    GSUB_LAZY [[nodiscard]] std::string next_name(std::string const& stem);

private:
    module* m_;
    std::set<std::string, std::less<>> taken_;
    std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

/// Identifier: `GlobalAveragePool` as `global_average_pool`, anything but letters and digits as `_`.
GSUB_LAZY [[nodiscard]] std::string identifier_of(std::string_view name);

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/partition/impl/outline.ipp>
#endif
