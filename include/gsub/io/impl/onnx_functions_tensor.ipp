// ONNX functions that move elements or make tensors.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>

namespace gsub::io::detail {

// Sizes of an image with channels, [N, C, H, W], and a block.
struct image_blocks {
    std::int64_t channels, height, width, block;
};
GSUB_INLINE image_blocks read_blocks(onnx_import_context& cx, function_writer const& to, value_id x) {
    auto const block = cx.integer("blocksize");
    if (!block || *block < 1) cx.invalid(block ? format_text("blocksize {}", *block) : "no blocksize");
    if (to.rank(x) != 4) cx.invalid(format_text("operand {}; it takes four dimensions", to_string(cx.type(0))));
    return {to.size(x, 1), to.size(x, 2), to.size(x, 3), *block};
}

GSUB_INLINE value_id import_depth_to_space(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.operand(0);
    auto const [channels, height, width, b] = read_blocks(cx, to, x);
    auto const mode = cx.text("mode").value_or("DCR");
    if (mode != "DCR" && mode != "CRD") cx.invalid(format_text("mode {}", quoted{mode}));
    constexpr std::int64_t most = 1 << 15;
    if (b > most || channels % (b * b) != 0)
        cx.invalid(format_text("{} channels in blocks of {} x {}", channels, b, b));
    auto const kept = channels / (b * b);
    auto const columns_first = mode == "CRD";
    auto const apart =
        to.reshaped(x, columns_first ? ints{0, kept, b, b, height, width} : ints{0, b, b, kept, height, width});
    auto const moved =
        to.make<ops::transpose>({.perm = columns_first ? ints{0, 1, 4, 2, 5, 3} : ints{0, 3, 4, 1, 5, 2}}, {apart});
    return to.reshaped(moved, {0, kept, height * b, width * b});
}

GSUB_INLINE value_id import_space_to_depth(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.operand(0);
    auto const [channels, height, width, b] = read_blocks(cx, to, x);
    auto const mode = cx.text("mode").value_or("DCR");
    if (mode != "DCR" && mode != "CRD") cx.invalid(format_text("mode {}", quoted{mode}));
    if (height % b != 0 || width % b != 0) cx.invalid(format_text("{} x {} pixels in blocks of {}", height, width, b));
    auto const apart = to.reshaped(x, {0, channels, height / b, b, width / b, b});
    auto const moved =
        to.make<ops::transpose>({.perm = mode == "CRD" ? ints{0, 1, 3, 5, 2, 4} : ints{0, 3, 5, 1, 2, 4}}, {apart});
    return to.reshaped(moved, {0, channels * b * b, height / b, width / b});
}

// Each dimension that is repeated gets one beside it, over which the elements are expanded.
GSUB_INLINE value_id import_tile(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.operand(0);
    auto const repeats = cx.known_ints(1);
    if (!repeats) cx.unsupported("repeats that are no constant");
    auto const rank = to.rank(x);
    if (repeats->size() != rank) cx.invalid(format_text("{} repeats for rank {}", repeats->size(), rank));
    ints apart, wide, sizes;
    for (std::size_t i = 0; i < rank; ++i) {
        auto const times = (*repeats)[i], size = to.size(x, i);
        if (times < 0) cx.invalid(format_text("{} repeats", times));
        if (times != 1) apart.push_back(1), wide.push_back(times);
        apart.push_back(size), wide.push_back(size);
        sizes.push_back(times);
        if (__builtin_mul_overflow(times, size, &sizes.back())) cx.invalid("more elements than can be counted");
    }
    if (wide.size() == rank) return to.make<ops::identity>(x);
    auto const reshaped = [&](value_id v, ints const& s) {
        return to.make<ops::reshape>(attributes_of<ops::reshape>::to(s), {v});
    };
    return reshaped(to.make<ops::expand>({.shape = wide}, {reshaped(x, apart)}), sizes);
}

// The name that ScatterElements had before.
GSUB_INLINE value_id import_scatter(onnx_import_context& cx) {
    auto const axis = cx.integer("axis").value_or(0);
    return cx.add<ops::scatter_elements>({.axis = axis}, cx.all_operands());
}

GSUB_INLINE value_id import_size(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const& x = cx.type(0);
    auto const count = x.is_static() ? x.elements() : std::nullopt;
    if (!count) cx.unsupported("the number of elements of a tensor of unknown shape");
    return cx.builder().constant(tensor::scalar(*count));
}

// Places of a matrix, the last two dimensions, relative to its diagonal: columns minus rows.
GSUB_INLINE value_id beyond_diagonal(function_writer const& to, value_id x) {
    auto const rank = to.rank(x);
    if (rank < 2) to.node().invalid(format_text("rank {}; it takes matrices", rank));
    auto const rows = to.counted(to.size(x, rank - 2), 0, 2), columns = to.counted(to.size(x, rank - 1), 0, 1);
    return to.sub(columns, rows);
}

GSUB_INLINE value_id import_trilu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const upper = cx.integer("upper").value_or(1) != 0;
    auto const x = to.typed(0), beyond = beyond_diagonal(to, x);
    auto const k = cx.has(1) ? to.operand(1) : to.number(0, beyond);
    auto const kept = upper ? to.make<ops::greater_or_equal>(beyond, k) : to.make<ops::less_or_equal>(beyond, k);
    return to.select(kept, x, to.number(0, x));
}

GSUB_INLINE value_id import_eye_like(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const k = cx.integer("k").value_or(0);
    auto element = cx.type(0).element;
    if (auto const number = cx.integer("dtype")) {
        auto const given = dtype_of_onnx(*number);
        if (!given) cx.unsupported(format_text("element type number {}", *number));
        element = *given;
    }
    if (element == dtype::undefined) cx.unsupported("an operand of unknown element type");
    auto const x = to.operand(0);
    if (to.rank(x) != 2) cx.invalid(format_text("rank {}; it takes a matrix", to.rank(x)));
    auto const beyond = beyond_diagonal(to, x);
    auto const diagonal = cx.builder().constant(tensor::scalar(k));
    return to.cast(to.make<ops::equal>(beyond, diagonal), element);
}

GSUB_INLINE value_id import_one_hot(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const indices = to.typed(0), values = to.typed(2);
    auto const rank = to.rank(indices) + 1;
    auto const axis = to.axis(cx.integer("axis").value_or(-1), rank);
    auto const given = cx.known_number(1);
    if (!given) cx.unsupported("a depth that is no constant");
    if (!(*given >= 0 && *given <= 1 << 24)) cx.invalid(format_text("depth {}", *given));
    auto const depth = static_cast<std::int64_t>(*given);
    auto const place =
        to.make<ops::unsqueeze>({.axes = {static_cast<std::int64_t>(axis)}}, {to.cast(indices, dtype::i64)});
    // Negative ones count from the end; what is beyond both is nowhere.
    auto const from_front = to.add(place, to.number(static_cast<double>(depth), place));
    auto const wrapped = to.select(to.make<ops::less>(place, to.number(0, place)), from_front, place);
    auto const one_of = [&](std::int64_t i) {
        return to.make<ops::gather>(values, cx.builder().constant(tensor::scalar(i)));
    };
    return to.select(to.make<ops::equal>(wrapped, to.counted(depth, axis, rank)), one_of(1), one_of(0));
}

} // namespace gsub::io::detail
