// Operator histograms: counts by which passes without effect are told apart.
#pragma once

#include <gsub/ir/module.hpp>
#include <gsub/passes/pass.hpp>

#include <cstdint>
#include <vector>

namespace gsub {

/// Operator counts of a graph, or of those functions of a module that a pass sees.
struct op_histogram {
    struct entry {
        op_id op{};
        std::uint32_t count = 0;
        friend bool operator==(entry const&, entry const&) = default;
    };
    std::vector<entry> entries{};  ///< by identity, none of zero; inputs, constants, results and calls too
    std::size_t functions = 0;     ///< of the module, whether the pass sees them or not; 1 for a graph
    std::size_t nodes = 0;         ///< sum of the counts
    std::size_t unread = 0;        ///< nodes, other than inputs and results, of which no result is read
    std::size_t unread_inputs = 0; ///< of all functions that are counted
    std::size_t weights = 0;       ///< nodes of weight arithmetic: constant, but not `ops::constant`

    /// *Complexity* O(log operators).
    [[nodiscard]] std::size_t count(op_id op) const noexcept;
    /// Total count of these operators.
    template <operation... Ops>
    [[nodiscard]] std::size_t count() const noexcept {
        return (std::size_t{0} + ... + count(id_of<Ops>));
    }
    template <operation... Ops>
    [[nodiscard]] bool any_of() const noexcept {
        return (false || ... || (count(id_of<Ops>) > 0));
    }
    friend bool operator==(op_histogram const&, op_histogram const&) = default;
};

/// Counts a graph. *Complexity* O(n log operators).
GSUB_LAZY [[nodiscard]] op_histogram histogram_of(any_graph const& g);
/// Counts the functions that are not opaque to a pass.
GSUB_LAZY [[nodiscard]] op_histogram histogram_of(module const& m, pass_info const& seen_by = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/manager/impl/histogram.ipp>
#endif
