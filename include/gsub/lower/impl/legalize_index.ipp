// Legalization of operators whose indices are rows: the same with one index each.
#pragma once

#include <gsub/lower/impl/legal_writer.hpp>

namespace gsub::detail {

// The place that each row of indices names, as one index, i64, among all entries of the leading dimensions; indices of
// a row count from the end where they are negative. Where one is out of range, so is the place.
GSUB_LAZY [[nodiscard]] value_id flat_places(legal_writer& w, value_id indices, ints const& of, std::size_t batch) {
    auto const dims = w.sizes(indices);
    auto const count = static_cast<std::size_t>(dims.back());
    std::vector<std::int64_t> extents, strides(count, 1);
    for (std::size_t k = 0; k < count; ++k) extents.push_back(of[batch + k]);
    for (auto k = count - 1; k-- > 0;) strides[k] = strides[k + 1] * extents[k + 1];
    auto const row = [&](std::vector<std::int64_t> const& v) {
        std::int64_t const size[] = {static_cast<std::int64_t>(v.size())};
        return w.constant(tensor::from(std::span<std::int64_t const>{size}, as_span(v)));
    };
    auto const each = strides[0] * extents[0], all = each * product(std::span{of}.first(batch));
    auto const given = w.cast(indices, dtype::i64), sizes = row(extents), zero = w.integer(0, dtype::i64);
    auto const from_start = w.select(w.make<ops::less>(given, zero), w.add(given, sizes), given);
    auto const beyond =
        w.make<ops::logical_or>(w.make<ops::less>(from_start, zero), w.make<ops::greater_or_equal>(from_start, sizes));
    auto const parts = w.select(beyond, w.integer(all, dtype::i64), w.mul(from_start, row(strides)));
    auto const places = w.make<ops::reduce_sum>({.axes = {-1}, .keepdims = false}, {parts});
    if (batch == 0) return places;
    ints broadcast(dims.size() - 1, 1);
    for (std::size_t d = 0; d < batch; ++d) broadcast[d] = of[d];
    auto firsts = tensor::uninitialized(dtype::i64, broadcast);
    std::int64_t first = 0;
    for (auto& x : firsts.mutable_data<std::int64_t>()) x = first, first += each;
    return w.add(places, w.constant(std::move(firsts)));
}
// The leading dimensions as one.
GSUB_LAZY [[nodiscard]] ints joined_dims(ints const& dims, std::size_t count) {
    ints out{product(std::span{dims}.first(count))};
    for (auto d = count; d < dims.size(); ++d) out.push_back(dims[d]);
    return out;
}

GSUB_LAZY_BODY legal_values legalize_gather_nd(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.operand(0), indices = w.operand(1);
    auto const dims = w.sizes(x);
    auto const batch = static_cast<std::size_t>(w.attributes<ops::gather_nd>().batch_dims);
    auto const count = static_cast<std::size_t>(w.sizes(indices).back());
    if (count == 0 || w.elements(x) == 0 || w.elements(indices) == 0) return {};
    auto const entries = w.reshaped(x, joined_dims(dims, batch + count));
    auto const places = flat_places(w, indices, dims, batch);
    return {w.reshaped(w.make<ops::gather>({.axis = 0}, {entries, places}), w.result_type().sizes())};
}

GSUB_LAZY_BODY legal_values legalize_scatter_nd(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.operand(0), indices = w.operand(1), updates = w.operand(2);
    auto const dims = w.sizes(x);
    auto rows = w.sizes(indices);
    auto const count = static_cast<std::size_t>(rows.back());
    if (count <= 1 || w.elements(x) == 0 || w.elements(updates) == 0) return {};
    auto const places = flat_places(w, indices, dims, 0);
    rows.back() = 1;
    value_id const operands[] = {w.reshaped(x, joined_dims(dims, count)), w.reshaped(places, rows), updates};
    return {w.reshaped(w.make_again<ops::scatter_nd>(operands), dims)};
}

} // namespace gsub::detail
