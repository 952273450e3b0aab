// LSTM language model: from the words of a text to those that may come next.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of the language model. Inputs are `input_ids`, `i64[steps, batch]`: words in [0, vocabulary); and the first
/// states `h0` and `c0`, `f32[layers, batch, width]`. Outputs are `logits`, `f32[steps, batch, vocabulary]`, before any
/// softmax, and the last states `hn` and `cn`, shaped as the first ones.
struct lstm_lm_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1, steps = 35;
    std::int64_t layers = 2;
    std::int64_t width = 650; ///< of an embedding and of a state
    std::int64_t vocabulary = 10'000;

    /// What can be asked for by name.
    static constexpr std::array<option_field<lstm_lm_options>, 5> fields{{
        {"batch", "inputs at once", &lstm_lm_options::batch, 1, 4096},
        {"steps", "words of a text", &lstm_lm_options::steps, 1, 1000},
        {"layers", "recurrent layers", &lstm_lm_options::layers, 1, 100},
        {"width", "values of a word and of a state", &lstm_lm_options::width, 1, 16384},
        {"vocabulary", "words that have weights", &lstm_lm_options::vocabulary, 1, 1'000'000},
    }};
};

/// The language model of medium size at inference: 19.8 million parameters. An embedding is a Gather, the classifier a
/// MatMul and an Add with a weight `[width, vocabulary]`. A recurrent layer has the weights of ONNX's operator `LSTM`,
/// `[1, 4 width, width]` for inputs and for states, and two biases in one, `[1, 8 width]`, each in the order input,
/// output, forget and cell gate. It is written as the importer reads that operator: one product of all steps with the
/// weights of inputs, and one a step with those of states, step by step. Layers are named `encoder`, `rnn.0`, `rnn.1`
/// and `decoder`, the parts of a step `rnn.0.step3.cell` and so on. *Complexity* nodes grow with steps and layers.
/// *Source* Zaremba et al., "Recurrent neural network regularization", 2014, the medium regularized LSTM; with two
/// biases a gate, as in ONNX and PyTorch.
[[nodiscard]] graph lstm_lm(lstm_lm_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/lstm_lm.ipp>
#endif
