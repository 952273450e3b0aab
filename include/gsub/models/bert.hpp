// BERT: an encoder of attention and feed-forward layers over a text.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of BERT; the defaults are those of BERT-base. Inputs `input_ids`, `attention_mask` and `token_type_ids` are
/// `i64[batch, sequence]`: words in [0, vocabulary); 1 where a word counts and 0 where it does not; 0 or 1. Output
/// `last_hidden_state` is `f32[batch, sequence, hidden]`.
struct bert_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1, sequence = 128;
    std::int64_t layers = 12, hidden = 768;
    std::int64_t heads = 12; ///< divides `hidden`
    std::int64_t intermediate = 3072;
    std::int64_t vocabulary = 30522; ///< a smaller one makes a smaller file of the same work
    std::int64_t positions = 512;    ///< longest sequence that has weights

    /// What can be asked for by name.
    static constexpr std::array<option_field<bert_options>, 8> fields{{
        {"batch", "inputs at once", &bert_options::batch, 1, 4096},
        {"sequence", "words of a text", &bert_options::sequence, 1, 65536},
        {"layers", "layers of the encoder", &bert_options::layers, 1, 1000},
        {"hidden", "values of a word", &bert_options::hidden, 1, 65536},
        {"heads", "heads of attention", &bert_options::heads, 1, 4096},
        {"intermediate", "inner values of a feed-forward layer", &bert_options::intermediate, 1, 262'144},
        {"vocabulary", "words that have weights", &bert_options::vocabulary, 1, 1'000'000},
        {"positions", "places in a text that have weights", &bert_options::positions, 1, 65536},
    }};
    /// What is wrong with them together, or null.
    [[nodiscard]] constexpr char const* fault() const {
        if (sequence > positions) return "a text has weights for each position: sequence is at most positions";
        return heads > 0 && hidden % heads == 0 ? nullptr : "the number of heads divides the hidden size";
    }
};

/// The sizes of BERT-small.
inline constexpr bert_options bert_small_options{.layers = 4, .hidden = 512, .heads = 8, .intermediate = 2048};

/// BERT-base without pooler at inference: 108.9 million parameters, 11.2 billion multiplications at 128 words. It
/// consists of primitive operators, as PyTorch exports them: embeddings as Gather; linear layers as MatMul and Add with
/// weights `[inputs, outputs]`; attention as Reshape, Transpose, MatMul, Div by the root of the head's size, Add of the
/// mask (0 or -10000), Softmax; LayerNorm as ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add; GELU as Div,
/// Erf, Add, Mul, Mul. Layers are named as in Hugging Face's transformers
/// (`encoder.layer.0.attention.self.query`), the parts of a layer behind its name.
/// *Source* Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2018.
[[nodiscard]] graph bert_base(bert_options const& options = {});

/// BERT-small, the same in 4 layers of width 512 with 8 heads and 2048 inner values: 28.5 million parameters.
/// *Source* Turc et al., "Well-read students learn better", 2019.
[[nodiscard]] graph bert_small(std::uint64_t seed = 1);

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/bert.ipp>
#endif
