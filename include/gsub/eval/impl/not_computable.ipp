#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/impl/evaluator.ipp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY void append_not_computable(std::vector<problem>& found, any_graph const& g, eval_table table,
                                     bool has_branches, std::span<node_id const> computed_elsewhere = {}) {
    for (auto n : g.order()) {
        if (g.is<ops::constant>(n) || n == g.return_node()) continue;
        if (std::find(computed_elsewhere.begin(), computed_elsewhere.end(), n) != computed_elsewhere.end()) continue;
        auto const row = g.row(n);
        if (g.is<ops::input>(n)) {
            for (auto const& foreign : g.info().foreign_types)
                if (foreign.first == g.name({n, 0}))
                    found.push_back({errors::element_type,
                                     foreign.first,
                                     {},
                                     "an input that is no tensor of a type that gsub computes with",
                                     {}});
        } else if (g.is<ops::opaque>(n)) {
            auto const& a = g.attributes<ops::opaque>(n);
            auto op = a.domain.empty() ? a.op_type : format_text("{}.{}", a.domain, a.op_type);
            for (auto const& [domain, opset] : g.info().domains)
                if (domain == a.domain) op += format_text("-{}", opset);
            // The reason of a loop ends with that of a node of its body.
            auto const known = !a.reason.empty() && !a.reason.ends_with(ops::not_known);
            found.push_back({known ? errors::operator_form : errors::unknown_operator, g.display_name(n), std::move(op),
                             a.reason.empty() ? std::string{ops::not_known} : a.reason,
                             "gsub ops lists the operators"});
        } else if (g.is<ops::if_else>(n)) {
            if (!has_branches)
                found.push_back({errors::branches_apart, g.display_name(n), std::string{g.op(n).name},
                                 "its branches are functions of a module", "use gsub::evaluate_module"});
        } else if (!table[row].move && !table[row].run && !g.operators().infer[row].build) {
            found.push_back({errors::no_evaluator,
                             g.display_name(n),
                             std::string{g.op(n).name},
                             "no gsub::evaluate for this operator",
                             {}});
        }
    }
}

GSUB_LAZY std::vector<problem> not_computable(any_graph const& g, branch_functions const& branches, eval_table table,
                                              std::span<node_id const> computed_elsewhere = {}) {
    std::vector<problem> found;
    append_not_computable(found, g, table, true, computed_elsewhere);
    for (auto const& [name, body] : branches) append_not_computable(found, body, table, true);
    return found;
}

} // namespace detail

GSUB_LAZY_BODY std::vector<problem> not_computable(any_graph const& g, eval_table table,
                                                   std::span<node_id const> computed_elsewhere,
                                                   branch_functions const* branches) {
    if (branches) return detail::not_computable(g, *branches, table, computed_elsewhere);
    std::vector<problem> found;
    detail::append_not_computable(found, g, table, false, computed_elsewhere);
    return found;
}

GSUB_LAZY_BODY std::vector<problem> not_computable(module const& m, eval_table table, std::string_view entry) {
    auto const g = m.inlined(entry).value();
    return detail::not_computable(g, m.branches(g).value(), table);
}

} // namespace gsub
