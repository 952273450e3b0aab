// Functions that somebody else compiles.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <string_view>

namespace gsub::passes {

/// Makes a function of each part that marks name: operators with the same compiler and number, or one operator marked
/// -1. The functions are `primitive`, carry the compiler and, as symbol, their own name, `dnnl_main_0` for the first
/// part of `main`; the results of a part that are read outside of it are their results, each once. Constants that a
/// part reads go into its function, sharing their elements, and so does weight arithmetic that it alone reads. Marks
/// for `default` are taken away and make no function. Passes do not look into the functions made, and inlining them
/// gives the graph without marks.
///
/// Left alone, marks and all: parts that would need their own results, through operators outside or through other
/// parts. Outcome: `matches` counts the functions made and the marks that none was made for. *Complexity* O((n + e) log
/// n).
struct partition_graph {
    static constexpr std::string_view name = "partition-graph";
    static constexpr std::string_view effect = "makes functions of marked parts, for other compilers";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr std::array<std::string_view, 1> classes{"AD"};
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::compiler_annotation>(); }
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/partition/impl/partition_graph.ipp>
#endif
