// Layers that carry a state from one step of a sequence to the next: linear attention, causal convolution.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace gsub::io::detail {

/// Linear attention of a file, written step by step. Each head has a matrix as its state, to which a step adds the
/// product of its key with its value, and which it reads by its query. A gate makes the state decay first; the delta
/// rule adds only what the state does not give for the key yet. Halves are computed in f32.
class linear_attention_reader {
public:
    explicit linear_attention_reader(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          query_heads_(cx.integer("q_num_heads").value_or(0)),
          heads_(cx.integer("kv_num_heads").value_or(0)),
          scale_(cx.real("scale").value_or(0)) {
        cx.ignore("chunk_size"); // a hint for speed
        auto const rule = cx.text("update_rule").value_or("gated_delta");
        gated_ = rule == "gated" || rule == "gated_delta";
        corrected_ = rule == "delta" || rule == "gated_delta";
        if (!gated_ && !corrected_ && rule != "linear") cx.invalid(format_text("update_rule {}", quoted{rule}));
        constexpr std::int64_t most = 1 << 20;
        if (heads_ < 1 || query_heads_ < 1 || query_heads_ > most || query_heads_ % heads_ != 0)
            cx.invalid(format_text("{} heads of queries for {} of keys", query_heads_, heads_));
        if (cx.has(4) != gated_ || cx.has(5) != corrected_)
            cx.invalid(format_text("update_rule {} {} a decay and {} a rate", quoted{rule}, gated_ ? "has" : "has not",
                                   corrected_ ? "has" : "has not"));
    }

    value_id run() {
        read_operands();
        auto state = initial();
        std::vector<value_id> outputs;
        for (std::int64_t t = 0; t < steps_; ++t) {
            state = next(state, t);
            auto const read = to_.make<ops::mat_mul>(one(queries_, t), state); // [batch, heads, shared, values]
            outputs.push_back(to_.fixed(read, {batch_, 1, to_.product({query_heads_, value_width_})}));
        }
        if (cx_.results() > 1) cx_.give(1, to_.cast(state, state_element_));
        auto const all =
            steps_ == 1 ? outputs[0] : cx_.builder().add<ops::concat>({.axis = 1}, std::span<value_id const>{outputs});
        return to_.cast(all, element_);
    }

private:
    // What one step has of [batch, steps, heads, rows, columns].
    [[nodiscard]] value_id one(value_id v, std::int64_t t) const {
        auto const part = to_.make<ops::slice>({.starts = {t}, .ends = {t + 1}, .axes = {1}, .steps = {1}}, {v});
        return to_.make<ops::squeeze>({.axes = {1}}, {part});
    }
    // An operand [batch, steps, width] in the element type of the computation.
    [[nodiscard]] value_id sequence(std::size_t i) const {
        auto const v = to_.floating(i);
        if (to_.rank(v) != 3 || to_.size(v, 0) != batch_ || to_.size(v, 1) != steps_)
            cx_.invalid(format_text("operand {} beside operand {}", to_string(cx_.type(i)), to_string(cx_.type(0))));
        return to_.cast(v, computed_);
    }
    [[nodiscard]] std::int64_t width_of(std::size_t i, std::int64_t heads) const {
        auto const all = to_.size(cx_.operand(i), 2);
        if (all == 0 || all % heads != 0)
            cx_.invalid(format_text("{} heads in operand {}", heads, to_string(cx_.type(i))));
        return all / heads;
    }

    void read_operands() {
        auto const given = to_.floating(0);
        if (to_.rank(given) != 3) cx_.invalid(format_text("operand {}", to_string(cx_.type(0))));
        element_ = to_.element(given), computed_ = to_.element(to_.widened(given));
        batch_ = to_.size(given, 0), steps_ = to_.size(given, 1);
        constexpr std::int64_t most = 4096;
        if (steps_ == 0) cx_.unsupported("a sequence without steps");
        if (steps_ > most) cx_.unsupported(format_text("{} steps; at most {} are written one by one", steps_, most));
        auto const keys = sequence(1), values = sequence(2);
        key_width_ = width_of(0, query_heads_), value_width_ = width_of(2, heads_);
        if (width_of(1, heads_) != key_width_)
            cx_.invalid(format_text("keys {} for queries {}", to_string(cx_.type(1)), to_string(cx_.type(0))));
        auto const queries = sequence(0);
        auto const factor = scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<double>(key_width_));
        queries_ = to_.fixed(to_.mul(queries, to_.number(factor, queries)),
                             {batch_, steps_, heads_, query_heads_ / heads_, key_width_});
        rows_ = to_.fixed(keys, {batch_, steps_, heads_, 1, key_width_});
        columns_ = to_.fixed(keys, {batch_, steps_, heads_, key_width_, 1});
        values_ = to_.fixed(values, {batch_, steps_, heads_, 1, value_width_});
        if (gated_) read_decay();
        if (corrected_) read_rate();
    }
    // One number a head, or one for each number of a key.
    void read_decay() {
        auto const factors = to_.make<ops::exp>(sequence(4));
        auto const all = to_.size(factors, 2);
        if (all != heads_ && all != heads_ * key_width_)
            cx_.invalid(format_text("a decay {} for {} heads", to_string(cx_.type(4)), heads_));
        decay_ = to_.fixed(factors, {batch_, steps_, heads_, all / heads_, 1});
    }
    // One number a head, or one for all.
    void read_rate() {
        auto const rate = sequence(5);
        auto const all = to_.size(rate, 2);
        if (all != heads_ && all != 1)
            cx_.invalid(format_text("a rate {} for {} heads", to_string(cx_.type(5)), heads_));
        rate_ = to_.fixed(rate, {batch_, steps_, all, 1, 1});
    }
    [[nodiscard]] value_id initial() {
        ints const sizes{batch_, heads_, key_width_, value_width_};
        state_element_ = element_;
        if (!cx_.has(3)) return to_.make<ops::expand>({.shape = sizes}, {to_.number(0, queries_)});
        auto const given = to_.floating(3);
        state_element_ = to_.element(given);
        auto const rank = to_.rank(given);
        auto same = rank == sizes.size();
        for (std::size_t i = 0; same && i < rank; ++i) same = to_.size(given, i) == sizes[i];
        if (!same) cx_.invalid(format_text("a state {} for {} heads", to_string(cx_.type(3)), heads_));
        return to_.cast(given, computed_);
    }
    [[nodiscard]] value_id next(value_id state, std::int64_t t) const {
        auto value = one(values_, t);
        if (gated_) state = to_.mul(state, one(decay_, t));
        if (corrected_) value = to_.mul(one(rate_, t), to_.sub(value, to_.make<ops::mat_mul>(one(rows_, t), state)));
        return to_.add(state, to_.mul(one(columns_, t), value));
    }

