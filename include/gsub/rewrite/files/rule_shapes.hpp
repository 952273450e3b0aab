// Shapes of described rules: draws legal ones for the source, finds what the target requires of them.
#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/rewrite/files/rule_description.hpp>
#include <gsub/rewrite/verify/sample.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gsub {

/// Pad on each side that keeps ceil(size / stride) positions, for kernels of odd size.
[[nodiscard]] constexpr std::int64_t same_pad(std::int64_t size, std::int64_t kernel, std::int64_t stride) noexcept {
    auto const missing = ((size + stride - 1) / stride - 1) * stride + kernel - size;
    return missing > 0 ? (missing + 1) / 2 : 0;
}
/// Positions of a window along one dimension, with the pads of a convolution; less than 1 where it does not fit.
[[nodiscard]] constexpr std::int64_t window_positions(described_operator const& op, std::int64_t size,
                                                      std::int64_t kernel, std::int64_t stride) noexcept {
    auto const room = size + (op.same_pads ? 2 * same_pad(size, kernel, stride) : 0) - kernel;
    return room < 0 ? 0 : room / stride + 1;
}

/// Shapes of a rule's inputs, and of its source operators' results.
struct described_shapes {
    std::vector<ints> inputs;
    std::vector<std::vector<ints>> results; ///< by operator and result
};

/// Draws shapes for which every operator of the source is legal; nothing where the decisions lead to none. Every other
/// draw makes the target well-typed too. Sizes and numbers of groups are 1 or 2 in the exhaustive box, at random up to
/// 5 and 3; kernels of any size are 1, 3 or 5.
GSUB_LAZY [[nodiscard]] std::optional<described_shapes> draw_shapes(rule_description const& rule, chooser& choose);

/// Requirements of the target that these shapes break, in terms of the rule's inputs, e.g. `x10[1] = x11[1]` or
/// `x7[1] is a multiple of x10[1]`; none where the target is well-typed and its results have the shapes of those that
/// they replace. *Requires* shapes for which the source is legal.
GSUB_LAZY [[nodiscard]] std::vector<std::string> broken_requirements(rule_description const& rule,
                                                                     described_shapes const& shapes);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/files/impl/rule_requirements.ipp>
#include <gsub/rewrite/files/impl/rule_shapes.ipp>
#include <gsub/rewrite/files/impl/size_solver.ipp>
#endif
