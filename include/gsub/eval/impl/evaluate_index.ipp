#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate_index.hpp>
#include <gsub/eval/impl/evaluate_tensor.ipp>

#include <cstring>

namespace gsub {

namespace detail {

GSUB_INLINE std::int64_t checked_index(std::int64_t i, std::int64_t size, std::string_view op) {
    if (i < -size || i >= size)
        throw error{problem{error_code::invalid_input,
                            {},
                            std::string{op},
                            format_text("index {} for a dimension of size {}", i, size),
                            {}}};
    return i < 0 ? i + size : i;
}

GSUB_INLINE indexed_parts parts_along(std::span<std::int64_t const> dims, tensor const& indices, std::size_t axis,
                                      std::string_view op) {
    indexed_parts out;
    if (indices.elements() == 0) return out;
    auto const wanted = indices.converted_to(dtype::i64);
    auto const strides = row_major_strides(dims);
    box_index at{indices.dims()};
    for (auto const i : wanted.data<std::int64_t>()) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < dims.size(); ++d)
            place += checked_index(d == axis ? i : at[d], dims[d], op) * strides[d];
        out.places.push_back(place);
        at.next();
    }
    return out;
}

GSUB_INLINE indexed_parts parts_by_rows(std::span<std::int64_t const> dims, tensor const& indices, std::size_t batch,
                                        std::string_view op) {
    indexed_parts out;
    auto const named = static_cast<std::size_t>(indices.dims().back());
    auto const strides = row_major_strides(dims);
    out.length = product(dims.subspan(batch + named));
    if (indices.elements() == 0) return out;
    auto const wanted = indices.converted_to(dtype::i64);
    auto const rows = wanted.data<std::int64_t>();
    box_index at{indices.dims().first(indices.rank() - 1)};
    for (std::size_t row = 0; row < rows.size(); row += named) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < batch; ++d) place += checked_index(at[d], dims[d], op) * strides[d];
        for (std::size_t d = 0; d < named; ++d)
            place += checked_index(rows[row + d], dims[batch + d], op) * strides[batch + d];
        out.places.push_back(place);
        at.next();
    }
    return out;
}

GSUB_INLINE void gather_parts(op_call_args& args, indexed_parts const& parts) {
    auto const& x = *args.operands[0];
    auto& out = args.results[0];
    if (out.size_bytes() == 0) return;
    auto const bytes = byte_size(x.element()), part = static_cast<std::size_t>(parts.length) * bytes;
    auto* to = out.mutable_raw().data();
    for (auto const place : parts.places) {
        std::memcpy(to, x.raw().data() + static_cast<std::size_t>(place) * bytes, part);
        to += part;
    }
}

} // namespace detail

GSUB_INLINE void evaluate<ops::gather_elements>::move(op_call_args& args) {
    auto const dims = args.operands[0]->dims();
    auto const axis = *normalized_axis(detail::typed_attributes<ops::gather_elements>(args).axis, dims.size());
    detail::gather_parts(args, detail::parts_along(dims, *args.operands[1], axis, "GatherElements"));
}

GSUB_INLINE void evaluate<ops::gather_nd>::move(op_call_args& args) {
    auto const batch = static_cast<std::size_t>(detail::typed_attributes<ops::gather_nd>(args).batch_dims);
    detail::gather_parts(args, detail::parts_by_rows(args.operands[0]->dims(), *args.operands[1], batch, "GatherND"));
}

} // namespace gsub
