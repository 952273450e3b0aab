// Attention and rotary embeddings.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <cmath>
#include <limits>
#include <optional>

namespace gsub::io::detail {

/// Attention of a file: softmax(scale * Q K^T + bias) V by heads, as operator sets 23 to 25 define it. Halves are
/// computed in f32. The bias joins a mask, what lies behind a query, what lies outside of its window, and the padding
/// of keys; a query that may see no key at all has the result 0.
class attention_reader {
public:
    explicit attention_reader(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          causal_(cx.integer("is_causal").value_or(0) != 0),
          left_(cx.integer("left_window_size").value_or(-1)),
          right_(cx.integer("right_window_size").value_or(-1)),
          output_(cx.integer("qk_matmul_output_mode").value_or(0)),
          cap_(cx.real("softcap").value_or(0)),
          scale_(cx.real("scale")),
          query_heads_(cx.integer("q_num_heads")),
          key_heads_(cx.integer("kv_num_heads")) {
        if (left_ < -1 || right_ < -1) cx.invalid("window sizes are -1 or more");
        if (output_ < 0 || output_ > 3) cx.invalid(format_text("qk_matmul_output_mode {}", output_));
        if (auto const number = cx.integer("softmax_precision")) {
            softmax_ = dtype_of_onnx(*number);
            if (!softmax_ || !is_floating(*softmax_)) cx.unsupported(format_text("softmax_precision {}", *number));
        }
        if (cx.has(4) != cx.has(5)) cx.invalid("past_key and past_value are given together");
        if (cx.has(4) && cx.has(6)) cx.invalid("a past and nonpad_kv_seqlen");
    }

    value_id run() {
        auto const given = to_.floating(0), given_keys = to_.floating(1), given_values = to_.floating(2);
        auto const rank = to_.rank(given);
        if ((rank != 3 && rank != 4) || to_.rank(given_keys) != rank || to_.rank(given_values) != rank)
            cx_.invalid(format_text("operands {}, {}, {}", to_string(cx_.type(0)), to_string(cx_.type(1)),
                                    to_string(cx_.type(2))));
        auto q = to_.widened(by_heads(given, query_heads_));
        auto keys = by_heads(given_keys, key_heads_), values = by_heads(given_values, key_heads_);
        if (cx_.has(4)) {
            past_ = to_.size(cx_.operand(4), 2);
            keys = to_.make<ops::concat>({.axis = 2}, {cx_.operand(4), keys});
            values = to_.make<ops::concat>({.axis = 2}, {cx_.operand(5), values});
        }
        if (cx_.results() > 1) cx_.give(1, keys);
        if (cx_.results() > 2) cx_.give(2, values);
        auto k = to_.widened(keys), v = to_.widened(values), bias = read_bias(q, k);
        heads_ = to_.size(q, 1);
        auto const shared = to_.size(keys, 1), width = to_.size(q, 3);
        if (shared < 1 || heads_ % shared != 0)
            cx_.invalid(format_text("{} heads of queries for {} of keys", heads_, shared));
        each_ = heads_ / shared;
        if (each_ != 1) tokens_ = to_.size(q, 2);
        q = grouped(q), bias = bias.valid() ? grouped(bias) : bias;
        if (apart()) {
            k = to_.make<ops::unsqueeze>({.axes = {2}}, {k});
            v = to_.make<ops::unsqueeze>({.axes = {2}}, {v});
        }

        auto const by = scale_ ? 1 / *scale_ : std::sqrt(static_cast<double>(width));
        auto const turned = to_.make<ops::transpose>({.perm = apart() ? ints{0, 1, 2, 4, 3} : ints{0, 1, 3, 2}}, {k});
        auto scores = to_.div(to_.make<ops::mat_mul>(q, turned), number(by, q));
        auto told = scores;
        if (cap_ > 0) {
            auto const cap = number(cap_, q);
            scores = to_.mul(to_.make<ops::tanh>(to_.div(scores, cap)), cap);
        }
        if (output_ == 1) told = scores;
        if (bias.valid()) scores = to_.add(scores, bias);
        if (output_ == 2) told = scores;
        auto const computed = to_.element(scores);
        auto const wide = softmax_ && byte_size(*softmax_) > byte_size(computed) ? *softmax_ : computed;
        auto shares = to_.cast(to_.make<ops::softmax>({.axis = -1}, {to_.cast(scores, wide)}), computed);
        // A query that sees nothing has shares that are no numbers. Its result is set, not they, so that both products
        // are one kernel, unless the file asks for them.
        value_id nothing{};
        if (bias.valid() && may_see_nothing_) {
            auto const most = to_.reduced<ops::reduce_max>(bias, {-1});
            nothing = to_.make<ops::equal>(most, to_.number(-infinity, most));
        }
        auto const seen = [&](value_id x) { return to_.select(nothing, to_.number(0, x), x); };
        if (nothing.valid() && output_ == 3) shares = seen(shares);
        if (output_ == 3) told = shares;
        if (cx_.results() > 3) cx_.give(3, to_.cast(together(told), to_.element(given)));
        auto y = to_.make<ops::mat_mul>(shares, v);
        if (nothing.valid() && output_ != 3) y = seen(y);
        return to_.cast(rank == 4 ? together(y) : beside(y), to_.element(given));
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // A constant, as rules on attention expect it.
    [[nodiscard]] value_id number(double v, value_id like) const {
        return cx_.builder().constant(tensor::scalar(v).converted_to(to_.element(like)));
    }
    // [batch, length, heads * width] as [batch, heads, length, width].
    [[nodiscard]] value_id by_heads(value_id x, std::optional<std::int64_t> heads) const {
        if (to_.rank(x) == 4) return x;
        auto const width = to_.size(x, 2);
        if (!heads || *heads < 1 || width % *heads != 0)
            cx_.invalid(format_text("{} heads in {}", heads.value_or(0), to_string(*cx_.builder().type_of(x))));
        return to_.make<ops::transpose>({.perm = {0, 2, 1, 3}}, {to_.reshaped(x, {0, 0, *heads, width / *heads})});
    }
    // Several heads of queries may share one of keys and values, which nobody repeats in memory: of one token they are
    // rows of a matrix, [..., shared, each, width]; else the product reads keys again, [..., shared, each, tokens,
    // width].
    [[nodiscard]] bool apart() const { return each_ != 1 && tokens_ != 1; }
    [[nodiscard]] value_id grouped(value_id x) const { // of queries, or a bias, which may broadcast
        auto const rank = to_.rank(x);
        if (each_ == 1 || rank < 3) return x;
        auto const heads = to_.size(x, rank - 3);
        if (heads == 1 && !apart()) return x;
        ints sizes(rank - 3, 0); // the batch as it is
        sizes.push_back(heads == 1 ? 1 : heads / each_);
        sizes.push_back(heads == 1 ? 1 : each_);
        if (apart()) sizes.push_back(to_.size(x, rank - 2));
        sizes.push_back(to_.size(x, rank - 1));
        return to_.reshaped(x, sizes);
    }
    // [batch, heads, tokens, width] of what is grouped, and [batch, tokens, heads * width].
    [[nodiscard]] value_id together(value_id x) const {
        return each_ == 1 ? x : to_.reshaped(x, {0, heads_, tokens_, to_.size(x, to_.rank(x) - 1)});
    }
    [[nodiscard]] value_id beside(value_id x) const {
        if (each_ != 1 && !apart()) return to_.reshaped(x, {0, 1, -1});
        auto const turned = to_.make<ops::transpose>({.perm = apart() ? ints{0, 3, 1, 2, 4} : ints{0, 2, 1, 3}}, {x});
        return to_.reshaped(turned, {0, 0, -1});
    }
    // 0 where a condition holds, minus infinity elsewhere.
    [[nodiscard]] value_id bias_of(value_id allowed, value_id like) const {
        return to_.select(allowed, to_.number(0, like), to_.number(-infinity, like));
    }
    [[nodiscard]] value_id read_bias(value_id q, value_id k) {
        value_id bias{};
        auto const join = [&](value_id more) { bias = bias.valid() ? to_.add(bias, more) : more; };
        if (cx_.has(3)) {
            may_see_nothing_ = true;
            auto mask = to_.typed(3);
            if (auto const rank = to_.rank(mask); rank > 0) {
                auto const keys = to_.size(k, 2), own = to_.size(mask, rank - 1);
                if (to_.element(mask) != dtype::boolean) mask = to_.cast(mask, to_.element(q));
                if (own < keys && own != 1) { // what it does not reach is not seen
                    ints pads(2 * rank, 0);
                    pads.back() = keys - own;
                    mask = to_.make<ops::pad>(
                        {.pads = pads, .value = to_.element(mask) == dtype::boolean ? 0 : -infinity}, {mask});
                }
            }
            join(to_.element(mask) == dtype::boolean ? bias_of(mask, q) : mask);
        }
        auto const limited = causal_ || left_ >= 0 || right_ >= 0;
        if (limited) {
            auto const queries = to_.size(q, 2), keys = to_.size(k, 2);
            auto place = to_.counted(queries, 0, 2, past_);
            if (cx_.has(6)) { // queries are the last of the keys that are there
                may_see_nothing_ = true;
                auto const there = to_.reshaped(to_.cast(to_.typed(6), dtype::i64), {-1, 1, 1, 1});
                place = to_.add(place, to_.sub(there, to_.integer(queries, dtype::i64)));
            }
            auto const behind = to_.sub(place, to_.counted(keys, 0, 1)); // the place of the query minus that of the key
            auto const within = [&](bool holds, value_id x, std::int64_t most) {
                if (holds) join(bias_of(to_.make<ops::less_or_equal>(x, to_.integer(most, dtype::i64)), q));
            };
            auto const ahead = to_.make<ops::neg>(behind);
            within(causal_, ahead, 0);
            within(left_ >= 0, behind, left_);
            within(right_ >= 0, ahead, right_);
            may_see_nothing_ = may_see_nothing_ || left_ >= 0 || right_ >= 0;
        }
        if (cx_.has(6)) {
            may_see_nothing_ = true;
            auto const there = to_.reshaped(to_.cast(to_.typed(6), dtype::i64), {-1, 1, 1, 1});
            join(bias_of(to_.make<ops::less>(to_.counted(to_.size(k, 2), 0, 1), there), q));
        }
        return bias;
    }

    onnx_import_context& cx_;
    function_writer to_;
    bool causal_, may_see_nothing_ = false;
    std::int64_t left_, right_, output_, past_ = 0;
    std::int64_t heads_ = 1, tokens_ = 1, each_ = 1; // each head of keys has so many of queries
    double cap_;
    std::optional<double> scale_;
    std::optional<std::int64_t> query_heads_, key_heads_;
    std::optional<dtype> softmax_;
};

GSUB_INLINE value_id import_attention(onnx_import_context& cx) {
    return attention_reader{cx}.run();
}

// Pairs of each head's first numbers, turned: [batch, length, heads, width] by cosines and sines
// [batch, length, 1, pairs], or with heads and length the other way round. A pair stands side by side, or half of what
// is turned apart.
GSUB_INLINE value_id turned_pairs(function_writer const& to, value_id x, value_id cosine, value_id sine,
                                  bool interleaved) {
    auto const width = to.size(x, 3), pairs = to.size(cosine, 3), turned = 2 * pairs;
    auto const part = [&](std::int64_t from, std::int64_t end, std::int64_t step) {
        return to.make<ops::slice>({.starts = {from}, .ends = {end}, .axes = {3}, .steps = {step}}, {x});
    };
    if (!interleaved && turned == width && pairs > 0) {
        // Both halves at once: each number times its cosine, and the other half's, of which the first is taken off,
        // times its sine.
        auto const halves = to.make<ops::reshape>({.shape = {0, 0, 0, 2, pairs}}, {x});
        auto const other = to.make<ops::slice>({.starts = {1}, .ends = {-3}, .axes = {3}, .steps = {-1}}, {halves});
        auto const both = [&](value_id v) { return to.make<ops::unsqueeze>({.axes = {3}}, {v}); };
        auto const off = tensor::from<float>({2, 1}, {-1, 1}).converted_to(to.element(x));
        auto const sines = to.mul(both(sine), to.node().builder().constant(off));
        auto const y = to.add(to.mul(both(cosine), halves), to.mul(sines, other));
        return to.make<ops::reshape>({.shape = {0, 0, 0, width}}, {y});
    }
    auto const first = interleaved ? part(0, turned, 2) : part(0, turned / 2, 1);
    auto const second = interleaved ? part(1, turned, 2) : part(turned / 2, turned, 1);
    auto const real = to.sub(to.mul(cosine, first), to.mul(sine, second));
    auto const imaginary = to.add(to.mul(sine, first), to.mul(cosine, second));
    value_id y;
    if (interleaved) {
        auto const beside = [&](value_id v) { return to.make<ops::unsqueeze>({.axes = {4}}, {v}); };
        y = to.reshaped(to.make<ops::concat>({.axis = 4}, {beside(real), beside(imaginary)}), {0, 0, 0, turned});
    } else {
        y = to.make<ops::concat>({.axis = 3}, {real, imaginary});
    }
    return turned < width ? to.make<ops::concat>({.axis = 3}, {y, part(turned, width, 1)}) : y;
}

// Pairs of each head's first numbers, turned by the angle of their place.
GSUB_INLINE value_id import_rotary_embedding(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const interleaved = cx.integer("interleaved").value_or(0) != 0;
    auto const heads = cx.integer("num_heads").value_or(0);
    auto turned = cx.integer("rotary_embedding_dim").value_or(0);
    auto const given = to.floating(0);
    auto const rank = to.rank(given);
    if (rank != 3 && rank != 4) cx.invalid(format_text("operand {}", to_string(cx.type(0))));
    auto x = to.widened(given); // [batch, heads, length, width], or [batch, length, heads, width] of rank 3
    if (rank == 3) {
        auto const all = to.size(x, 2);
        if (heads < 1 || all % heads != 0) cx.invalid(format_text("{} heads in {}", heads, to_string(cx.type(0))));
        x = to.reshaped(x, {0, 0, heads, all / heads});
    }
    auto const width = to.size(x, 3);
    if (turned == 0) turned = width;
    if (turned < 0 || turned > width || turned % 2 != 0) cx.invalid(format_text("rotary_embedding_dim {}", turned));
    auto const table = [&](std::size_t i) {
        auto const t = to.widened(to.floating(i));
        auto const chosen = cx.has(3) ? to.make<ops::gather>(t, to.operand(3)) : t;
        if (to.rank(chosen) != 3 || to.size(chosen, 2) != turned / 2)
            cx.invalid(format_text("cache {} for {} turned numbers", to_string(cx.type(i)), turned));
        return to.make<ops::unsqueeze>({.axes = {rank == 4 ? 1 : 2}}, {chosen});
    };
    auto const cosine = table(1), sine = table(2);
    auto const y = turned_pairs(to, x, cosine, sine, interleaved);
    return to.cast(rank == 4 ? y : to.reshaped(y, {0, 0, -1}), to.element(given));
}

} // namespace gsub::io::detail
