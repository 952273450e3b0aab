// Range algorithms as plain loops, for headers that many programs compile: a use of std::all_of or of vector::insert
// instantiates several functions for its types, these one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace gsub {

/// A span over a vector. Equals the conversion to `std::span`, for which a compiler must prove that the vector's
/// iterators are contiguous: for each element type more work than for a map of it.
template <class Vector>
[[nodiscard]] constexpr std::span<typename Vector::value_type const> as_span(Vector const& elements) noexcept {
    return {elements.data(), elements.size()};
}

/// Sorts a vector through pointers, which compile in a quarter of the time of its iterators.
template <class Vector, class... Less>
constexpr void sort(Vector& elements, Less... less) {
    std::sort(elements.data(), elements.data() + elements.size(), less...);
}

/// Stable sort of a vector: equal elements stay in their order.
template <class Vector, class... Less>
void stable_sort(Vector& elements, Less... less) {
    std::stable_sort(elements.data(), elements.data() + elements.size(), less...);
}

/// Whether `test` holds for an element.
template <class Range, class Test>
[[nodiscard]] constexpr bool any_of(Range const& range, Test test) {
    for (auto const& x : range)
        if (test(x)) return true;
    return false;
}

/// Whether `test` holds for all elements; true where there are none.
template <class Range, class Test>
[[nodiscard]] constexpr bool all_of(Range const& range, Test test) {
    for (auto const& x : range)
        if (!test(x)) return false;
    return true;
}

/// Whether an element equals `value`.
template <class Range, class T>
[[nodiscard]] constexpr bool contains(Range const& range, T const& value) {
    for (auto const& x : range)
        if (x == value) return true;
    return false;
}

/// The greatest absolute value; zero for no elements, NaN where one is. *Complexity* O(n), at memory bandwidth: without
/// the sign, the bits of floats order as their magnitudes, with infinity and NaN at the end.
[[nodiscard]] inline float greatest_magnitude(std::span<float const> elements) noexcept {
    constexpr std::size_t lanes = 32; // compilers make vectors of them
    std::array<std::int32_t, lanes> most{};
    auto const* const of = elements.data();
    auto const whole = elements.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            most[l] = std::max(most[l], std::bit_cast<std::int32_t>(of[i + l]) & 0x7fffffff);
    for (auto i = whole; i < elements.size(); ++i)
        most[0] = std::max(most[0], std::bit_cast<std::int32_t>(of[i]) & 0x7fffffff);
    return std::bit_cast<float>(*std::max_element(most.begin(), most.end()));
}

/// Adds copies of the elements of `from` at the end of `to`. *Requires* two different ranges.
template <class Vector, class Range>
constexpr void append(Vector& to, Range const& from) {
    for (auto const& x : from) to.push_back(x);
}

} // namespace gsub
