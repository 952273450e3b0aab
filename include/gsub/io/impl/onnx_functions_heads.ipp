// Attention of com.microsoft whose products come from other nodes: by heads, with a cache, with rotary embeddings.
#pragma once

#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions_attention.ipp>
#include <gsub/io/impl/onnx_functions_microsoft.ipp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace gsub::io::detail {

/// What several kinds of attention share: numbers of heads, a scale, and shapes. Halves are computed in f32.
class heads_of_attention {
public:
    explicit heads_of_attention(onnx_import_context& cx) : to_(cx), scale_(cx.real("scale").value_or(0)) {}

    [[nodiscard]] value_id part(value_id v, std::int64_t axis, std::int64_t first, std::int64_t count) const {
        return to_.make<ops::slice>({.starts = {first}, .ends = {first + count}, .axes = {axis}, .steps = {1}}, {v});
    }
    // [batch, length, heads, width] of a value [batch, length, heads * width], or the other way round.
    [[nodiscard]] value_id apart(value_id v, std::int64_t heads) const {
        auto const all = to_.size(v, 2);
        if (heads < 1 || all % heads != 0) to_.node().invalid(format_text("{} heads in {} numbers", heads, all));
        return to_.fixed(v, {to_.size(v, 0), to_.size(v, 1), heads, all / heads});
    }
    [[nodiscard]] value_id heads_first(value_id v) const {
        return to_.make<ops::transpose>({.perm = {0, 2, 1, 3}}, {v});
    }
    // Queries [batch, heads, queries, width], keys [batch, heads, keys, width].
    [[nodiscard]] value_id scores(value_id q, value_id k) const {
        auto const by = scale_ != 0 ? 1 / scale_ : std::sqrt(static_cast<double>(to_.size(q, 3)));
        auto const turned = to_.make<ops::transpose>({.perm = {0, 1, 3, 2}}, {k});
        auto const s = to_.make<ops::mat_mul>(q, turned);
        return to_.div(s, to_.number(by, s));
    }
    // [batch, queries, heads * width]
    [[nodiscard]] value_id mixed(value_id scores, value_id v, dtype element) const {
        auto const y = heads_first(to_.make<ops::mat_mul>(to_.make<ops::softmax>({.axis = -1}, {scores}), v));
        return to_.cast(to_.fixed(y, {to_.size(y, 0), to_.size(y, 1), to_.product({to_.size(y, 2), to_.size(y, 3)})}),
                        element);
    }
    [[nodiscard]] value_id hidden(value_id condition, value_id scores) const {
        return to_.select(condition, to_.number(-std::numeric_limits<double>::infinity(), scores), scores);
    }

private:
    function_writer to_;
    double scale_;
};

GSUB_INLINE value_id import_multi_head_attention(onnx_import_context& cx) {
    function_writer const to{cx};
    heads_of_attention const by{cx};
    auto const heads = cx.integer("num_heads").value_or(0);
    auto const causal = cx.integer("unidirectional").value_or(0) != 0;
    auto const masked = cx.real("mask_filter_value").value_or(-10000);
    for (std::size_t i = 6; i < cx.operands(); ++i)
        if (cx.has(i)) cx.unsupported("a past");
    if (cx.result_is_read(3)) cx.unsupported("scores as a result");
    if (!cx.has(1) || !cx.has(2)) cx.unsupported("queries, keys and values in one operand");
    auto const given = to.floating(0), given_keys = to.floating(1), given_values = to.floating(2);
    auto const of_keys = to.rank(given_keys);
    if (to.rank(given) != 3 || (of_keys != 3 && of_keys != 4) || to.rank(given_values) != of_keys)
        cx.unsupported(
            format_text("operands {}, {}, {}", to_string(cx.type(0)), to_string(cx.type(1)), to_string(cx.type(2))));
    if (of_keys == 4 && cx.has(3)) cx.unsupported("a bias beside keys that stand by heads");
    std::int64_t behind = 0; // numbers of the bias that are added already
    auto const by_heads = [&](value_id v) {
        if (to.rank(v) == 4) return v;
        if (cx.has(3)) {
            auto const width = to.size(v, 2), all = to.size(to.floating(3), 0);
            if (width > all - behind) cx.invalid(format_text("a bias {}", to_string(cx.type(3))));
            v = to.add(v, by.part(cx.operand(3), 0, behind, width));
            behind += width;
        }
        return by.heads_first(by.apart(v, heads));
    };
    auto const q = by_heads(given), k = by_heads(given_keys), v = by_heads(given_values);
    if (cx.results() > 1) cx.give(1, k);
    if (cx.results() > 2) cx.give(2, v);
    auto scores = by.scores(to.widened(q), to.widened(k));
    auto const queries = to.size(q, 2), keys = to.size(k, 2);
    if (cx.has(4)) scores = to.add(scores, padding_bias(to, to.typed(4), scores, keys, masked));
    if (causal) scores = by.hidden(to.make<ops::less>(to.counted(queries, 2, 4), to.counted(keys, 3, 4)), scores);
    if (cx.has(5)) scores = to.add(scores, to.widened(to.floating(5)));
    return by.mixed(scores, to.widened(v), to.element(given));
}

