// Random values of whatever `record_text` prints, and every change of one thing in such a value.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/kernels/record_text.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

namespace random_record {

using namespace gsub::kernels;

/// Any value of a type: numbers of few bits and of many, the real numbers that texts get wrong, lists of up to two.
template <class T>
void fill(gsub::random_stream& r, T& value) {
    if constexpr (std::same_as<T, double>) {
        using limits = std::numeric_limits<double>;
        double const odd[] = {0.0,
                              -0.0,
                              0.1,
                              -1e300,
                              limits::infinity(),
                              -limits::infinity(),
                              limits::quiet_NaN(),
                              limits::denorm_min(),
                              limits::max(),
                              limits::min(),
                              -1.5,
                              std::bit_cast<double>(r())};
        value = odd[r.below(std::size(odd))];
    } else if constexpr (std::integral<T>) {
        value = static_cast<T>(r() >> r.below(64));
    } else if constexpr (has_words<T>) {
        value = static_cast<T>(r.below(std::size(word_traits<T>::words)));
    } else if constexpr (detail::is_optional<T>) {
        value.reset();
        if (r.below(2)) fill(r, value.emplace());
    } else if constexpr (detail::is_variant<T>) {
        auto const chosen = r.below(std::variant_size_v<T>);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            static_cast<void>(((chosen == I && (fill(r, value.template emplace<I>()), true)) || ...));
        }
        (std::make_index_sequence<std::variant_size_v<T>>{});
    } else if constexpr (record<T>) {
        record_traits<T>::each_field([&](std::string_view, auto member) { fill(r, value.*member); });
    } else if constexpr (detail::is_array<T>) {
        for (auto& element : value) fill(r, element);
    } else {
        value.clear();
        for (auto left = r.below(3); left > 0; --left) {
            typename T::value_type element{};
            fill(r, element);
            value.push_back(std::move(element));
        }
    }
}

/// Calls `f` with each change of one number, word, list or optional part of `value`, then takes the change back.
template <class T, class F>
void each_change(T& value, F&& f) {
    auto const with = [&](T other) {
        std::swap(value, other);
        f();
        std::swap(value, other);
    };
    if constexpr (std::same_as<T, bool>) {
        with(!value);
    } else if constexpr (std::same_as<T, double>) {
        with(value != value ? 0 : std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ 1)); // a neighbour
        if (value == 0) with(-value);
    } else if constexpr (std::integral<T>) {
        with(static_cast<T>(value ^ 1));
        with(static_cast<T>(value ^ static_cast<T>(T{1} << (std::numeric_limits<T>::digits - 1))));
    } else if constexpr (has_words<T>) {
        with(static_cast<T>((static_cast<std::size_t>(value) + 1) % std::size(word_traits<T>::words)));
    } else if constexpr (detail::is_optional<T>) {
        with(value ? T{} : T{std::in_place});
        if (value) each_change(*value, f);
    } else if constexpr (detail::is_variant<T>) {
        std::visit([&](auto& x) { each_change(x, f); }, value);
    } else if constexpr (record<T>) {
        record_traits<T>::each_field([&](std::string_view, auto member) { each_change(value.*member, f); });
    } else {
        for (auto& element : value) each_change(element, f);
        if constexpr (!detail::is_array<T>) {
            auto longer = value;
            longer.push_back({});
            with(longer);
            if (!value.empty()) with({});
        }
    }
}

} // namespace random_record
