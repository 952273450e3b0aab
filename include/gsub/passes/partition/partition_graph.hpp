// PartitionGraph: outlines annotated regions as functions.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Makes a function of each annotated region: operators with the same compiler and number, or one operator with number
/// -1. The functions are `primitive`, carry the compiler and, as symbol, their own name, `dnnl_main_0` for the first
/// region of `main`; their results are those results of the region that are read outside, each once. Constants that a
/// region reads go into its function, sharing their elements, and so does weight arithmetic that it alone reads.
/// Annotations for `default` are removed and make no function. Passes do not enter the functions made, and inlining
/// them gives the graph without annotations.
///
/// Left alone, with their annotations: regions that would read their own results, through operators outside or through
/// other regions. Outcome: `matches` counts the functions made and the annotations removed without one. *Complexity*
/// O((n + e) log n).
struct partition_graph {
    static constexpr auto facts =
        pass_facts("partition-graph", exactness::bit_exact, "makes functions of marked parts, for other compilers",
                   {.tvm_name = "PartitionGraph", .classes = {"AD"}});
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::compiler_annotation>(); }
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/partition/impl/partition_graph.ipp>
#endif
