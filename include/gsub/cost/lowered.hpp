// The predicted time of the kernels that a build would make of a graph.
//
//     graph ─ kernel_groups ─► group ─┬─ key: operators, types, where values lie ─► known? its cost
//                                     └─ alone, lowered as a build lowers it: fuse, select, layout, schedule
//                                             └─► kernels ─ nest, kernel IR ─► time_of ─► cost, remembered
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/target/target.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost {

/// What a cost depends on beside the graph and the machine.
struct lowered_options {
    unsigned threads = 0;           ///< that run a kernel; 0: those of the machine
    gsub::isa const* isa = nullptr; ///< that kernels are generated for; null: the widest of the machine
    kernels::winograd_accuracy winograd = kernels::winograd_accuracy::f4;
    /// Bytes of all weights of the network: what no cache keeps of them from run to run, kernels wait for.
    double weight_bytes = 0;
    /// What a calibration of the machine has found, of all these threads together: refines clock and bandwidth.
    std::optional<roofline> rates{};
};

/// Seconds of one run: for each group of operators that share a kernel (`kernel_groups`), the predicted time of the
/// kernels that a build makes of it for the machine, with the algorithm and the schedule that it would have, and with
/// the changes of layout that it reads; and for weights that kernels read in several copies, what that takes from all
/// weights of the last cache: a tenth of that while they are values yet to be computed, as further rewrites may do
/// without the copies. Nothing runs. A search computes the costs of the groups alone that a rewrite has changed, and a
/// group that has been costed is known from then on; copies of the model share what they know. Operators that have no
/// kernel are costed as steps of the reference runtime; groups whose shapes are not known by `roofline` as it stands in
/// the literature; opaque operators and calls, which no rewrite changes, at nothing. *Complexity* of a group that is
/// known that of its hash, else some hundred microseconds.
class lowered {
public:
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    static constexpr double resolution = 1e-3; ///< see `any_cost::resolution`

    /// Of graphs of gsub's own operators, on a machine.
    GSUB_LAZY static lowered on(target const& machine, lowered_options const& options = {});
    /// The same for a graph and what a search makes of it: its weights lie where theirs do.
    GSUB_LAZY static lowered of(any_graph const& g, target const& machine = host(), lowered_options options = {});

    GSUB_LAZY [[nodiscard]] unit operator()(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g, void const* memory,
                                                     changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs_near(any_graph const& g, void const* memory,
                                                                   changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] hash128 parameters() const;

    /// The graph lowered as a whole, as a build does it: layouts are those of the whole graph and not those that groups
    /// find around them. *Errors* those of `lower_graph`.
    GSUB_LAZY [[nodiscard]] result<unit> exactly(any_graph const& g) const;
    /// The time of a kernel of a scheduled graph. A step that is no kernel has seconds alone.
    GSUB_LAZY [[nodiscard]] kernel_time of_kernel(kernel_graph const& g, kernel_op const& op) const;

    /// The algorithm whose kernel takes least: the model is the `algorithm_choice` of the builds whose cost it gives.
    /// Another than the direct one, which errs least, takes at most 0.95 of its time. 0 for what is no convolution, and
    /// for kernels of other instruction sets. *Requires* one alternative or more. *Complexity* that of costing each,
    /// once.
    GSUB_LAZY [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const;

    [[nodiscard]] microarchitecture const& core() const noexcept { return core_; }
    /// Distinct groups that have been lowered and given a cost.
    GSUB_LAZY [[nodiscard]] std::size_t groups() const;

private:
    struct known_costs;
    lowered(target const& machine, lowered_options const& options)
        : machine_(machine),
          core_(microarchitecture_of(machine)),
          isa_(options.isa ? options.isa : machine.isa),
          options_(options) {}
    GSUB_LAZY [[nodiscard]] auto costs_into(std::vector<node_cost>& out, any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] double cost_of(any_graph const& g, kernel_group const& group,
                                           fusion_scope const& scope) const;
    GSUB_LAZY [[nodiscard]] kernel_time timed(loop::fused_nest const& nest, bool shared,
                                              std::span<memory_level const> homes) const;
    GSUB_LAZY [[nodiscard]] kernel_time of_descriptor(kernels::descriptor const& d, loop::configuration const& knobs,
                                                      std::span<memory_level const> homes) const;
    GSUB_LAZY [[nodiscard]] kernels::winograd_options tiles() const; ///< what schedules of tiles are counted from
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
#include <gsub/cost/impl/lowered.ipp>
#endif
