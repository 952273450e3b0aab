// ONNX functions that take elements from places, or put them there.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>
#include <utility>

namespace gsub::io::detail {

// A value that broadcasts to the sizes of another, of these sizes.
GSUB_INLINE value_id spread_like(function_writer const& to, value_id v, value_id like) {
    ints sizes;
    for (std::size_t i = 0; i < to.rank(like); ++i) sizes.push_back(to.size(like, i));
    return to.make<ops::expand>({.shape = sizes}, {v});
}

// A vector along one axis of several.
GSUB_INLINE value_id along_axis(function_writer const& to, value_id vector, std::size_t axis, std::size_t rank) {
    if (to.rank(vector) != 1) to.node().invalid(format_text("{} dimensions of a vector", to.rank(vector)));
    ints others;
    for (std::size_t i = 0; i < rank; ++i)
        if (i != axis) others.push_back(static_cast<std::int64_t>(i));
    return to.make<ops::unsqueeze>({.axes = others}, {vector});
}

GSUB_INLINE value_id import_reverse_sequence(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const of_batch = cx.integer("batch_axis").value_or(1), of_time = cx.integer("time_axis").value_or(0);
    auto const x = to.typed(0);
    auto const rank = to.rank(x);
    auto const batch = to.axis(of_batch, rank), time = to.axis(of_time, rank);
    if (batch == time) cx.invalid("one axis of batch and time");
    auto const lengths = along_axis(to, to.cast(to.typed(1), dtype::i64), batch, rank);
    auto const place = to.counted(to.size(x, time), time, rank);
    auto const back = to.sub(to.sub(lengths, to.integer(1, dtype::i64)), place);
    auto const from = to.select(to.make<ops::less>(place, lengths), back, place);
    return to.make<ops::gather_elements>({.axis = static_cast<std::int64_t>(time)}, {x, spread_like(to, from, x)});
}

// Updates along an axis, from a place on that each sequence of the batch tells.
GSUB_INLINE value_id import_tensor_scatter(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const mode = cx.text("mode").value_or("linear");
    if (mode != "linear" && mode != "circular") cx.invalid(format_text("mode {}", quoted{mode}));
    auto const along = cx.integer("axis").value_or(-2);
    auto const x = to.typed(0), updates = to.typed(1);
    auto const rank = to.rank(x), axis = to.axis(along, rank);
    if (axis == 0) cx.invalid("the axis of the batch");
    auto same = to.rank(updates) == rank;
    for (std::size_t i = 0; same && i < rank; ++i)
        same = i == axis ? to.size(updates, i) <= to.size(x, i) : to.size(updates, i) == to.size(x, i);
    if (!same) cx.invalid(format_text("updates {} for {}", to_string(cx.type(1)), to_string(cx.type(0))));
    auto place = to.counted(to.size(updates, axis), axis, rank);
    if (cx.has(2)) place = to.add(place, along_axis(to, to.cast(to.typed(2), dtype::i64), 0, rank));
    if (mode == "circular") {
        auto const size = to.integer(std::max<std::int64_t>(to.size(x, axis), 1), dtype::i64);
        place = to.sub(place, to.mul(to.div(place, size), size));
    }
    return to.make<ops::scatter_elements>({.axis = static_cast<std::int64_t>(axis)},
                                          {x, spread_like(to, place, updates), updates});
}

// Each element goes back to where a pool has taken it from; all others are 0.
GSUB_INLINE value_id import_max_unpool(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0), places = to.typed(1);
    auto const rank = to.rank(x);
    auto const kernel = cx.integer_list("kernel_shape").value_or(ints{});
    auto const spatial = kernel.size();
    auto const strides = cx.integer_list("strides").value_or(ints(spatial, 1));
    auto const pads = cx.integer_list("pads").value_or(ints(2 * spatial, 0));
    if (rank != spatial + 2 || strides.size() != spatial || pads.size() != 2 * spatial)
        cx.invalid(format_text("{} sizes of a kernel for operand {}", spatial, to_string(cx.type(0))));
    ints sizes{to.size(x, 0), to.size(x, 1)};
    constexpr std::int64_t most = 1 << 30;
    for (std::size_t i = 0; i < spatial; ++i) {
        for (auto const v : {kernel[i], strides[i], pads[i], pads[spatial + i], to.size(x, i + 2)})
            if (v < 0 || v > most) cx.invalid(format_text("a kernel, stride, pad or size of {}", v));
        sizes.push_back((to.size(x, i + 2) - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i]);
    }
    if (cx.has(2)) {
        auto const told = cx.known_ints(2);
        if (!told) cx.unsupported("a shape that is no constant");
        // Whether places count in these sizes or in those of the kernel is read in two ways.
        if (*told != sizes) cx.unsupported("another shape than the kernel tells");
    }
    auto const all = to.product(as_span(sizes));
    auto const zeros = to.make<ops::expand>({.shape = {all}}, {to.number(0, x)});
    auto const flat =
        to.make<ops::scatter_elements>({.axis = 0}, {zeros, to.reshaped(places, {-1}), to.reshaped(x, {-1})});
    return to.make<ops::reshape>(attributes_of<ops::reshape>::to(sizes), {flat});
}

