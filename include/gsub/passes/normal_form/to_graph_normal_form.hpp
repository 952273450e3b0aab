// ToGraphNormalForm: removes lets.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Replaces each `ops::let` by its operand; lets that nothing reads go with the nodes that they alone need. Names of
/// bindings go to the values bound. A graph without let stays as it is. Outcome: `matches` counts the bindings.
/// *Complexity* O(n + e).
struct to_graph_normal_form {
    static constexpr auto facts =
        pass_facts("to-graph-normal-form", exactness::bit_exact, "reads values themselves instead of lets of them",
                   {.tvm_name = "ToGraphNormalForm",
                    .level = 1,
                    .classes = {"RN", "MN"},
                    .aliases = {"GNF"},
                    .enters_primitive = true});
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::let>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/normal_form/impl/to_graph_normal_form.ipp>
#endif
