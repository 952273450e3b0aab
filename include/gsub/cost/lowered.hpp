// `lowered`: a cost model that predicts the time of the kernels that a build would make of a graph.
//
//     graph ─ kernel_groups ─► group ─┬─ key: operators, types, where values lie ─► known? its cost
//                                     └─ alone, lowered as a build lowers it: fuse, select, layout, schedule
//                                             └─► kernels ─ nest, kernel IR ─► time_of ─► cost, remembered
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/lowering.hpp>
#include <gsub/lower/scalar_lowering.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/target/target.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub::cost {

namespace detail {
template <class>
class group_in_graph;
} // namespace detail

/// Options of `lowered`: what a cost depends on beside the graph and the machine.
struct lowered_options {
    unsigned threads = 0;           ///< that run a kernel; 0: those of the machine
    gsub::isa const* isa = nullptr; ///< that kernels are generated for; null: the widest of the machine
    kernels::winograd_accuracy winograd = kernels::winograd_accuracy::f4;
    kernel_time_model model{}; ///< what predicts kernels; those that it has no time for, `time_of` does
    /// Bytes of all weights of the network: kernels wait for those that no cache keeps from run to run.
    double weight_bytes = 0;
    /// Calibrated rates of the machine, of all these threads together: they refine clock and bandwidth.
    std::optional<roofline> rates{};
    /// Measured ports of the machine (`measured_port_table`), for models of pipelines; null: those of its row. They
    /// must outlive the model.
    port_table const* ports = nullptr;
    /// Lowering and scalar rows and evaluators of the graph's operators, where these are not gsub's own alone.
    std::span<lowering_row const> rows{};
    std::span<scalar_row const> scalars{};
    eval_table evaluators{};
};

/// Predicted-time cost model: seconds of one run, summed over groups of operators that share a kernel
/// (`kernel_groups`). A group costs the predicted time of the kernels that a build makes of it for the machine, with
/// their algorithm and schedule and the layout transforms that it reads. Weights that kernels read in several copies
/// cost the time that the copies take from all weights in the last cache; a tenth of that while they are yet to be
/// computed, as further rewrites may do without the copies. Nothing runs. A search computes the costs of only those
/// groups that a rewrite has changed, and each distinct group once; copies of the model share what they know. Operators
/// without a kernel cost their step of the reference runtime; groups of unknown shapes cost the `roofline` with its
/// defaults; opaque operators and calls, which no rewrite changes, cost nothing. *Complexity* of a known group that of
/// its hash, else some hundred microseconds.
///
/// For a GPU (`target::gpu`) kernels are those of `isa::warp`, with the algorithms, schedules and times of
/// `static_gpu`, some tens of milliseconds for each distinct kernel; operators without one run on the host, and what
/// they read and write moves. Of a kernel's counts there are `compute`, cycles of the busiest multiprocessor, and
/// `memory_bytes`.
class lowered {
public:
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    static constexpr double resolution = 1e-3; ///< see `any_cost::resolution`

    /// Cost model for graphs of gsub's own operators on a machine.
    GSUB_LAZY static lowered on(target const& machine, lowered_options const& options = {});
    /// Cost model for a graph and its rewrites: `weight_bytes` counts the graph's weights too.
    GSUB_LAZY static lowered of(any_graph const& g, target const& machine = host(), lowered_options options = {});

    /// The same for a graph of an operator set, whose operators have the rows of that set.
    template <class OpSet>
    [[nodiscard]] static lowered of(basic_graph<OpSet> const& g, target const& machine = host(),
                                    lowered_options options = {}) {
        if constexpr (!std::is_same_v<OpSet, standard_ops>) {
            options.rows = table_of<lowering_row, OpSet>(), options.scalars = table_of<scalar_row, OpSet>();
            options.evaluators = table_of<eval_row, OpSet>();
        }
        return of(static_cast<any_graph const&>(g), machine, options);
    }

