// Loops over whole ranges, for headers that many programs compile: a use of std::all_of or of vector::insert
// instantiates several functions for its types, these one.
#pragma once

namespace gsub {

/// Whether `test` holds for an element.
template <class Range, class Test>
[[nodiscard]] constexpr bool any_of(Range const& range, Test test) {
    for (auto const& x : range)
        if (test(x)) return true;
    return false;
}

/// Whether `test` holds for all elements; so it does for none at all.
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

/// Adds copies of the elements of `from` at the end of `to`. *Requires* two different ranges.
template <class Vector, class Range>
constexpr void append(Vector& to, Range const& from) {
    for (auto const& x : from) to.push_back(x);
}

} // namespace gsub
