// AnnotateSpans: records where each node stands in the text of its module.
#pragma once

#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Adds a span to each node, inputs and constants too: its place in `to_text(module)` as one more source, `text:12:3`
/// for line and column; replaces places from an earlier run. Sources outlive rewrites and fusion, and errors and
/// reports name nodes by them where a file gave none. Nothing else changes. Outcome: `matches` counts the nodes whose
/// place is new. *Complexity* O(n) plus the text without elements.
struct annotate_spans {
    static constexpr auto facts =
        pass_facts("annotate-spans", exactness::bit_exact, "notes for each node where it stands in the module's text",
                   {.tvm_name = "AnnotateSpans", .classes = {"AD"}});
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/annotate/impl/annotate_spans.ipp>
#endif
