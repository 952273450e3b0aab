// Analytic cost models, from types and attributes alone: FLOP, bytes, roofline, energy, peak memory.
#pragma once

#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <cstdint>

namespace gsub::cost {

/// How `Split` is lowered on a machine.
enum class split_lowering {
    view, ///< its results are views
    copy, ///< its results are copied
};

/// Whether a node takes part in the run: constants, weight arithmetic, inputs and views do not.
[[nodiscard]] bool is_executed(any_graph const& g, node_id n, split_lowering splits = split_lowering::view);

/// Floating-point operations of a node, a multiply-add counting two. Convolutions and products: two a tap and output;
/// normalisation: two an element; others: one an element of the result, pooling one a tap. Moving elements: none. Nodes
/// without known sizes: none. A fused activation adds one an element. Unknown operators: none.
[[nodiscard]] double flop_count(any_graph const& g, node_id n);
/// Bytes that a node reads and writes: its operands, weights included, and its results, each once.
[[nodiscard]] double bytes_moved(any_graph const& g, node_id n);

/// Arithmetic cost model: the number of floating-point operations.
struct flop_cost {
    using unit = gsub::flops;
    static constexpr bool concurrent = true;
    unit operator()(any_graph const& g, node_id n) const { return {is_executed(g, n) ? flop_count(g, n) : 0}; }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
};

/// Memory traffic cost model: the number of bytes moved.
struct byte_cost {
    using unit = gsub::bytes;
    static constexpr bool concurrent = true;
    split_lowering splits = split_lowering::view;
    unit operator()(any_graph const& g, node_id n) const { return {is_executed(g, n, splits) ? bytes_moved(g, n) : 0}; }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const { return hasher{static_cast<std::uint64_t>(splits)}.finish(); }
};

/// Roofline cost model: time of a node = launch + max(FLOP / rate, bytes / rate), bound by arithmetic or by memory.
/// *Source* Williams et al., "Roofline: an insightful visual performance model", CACM 2009.
struct roofline {
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    double launch = 5e-6;           ///< seconds a kernel
    double flop_per_second = 1e13;  ///< > 0
    double bytes_per_second = 5e11; ///< > 0
    split_lowering splits = split_lowering::view;

    unit operator()(any_graph const& g, node_id n) const {
        if (!is_executed(g, n, splits)) return {0};
        auto const arithmetic = flop_count(g, n) / flop_per_second, memory = bytes_moved(g, n) / bytes_per_second;
        return {launch + (arithmetic > memory ? arithmetic : memory)};
    }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const {
        return hasher{static_cast<std::uint64_t>(splits)}
            .add_real(launch)
            .add_real(flop_per_second)
            .add_real(bytes_per_second)
            .finish();
    }
};

/// Energy cost model: `per_flop` for each operation, `per_byte` for each byte moved. The defaults are those of a
/// processor in 45 nm (an addition 0.9 pJ, a multiplication 3.7 pJ, 64 bits from memory 1.3 to 2.6 nJ): not calibrated
/// for any machine, and good only to compare graphs. *Source* Horowitz, "Computing's energy problem", ISSCC 2014.
struct energy {
    using unit = gsub::joules;
    static constexpr bool concurrent = true;
    double per_flop = 2.3e-12, per_byte = 2.4e-10; ///< joules, >= 0
    split_lowering splits = split_lowering::view;

    unit operator()(any_graph const& g, node_id n) const {
        return {is_executed(g, n, splits) ? per_flop * flop_count(g, n) + per_byte * bytes_moved(g, n) : 0};
    }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const {
        return hasher{static_cast<std::uint64_t>(splits)}.add_real(per_flop).add_real(per_byte).finish();
    }
};

/// Peak memory: the most bytes of inputs and intermediate results alive at one time, when nodes run in the graph's
/// order. Weights are not counted, views take no memory of their own. Not additive. *Complexity* O(n + e).
struct peak_memory {
    using unit = gsub::bytes;
    static constexpr bool concurrent = true;
    unit operator()(any_graph const& g) const;
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/analytic.ipp>
#endif