// Elements at the places where a condition holds.
GSUB_INLINE value_id import_compress(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const along = cx.integer("axis");
    auto x = to.operand(0);
    if (!cx.has(1)) cx.invalid("no condition");
    auto const& type = cx.type(1);
    if (type.element != dtype::boolean || (type.ranked && type.rank() != 1))
        cx.invalid(format_text("a condition {}", to_string(type)));
    std::size_t axis = 0;
    if (along)
        axis = to.axis(*along, to.rank(x));
    else
        x = to.reshaped(x, {-1});
    if (!cx.builder().graph().is<ops::constant>(cx.operand(1).node)) // data decide the size
        return to.make<ops::gather>({.axis = static_cast<std::int64_t>(axis)},
                                    {x, to.reshaped(to.make<ops::non_zero>(cx.operand(1)), {-1})});
    auto const& condition = cx.builder().graph().constant_data(cx.operand(1).node);
    auto const size = to.size(x, axis);
    auto const holds = condition.converted_to(dtype::i64);
    std::vector<std::int64_t> chosen;
    std::int64_t place = 0;
    for (auto const one : holds.data<std::int64_t>()) {
        if (one != 0 && place >= size) cx.invalid(format_text("place {} of a dimension of size {}", place, size));
        if (one != 0) chosen.push_back(place);
        ++place;
    }
    auto places = tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(chosen.size())}, chosen);
    return to.make<ops::gather>({.axis = static_cast<std::int64_t>(axis)},
                                {x, cx.builder().constant(std::move(places))});
}

/// Blocks that lie in an image, strided and dilated, and are added where they lie upon each other.
class block_adder {
public:
    explicit block_adder(onnx_import_context& cx) : cx_(cx), to_(cx) {
        auto const image = cx.known_ints(1), block = cx.known_ints(2);
        if (!image || !block) cx.unsupported("shapes that are no constants");
        image_ = *image, block_ = *block;
        auto const spatial = image_.size();
        strides_ = cx.integer_list("strides").value_or(ints(spatial, 1));
        dilations_ = cx.integer_list("dilations").value_or(ints(spatial, 1));
        pads_ = cx.integer_list("pads").value_or(ints(2 * spatial, 0));
        constexpr std::size_t dimensions = 8;
        if (spatial > dimensions) cx.unsupported(format_text("images of {} dimensions", spatial));
        if (spatial == 0 || block_.size() != spatial || strides_.size() != spatial || dilations_.size() != spatial ||
            pads_.size() != 2 * spatial)
            cx.invalid(format_text("{} dimensions of an image, {} of a block", spatial, block_.size()));
        constexpr std::int64_t most = 1 << 30;
        for (auto const* list : {&image_, &block_, &strides_, &dilations_})
            for (auto const v : *list)
                if (v < 1 || v > most) cx.invalid(format_text("a size, stride or dilation of {}", v));
        for (auto const v : pads_)
            if (v < 0 || v > most) cx.invalid(format_text("a pad of {}", v));
        for (std::size_t i = 0; i < spatial; ++i) {
            auto const room = image_[i] + pads_[i] + pads_[spatial + i] - (block_[i] - 1) * dilations_[i] - 1;
            if (room < 0) cx.invalid("a block that is larger than the image");
            counts_.push_back(room / strides_[i] + 1);
        }
    }
    value_id run() {
        auto const given = to_.typed(0);
        if (to_.element(given) == dtype::boolean) cx_.unsupported("truth values");
        auto const x = to_.widened(given);
        auto const block = to_.product(as_span(block_)), blocks = to_.product(as_span(counts_)),
                   pixels = to_.product(as_span(image_));
        if (to_.rank(x) != 3 || to_.size(x, 1) % block != 0 || to_.size(x, 2) != blocks)
            cx_.invalid(format_text("operand {} for {} blocks of {}", to_string(cx_.type(0)), blocks, block));
        auto const images = to_.product({to_.size(x, 0), to_.size(x, 1) / block});
        auto const taken = format_text("{} blocks of {}", blocks, block);
        if (pixels > std::int64_t{1} << 40) cx_.unsupported(taken);
        cx_.take_constant({block, blocks}, taken);
        // What lies outside goes to one place behind the image.
        auto const updates = to_.fixed(x, {images, block * blocks});
        auto const zeros = to_.make<ops::expand>({.shape = {images, pixels + 1}}, {to_.number(0, x)});
        auto const wide = spread_like(to_, cx_.builder().constant(places(block, blocks, pixels)), updates);
        auto const sums = to_.make<ops::scatter_elements>({.axis = 1, .reduction = "add"}, {zeros, wide, updates});
        auto const inside = to_.make<ops::slice>({.starts = {0}, .ends = {pixels}, .axes = {1}, .steps = {1}}, {sums});
        ints sizes{to_.size(x, 0), to_.size(x, 1) / block};
        for (auto const size : image_) sizes.push_back(size);
        return to_.cast(to_.fixed(inside, sizes), to_.element(given));
    }

private:
    // Where each element of each block lies in the image, [1, block * blocks].
    [[nodiscard]] tensor places(std::int64_t block, std::int64_t blocks, std::int64_t pixels) const {
        auto t = tensor::uninitialized(dtype::i64, ints{1, block * blocks});
        auto const out = t.mutable_data<std::int64_t>();
        for (std::int64_t i = 0; i < block * blocks; ++i) {
            auto element = i / blocks, which = i % blocks;
            std::int64_t place = 0, stride = 1;
            for (auto d = image_.size(); d-- > 0;) {
                auto const at = which % counts_[d] * strides_[d] - pads_[d] + element % block_[d] * dilations_[d];
                which /= counts_[d], element /= block_[d];
                if (at < 0 || at >= image_[d]) {
                    place = pixels;
                    break;
                }
                place += at * stride;
                stride *= image_[d];
            }
            out[static_cast<std::size_t>(i)] = place;
        }
        return t;
    }

    onnx_import_context& cx_;
    function_writer to_;
    ints image_, block_, strides_, dilations_, pads_, counts_;
};

GSUB_INLINE value_id import_col2im(onnx_import_context& cx) {
    return block_adder{cx}.run();
}

} // namespace gsub::io::detail