    onnx_import_context& cx_;
    function_writer to_;
    std::int64_t query_heads_, heads_;
    double scale_;
    bool gated_ = false, corrected_ = false;
    dtype element_ = dtype::undefined, computed_ = dtype::undefined, state_element_ = dtype::undefined;
    std::int64_t batch_ = 0, steps_ = 0, key_width_ = 0, value_width_ = 0;
    value_id queries_, rows_, columns_, values_, decay_{}, rate_{};
};

GSUB_INLINE value_id import_linear_attention(onnx_import_context& cx) {
    return linear_attention_reader{cx}.run();
}

// Each channel is convolved by itself, over what came before and each step; the last steps are the state. Halves are
// computed in f32.
GSUB_INLINE value_id import_causal_conv(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const activation = cx.text("activation").value_or("none");
    if (activation != "none" && activation != "silu" && activation != "swish")
        cx.invalid(format_text("activation {}", quoted{activation}));
    auto const given = to.floating(0), weight = to.floating(1);
    if (to.rank(given) != 3 || to.rank(weight) != 3)
        cx.invalid(format_text("weight {} for operand {}", to_string(cx.type(1)), to_string(cx.type(0))));
    auto const channels = to.size(given, 1), kernel = to.size(weight, 2);
    if (kernel < 1 || to.size(weight, 0) != channels || to.size(weight, 1) != 1)
        cx.invalid(format_text("weight {} for {} channels", to_string(cx.type(1)), channels));
    auto const before = kernel - 1;
    auto all = given;
    if (cx.has(3)) {
        auto const past = to.floating(3);
        if (to.rank(past) != 3 || to.size(past, 2) != before)
            cx.invalid(format_text("a state {} for weight {}", to_string(cx.type(3)), to_string(cx.type(1))));
        if (before > 0) all = to.make<ops::concat>({.axis = 2}, {past, given});
    } else if (before > 0) {
        all = to.make<ops::pad>({.pads = {0, 0, before, 0, 0, 0}}, {given});
    }
    if (cx.results() > 1) {
        auto const end = std::numeric_limits<std::int64_t>::max();
        auto const from = before > 0 ? -before : to.size(given, 2);
        cx.give(1, to.make<ops::slice>({.starts = {from}, .ends = {end}, .axes = {2}, .steps = {1}}, {all}));
    }
    attributes_of<ops::conv> how;
    how.strides = {1}, how.dilations = {1}, how.pads = {0, 0}, how.group = channels;
    auto const x = to.widened(all), w = to.widened(weight);
    auto y = cx.has(2) ? to.make<ops::conv>(how, {x, w, to.widened(to.floating(2))}) : to.make<ops::conv>(how, {x, w});
    if (activation != "none") y = to.mul(y, to.make<ops::sigmoid>(y));
    return to.cast(y, to.element(given));
}

} // namespace gsub::io::detail
