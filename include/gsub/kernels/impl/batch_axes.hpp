// batch_axes: the loops of kernels over batches of matrices.
#pragma once

#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/expression.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gsub::kernels::detail {

/// Batch axes of a kernel over matrices: a loop for each dimension, outside those of the matrices.
template <class = void>
class batch_axes {
public:
    batch_axes() = default;
    batch_axes(loop::expression_builder& e, std::span<std::int64_t const> sizes) {
        for (std::size_t d = 0; d < sizes.size(); ++d) indices_.push_back(e.spatial(name(d), sizes[d]));
    }

    /// Number of matrices in a batch.
    [[nodiscard]] static std::int64_t matrices_in(std::span<std::int64_t const> sizes) {
        std::int64_t count = 1;
        for (auto size : sizes) count *= size;
        return count;
    }
    /// Makes a view without strides that of a whole array of matrices, row-major.
    static void whole_unless_strided(array_view& v, std::span<std::int64_t const> sizes, std::int64_t rows,
                                     std::int64_t columns) {
        if (!v.strides.empty()) return;
        std::vector<std::int64_t> dims(sizes.begin(), sizes.end());
        dims.push_back(rows);
        dims.push_back(columns);
        v = array_view::contiguous(dims);
    }

    /// Place of an element of a view over the batch and the two dimensions of a matrix.
    [[nodiscard]] loop::affine operator()(array_view const& v, loop::affine const& row,
                                          loop::affine const& column) const {
        loop::affine at = v.offset;
        for (std::size_t d = 0; d < indices_.size(); ++d) at += indices_[d] * v.strides[d];
        return at + row * v.strides[indices_.size()] + column * v.strides[indices_.size() + 1];
    }

    /// The loops of `rank` axes, outermost first.
    [[nodiscard]] static std::vector<loop::variable> loops(loop::schedule const& plan, std::size_t rank) {
        std::vector<loop::variable> all;
        for (std::size_t d = 0; d < rank; ++d) all.push_back(plan.loop_of(name(d)));
        return all;
    }
    /// Fuses the loops of `rank` axes with `inner`, outermost.
    [[nodiscard]] static loop::variable join(loop::schedule& plan, std::size_t rank, loop::variable inner) {
        while (rank-- > 0) inner = plan.fuse(plan.loop_of(name(rank)), inner);
        return inner;
    }

private:
    static std::string name(std::size_t d) { return std::to_string(d).insert(0, 1, 'b'); }
    std::vector<loop::affine> indices_;
};

} // namespace gsub::kernels::detail
