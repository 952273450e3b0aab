// Small vector: a vector with inline storage for its first few elements, for shapes, operand lists, strides.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/config.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace gsub {

/// Vector of trivially copyable `T` with inline storage for `N` elements. There are many of these, so it uses what
/// compiles fastest: a pointer of its own, memcpy and plain loops.
template <class T, std::size_t N>
class small_vector {
    static_assert(std::is_trivially_copyable_v<T>, "small_vector holds trivially copyable elements only");

public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = T const*;

    small_vector() noexcept = default;
    explicit small_vector(std::size_t count, T const& value = T{}) { assign(count, value); }
    small_vector(std::initializer_list<T> list) { append(list.begin(), list.size()); }
    explicit small_vector(std::span<T const> elements) { append(elements); }
    template <class Iterator>
    requires(!std::is_integral_v<Iterator>) small_vector(Iterator first, Iterator last) {
        for (; first != last; ++first) push_back(*first);
    }
    small_vector(small_vector const& other) {
        if (copied_whole && !other.heap_)
            copy_inline(other), size_ = other.size_;
        else
            append(other.data(), other.size());
    }
    small_vector(small_vector&& other) noexcept
        : heap_(std::exchange(other.heap_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {
        copy_inline(other);
    }
    small_vector& operator=(small_vector const& other) {
        if (this != &other) clear(), append(other.data(), other.size());
        return *this;
    }
    small_vector& operator=(small_vector&& other) noexcept { return swap(other), *this; }
    ~small_vector() { delete[] heap_; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t capacity() const noexcept { return heap_ ? capacity_ : N; }
    [[nodiscard]] T* data() noexcept { return heap_ ? heap_ : inline_; }
    [[nodiscard]] T const* data() const noexcept { return heap_ ? heap_ : inline_; }
    [[nodiscard]] iterator begin() noexcept { return data(); }
    [[nodiscard]] iterator end() noexcept { return data() + size_; }
    [[nodiscard]] const_iterator begin() const noexcept { return data(); }
    [[nodiscard]] const_iterator end() const noexcept { return data() + size_; }
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    T const& operator[](std::size_t i) const noexcept { return data()[i]; }
    T& front() noexcept { return data()[0]; }
    T const& front() const noexcept { return data()[0]; }
    T& back() noexcept { return data()[size_ - 1]; }
    T const& back() const noexcept { return data()[size_ - 1]; }

    void clear() noexcept { size_ = 0; }
    void reserve(std::size_t count) {
        if (count > capacity()) grow(count);
    }
    void push_back(T value) {
        if (size_ == capacity()) grow(capacity() < 2 ? 4 : 2 * capacity());
        data()[size_++] = value;
    }
    void pop_back() noexcept { --size_; }
    void resize(std::size_t count, T value = T{}) { // by value: it may be an element of this vector
        reserve(count);
        for (auto i = size_; i < count; ++i) data()[i] = value;
        size_ = count;
    }
    void assign(std::size_t count, T value) { clear(), resize(count, value); }
    void append(std::span<T const> elements) { append(elements.data(), elements.size()); }
    void insert(std::size_t at, T value) {
        push_back(value);
        for (auto i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
        data()[at] = value;
    }
    void erase(std::size_t at) noexcept {
        for (++at; at < size_; ++at) data()[at - 1] = data()[at];
        --size_;
    }
    void swap(small_vector& other) noexcept {
        for (std::size_t i = 0; i < N; ++i) std::swap(inline_[i], other.inline_[i]);
        std::swap(heap_, other.heap_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    friend bool operator==(small_vector const& a, small_vector const& b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (!(a[i] == b[i])) return false;
        return true;
    }
    friend auto operator<=>(small_vector const& a, small_vector const& b) requires std::three_way_comparable<T> {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    static constexpr bool copied_whole = N * sizeof(T) <= 128; // a copy of known size is a few moves

    void copy_inline(small_vector const& other) noexcept {
        for (std::size_t i = 0; i < N; ++i) inline_[i] = other.inline_[i];
    }
    void append(T const* elements, std::size_t count) {
        reserve(size_ + count);
        if (count != 0) std::memcpy(static_cast<void*>(end()), elements, count * sizeof(T));
        size_ += count;
    }
    void grow(std::size_t count) {
        auto const larger = new T[count];
        std::memcpy(static_cast<void*>(larger), data(), size_ * sizeof(T));
        delete[] heap_;
        heap_ = larger;
        capacity_ = count;
    }

    T* heap_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    T inline_[N]{};
};

/// A short list of integers: strides, pads, axes, dims.
using ints = small_vector<std::int64_t, 4>;

/// Whether all numbers of a list equal `number`; true for an empty list.
[[nodiscard]] inline bool all_equal(ints const& list, std::int64_t number) noexcept {
    for (auto x : list)
        if (x != number) return false;
    return true;
}

} // namespace gsub
