// Operators of ONNX Runtime's domain com.microsoft, which its optimizer writes into files.
#pragma once

#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions_math.ipp>
#include <gsub/io/impl/onnx_functions_nn.ipp>
#include <gsub/io/impl/onnx_functions_rnn.ipp>
#include <gsub/io/impl/onnx_window.ipp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gsub::io::detail {

// ---- activations

GSUB_INLINE value_id import_biased_gelu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    return to.make<ops::gelu>({}, {cx.has(1) ? to.add(x, to.operand(1)) : x});
}
GSUB_INLINE value_id import_fast_gelu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    return to.make<ops::gelu>({.approximate = "tanh"}, {cx.has(1) ? to.add(x, to.operand(1)) : x});
}
GSUB_INLINE value_id import_quick_gelu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const alpha = cx.real("alpha").value_or(static_cast<double>(1.702f));
    return gated(to, to.floating(0), alpha);
}

// ---- products

// The last two dimensions change places.
GSUB_INLINE value_id with_turned_rows(function_writer const& to, value_id v) {
    auto const rank = to.rank(v);
    if (rank < 2) return v;
    auto perm = function_writer::axes_from(0, rank);
    std::swap(perm[rank - 2], perm[rank - 1]);
    return to.make<ops::transpose>({.perm = perm}, {v});
}

GSUB_INLINE value_id import_fused_mat_mul(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const alpha = cx.real("alpha").value_or(1);
    auto const turn_a = cx.integer("transA").value_or(0) != 0, turn_b = cx.integer("transB").value_or(0) != 0;
    if (cx.integer("transBatchA").value_or(0) != 0 || cx.integer("transBatchB").value_or(0) != 0)
        cx.unsupported("transposed batches");
    auto const a = to.floating(0), b = to.floating(1);
    auto const y = to.make<ops::mat_mul>(turn_a ? with_turned_rows(to, a) : a, turn_b ? with_turned_rows(to, b) : b);
    return alpha == 1 ? y : to.mul(y, to.number(alpha, y));
}

GSUB_INLINE value_id import_fused_gemm(onnx_import_context& cx) {
    function_writer const to{cx};
    attributes_of<ops::gemm> how;
    how.alpha = cx.real("alpha").value_or(1), how.beta = cx.real("beta").value_or(1);
    how.transpose_a = cx.integer("transA").value_or(0) != 0, how.transpose_b = cx.integer("transB").value_or(0) != 0;
    auto const a = to.floating(0), b = to.floating(1);
    auto const y = cx.has(2) ? to.make<ops::gemm>(how, {a, b, to.operand(2)}) : to.make<ops::gemm>(how, {a, b});
    auto const name = cx.text("activation").value_or("");
    auto const alpha = cx.real("activation_alpha").value_or(0), beta = cx.real("activation_beta").value_or(0);
    if (cx.has_attribute("activation_gamma")) cx.unsupported("activation_gamma");
    if (name.empty()) return y;
    std::span<double const> alphas{&alpha, 1}, betas{&beta, 1};
    return recurrent_activation{cx, name, alphas, betas}(to, y);
}

// Convolution, a value that is added, an activation.
GSUB_INLINE value_id import_fused_conv(onnx_import_context& cx) {
    function_writer const to{cx};
    attributes_of<ops::conv> how{read_window(cx, read_kernel(cx, 1))};
    how.group = cx.integer("group").value_or(1);
    auto const x = to.floating(0), w = to.floating(1);
    auto y = cx.has(2) ? to.make<ops::conv>(how, {x, w, to.operand(2)}) : to.make<ops::conv>(how, {x, w});
    if (cx.has(3)) y = to.add(y, to.operand(3));
    auto const name = cx.text("activation").value_or("");
    auto const numbers = cx.real_list("activation_params").value_or(reals{});
    if (name.empty()) return y;
    if (name == "Clip") {
        if (numbers.size() != 2) cx.invalid(format_text("{} bounds of a clip", numbers.size()));
        return to.make<ops::clip>({.min = numbers[0], .max = numbers[1]}, {y});
    }
    std::span<double const> const all{numbers.data(), numbers.size()};
    auto alphas = all.first(std::min<std::size_t>(all.size(), 1)), betas = all.subspan(alphas.size());
    return recurrent_activation{cx, name, alphas, betas}(to, y);
}

