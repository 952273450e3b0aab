#pragma once

#include <gsub/passes/fold/forward_fold_scale_axis.hpp>
#include <gsub/passes/fold/impl/backward_fold_scale_axis.ipp>

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> forward_fold_scale_axis::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::scale_folder<>{g, cx}.forward(); });
}

} // namespace gsub::passes
