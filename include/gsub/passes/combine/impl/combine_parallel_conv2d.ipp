#pragma once

#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/combine/impl/sibling_combiner.hpp>

namespace gsub::passes {

GSUB_LAZY_BODY result<combine_parallel_conv2d> combine_parallel_conv2d::from_text(std::string_view text) {
    return detail::with_branches<combine_parallel_conv2d>(text);
}

GSUB_LAZY_BODY result<pass_outcome> combine_parallel_conv2d::operator()(any_graph& g, pass_context& cx) const {
    return detail::combine_siblings(g, cx, detail::sibling_kind::convolutions, min_branches);
}

} // namespace gsub::passes
