// Conversions to wider types next to what reads them.
#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>

namespace gsub::passes {

/// Copies conversions to wider element types that several elementwise operators read, so that each of them, once fused
/// with its own, reads the narrow value. An operator that reads one twice counts twice. Where other operators read it
/// too, the conversion stays with these, and each elementwise reader gets one of its own. Conversions of weights stay:
/// they are computed beforehand. Sharing equal nodes undoes it (`eliminate_common_subexpr`, `canonicalize`).
/// Outcome: `matches` counts the conversions that were copied. *Complexity* O((n + e) log n).
/// *Source* TVM's CanonicalizeCast.
struct canonicalize_cast {
    static constexpr std::string_view name = "canonicalize-cast";
    static constexpr std::string_view effect = "gives each reader its own conversion to a wider type";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 3;
    static constexpr std::array<std::string_view, 2> classes{"BL", "RN"};
    static bool may_apply(op_histogram const& counts) { return counts.any_of<ops::cast>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/canonicalize/impl/canonicalize_cast.ipp>
#endif
