// Attention: two matrix products with a softmax of rows between them; the scores never leave the cache.
#pragma once

#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/register_tile.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <vector>

namespace gsub::kernels {

/// Shape of attention: `y[..., m, n] = softmax(epilogue(q[..., m, k] * keys[..., k, s])) * values[..., s, n]` for each
/// position on the `batch` dimensions, the softmax along s. Views are over these and the two dimensions of the matrix;
/// one without strides is the whole array, row-major.
struct attention_shape {
    std::int64_t m = 1; ///< queries
    std::int64_t k = 1; ///< size of a query
    std::int64_t s = 1; ///< keys and values
    std::int64_t n = 1; ///< size of a value
    std::vector<std::int64_t> batch{};
    array_view q{}, keys{}, values{}, y{};
    loop::scalar_op exponential = loop::scalar_op::exponential; ///< of the softmax, or the fast one
    std::vector<array_view> arrays{};                           ///< further operands of the chain, over `[..., m, s]`
    /// On the scores as value 0, the arrays and its own results; the last counts.
    std::vector<elementwise_op> epilogue{};

    GSUB_LAZY [[nodiscard]] std::int64_t batches() const noexcept;
    /// Counts multiplications and additions of the products, and ten for an exponential.
    GSUB_LAZY [[nodiscard]] double operations() const noexcept;
};

struct attention_config {
    std::int64_t rows = 1;  ///< queries a work item: their scores stay in the workspace, `2 * rows * s` elements
    register_tile scores{}; ///< of the first product
    register_tile values{}; ///< of the second one
};

/// Default configuration by counted cycles: work items fill the second-level cache, less where they are few.
GSUB_LAZY [[nodiscard]] attention_config default_config(attention_shape const& shape, isa const& isa);

/// Builds the loop nest of attention: stages within one parallel loop over batches and pieces of queries: keys packed;
/// scores; their maxima, exponentials and sums; values packed, unless one tile of rows reads them once; results.
/// Buffers: q, keys, values, the arrays, y, all flat. *Errors* throws `error` (`usage`) for knobs that do not apply and
/// for a `y` whose last stride is not 1. *Source* the exact softmax of a block of rows as in Dao et al.,
/// FlashAttention, 2022, whole rows at a time.
GSUB_LAZY [[nodiscard]] loop::fused_nest attention_nest(attention_shape const& shape, attention_config const& config,
                                                        isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/attention.ipp>
#endif
