// Module: named functions that call each other.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops_control.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

/// Function attributes, set by the passes that make functions.
struct function_attributes {
    bool primitive = false;       ///< one kernel
    std::string composite_name{}; ///< the pattern that it was matched by
    std::string compiler{};       ///< who generates code for it
    std::string symbol{};         ///< name in generated code
    friend bool operator==(function_attributes const&, function_attributes const&) = default;
};

/// Function: a named graph with attributes.
struct function {
    std::string name;
    function_attributes attributes;
    any_graph body;
};

/// Limit of inlining, in nodes; larger graphs are refused. Functions that call others twice double in size at each
/// level.
inline constexpr std::size_t max_inlined_nodes = std::size_t{1} << 22;

/// Branch functions: what the `If` nodes of a graph may run, by name, each without calls.
using branch_functions = std::map<std::string, any_graph>;

/// Module: ordered functions. `ops::call` and `ops::if_else` nodes name their callees; the default entry point is
/// `main`.
class module {
public:
    /// Adds a function, or replaces the one of that name in place. A function keeps its name.
    GSUB_LAZY function& add(std::string name, any_graph body, function_attributes attributes = {});
    [[nodiscard]] function const* find(std::string_view name) const noexcept;
    [[nodiscard]] function* find(std::string_view name) noexcept;
    [[nodiscard]] std::span<function const> functions() const noexcept { return as_span(functions_); }
    /// Names of the functions that may be called from outside.
    [[nodiscard]] std::vector<std::string> const& entry_points() const noexcept { return entries_; }
    void set_entry_points(std::vector<std::string> names) { entries_ = std::move(names); }

    /// Structural hash of the entry points with everything that they call. Names of other functions do not count.
    /// *Errors* `invalid_input` for a call of an unknown function or a recursive one.
    GSUB_LAZY [[nodiscard]] result<hash128> hash() const;
    /// Inlines a function: replaces every call by the callee's nodes, and every `If` of known condition by those of the
    /// branch taken. Other `If` nodes stay, with the names of their branches. *Errors* as `hash`, `invalid_input` where
    /// a call does not fit the callee's signature, `unsupported` beyond `max_inlined_nodes`.
    GSUB_LAZY [[nodiscard]] result<any_graph> inlined(std::string_view entry = "main") const;

    /// Branch functions that the `If` nodes of a graph may call, and those that their bodies may, by name and each
    /// inlined. *Errors* as `inlined`.
    GSUB_LAZY [[nodiscard]] result<branch_functions> branches(any_graph const& g) const;

private:
    GSUB_LAZY [[nodiscard]] any_graph flattened(std::string_view entry, bool name_branches_by_contents) const;
    std::vector<function> functions_;
    std::map<std::string, std::size_t, std::less<>> places_; // of functions, by name
    std::vector<std::string> entries_{"main"};
};

/// Adds a call of a function of `m`, with the result types of its body. *Errors* throws `error` (`invalid_input`) where
/// there is no such function or the operands do not fit.
GSUB_LAZY node_id add_call(any_graph& g, module const& m, std::string_view callee, std::span<value_id const> operands);

/// Adds an `If` of two functions of `m` that take `operands`; a result has the type of which both branches are an
/// instance.
/// *Errors* throws `error` (`invalid_input`) where a function is missing, the operands do not fit, the branches give
/// different numbers of results or results of different element types, or the condition is no truth value.
GSUB_LAZY node_id add_if(any_graph& g, module const& m, value_id condition, std::string_view then_branch,
                         std::string_view else_branch, std::span<value_id const> operands);

/// Inlines a call, or an `If` whose condition is a constant: replaces it by the nodes of the function called; false
/// where the node is neither. Calls in that function stay calls. Invalidates nothing but the node's id. *Errors* throws
/// `error` (`invalid_input`) where there is no such function or it does not fit.
GSUB_LAZY bool inline_call(any_graph& g, module const& m, node_id n);
/// Inlines every `If` of known condition in every function; gives their number. Functions that nothing calls any more
/// stay. *Errors* as above.
GSUB_LAZY std::size_t inline_known_branches(module& m);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/module.ipp>
#endif
