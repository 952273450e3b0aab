// ToANormalForm: binds every value to a let.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Binds each value that is read, weights too, by one `ops::let`, and reads the binding instead. The order of nodes
/// follows from the outputs alone, operands first, whatever the order of insertion was. A let or a parameter is not
/// bound again. Names of values go to their bindings. Bodies of functions are scopes: a node stays in its function.
/// `to_graph_normal_form` removes the bindings. Outcome: `matches` counts the bindings made.
/// *Source* docs/decisions/0013. *Complexity* O(n + e).
struct to_a_normal_form {
    static constexpr auto facts = pass_facts(
        "to-a-normal-form", exactness::bit_exact, "binds every value by a let, in an order that the outputs give",
        {.tvm_name = "ToANormalForm", .level = 1, .classes = {"AD"}, .aliases = {"ANF"}});
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/normal_form/impl/to_a_normal_form.ipp>
#endif
