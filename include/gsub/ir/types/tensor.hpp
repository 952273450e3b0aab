// Tensors with data: shared buffers, typed access, filling, comparing.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/random.hpp>
#include <gsub/core/result.hpp>
#include <gsub/ir/types/tensor_type.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

namespace gsub {

/// Alignment of every buffer that gsub allocates, in bytes: one cache line, one AVX-512 register.
inline constexpr std::size_t buffer_alignment = 64;

/// A dense row-major tensor. Copies share their elements until one of them is written to.
class tensor {
public:
    tensor() = default; ///< no elements, undefined type

    /// Uninitialised elements, 64-byte aligned. *Requires* a static type of at most 2^62 bytes.
    static tensor uninitialized(dtype element, std::span<std::int64_t const> dims);
    static tensor zeros(dtype element, std::span<std::int64_t const> dims);
    static tensor zeros(tensor_type const& type);
    /// Zeros in memory pages of their own, which go back to the system when nothing uses them any more; an allocator
    /// does not promise that. For weights: a call takes microseconds. `huge`: pages of 2 MiB where the system has some,
    /// for what is read time and again. *Errors* throws `std::bad_alloc`.
    static tensor in_pages(dtype element, std::span<std::int64_t const> dims, bool huge = false);
    /// Elements of another owner (a mapped file). `owner` keeps them alive. *Requires* alignment to the element size.
    static tensor borrowed(dtype element, std::span<std::int64_t const> dims, std::byte const* data,
                           std::shared_ptr<void const> owner);
    /// Wraps memory of another owner that is written in place: an embedding engine's. `owner`, which may be null, keeps
    /// it alive. Tensors that share it are copied before the first write, as others are. *Requires* alignment to the
    /// element size.
    static tensor wrapping(dtype element, std::span<std::int64_t const> dims, std::byte* data,
                           std::shared_ptr<void const> owner = {});

    template <class T>
    static tensor from(std::span<std::int64_t const> dims, std::span<T const> elements) {
        auto t = uninitialized(dtype_of<T>, dims);
        GSUB_ASSERT(static_cast<std::int64_t>(elements.size()) == t.elements(),
                    "tensor::from needs one element a place");
        std::copy(elements.begin(), elements.end(), t.template mutable_data<T>().begin());
        return t;
    }
    template <class T>
    static tensor from(std::initializer_list<std::int64_t> dims, std::initializer_list<T> elements) {
        return from<T>(std::span{dims.begin(), dims.size()}, std::span{elements.begin(), elements.size()});
    }
    template <class T>
    static tensor scalar(T value) {
        return from<T>(std::span<std::int64_t const>{}, std::span<T const>{&value, 1});
    }

    [[nodiscard]] dtype element() const noexcept { return element_; }
    [[nodiscard]] std::span<std::int64_t const> dims() const noexcept { return dims_; }
    [[nodiscard]] std::size_t rank() const noexcept { return dims_.size(); }
    [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept {
        return static_cast<std::size_t>(elements_) * byte_size(element_);
    }
    [[nodiscard]] tensor_type type() const { return {element_, std::span<std::int64_t const>{dims_}}; }

    [[nodiscard]] std::span<std::byte const> raw() const noexcept { return {data_, size_bytes()}; }
    /// Writable bytes; elements shared with another tensor are copied first.
    [[nodiscard]] std::span<std::byte> mutable_raw();

    /// Discards elements that nobody reads any more; they are undefined then. Their pages go back to the system, unless
    /// another tensor shares the buffer or another owner has it. *Requires* that the tensor has them.
    void discard(std::int64_t first, std::int64_t count);

    /// Elements as `T`. *Requires* `dtype_of<T> == element()`.
    template <class T>
    [[nodiscard]] std::span<T const> data() const {
        GSUB_ASSERT(stores<T>(), "tensor::data<T>() with a type other than the tensor's element type");
        return {reinterpret_cast<T const*>(data_), static_cast<std::size_t>(elements_)};
    }
    template <class T>
    [[nodiscard]] std::span<T> mutable_data() {
        GSUB_ASSERT(stores<T>(), "tensor::mutable_data<T>() with a type other than the tensor's element type");
        return {reinterpret_cast<T*>(mutable_raw().data()), static_cast<std::size_t>(elements_)};
    }

    /// The same elements under other dimensions. *Requires* the same number of elements.
    [[nodiscard]] tensor reshaped(std::span<std::int64_t const> dims) const;
    /// Converts elements as ONNX's Cast does: a float becomes an integer by truncation, what does not fit saturates and
    /// NaN gives 0; an integer becomes another one modulo two to the number of bits, and a float by one rounding.
    /// *Requires* element types with a storage type.
    [[nodiscard]] tensor converted_to(dtype element) const;
    /// Elements as integers, from any integer or boolean type; a `u64` from 2^63 on as the number that has its bits.
    /// *Requires* such a type.
    [[nodiscard]] ints to_ints() const;

    /// Hash of type and elements.
    [[nodiscard]] hash128 hash() const;

private:
    // Type and sizes, and no memory yet.
    static tensor without_memory(dtype element, std::span<std::int64_t const> dims);
    template <class T>
    [[nodiscard]] bool stores() const noexcept {
        return dtype_of<T> == element_ || (elements_ == 0 && element_ == dtype::undefined);
    }
    dtype element_ = dtype::undefined;
    ints dims_;
    std::int64_t elements_ = 0;
    std::byte* data_ = nullptr;
    std::shared_ptr<void const> owner_;
    bool writable_ = false; // false for borrowed elements, which are copied before the first write
};

/// Fills a floating tensor with normal values, an integer one with 0 or 1. The element type decides how many bits are
/// drawn, never how many draws, so that f32 and f64 tensors of one seed agree up to rounding.
void fill_random(tensor& t, random_stream stream);

/// Difference of two tensors a and b.
struct difference {
    double max_absolute = 0;   ///< max |a - b|
    double max_relative = 0;   ///< max |a - b| / max |b|, the measure that tests and `gsub compare` use
    double mean_absolute = 0;  ///< mean |a - b|
    std::int64_t outside = 0;  ///< elements with |a - b| > absolute + relative * |b|
    bool same_specials = true; ///< NaN and infinities stand at the same places with the same sign
};

/// Compares tensors of one shape, element types may differ. *Errors* `negative` where shapes differ.
[[nodiscard]] result<difference> compare(tensor const& a, tensor const& b, double relative = 1e-3,
                                         double absolute = 1e-6);

/// Type and the first elements, e.g. `f32[1,4] {0.5, 1, 2, ...}`.
[[nodiscard]] std::string to_string(tensor const& t, std::size_t limit = 10);
std::ostream& operator<<(std::ostream& out, tensor const& t);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/types/impl/tensor.ipp>
#endif