GSUB_INLINE value_id import_rotary_of_microsoft(onnx_import_context& cx) {
    function_writer const to{cx};
    heads_of_attention const by{cx};
    if (cx.real("scale").value_or(1) != 1) cx.unsupported("a scale");
    if (cx.integer("is_packed_batching").value_or(0) != 0) cx.unsupported("sequences in one batch");
    auto const interleaved = cx.integer("interleaved").value_or(0) != 0;
    auto heads = cx.integer("num_heads").value_or(0);
    auto const told = cx.integer("rotary_embedding_dim").value_or(0);
    auto const given = to.floating(0), cosines = to.widened(to.floating(2)), sines = to.widened(to.floating(3));
    auto const rank = to.rank(given);
    if (rank != 3 && rank != 4) cx.invalid(format_text("operand {}", to_string(cx.type(0))));
    if (to.rank(cosines) != 2) cx.invalid(format_text("cosines {}", to_string(cx.type(2))));
    auto const pairs = to.size(cosines, 1);
    constexpr std::int64_t most = 1 << 20;
    if (pairs > most) cx.invalid(format_text("cosines {}", to_string(cx.type(2))));
    if (rank == 3 && heads == 0) {
        if (told != 0 || pairs == 0) cx.invalid("no number of heads");
        heads = to.size(given, 2) / (2 * pairs);
    }
    auto const x = rank == 4 ? by.heads_first(to.widened(given)) : by.apart(to.widened(given), heads);
    auto const width = to.size(x, 3);
    if ((told != 0 && told != 2 * pairs) || 2 * pairs > width || (told == 0 && 2 * pairs != width))
        cx.invalid(format_text("cosines {} for heads of {} numbers", to_string(cx.type(2)), width));
    auto places = to.typed(1);
    auto axes = ints{2};
    if (to.rank(places) == 1) { // of the first element; others follow it
        if (to.size(places, 0) != 1) cx.invalid(format_text("places {}", to_string(cx.type(1))));
        places = to.add(to.cast(places, dtype::i64), to.counted(to.size(x, 1), 0, 1));
        axes = {0, 2};
    }
    auto const table = [&](value_id t) {
        return to.make<ops::unsqueeze>({.axes = axes}, {to.make<ops::gather>(t, places)});
    };
    auto const y = turned_pairs(to, x, table(cosines), table(sines), interleaved);
    auto const back =
        rank == 4 ? by.heads_first(y) : to.fixed(y, {to.size(x, 0), to.size(x, 1), to.size(x, 2) * to.size(x, 3)});
    return to.cast(back, to.element(given));
}

