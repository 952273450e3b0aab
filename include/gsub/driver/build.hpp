// From a graph to something that runs at speed: kernels chosen by counting, generated, compiled, loaded.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/scalar_rows.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/target.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace gsub {

/// How a graph is built.
struct build_options {
    std::string compiler{};                                  ///< as `runtime::find_compiler` takes it
    runtime::jit_options jit{};                              ///< threads and observer are those below where it has none
    bool generate = true;                                    ///< false: every operator runs on the reference runtime
    bool group = true;                                       ///< false: no two operators share a kernel
    isa const* set = nullptr;                                ///< null: the widest that the target has
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    /// Which convolutions may be computed in tiles, and what that is decided from: `build` takes all but the accuracy
    /// from its target. F4 errs about twice as much as a direct sum.
    kernels::winograd_options winograd{};
    /// Functions of the application: each computes the nodes of its operator, before anything of gsub would.
    std::span<runtime::user_kernel const> kernels{};
    /// How elementwise operators are lowered, a row an operator of the graph's set; empty: gsub's own, and those of the
    /// set that `build` is called with.
    std::span<scalar_row const> scalars{};
    executor* threads = nullptr; ///< for folding and compiling; null: one thread
    observer* watch = nullptr;
};

/// The program of a graph: operators are grouped (`passes::fuse_groups`) unless told otherwise, each group becomes a
/// generated kernel where there is a generator for it, else its operators are steps of the reference runtime; the
/// type of each step says which. Nodes with a kernel of the application are an `external_call`. Convolutions and
/// poolings work on blocks of channels, and blocks are made and dissolved where they meet anything else. Weights that a
/// kernel has packed are freed one by one where no copy of the graph shares them: a graph that is moved here does not
/// keep them in memory twice. *Errors* `unsupported` naming every operator that nothing computes, dynamic shapes, or
/// weights beyond the limit; those of `runtime::bind_kernels`.
GSUB_LAZY [[nodiscard]] result<runtime::program> plan(any_graph g, std::span<eval_row const> meaning, isa const& set,
                                                      build_options const& options = {});

/// Plans, compiles and loads. Where there is no compiler, everything runs on the reference runtime and the observer
/// gets a note. *Errors* as `plan`; `environment` where the compiler fails.
GSUB_LAZY [[nodiscard]] result<runtime::executable> build(any_graph g, std::span<eval_row const> meaning,
                                                          target const& machine, build_options const& options = {});

/// `build(graph).value().run(inputs)`
template <class OpSet>
[[nodiscard]] result<runtime::executable> build(basic_graph<OpSet> g, target const& machine = host(),
                                                build_options const& options = {}) {
    auto with_rows = options;
    if (with_rows.scalars.empty()) with_rows.scalars = table_of<scalar_row, OpSet>();
    return build(any_graph{std::move(g)}, table_of<eval_row, OpSet>(), machine, with_rows);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/build.ipp>
#include <gsub/driver/impl/chain_planner.ipp>
#include <gsub/driver/impl/chain_writer.ipp>
#include <gsub/driver/impl/convolution_planner.ipp>
#include <gsub/driver/impl/move_planner.ipp>
#include <gsub/driver/impl/product_planner.ipp>
#include <gsub/driver/impl/program_planner.ipp>
#include <gsub/driver/impl/storage_planner.ipp>
#endif