    GSUB_LAZY [[nodiscard]] unit operator()(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g, void const* memory,
                                                     changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs_near(any_graph const& g, void const* memory,
                                                                   changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] std::vector<std::uint32_t> group_of_nodes(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] hash128 parameters() const;

    /// Exact cost of a graph: lowers it as a whole, as a build does, with the layouts of the whole graph and not those
    /// that single groups find around them. *Errors* those of `lower_graph`.
    GSUB_LAZY [[nodiscard]] result<unit> exactly(any_graph const& g) const;
    /// Predicted time of a kernel of a scheduled kernel graph. A step that is no kernel has seconds alone.
    GSUB_LAZY [[nodiscard]] kernel_time of_kernel(kernel_graph const& g, kernel_op const& op) const;
    /// Tells the source of kernel times, where the model has one, of kernels that `of_kernel` is going to be asked for.
    GSUB_LAZY void prepare(std::span<kernel_op const> ops, executor& threads) const;

    /// Algorithm choice by predicted time: gives the alternative with the fastest kernel, as the builds do whose cost
    /// the model predicts. An algorithm other than the direct one, which errs least, must take at most 0.95 of its
    /// time. 0 for what is no convolution, and for kernels of other instruction sets. *Requires* one alternative or
    /// more. *Complexity* that of costing each, once.
    GSUB_LAZY [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const;

    /// Schedule source by predicted time: of Winograd kernels the fastest of `winograd_candidates`, of which the few
    /// best by `nest_time_of` are weighed as kernels; it must take at most 0.97 of the default's time. Other kernels,
    /// and those of other instruction sets, have their counted schedule. Builds for a machine take their schedules from
    /// it, and costs are those of the same schedules. *Complexity* some milliseconds for each distinct kernel, once.
    GSUB_LAZY [[nodiscard]] loop::configuration choose(kernels::descriptor const& d, isa const& isa,
                                                       loop::config_space const& space) const;

    [[nodiscard]] microarchitecture const& core() const noexcept { return core_; }
    /// Distinct groups that have been lowered and given a cost.
    GSUB_LAZY [[nodiscard]] std::size_t groups() const;
    /// How many kernels the kernel time model of the options had no time for.
    GSUB_LAZY [[nodiscard]] std::size_t not_modelled() const;

private:
    struct known_costs;
    lowered(target const& machine, lowered_options const& options)
        : machine_(machine),
          core_(microarchitecture_of(machine)),
          isa_(options.isa ? options.isa : machine.isa),
          options_(options) {}
    GSUB_LAZY [[nodiscard]] fusion_rules rules_of(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] double cost_of(any_graph const& g, kernel_group const& group,
                                           fusion_scope const& scope) const;
    GSUB_LAZY [[nodiscard]] double cost_alone(detail::group_in_graph<void> const& of) const;
    GSUB_LAZY [[nodiscard]] kernel_time timed(loop::fused_nest const& nest, bool shared,
                                              std::span<memory_level const> homes) const;
    GSUB_LAZY [[nodiscard]] kernel_time of_descriptor(kernels::descriptor const& d, loop::configuration const& knobs,
                                                      std::span<memory_level const> homes) const;
    GSUB_LAZY [[nodiscard]] double copying(double bytes) const;      ///< seconds; reads and writes together
    GSUB_LAZY [[nodiscard]] kernels::winograd_options tiles() const; ///< for Winograd algorithms and schedules
    GSUB_LAZY [[nodiscard]] kernels::winograd_config best_tiles(kernels::descriptor const& d) const;
    GSUB_LAZY [[nodiscard]] double cost_of_more(double bytes) const;
    GSUB_LAZY [[nodiscard]] double cost_of_copies(any_graph const& g, node_id weight) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> costs_of_weights(any_graph const& g) const;
    GSUB_LAZY void add_weights_near(std::vector<node_cost>& out, any_graph const& g,
                                    changed_nodes const& changes) const;

    target machine_;
    microarchitecture core_;
    isa const* isa_;
    lowered_options options_;
    eval_table evaluators_{};
    std::shared_ptr<known_costs> known_{};
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/group_in_graph.ipp>
#include <gsub/cost/impl/lowered.ipp>
#include <gsub/cost/impl/lowered_weights.ipp>
#endif
