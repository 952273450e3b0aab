// strided_box: sets of array indices as boxes of arithmetic progressions, their intersections and unions counted.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/small_vector.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gsub::machine {

/// Term of an affine index: `factor` times a variable that runs from 0 to before `extent`.
struct ranged_term {
    std::int64_t factor = 0, extent = 1;
};

/// Progression: integers `low`, `low + stride`, ..., `high`, `count` of which belong to the set.
struct progression {
    std::int64_t low = 0, high = 0;
    std::int64_t stride = 1; ///< at least 1
    double count = 1;        ///< may be an expected value, and then is no integer

    /// Integers from low to high in steps of the stride.
    [[nodiscard]] double places() const noexcept { return static_cast<double>((high - low) / stride + 1); }
    /// Share of the places that belong to the set.
    [[nodiscard]] double density() const noexcept { return count / places(); }
};

/// Image of an affine index: the values of `at + sum of terms`. The count is exact where the sorted factors nest: each
/// is at most the span of those below it in their steps, or beyond that span, or there are two terms; else it is
/// estimated: the middle between what positions that fall anywhere hit and what those that keep apart do. *Complexity*
/// O(n^2), n terms. *Source* the counting of images of affine maps, for boxes; for two coprime strides a, b over
/// extents m, n: `m*n - max(0, m-b) * max(0, n-a)`.
GSUB_LAZY [[nodiscard]] progression image_of(std::int64_t at, std::span<ranged_term const> terms);

/// The part of a progression from `low` to `high`, with the same density. Nothing where that is empty.
GSUB_LAZY [[nodiscard]] std::optional<progression> clipped(progression p, std::int64_t low, std::int64_t high);

/// Strided box: the product of progressions, one a dimension, of which `elements` belong to the set. It is full where
/// these are all; indices that share variables, or progressions with holes, give less.
struct strided_box {
    small_vector<progression, 6> dims;
    double elements = 1;

    /// Makes the full box of progressions.
    GSUB_LAZY [[nodiscard]] static strided_box full(std::span<progression const> dims);
    /// Product of the places of all dimensions.
    GSUB_LAZY [[nodiscard]] double places() const noexcept;
};

/// Intersection of boxes of equally many dimensions, nothing where there is none. Exact where both are full with no
/// holes; else the lesser density counts.
GSUB_LAZY [[nodiscard]] std::optional<strided_box> intersection(strided_box const& a, strided_box const& b);

/// Hull: the least box whose progressions hold those of both.
GSUB_LAZY [[nodiscard]] strided_box hull(strided_box const& a, strided_box const& b);

/// Union of boxes under construction. A box that makes a larger one with another joins it; others stay apart, and
/// their union is counted by inclusion and exclusion. Of more than `most` boxes the two that lose least take their
/// hull. Exact for boxes without holes as long as no hull was taken.
class box_union {
public:
    static constexpr std::size_t most = 6;

    GSUB_LAZY void add(strided_box box);
    /// Elements in the union.
    GSUB_LAZY [[nodiscard]] double elements() const;
    [[nodiscard]] std::span<strided_box const> boxes() const noexcept { return {boxes_.data(), boxes_.size()}; }

private:
    GSUB_LAZY void join_closest();
    std::vector<strided_box> boxes_;
};

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/strided_box.ipp>
#endif
