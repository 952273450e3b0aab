// From a graph to something that runs at speed: kernels chosen by predicted time, generated, compiled, loaded.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/target.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gsub {

/// How a graph is built.
struct build_options {
    std::string compiler{};     ///< as `runtime::find_compiler` takes it
    runtime::jit_options jit{}; ///< threads and observer are those below where it has none
    bool generate = true;       ///< false: every operator runs on the reference runtime
    bool group = true;          ///< false: no two operators share a kernel
    /// Whether the default pipeline runs and values get the layouts of kernels, see `lowering_options::lay_out`.
    bool lay_out = true;
    std::span<std::uint32_t const> within{};                 ///< groups made by passes, see `fusion_rules::within`
    gsub::isa const* isa = nullptr;                          ///< null: the widest that the target has
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    /// Which convolutions may be computed in tiles, and what that is decided from: `build` takes all but the accuracy
    /// from its target. F4 errs about twice as much as a direct sum.
    kernels::winograd_options winograd{};
    /// Functions of the application: each computes the nodes of its operator, before anything of gsub would.
    std::span<runtime::user_kernel const> kernels{};
    /// Who computes the regions of a module that are marked for a compiler, or matched by a pattern.
    std::span<external_codegen const> codegens{};
    /// How operators are lowered, a row an operator of the graph's set; empty: gsub's own, and those of the set that
    /// `build` is called with.
    std::span<lowering_row const> rows{};
    std::span<scalar_row const> scalars{}; ///< the same, of expressions of elements
    /// Who chooses the algorithms of convolutions; none: the predicted time on the target (`cost::lowered`), and
    /// counted cycles where a program is planned for an instruction set alone.
    std::optional<algorithm_function> algorithms{};
    /// Who chooses schedules; none: the counting heuristic.
    std::optional<schedule_function> schedules{};
    /// Is shown the kernel graph behind each pass of lowering.
    std::optional<function_ref<void(kernel_graph const&)>> on_stage{};
    executor* threads = nullptr; ///< for folding and compiling; null: one thread
    observer* observe = nullptr;
};

/// What lowering is told of how a graph is built.
[[nodiscard]] inline lowering_options lowering_of(build_options const& options) {
    return {.generate = options.generate,
            .group = options.group,
            .lay_out = options.lay_out,
            .within = options.within,
            .max_weight_bytes = options.max_weight_bytes,
            .winograd = options.winograd,
            .kernels = options.kernels,
            .rows = options.rows,
            .scalars = options.scalars,
            .algorithms = options.algorithms,
            .schedules = options.schedules,
            .on_stage = options.on_stage,
            .threads = options.threads};
}

/// The program of a graph: `default_pipeline` where no list of passes stands for it, `lower_graph`, then `emit`.
/// Operators share generated kernels as far as templates take them, the others are steps of the reference runtime; the
/// type of each step says which. Weights that a kernel has packed are freed one by one where no copy of the graph
/// shares them: a graph that is moved here does not keep them in memory twice. *Errors* those of both.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(any_graph g, eval_table evaluators, isa const& isa,
                                                      build_options const& options = {});

/// The same for a machine: which algorithms convolutions have, and the knobs of their kernels, follow from it.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(any_graph g, eval_table evaluators, target const& machine,
                                                      build_options const& options = {});

/// Lowers, compiles and loads. Where there is no compiler, everything runs on the reference runtime and the observer
/// gets a note, as it does for each layout of a type that no kernel reads. *Errors* as `plan`; `environment` where the
/// compiler fails.
GSUB_LAZY [[nodiscard]] result<runtime::executable> build(any_graph g, eval_table evaluators, target const& machine,
                                                          build_options const& options = {});

/// Who groups the operators of a module.
enum class grouping : std::uint8_t {
    by_kernels, ///< passes, where they have made primitive functions; otherwise kernels take what they can
    by_passes,  ///< passes alone: an operator that is in no primitive function has a kernel of its own, and values lie
                ///< as types say
};

/// The same of an entry point of a module. Functions that passes have marked `primitive` are groups, which no kernel
/// crosses; regions go to their code generators (`bind_regions`). *Errors* those of these two as well.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(module const& m, eval_table evaluators, isa const& isa,
                                                      build_options const& options = {},
                                                      grouping groups = grouping::by_kernels,
                                                      std::string_view entry = "main");
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(module const& m, eval_table evaluators, target const& machine,
                                                      build_options const& options = {},
                                                      grouping groups = grouping::by_kernels,
                                                      std::string_view entry = "main");
GSUB_LAZY [[nodiscard]] result<runtime::executable> build(module const& m, eval_table evaluators, target const& machine,
                                                          build_options const& options = {},
                                                          grouping groups = grouping::by_kernels,
                                                          std::string_view entry = "main");

/// `build(graph).value().run(inputs)`
template <class OpSet>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, target const& machine = host(),
                                                build_options const& options = {}) {
    auto with_rows = options;
    if (with_rows.rows.empty()) with_rows.rows = table_of<lowering_row, OpSet>();
    if (with_rows.scalars.empty()) with_rows.scalars = table_of<scalar_row, OpSet>();
    return build(any_graph{std::move(g)}, table_of<eval_row, OpSet>(), machine, with_rows);
}

/// The same by a schedule source of the caller's, `build(graph, host(), my_schedules{})`, and by an algorithm choice,
/// where one is given; both need to live no longer than the call. *Errors* those of `build`, of `schedule` and of
/// `select`.
template <class OpSet, schedule_source Schedules>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, target const& machine, Schedules const& schedules,
                                                build_options options = {}) {
    auto const point = [&](kernels::descriptor const& d, isa const& on, loop::config_space const& space) {
        return schedules.choose(d, on, space);
    };
    options.schedules = schedule_function{point};
    return build(std::move(g), machine, options);
}
template <class OpSet, schedule_source Schedules, algorithm_choice Algorithms>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, target const& machine, Schedules const& schedules,
                                                Algorithms const& algorithms, build_options options = {}) {
    auto const algorithm = [&](std::span<kernels::descriptor const> all, isa const& on) {
        return algorithms.choose(all, on);
    };
    options.algorithms = algorithm_function{algorithm};
    return build(std::move(g), machine, schedules, std::move(options));
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/build.ipp>
#endif
