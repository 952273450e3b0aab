// Compile-time strings and type lists as template arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace gsub {

/// A string literal that can be a template argument: `rule<"fuse_conv_bn">`.
template <std::size_t N>
struct fixed_string {
    char text[N]{};

    consteval fixed_string(char const (&literal)[N]) { std::copy_n(literal, N, text); }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, N - 1}; }
    constexpr operator std::string_view() const noexcept { return view(); }
    friend constexpr bool operator==(fixed_string const&, fixed_string const&) = default;
};

/// A list of types, nothing else.
template <class... Ts>
struct type_list {
    static constexpr std::size_t size = sizeof...(Ts);
};

/// Calls `f.template operator()<T>()` for each type of the list, in order.
template <class... Ts, class F>
constexpr void for_each_type(type_list<Ts...>, F&& f) {
    (f.template operator()<Ts>(), ...);
}

/// A trait that has a definition for its arguments.
template <class Trait>
concept specialised = requires {
    sizeof(Trait);
};

/// Overload set: several function objects as one, to visit a variant.
template <class... Fs>
struct overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace gsub
