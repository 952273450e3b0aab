// `build`: compiles a graph into an executable: kernels chosen by predicted time, generated, compiled, loaded.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/runtime/device.hpp>
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

/// Options of `build` and `plan`.
struct build_options {
    std::string compiler{};     ///< as `runtime::find_compiler` takes it
    runtime::jit_options jit{}; ///< threads and observer are those below where it has none
    /// Emitter of kernels in memory, e.g. `jit_emitter`; what it does not take is compiled. Null: all are compiled.
    runtime::kernel_emitter emitter = nullptr;
    bool generate = true;     ///< false: every operator runs on the reference runtime
    bool device_only = false; ///< of a build for a device: refuse steps that would run on the host
    bool group = true;        ///< false: no two operators share a kernel
    /// Whether the default pipeline runs and values get the layouts of kernels, see `lowering_options::lay_out`.
    bool lay_out = true;
    std::span<std::uint32_t const> within{};                 ///< groups made by passes, see `fusion_rules::within`
    gsub::isa const* isa = nullptr;                          ///< null: the widest that the target has
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    /// Winograd: which convolutions may use it, and what decides; `build` takes all but the accuracy from its target.
    /// F4 errs about twice as much as a direct sum.
    kernels::winograd_options winograd{};
    /// User kernels: each computes the nodes of its operator, with precedence over gsub's own.
    std::span<runtime::user_kernel const> kernels{};
    /// What `If` nodes of a graph run (`module::branches`); null: they are refused. A module's own where one is built.
    std::shared_ptr<branch_functions const> branches{};
    /// External code generators of regions that are marked for a compiler, or matched by a pattern.
    std::span<external_codegen const> codegens{};
    /// Lowering rows, one for each operator of the graph's set; empty: gsub's own, and those of the set that `build` is
    /// called with.
    std::span<lowering_row const> rows{};
    std::span<scalar_row const> scalars{}; ///< the same, of expressions of elements
    /// Algorithm choice of convolutions; none: by predicted time on the target (`cost::lowered`), and by counted cycles
    /// where a program is planned for an instruction set alone.
    std::optional<algorithm_function> algorithms{};
    /// Schedule source; none: by predicted time on the target (`cost::lowered`), and the counting heuristic where a
    /// program is planned for an instruction set alone.
    std::optional<schedule_function> schedules{};
    /// Callback that gets the kernel graph after each pass of lowering.
    std::optional<function_ref<void(kernel_graph const&)>> on_stage{};
    executor* threads = nullptr; ///< for folding and compiling; null: one thread
    observer* observe = nullptr;
};

/// Lowering options of a build.
[[nodiscard]] inline lowering_options lowering_of(build_options const& options) {
    return {.generate = options.generate,
            .group = options.group,
            .lay_out = options.lay_out,
            .within = options.within,
            .max_weight_bytes = options.max_weight_bytes,
            .winograd = options.winograd,
            .kernels = options.kernels,
            .branches = options.branches,
            .rows = options.rows,
            .scalars = options.scalars,
            .algorithms = options.algorithms,
            .schedules = options.schedules,
            .on_stage = options.on_stage,
            .threads = options.threads};
}

/// Plans the program of a graph: runs `default_pipeline` where it may pay and no list of passes replaces it, then
/// `lower_graph` and `emit`. Operators share generated kernels as far as templates take them, the others are steps of
/// the reference runtime; the type of each step says which. Weights that a kernel has packed are freed one by one where
/// no copy of the graph shares them, so a graph that is moved in is not kept in memory twice. *Errors* those of both.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(any_graph g, eval_table evaluators, isa const& isa,
                                                      build_options const& options = {});

/// Plans for a machine, which decides the algorithms of convolutions and the knobs of their kernels; a GPU of the table
/// need not be here. *Errors* also `usage` for a GPU and the instruction set of a processor.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(any_graph g, eval_table evaluators, target const& machine,
                                                      build_options const& options = {});

/// Builds an executable: lowers, compiles and loads. Where there is no compiler, everything runs on the reference
/// runtime and the observer gets a note, as it does for each layout of a type that no kernel reads. *Errors* as `plan`;
/// `environment` where the compiler fails; `errors::no_device` for a GPU, which is built for as an open device.
GSUB_LAZY [[nodiscard]] result<runtime::executable> build(any_graph g, eval_table evaluators, target const& machine,
                                                          build_options const& options = {});

/// Target of a device: what its kernels are planned for, a GPU of the table where that has a row for it.
[[nodiscard]] inline target target_of(runtime::device const& on) {
    return on.model() ? gsub::target_of(*on.model()) : target{.name = std::string{on.title()}, .isa = &isa::warp};
}
/// Builds for a device: kernels whose lanes are its threads; algorithms and schedules by predicted time where the table
/// of GPUs has a row for it (`cost::lowered`), and by counting where not. What has no kernel runs on the host, and
/// values move; the observer gets a note of these steps. The executable is of the same type, and keeps the device open.
/// *Errors* as `plan`; `errors::device_kernels_alone` where `build_options::device_only` is set and a step would run on
/// the host; those of the device.
GSUB_LAZY [[nodiscard]] result<runtime::executable>
build(any_graph g, eval_table evaluators, std::shared_ptr<runtime::device> on, build_options const& options = {});

/// Source of the groups of a module's operators.
enum class grouping : std::uint8_t {
    by_kernels, ///< passes, where they have made primitive functions; otherwise kernels take what they can
    by_passes,  ///< passes alone: an operator that is in no primitive function has a kernel of its own, and values lie
                ///< as types say
};

/// Plans the program of a module's entry point. Functions that passes have marked `primitive` are groups, which no
/// kernel crosses (`inline_groups`); regions go to their code generators (`bind_regions`). *Errors* those of these two
/// as well.
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

GSUB_LAZY [[nodiscard]] result<runtime::executable>
build(module const& m, eval_table evaluators, std::shared_ptr<runtime::device> on, build_options const& options = {},
      grouping groups = grouping::by_kernels, std::string_view entry = "main");

namespace detail {
// Options with the rows of an operator set, where the caller gives none.
template <class OpSet>
[[nodiscard]] build_options with_rows_of(build_options options) {
    if (options.rows.empty()) options.rows = table_of<lowering_row, OpSet>();
    if (options.scalars.empty()) options.scalars = table_of<scalar_row, OpSet>();
    return options;
}
} // namespace detail

/// Plans the program of a graph of an operator set, as `build` would compile it.
template <class OpSet>
[[nodiscard]] result<runtime::program> plan(basic_graph<OpSet> g, target const& machine = host(),
                                            build_options const& options = {}) {
    return plan(any_graph{std::move(g)}, table_of<eval_row, OpSet>(), machine, detail::with_rows_of<OpSet>(options));
}

/// Builds a graph of an operator set: `build(graph).value().run(inputs)`
template <class OpSet>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, target const& machine = host(),
                                                build_options const& options = {}) {
    return build(any_graph{std::move(g)}, table_of<eval_row, OpSet>(), machine, detail::with_rows_of<OpSet>(options));
}

/// Builds a graph of an operator set for a device: `build(graph, open_device("opencl:0").value())`
template <class OpSet>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, std::shared_ptr<runtime::device> on,
                                                build_options const& options = {}) {
    return build(any_graph{std::move(g)}, table_of<eval_row, OpSet>(), std::move(on),
                 detail::with_rows_of<OpSet>(options));
}

/// Builds with a schedule source of the caller's, `build(graph, host(), my_schedules{})`, and an algorithm choice,
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