// ---- normalisations

// x / sqrt(mean of x^2 + epsilon) over the last dimension, scaled.
GSUB_INLINE value_id root_mean_square_norm(function_writer const& to, value_id given, value_id scale, double epsilon) {
    auto const x = to.widened(given);
    auto const square = to.reduced<ops::reduce_mean>(to.mul(x, x), {-1});
    auto const y = to.div(x, to.make<ops::sqrt>(to.add(square, to.number(epsilon, square))));
    return to.mul(to.cast(y, to.element(given)), scale);
}

// What is normalised: a sum, which may be asked for too. Mean and deviation are of training.
GSUB_INLINE value_id skipped_sum(function_writer const& to, std::size_t bias) {
    auto& cx = to.node();
    for (auto i : {std::size_t{1}, std::size_t{2}})
        if (cx.result_is_read(i)) cx.unsupported("statistics as results");
    auto sum = to.add(to.floating(0), to.floating(1));
    if (cx.has(bias)) sum = to.add(sum, to.operand(bias));
    if (cx.results() > 3) cx.give(3, sum);
    return sum;
}

GSUB_INLINE value_id import_skip_layer_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const epsilon = cx.real("epsilon").value_or(static_cast<double>(1e-12f));
    auto const sum = skipped_sum(to, 4), scale = to.floating(2);
    attributes_of<ops::layer_norm> const how{.epsilon = epsilon};
    return cx.has(3) ? to.make<ops::layer_norm>(how, {sum, scale, to.operand(3)})
                     : to.make<ops::layer_norm>(how, {sum, scale});
}
GSUB_INLINE value_id import_skip_rms_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const epsilon = cx.real("epsilon").value_or(static_cast<double>(1e-12f));
    auto const sum = skipped_sum(to, 3);
    return root_mean_square_norm(to, sum, to.floating(2), epsilon);
}
// Of ONNX Runtime, in ONNX's own domain.
GSUB_INLINE value_id import_simplified_layer_norm(onnx_import_context& cx) {
    if (cx.result_is_read(1)) cx.unsupported("statistics as results");
    return import_rms_norm(cx);
}

// Words, places and kinds of a text, looked up, added and normalised.
GSUB_INLINE value_id import_embed_layer_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const epsilon = cx.real("epsilon").value_or(static_cast<double>(1e-12f));
    cx.ignore("mask_index_type");
    if (cx.result_is_read(1)) cx.unsupported("an index of the mask as result");
    auto const ids = to.typed(0), places = to.floating(3);
    if (to.rank(ids) != 2) cx.invalid(format_text("identifiers {}", to_string(cx.type(0))));
    auto sum = to.make<ops::gather>(to.floating(2), ids);
    auto const steps = to.size(ids, 1);
    sum = to.add(sum, cx.has(8)
                          ? to.make<ops::gather>(places, to.operand(8))
                          : to.make<ops::slice>({.starts = {0}, .ends = {steps}, .axes = {0}, .steps = {1}}, {places}));
    if (cx.has(1) && cx.has(4)) sum = to.add(sum, to.make<ops::gather>(to.operand(4), to.operand(1)));
    if (cx.results() > 2) cx.give(2, sum);
    return to.make<ops::layer_norm>({.epsilon = epsilon}, {sum, to.floating(5), to.floating(6)});
}

// ---- attention

// 0 where a key is seen, or a great negative number: of a mask of keys [batch, keys], of queries and keys, or of
// numbers of keys [batch].
GSUB_INLINE value_id padding_bias(function_writer const& to, value_id mask, value_id scores, std::int64_t keys,
                                  double masked) {
    auto const rank = to.rank(mask);
    value_id seen;
    if (rank == 1) {
        if (to.size(mask, 0) != to.size(scores, 0)) to.node().unsupported("ends and begins of keys");
        auto const there = to.make<ops::unsqueeze>({.axes = {1, 2, 3}}, {to.cast(mask, dtype::i64)});
        seen = to.make<ops::less>(to.counted(keys, 3, 4), there);
    } else if (rank == 2 || rank == 3) {
        auto const there = to.make<ops::greater>(mask, to.integer(0, to.element(mask)));
        seen = to.make<ops::unsqueeze>({.axes = rank == 2 ? ints{1, 2} : ints{1}}, {there});
    } else {
        to.node().unsupported(format_text("a mask of {} dimensions", rank));
    }
    return to.select(seen, to.number(0, scores), to.number(masked, scores));
}