/// Attention whose queries share heads of keys. Keys of a cache stand first; each sequence has as many as it tells,
/// the new ones follow them. A query sees the keys up to its own.
class group_query_attention {
public:
    explicit group_query_attention(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          by_(cx),
          query_heads_(cx.integer("num_heads").value_or(0)),
          heads_(cx.integer("kv_num_heads").value_or(0)),
          window_(cx.integer("local_window_size").value_or(-1)),
          cap_(cx.real("softcap").value_or(0)),
          rotary_(cx.integer("do_rotary").value_or(0) != 0),
          interleaved_(cx.integer("rotary_interleaved").value_or(0) != 0) {
        constexpr std::int64_t most = 1 << 20;
        if (heads_ < 1 || query_heads_ < 1 || query_heads_ > most || query_heads_ % heads_ != 0)
            cx.invalid(format_text("{} heads of queries for {} of keys", query_heads_, heads_));
        if (cx.integer("smooth_softmax").value_or(0) > 0) cx.unsupported("smooth_softmax");
        if (cx.integer("qk_output").value_or(0) != 0 || cx.result_is_read(3)) cx.unsupported("scores as a result");
        for (std::size_t i = 11; i < cx.operands(); ++i)
            if (cx.has(i)) cx.unsupported(format_text("operand {}", i));
        if (cx.has(3) != cx.has(4)) cx.invalid("past_key and past_value are given together");
    }

    value_id run() {
        read_operands();
        if (rotary_) {
            queries_ = turned(queries_);
            keys_ = turned(keys_);
        }
        auto const k = cached(3, keys_), v = cached(4, values_);
        if (cx_.results() > 1) cx_.give(1, k);
        if (cx_.results() > 2) cx_.give(2, v);
        // Heads of queries that share one of keys are further rows of it.
        auto const shared = query_heads_ / heads_;
        auto const q = to_.fixed(by_.heads_first(to_.widened(queries_)), {batch_, heads_, shared * steps_, width_});
        auto scores = to_.fixed(by_.scores(q, to_.widened(k)), {batch_, query_heads_, steps_, all_});
        if (cap_ > 0) {
            auto const cap = to_.number(cap_, scores);
            scores = to_.mul(to_.make<ops::tanh>(to_.div(scores, cap)), cap);
        }
        if (cx_.has(10)) scores = to_.add(scores, to_.widened(to_.floating(10)));
        scores = by_.hidden(unseen(), scores);
        auto const shares =
            to_.fixed(to_.make<ops::softmax>({.axis = -1}, {scores}), {batch_, heads_, shared * steps_, all_});
        auto const y =
            to_.fixed(to_.make<ops::mat_mul>(shares, to_.widened(v)), {batch_, query_heads_, steps_, width_});
        return to_.cast(to_.fixed(by_.heads_first(y), {batch_, steps_, query_heads_ * width_}), element_);
    }

private:
    void read_operands() {
        auto const given = to_.floating(0);
        element_ = to_.element(given);
        if (to_.rank(given) != 3) cx_.invalid(format_text("operand {}", to_string(cx_.type(0))));
        batch_ = to_.size(given, 0), steps_ = to_.size(given, 1);
        auto const packed = !cx_.has(1) && !cx_.has(2);
        auto const across = packed ? query_heads_ + 2 * heads_ : query_heads_;
        if (to_.size(given, 2) % across != 0)
            cx_.invalid(format_text("{} heads in operand {}", across, to_string(cx_.type(0))));
        width_ = to_.size(given, 2) / across;
        auto const of_keys = heads_ * width_, of_queries = query_heads_ * width_;
        auto const piece = [&](std::size_t i, std::int64_t first, std::int64_t heads) {
            auto const v = packed ? by_.part(given, 2, first, heads * width_) : to_.floating(i);
            if (to_.rank(v) != 3 || to_.size(v, 0) != batch_ || to_.size(v, 1) != steps_ ||
                to_.size(v, 2) != heads * width_)
                cx_.invalid(
                    format_text("operand {} beside operand {}", to_string(cx_.type(i)), to_string(cx_.type(0))));
            return by_.apart(v, heads);
        };
        queries_ = piece(0, 0, query_heads_);
        keys_ = piece(1, of_queries, heads_), values_ = piece(2, of_queries + of_keys, heads_);
        read_lengths();
    }
    // How many keys each sequence has before the new ones, [batch, 1]; none in a prompt.
    void read_lengths() {
        auto const total = cx_.known_ints(6);
        if (!total || total->size() != 1) cx_.unsupported("a number of keys that is no constant");
        if ((*total)[0] < steps_) cx_.invalid(format_text("{} keys for {} queries", (*total)[0], steps_));
        if (cx_.has(3)) {
            auto const past = to_.floating(3);
            if (to_.rank(past) != 4) cx_.invalid(format_text("a past {}", to_string(cx_.type(3))));
            past_ = to_.size(past, 2);
        }
        constexpr std::int64_t most = 1 << 24;
        if (std::max({steps_, past_, (*total)[0]}) > most) cx_.unsupported(format_text("more than {} keys", most));
        all_ = std::max((*total)[0], past_);
        if (all_ > past_ + steps_) cx_.invalid(format_text("{} keys, of which {} are there", all_, past_ + steps_));
        if ((*total)[0] == steps_) return;
        auto const last = to_.cast(to_.typed(5), dtype::i64); // the place of the last one
        before_ = to_.sub(to_.fixed(last, {batch_, 1}), to_.integer(steps_ - 1, dtype::i64));
    }
    // Places of the new ones, [batch or 1, steps].
    [[nodiscard]] value_id places() const {
        auto const own = to_.fixed(to_.counted(steps_, 1, 2), {1, steps_});
        return before_.valid() ? to_.add(own, before_) : own;
    }
    [[nodiscard]] value_id turned(value_id x) const {
        auto const at = cx_.has(9) ? to_.operand(9) : places();
        auto const table = [&](std::size_t i) {
            auto const t = to_.widened(to_.floating(i));
            if (to_.rank(t) != 2 || to_.size(t, 1) > width_ / 2)
                cx_.invalid(format_text("cosines or sines {} for heads of {} numbers", to_string(cx_.type(i)), width_));
            return to_.make<ops::unsqueeze>({.axes = {2}}, {to_.make<ops::gather>(t, at)});
        };
        auto const cosine = table(7);
        return to_.cast(turned_pairs(to_, to_.widened(x), cosine, table(8), interleaved_), element_);
    }
    // [batch, heads, all, width] of the new ones [batch, steps, heads, width] and the past.
    [[nodiscard]] value_id cached(std::size_t operand, value_id fresh) const {
        auto const added = by_.heads_first(fresh);
        if (past_ == 0) return added;
        auto const past = to_.floating(operand);
        auto const& t = *cx_.builder().type_of(past);
        if (t.rank() != 4 || to_.size(past, 0) != batch_ || to_.size(past, 1) != heads_ || to_.size(past, 2) != past_ ||
            to_.size(past, 3) != width_)
            cx_.invalid(format_text("a past {} for {} heads", to_string(cx_.type(operand)), heads_));
        auto const both = to_.make<ops::concat>({.axis = 2}, {past, added});
        // Row j is of the past, or new where it stands behind what the sequence has.
        auto const row = to_.fixed(to_.counted(all_, 1, 2), {1, all_});
        auto const behind = before_.valid() ? to_.sub(row, before_) : row; // [batch or 1, all]
        auto const number = [&](std::int64_t v) { return to_.integer(v, dtype::i64); };
        auto const is_there = to_.make<ops::less>(behind, number(steps_));
        auto const is_new = to_.make<ops::logical_and>(to_.make<ops::greater_or_equal>(behind, number(0)), is_there);
        auto const old = to_.select(to_.make<ops::less>(row, number(past_)), row, number(past_ - 1));
        auto const from = to_.select(is_new, to_.add(behind, number(past_)), old);
        auto const of_rows = [&](value_id v) { return to_.make<ops::unsqueeze>({.axes = {1, 3}}, {v}); };
        auto const wide = to_.make<ops::expand>({.shape = {batch_, heads_, all_, width_}}, {of_rows(from)});
        auto const rows = to_.make<ops::gather_elements>({.axis = 2}, {both, wide});
        // What lies behind may be anything, as NaN, which times a share of 0 would not be 0.
        return to_.select(of_rows(is_there), rows, to_.number(0, rows));
    }
    // Keys behind a query, and those before its window, [batch or 1, 1, steps, all].
    [[nodiscard]] value_id unseen() const {
        auto const own = to_.make<ops::unsqueeze>({.axes = {1, 3}}, {places()}), keys = to_.counted(all_, 3, 4);
        auto const ahead = to_.make<ops::less>(own, keys);
        if (window_ < 0) return ahead;
        auto const first = to_.sub(own, to_.integer(window_, dtype::i64));
        return to_.make<ops::logical_or>(ahead, to_.make<ops::less_or_equal>(keys, first));
    }

    onnx_import_context& cx_;
    function_writer to_;
    heads_of_attention by_;
    std::int64_t query_heads_, heads_, window_;
    double cap_;
    bool rotary_, interleaved_;
    dtype element_ = dtype::undefined;
    std::int64_t batch_ = 0, steps_ = 0, width_ = 0, past_ = 0, all_ = 0;
    value_id queries_, keys_, values_, before_{};
};

GSUB_INLINE value_id import_group_query_attention(onnx_import_context& cx) {
    return group_query_attention{cx}.run();
}

} // namespace gsub::io::detail
