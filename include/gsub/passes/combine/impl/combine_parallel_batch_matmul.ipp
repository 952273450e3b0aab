#pragma once

#include <gsub/passes/combine/combine_parallel_batch_matmul.hpp>
#include <gsub/passes/combine/impl/combine_parallel_conv2d.ipp>

namespace gsub::passes {

GSUB_LAZY_BODY result<combine_parallel_batch_matmul> combine_parallel_batch_matmul::from_text(std::string_view text) {
    return capture([&] {
        combine_parallel_batch_matmul p;
        p.min_branches = detail::branches_in(name, text);
        return p;
    });
}

GSUB_LAZY_BODY result<pass_outcome> combine_parallel_batch_matmul::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        return detail::sibling_combiner<>{g, cx, detail::sibling_kind::batches, min_branches}.run();
    });
}

} // namespace gsub::passes
