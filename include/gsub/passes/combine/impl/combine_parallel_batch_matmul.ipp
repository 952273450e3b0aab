#pragma once

#include <gsub/passes/combine/combine_parallel_batch_matmul.hpp>
#include <gsub/passes/combine/impl/sibling_combiner.hpp>

namespace gsub::passes {

GSUB_LAZY_BODY result<combine_parallel_batch_matmul> combine_parallel_batch_matmul::from_text(std::string_view text) {
    return detail::with_branches<combine_parallel_batch_matmul>(text);
}

GSUB_LAZY_BODY result<pass_outcome> combine_parallel_batch_matmul::operator()(any_graph& g, pass_context& cx) const {
    return detail::combine_siblings(g, cx, detail::sibling_kind::batches, min_branches);
}

} // namespace gsub::passes
