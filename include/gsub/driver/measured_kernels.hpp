// `measured_kernels`: a cost model by the clock for generated code. It builds, runs and times each distinct group once.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/target/target.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace gsub {

/// Measured cost model of generated kernels: time of a graph = sum of the times of its groups (`kernel_groups`). Each
/// distinct group is built by `build` and timed once, so that an activation fused into a convolution costs what it
/// costs there. Groups differ by operators, attributes, types, which values are constant and how the operators are
/// joined; values of weights do not count, those of integers and single numbers do.
///
/// Not additive over nodes: a group depends on who else reads its values, so a search computes the costs of whole
/// graphs. Steps that a group has only because it stands alone (changes of layout, copies of one value) are left out.
/// Groups that cannot be built cost the roofline, with the profile's rates where it has them (`calibrate`), and are
/// counted in `unmeasured`. Times are kept in a `cost::profile` under machine, threads, instruction set, compiler and
/// version of gsub: never those of the reference runtime. Safe to use from several threads. *Errors* of a call: throws
/// `error` (`environment`) where the compiler fails or the profile cannot be written. *Complexity* that of
/// `kernel_groups`, and a build for each group that is new.
class measured_kernels {
public:
    using unit = gsub::seconds;
    static constexpr bool by_clock = true;

    /// Makes the model. *Errors* `environment` where there is no compiler: the reference runtime would be timed in
    /// place of kernels.
    static result<measured_kernels> make(eval_table evaluators, cost::profile p = {},
                                         cost::measure_options measuring = {}, build_options building = {},
                                         target const& machine = host());
    /// Makes the model for an operator set.
    template <class OpSet>
    static result<measured_kernels> over(cost::profile p = {}, cost::measure_options measuring = {},
                                         build_options building = {}, target const& machine = host()) {
        return make(table_of<eval_row, OpSet>(), std::move(p), measuring, std::move(building), machine);
    }

    unit operator()(any_graph const& g) const;
    /// Distinct groups that were run by this object, those found in the profile not counted.
    [[nodiscard]] std::size_t runs() const noexcept { return state_->runs; }
    /// Distinct groups that could not be built.
    [[nodiscard]] std::size_t unmeasured() const noexcept { return state_->unmeasured; }

private:
    struct state {
        std::mutex mutex;
        cost::profile known;
        std::map<std::string, double> fallback;
        std::size_t runs = 0, unmeasured = 0;
    };
    measured_kernels(eval_table evaluators, cost::measure_options measuring, build_options building,
                     target const& machine)
        : evaluators_(evaluators), measuring_(measuring), building_(std::move(building)), target_(machine) {}
    double cost_of(any_graph const& g, std::span<node_id const> group) const;

    eval_table evaluators_;
    cost::measure_options measuring_;
    build_options building_;
    target target_;
    std::string machine_; // with all that times depend on beside the group
    cost::roofline roof_; // for what cannot be timed
    std::shared_ptr<state> state_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/measured_kernels.ipp>
#endif
