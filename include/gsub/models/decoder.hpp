// Decoder: blocks of a language model that makes a text word by word.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of a decoder. Inputs are `hidden_states`, `f32[batch, tokens, hidden]`; `position_ids`, `i64[batch,
/// tokens]`: places in [0, positions); and with a past, for each layer `past_key_values.<layer>.key` and `.value`,
/// `f32[batch, key_heads, past, hidden / heads]`. Outputs are `last_hidden_state`, shaped as `hidden_states`, and for
/// each layer `present.<layer>.key` and `.value`, which hold the past and the new tokens.
struct decoder_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    std::int64_t tokens = 1; ///< new ones: 1 is a step, more a prompt
    std::int64_t past = 127; ///< tokens whose keys and values are given; 0: no such inputs
    std::int64_t layers = 8, hidden = 576;
    std::int64_t heads = 9;     ///< divides `hidden` into even widths
    std::int64_t key_heads = 3; ///< divides `heads`
    std::int64_t intermediate = 1536;
    std::int64_t positions = 2048; ///< places that have angles

    /// What can be asked for by name.
    static constexpr std::array<option_field<decoder_options>, 9> fields{{
        {"batch", "inputs at once", &decoder_options::batch, 1, 4096},
        {"tokens", "new tokens of a text", &decoder_options::tokens, 1, 65536},
        {"past", "tokens before the new ones", &decoder_options::past, 0, 65536},
        {"layers", "blocks", &decoder_options::layers, 1, 1000},
        {"hidden", "values of a token", &decoder_options::hidden, 1, 65536},
        {"heads", "heads of queries", &decoder_options::heads, 1, 4096},
        {"key_heads", "heads of keys and values", &decoder_options::key_heads, 1, 4096},
        {"intermediate", "inner values of a feed-forward layer", &decoder_options::intermediate, 1, 262'144},
        {"positions", "places in a text that have angles", &decoder_options::positions, 1, 1'000'000},
    }};
    /// What is wrong with them together, or null.
    [[nodiscard]] constexpr char const* fault() const {
        if (past + tokens > positions) return "each place has angles: past and tokens are at most positions";
        if (heads < 1 || hidden % heads != 0 || hidden / heads % 2 != 0)
            return "the number of heads divides the hidden size, into even widths";
        return key_heads > 0 && heads % key_heads == 0 ? nullptr : "the heads of keys divide those of queries";
    }
};

/// Blocks of a decoder as Llama has them, at inference, without embedding and classifier: 8 of the 30 blocks of
/// SmolLM2-135M, whose sizes are the defaults, 28.3 million parameters. A block is attention and a feed-forward layer,
/// each behind a normalisation and beside a residual; a last normalisation follows. It is written as the importer reads
/// ONNX's operators of set 23: `RMSNormalization` as Mul, ReduceMean, Add, Sqrt, Div, Mul; `RotaryEmbedding` with
/// `position_ids` as Gather, Unsqueeze, Reshape, Slice, Mul, Sub, Add, Concat, Reshape; causal `Attention` with a past,
/// whose heads of queries share heads of keys, as Reshape, Transpose, Concat, Expand, MatMul, Div, Add of the mask,
/// Softmax, MatMul. Linear layers are MatMul with weights `[inputs, outputs]`, without biases; the feed-forward layer
/// is `down(silu(gate(x)) * up(x))`, SiLU a Sigmoid and a Mul. Layers are named as in Hugging Face's transformers
/// (`model.layers.0.self_attn.q_proj`). *Source* Touvron et al., "LLaMA: open and efficient foundation language
/// models", 2023; Ainslie et al., "GQA", 2023; sizes of Allal et al., "SmolLM2", 2025.
[[nodiscard]] graph decoder(decoder_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/decoder.ipp>
#endif
