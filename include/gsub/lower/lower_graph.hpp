// lower_graph: runs all passes of lowering, from a graph to scheduled kernels.
#pragma once

#include <gsub/lower/fuse.hpp>
#include <gsub/lower/layout.hpp>
#include <gsub/lower/legalize.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/lower/select.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gsub {

/// Lowering options.
struct lowering_options {
    bool generate = true; ///< false: every operator runs on the reference runtime
    bool group = true;    ///< false: no two operators share a kernel
    /// Whether values get the layouts that kernels ask for (`kernel_layouts`), where no type names one yet. Otherwise
    /// they lie as their types say, and kernels that need another layout transform them before and after.
    bool lay_out = true;
    /// Groups that passes have made, see `fusion_rules::within`.
    std::span<std::uint32_t const> within{};
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    kernels::winograd_options winograd{};                    ///< what select and the counting heuristic go by
    std::span<runtime::user_kernel const> kernels{};         ///< functions of the application
    std::shared_ptr<branch_functions const> branches{};      ///< what `If` nodes run; null: they are refused
    /// Of the graph's operators; empty: gsub's own, where the graph has them.
    std::span<lowering_row const> rows{};
    std::span<scalar_row const> scalars{}; ///< the same
    /// Algorithm choice; none: counted cycles.
    std::optional<algorithm_function> algorithms{};
    /// Schedule source; none: the counting heuristic.
    std::optional<schedule_function> schedules{};
    /// Called with the kernel graph after each pass.
    std::optional<function_ref<void(kernel_graph const&)>> on_stage{};
    executor* threads = nullptr; ///< for folding; null: one thread
};

/// Inputs whose types are not static, a problem each with a hint how the sizes are given: an executable has none. Sizes
/// of other values may be what data decide.
GSUB_LAZY [[nodiscard]] std::vector<problem> open_inputs(any_graph const& g);

/// Lowers a graph: binds the application's kernels, folds constants, legalizes, alters layouts, then fuses, selects,
/// lays out and schedules. A graph that is moved here is gone afterwards, so that weights can be freed as they are
/// packed. Each stage is checked (`check`), and where the library `verifies_stages`, so is the graph behind every step
/// before. *Errors* `unsupported` naming every operator that nothing computes, `open_inputs`, or weights beyond the
/// limit; those of `runtime::bind_kernels` and of the passes.
GSUB_LAZY [[nodiscard]] result<kernel_graph> lower_graph(any_graph g, eval_table evaluators, isa const& isa,
                                                         lowering_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/lower_graph.ipp>
#endif
