// `measured`: a cost model that times each distinct node once on the reference runtime and adds up the times.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/eval/evaluate.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace gsub::cost {

/// A profile: measured times of operators and rates of machines, on disk as JSON lines: one object a line, with `op`,
/// `signature` (operand types and attributes), `machine`, `seconds`, `runs`, or with `machine` and `roofline`, an
/// object of `launch`, `flop_per_second`, `bytes_per_second`. Lines may be appended by several processes; the last of a
/// key counts.
class profile {
public:
    /// A profile in memory, without a file.
    profile() = default;
    /// Reads a profile; a file that does not exist is empty. Lines that are no records, or of another format, are
    /// passed over and counted. *Errors* `environment`.
    static result<profile> open(std::string path);

    [[nodiscard]] double const* find(std::string const& key) const;
    /// Adds a record, to the file too. *Errors* throws `error` (`environment`) where the file cannot be written.
    void add(std::string const& key, std::string_view op, std::string_view signature, std::string_view machine,
             double seconds, std::size_t runs);
    /// Number of operator times.
    [[nodiscard]] std::size_t size() const noexcept { return seconds_.size(); }
    /// Calibrated rates, by machine with all else that they depend on.
    [[nodiscard]] std::map<std::string, roofline> const& rates() const noexcept { return rates_; }
    /// Adds the rates of a machine, to the file too. *Requires* rates as `roofline` wants them. *Errors* as `add`.
    void add_rates(std::string const& machine, roofline const& found);
    /// Lines of the file that were passed over.
    [[nodiscard]] std::size_t skipped() const noexcept { return skipped_; }

private:
    void append(std::string const& line) const;

    std::string path_;
    std::map<std::string, double> seconds_;
    std::map<std::string, roofline> rates_;
    std::size_t skipped_ = 0;
};

/// Options of `measured`: how a node is measured.
struct measure_options {
    std::size_t least_runs = 3;
    double least_seconds = 0.01; ///< of all runs of one node together
    executor* threads = nullptr; ///< null: one thread
    observer* observe = nullptr;
};

/// Measured cost model: time of a graph = sum of the median times of its nodes. Each distinct node (operator, types,
/// attributes) runs once on the reference runtime with random operands. Views, constants and weight arithmetic cost
/// nothing. A node that the runtime cannot compute is costed by the roofline, and counted in `unmeasured`. Safe to use
/// from several threads. *Source* costs composed of measured primitive times: the report on relaxed substitution in
/// ONNX, section 3.4; MetaFlow, section 5.
class measured {
public:
    using unit = gsub::seconds;
    static constexpr bool by_clock = true;

    measured(dialect const& d, eval_table table, profile p = {}, measure_options options = {});
    /// Cost model for an operator set.
    template <class OpSet>
    static measured over(profile p = {}, measure_options options = {}) {
        return {dialect::of<OpSet>(), table_of<eval_row, OpSet>(), std::move(p), options};
    }

    unit operator()(any_graph const& g, node_id n) const;
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    /// Distinct nodes that were run by this object, those found in the profile not counted.
    [[nodiscard]] std::size_t runs() const noexcept { return state_->runs; }
    /// Distinct nodes that could not be run.
    [[nodiscard]] std::size_t unmeasured() const noexcept { return state_->unmeasured; }

private:
    struct timing {
        double seconds = -1; // median; negative where the node cannot be run
        std::size_t runs = 0;
    };
    [[nodiscard]] timing measure(any_graph const& g, node_id n) const;
    struct state {
        std::mutex mutex;
        profile known;
        std::map<std::string, double> fallback;
        std::size_t runs = 0, unmeasured = 0;
    };
    dialect const* dialect_;
    eval_table table_;
    measure_options options_;
    std::string machine_;
    std::shared_ptr<state> state_;
};

/// Signature of a node: operand types, results and attributes as text. Nodes of one signature take one time.
[[nodiscard]] std::string signature(any_graph const& g, node_id n);

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/measured.ipp>
#endif
