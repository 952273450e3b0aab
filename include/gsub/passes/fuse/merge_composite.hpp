// MergeComposite: makes functions of operators that match a pattern.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

#include <array>
#include <span>
#include <string_view>

namespace gsub::passes {

namespace detail {
struct nothing_built {
    void operator()(rewrite&) const {}
};
} // namespace detail

/// A composite pattern: a named rule without a replacement. Keep it in a constexpr variable at namespace scope.
/// `composite<"conv_relu">(relu(conv(x, w, maybe<"b">)), where(...))`
template <fixed_string Name, class Match>
constexpr auto composite(Match) {
    return gsub::detail::make_rule<Name, Match, pattern::build_function<detail::nothing_built>>(
        std::array<rule_condition, 0>{}, std::array<rule_condition, 0>{}, {});
}
template <fixed_string Name, class Match, std::size_t W>
constexpr auto composite(Match, pattern::where_list<W> check) {
    return gsub::detail::make_rule<Name, Match, pattern::build_function<detail::nothing_built>>(
        check.conditions, std::array<rule_condition, 0>{}, {});
}

/// Standard composites, for which kernels are common, larger ones first: attention, layer normalisation, gelu,
/// convolution and matrix product with what follows them. Several may share a name.
GSUB_LAZY [[nodiscard]] std::span<rule_program const> standard_composites() noexcept;

/// Makes a function of each match of a pattern, marked by the pattern's name (`function_attributes::composite_name`),
/// and calls it. Patterns earlier in the table go first; of one pattern, matches nearer to the outputs. No operator is
/// in two functions. Functions are named like `conv_relu_0`. Weights that a match alone reads, and constants of one
/// element, go into its function. The pass does not enter kernels and functions of earlier runs.
///
/// Left alone: a match of which a value other than the pattern's results is read elsewhere or is an output, one whose
/// check fails, and one of several results whose function would read its own results. Outcome: `matches` counts the
/// functions made; skips say which check failed. *Complexity* O(patterns x n log n); O(n) more for each match of a
/// pattern of several roots.
struct merge_composite {
    std::span<rule_program const> table = standard_composites();

    static constexpr auto facts =
        pass_facts("merge-composite", exactness::bit_exact, "makes functions of operators that form a pattern",
                   {.tvm_name = "MergeComposite", .classes = {"RN", "MN", "SSD"}});
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fuse/impl/merge_composite.ipp>
#endif
