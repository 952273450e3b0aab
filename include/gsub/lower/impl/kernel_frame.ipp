// kernel_frame: the dimensions that values of a kernel have, and which of them are a row.
#pragma once

#include <gsub/ir/types/tensor_type.hpp>
#include <gsub/kernels/elementwise.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// A view over `frame` with its dimensions from `from` on as one, which are then stored one after another or repeat
// altogether; nothing where they do neither.
GSUB_LAZY [[nodiscard]] std::optional<kernels::array_view> merged_view(std::span<std::int64_t const> frame,
                                                                       kernels::array_view const& v, std::size_t from) {
    auto out = v;
    if (frame.empty()) out.strides.push_back(0);
    if (from >= frame.size()) return out;
    std::int64_t stride = 0, extent = 1;
    for (auto d = frame.size(); d-- > from;) {
        if (frame[d] == 1) continue;
        if (extent == 1)
            stride = v.strides[d];
        else if (v.strides[d] != stride * extent)
            return std::nullopt;
        extent *= frame[d];
    }
    out.strides.resize(from);
    out.strides.push_back(stride);
    return out;
}

// Dimensions of the values of a kernel. Where it reduces, the last ones are a row, and what was reduced has one element
// a row.
template <class = void>
class kernel_frame {
public:
    explicit kernel_frame(ints all) : all_(std::move(all)), row_from_(all_.size()) {}

    [[nodiscard]] ints const& all() const noexcept { return all_; }
    // The first dimension of a row; the number of dimensions where nothing is reduced.
    [[nodiscard]] std::size_t row_from() const noexcept { return row_from_; }
    [[nodiscard]] bool reduces() const noexcept { return row_from_ < all_.size(); }
    void set_row(std::size_t from) noexcept { row_from_ = from; }
    [[nodiscard]] std::int64_t elements_from(std::size_t d) const { return product(std::span{all_}.subspan(d)); }

    // Dimensions with those of a row as one.
    [[nodiscard]] std::vector<std::int64_t> dims() const {
        std::vector<std::int64_t> out(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(row_from_));
        if (reduces()) out.push_back(elements_from(row_from_));
        if (out.empty()) out.push_back(1);
        return out;
    }
    // How an array is read over `dims` if it is stored row-major; `how` is its view over the frame.
    [[nodiscard]] kernels::array_view row_view(kernels::array_view const& how) const {
        auto one = merged_view(all_, how, row_from_);
        auto out = one ? std::move(*one) : kernels::array_view::contiguous(dims()); // it is repeated before
        out.element = how.element;
        return out;
    }
    [[nodiscard]] bool is_of(tensor_type const& t) const {
        return std::ranges::equal(t.dims, all_, [](dim a, std::int64_t b) { return a.size() == b; });
    }
    // The view of an array over the frame.
    [[nodiscard]] std::optional<kernels::array_view> broadcast(kernels::array_view const& own, ints const& dims) const {
        if (dims.size() > all_.size()) return std::nullopt;
        auto out = own;
        out.strides.resize(0);
        out.strides.resize(all_.size(), 0);
        auto const shift = all_.size() - dims.size();
        for (std::size_t d = 0; d < dims.size(); ++d) {
            if (dims[d] != all_[d + shift] && dims[d] != 1) return std::nullopt;
            out.strides[d + shift] = dims[d] == 1 ? 0 : own.strides[d];
        }
        return out;
    }
    [[nodiscard]] bool is_reduced_shape(tensor_type const& t) const {
        if (!reduces()) return false;
        auto const dims = t.sizes();
        auto const kept = std::equal(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(row_from_), dims.begin(),
                                     dims.begin() + static_cast<std::ptrdiff_t>(std::min(row_from_, dims.size()))) &&
                          dims.size() >= row_from_;
        return kept && dims != all_ && product(std::span{dims}.subspan(row_from_)) == 1;
    }

    // Whether a value has one element a row, and its dimensions are the first ones of the frame, as those that it was
    // reduced along were not kept. What broadcasts to the last ones, an array or a value of the whole frame, does not
    // meet it in a kernel: the operator would repeat it along the others.
    [[nodiscard]] bool stands_first(tensor_type const& t) const {
        return t.rank() < all_.size() && is_reduced_shape(t) && *t.elements() > 1;
    }

private:
    ints all_;
    std::size_t row_from_;
};

} // namespace gsub::detail
