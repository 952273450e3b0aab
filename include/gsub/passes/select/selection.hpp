// Pass selection by search: finds sequences that make a module cheap, and remembers them by its structure. By network
// class: `select_passes` (`passes/select/network_class.hpp`).
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/search/backtracking.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Search method of `search_passes`.
enum class selection_method : std::uint8_t {
    greedy,       ///< appends the pass that lowers the cost most, as long as one does
    random,       ///< `trials` random sets in random orders
    backtracking, ///< best-first over sequences, as graphs are searched
};

struct selection_options {
    selection_method method = selection_method::backtracking;
    std::uint64_t seed = 1;    ///< of random lists
    std::uint64_t trials = 16; ///< of random lists
    std::size_t longest = 8;   ///< passes in a list
    search::options search{};  ///< of backtracking; its budget counts sequences that are extended
    pass_run_options run{};    ///< of each pass
};

/// The best list that a search found.
struct found_passes {
    std::string list; ///< canonical names, separated by commas; empty: no list is cheaper than none
    double cost_before = 0, cost_after = 0;
    std::uint64_t runs = 0; ///< number of runs of a pass on a module
};

/// Cost of a module: at least 0, the less the better.
using module_cost = function_ref<double(module const&)>;

/// Searches sequences of `candidates` for one that makes a module cheap. No sequence contains a pass that changes
/// nothing there or fails there, or breaks a hard ordering rule; sequences that lead to the same module count as one.
/// *Errors* those of the cost and of searches. *Complexity* one pass and one cost per sequence tried.
GSUB_LAZY [[nodiscard]] result<found_passes> search_passes(pass_manager const& known,
                                                           std::span<any_pass const> candidates, module const& m,
                                                           pass_context& cx, module_cost cost,
                                                           selection_options const& options = {});

/// Memory of the lists found, by the structure of their module.
class selection_memory {
public:
    /// Finds the list for a module of equal structure, or null.
    GSUB_LAZY [[nodiscard]] found_passes const* find(module const& m) const;
    GSUB_LAZY void remember(module const& m, found_passes found);
    [[nodiscard]] std::size_t size() const noexcept { return found_.size(); }

    /// One line per list, in the order of the structures' hashes.
    GSUB_LAZY [[nodiscard]] std::string to_text() const;
    /// *Errors* `invalid_input` with the number of a line that is none.
    GSUB_LAZY [[nodiscard]] static result<selection_memory> from_text(std::string_view text);

private:
    std::map<hash128, found_passes> found_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/select/impl/selection.ipp>
#endif
