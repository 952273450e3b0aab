// AnnotateTarget: annotates operators for external compilers.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// What an external compiler supports.
struct compiler_support {
    std::string compiler;
    std::vector<std::string> operators; ///< by name, e.g. `Conv`; composites by theirs; `*`: every operator
    /// Further predicate, if set, on operators that the names allow.
    bool (*takes)(any_graph const& g, node_id n) = nullptr;
};

/// Adds an `ops::compiler_annotation` to each result of the operators that a compiler supports, the first of the list
/// that does. A call of a function made by `merge_composite` counts as an operator with the pattern's name. Operators
/// annotated already stay so; weights and weight arithmetic are never annotated. Outcome: `matches` counts the
/// operators annotated. *Complexity* O(n log n + n k) for k compilers.
struct annotate_target {
    std::vector<compiler_support> compilers{};

    static constexpr auto facts =
        pass_facts("annotate-target", exactness::bit_exact, "marks the operators that another compiler takes",
                   {.tvm_name = "AnnotateTarget", .classes = {"AD"}});
    /// `dnnl: Conv Relu; other: *`
    GSUB_LAZY static result<annotate_target> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/argument_list.ipp>
#include <gsub/passes/partition/impl/annotate_target.ipp>
#endif
