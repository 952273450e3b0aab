// ToANormalForm: binds every value to a let.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <string_view>

namespace gsub::passes {

/// Binds each value that is read, weights too, by one `ops::let`, and reads the binding instead. The order of nodes
/// follows from the outputs alone, operands first, whatever the order of insertion was. A let or a parameter is not
/// bound again. Names of values go to their bindings. Bodies of functions are scopes: a node stays in its function.
/// `to_graph_normal_form` removes the bindings. Outcome: `matches` counts the bindings made.
/// *Source* docs/decisions/0013. *Complexity* O(n + e).
struct to_a_normal_form {
    static constexpr std::string_view name = "to-a-normal-form";
    static constexpr std::string_view tvm_name = "ToANormalForm";
    static constexpr std::array<std::string_view, 1> aliases{"ANF"};
    static constexpr std::string_view effect = "binds every value by a let, in an order that the outputs give";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 1;
    static constexpr std::array<std::string_view, 1> classes{"AD"};
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/normal_form/impl/to_a_normal_form.ipp>
#endif
