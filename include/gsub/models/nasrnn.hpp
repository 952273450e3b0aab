// NasRNN: a recurrent cell that a search over architectures found, unrolled over time.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of NasRNN. Inputs `x0`, `x1`, … and the first state `h` are `f32[batch, width]`, output `state` too.
struct nasrnn_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1, steps = 5, width = 512;

    /// What can be asked for by name.
    static constexpr std::array<option_field<nasrnn_options>, 3> fields{{
        {"batch", "inputs at once", &nasrnn_options::batch, 1, 4096},
        {"steps", "time steps", &nasrnn_options::steps, 1, 1000},
        {"width", "values of a state", &nasrnn_options::width, 1, 16384},
    }};
};

/// NasRNN: a recurrent cell of eight gates `x W + h U`, which a tree of sums and products combines to the next state,
/// unrolled over several time steps with one set of weights. It is the benchmark that papers on graph substitution
/// measure: without biases and without the cell state beside the hidden one. A step has 16 products, of which a search
/// can make two or one. The parts of step 3 are named `step3.gate0.x`, `step3.gate0`, `step3.join0` and so on.
/// *Source* Zoph and Le, "Neural architecture search with reinforcement learning", 2016, appendix; the benchmark's
/// form: Jia et al., "TASO", SOSP 2019.
[[nodiscard]] graph nasrnn(nasrnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/nasrnn.ipp>
#endif
