#pragma once

#include <gsub/core/message.hpp>
#include <gsub/ir/ops_matmul.hpp>

namespace gsub {

namespace detail {
GSUB_INLINE void infer_product(infer_context& cx, tensor_type a, tensor_type b, dtype element) {
    auto const type_a = a, type_b = b;
    if (!a.ranked || !b.ranked) {
        tensor_type out;
        out.element = element;
        return cx.result(0, out);
    }
    if (a.rank() == 0 || b.rank() == 0)
        return cx.fail("a scalar operand; it takes vectors, matrices and stacks of them");
    auto const vector_a = a.rank() == 1, vector_b = b.rank() == 1;
    if (vector_a) a.dims.insert(0, dim{1});
    if (vector_b) b.dims.push_back(dim{1});
    auto const inner_a = a.dims[a.rank() - 1], inner_b = b.dims[b.rank() - 2];
    if (provably_different(inner_a, inner_b))
        return cx.fail(message({"inner dimensions ", to_string(inner_a), " and ", to_string(inner_b), " of ",
                                to_string(type_a), " and ", to_string(type_b), " differ"}));
    auto batch = broadcast(shape(a.dims.begin(), a.dims.end() - 2), shape(b.dims.begin(), b.dims.end() - 2));
    if (!batch)
        return cx.fail(
            message({"batch dimensions of ", to_string(type_a), " and ", to_string(type_b), " do not broadcast"}));
    auto dims = std::move(*batch);
    if (!vector_a) dims.push_back(a.dims[a.rank() - 2]);
    if (!vector_b) dims.push_back(b.dims[b.rank() - 1]);
    cx.result(0, {element, dims});
}
} // namespace detail

GSUB_INLINE void infer_shape<ops::mat_mul>::infer(infer_context& cx) {
    auto const &a = cx.type(0), &b = cx.type(1);
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(message({"operands ", to_string(a), " and ", to_string(b), "; element types must be equal"}));
    detail::infer_product(cx, a, b, a.element != dtype::undefined ? a.element : b.element);
}

GSUB_INLINE void infer_shape<ops::gemm>::infer(infer_context& cx) {
    auto const& attributes = cx.attributes<ops::gemm>();
    auto const &a = cx.type(0), &b = cx.type(1);
    if ((a.ranked && a.rank() != 2) || (b.ranked && b.rank() != 2))
        return cx.fail(message({"operands ", to_string(a), " and ", to_string(b), "; both must be matrices"}));
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(message({"operands ", to_string(a), " and ", to_string(b), "; element types must be equal"}));
    auto const rows = [](tensor_type const& t, bool flip) { return t.ranked ? t.dims[flip ? 1 : 0] : dim{}; };
    auto const inner_a = rows(a, !attributes.transpose_a), inner_b = rows(b, attributes.transpose_b);
    if (provably_different(inner_a, inner_b))
        return cx.fail(message({"inner dimensions ", to_string(inner_a), " and ", to_string(inner_b), " differ"}));
    shape const dims{rows(a, attributes.transpose_a), rows(b, !attributes.transpose_b)};
    auto const element = a.element != dtype::undefined ? a.element : b.element;
    if (cx.has(2) && cx.type(2).element != element && cx.type(2).element != dtype::undefined &&
        element != dtype::undefined)
        return cx.fail(message({"addend ", to_string(cx.type(2)), " of operands ", to_string(a), " and ", to_string(b),
                                "; element types must be equal"}));
    if (cx.has(2) && cx.type(2).ranked) {
        auto const both = broadcast(cx.type(2).dims, dims);
        auto fits = both && both->size() == 2;
        for (std::size_t i = 0; fits && i < 2; ++i) fits = !provably_different((*both)[i], dims[i]);
        if (!fits)
            return cx.fail(message({"addend ", to_string(cx.type(2)), " does not broadcast to [", to_string(dims[0]),
                                    ",", to_string(dims[1]), "]"}));
    }
    cx.result(0, {element, dims});
}

} // namespace gsub