/// Attention of one sequence over itself, with the weights of its three products in one matrix, as encoders have it.
class packed_attention {
public:
    explicit packed_attention(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          heads_(cx.integer("num_heads").value_or(0)),
          causal_(cx.integer("unidirectional").value_or(0) != 0),
          masked_(cx.real("mask_filter_value").value_or(-10000)),
          scale_(cx.real("scale")) {
        if (heads_ < 1) cx.invalid(format_text("num_heads {}", heads_));
        if (cx.integer("do_rotary").value_or(0) != 0) cx.unsupported("rotary embeddings inside");
        if (cx.has(4) || cx.has(6) || cx.result_is_read(1)) cx.unsupported("a past");
    }
    value_id run() {
        auto const x = to_.floating(0), w = to_.floating(1);
        if (to_.rank(x) != 3 || to_.rank(w) != 2)
            cx_.invalid(format_text("operands {}, {}", to_string(cx_.type(0)), to_string(cx_.type(1))));
        batch_ = to_.size(x, 0), steps_ = to_.size(x, 1);
        auto const all = to_.size(w, 1);
        auto const sizes = cx_.integer_list("qkv_hidden_sizes").value_or(ints{all / 3, all / 3, all / 3});
        if (sizes.size() != 3 || sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != all ||
            sizes[0] % heads_ != 0 || sizes[2] % heads_ != 0)
            cx_.invalid(format_text("weights {} for {} heads", to_string(cx_.type(1)), heads_));
        auto packed = to_.make<ops::mat_mul>(x, w);
        if (cx_.has(2)) packed = to_.add(packed, to_.operand(2));
        auto const q = heads(packed, 0, sizes[0], {0, 2, 1, 3}), k = heads(packed, sizes[0], sizes[0], {0, 2, 3, 1}),
                   v = heads(packed, 2 * sizes[0], sizes[2], {0, 2, 1, 3});
        auto const by = scale_ ? 1 / *scale_ : std::sqrt(static_cast<double>(sizes[0] / heads_));
        auto scores = to_.make<ops::mat_mul>(q, k);
        scores = to_.div(scores, to_.number(by, scores));
        if (cx_.has(3)) scores = to_.add(scores, padding_bias(to_, to_.typed(3), scores, steps_, masked_));
        if (causal_) {
            auto const behind = to_.make<ops::less>(to_.counted(steps_, 2, 4), to_.counted(steps_, 3, 4));
            scores = to_.select(behind, to_.number(-std::numeric_limits<double>::infinity(), scores), scores);
        }
        if (cx_.has(5)) scores = to_.add(scores, to_.operand(5));
        auto const mixed = to_.make<ops::mat_mul>(to_.make<ops::softmax>({.axis = -1}, {scores}), v);
        auto const turned = to_.make<ops::transpose>({.perm = {0, 2, 1, 3}}, {mixed});
        return to_.fixed(turned, {batch_, steps_, sizes[2]});
    }

private:
    [[nodiscard]] value_id heads(value_id packed, std::int64_t first, std::int64_t size, ints const& order) const {
        auto const part =
            to_.make<ops::slice>({.starts = {first}, .ends = {first + size}, .axes = {2}, .steps = {1}}, {packed});
        return to_.make<ops::transpose>({.perm = order}, {to_.fixed(part, {batch_, steps_, heads_, size / heads_})});
    }

    onnx_import_context& cx_;
    function_writer to_;
    std::int64_t heads_;
    bool causal_;
    double masked_;
    std::optional<double> scale_;
    std::int64_t batch_ = 0, steps_ = 0;
};

GSUB_INLINE value_id import_packed_attention(onnx_import_context& cx) {
    return packed_attention{cx}.run();
}

} // namespace gsub::io::detail
