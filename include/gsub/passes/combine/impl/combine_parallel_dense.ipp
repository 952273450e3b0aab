#pragma once

#include <gsub/passes/combine/combine_parallel_dense.hpp>
#include <gsub/passes/combine/impl/sibling_combiner.hpp>

namespace gsub::passes {

GSUB_LAZY_BODY result<combine_parallel_dense> combine_parallel_dense::from_text(std::string_view text) {
    return capture([&] {
        combine_parallel_dense p;
        auto const comma = text.find(',');
        auto const last = comma == text.npos ? text : text.substr(comma + 1);
        p.to_batch = last == "batch" || last == " batch";
        if (p.to_batch) text = comma == text.npos ? std::string_view{} : text.substr(0, comma);
        if (!p.to_batch || !text.empty()) p.min_branches = detail::branches_in(facts.name, text);
        return p;
    });
}

GSUB_LAZY_BODY result<pass_outcome> combine_parallel_dense::operator()(any_graph& g, pass_context& cx) const {
    auto const kind = to_batch ? detail::sibling_kind::stacks : detail::sibling_kind::columns;
    return detail::combine_siblings(g, cx, kind, min_branches);
}

} // namespace gsub::passes
