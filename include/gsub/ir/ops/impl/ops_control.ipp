#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_control.hpp>

namespace gsub {

GSUB_INLINE void infer_shape<ops::if_else>::infer(infer_context& cx) {
    auto const& condition = cx.type(0);
    if ((condition.element != dtype::boolean && condition.element != dtype::undefined) ||
        (condition.is_static() && condition.elements() != 1))
        return cx.fail(format_text("condition {}; it takes one truth value", to_string(condition)));
    for (std::size_t port = 0; port < cx.results(); ++port) cx.result(port, tensor_type{});
}

GSUB_INLINE void infer_shape<ops::let>::infer(infer_context& cx) {
    cx.result(0, cx.type(0));
    if (cx.known(0)) cx.result_knowledge(*cx.known(0));
}

} // namespace gsub
