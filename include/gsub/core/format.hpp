// Text formatting: `format_text`, and the fmt formatters of layer core: error codes, quoted names, shortest numbers.
#pragma once

#include <gsub/core/quoted.hpp>
#include <gsub/core/result.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace gsub {

/// Format string of `format_text`. It is checked against its arguments as it is compiled, in programs that link
/// `gsub::compiled` and so in the library itself and in its tests. A header-only build leaves that check out: it takes
/// templates of its own for each list of arguments, a tenth of what the headers take to compile.
template <class... Args>
struct text_format {
    std::string_view text;
#ifdef GSUB_COMPILED
    template <class Text>
    consteval text_format(Text const& format) : text{format} {
        static_cast<void>(fmt::format_string<Args...>{format});
    }
#else
    template <class Text>
    constexpr text_format(Text const& format) : text{format} {}
#endif
    template <class... Others>
    constexpr text_format(text_format<Others...> checked) : text{checked.text} {}
};

namespace detail {
template <class T>
[[nodiscard]] fmt::basic_format_arg<fmt::format_context> format_argument(T const& value) {
    return fmt::format_args{fmt::make_format_args(value)}.get(0);
}
[[nodiscard]] std::string format_arguments(std::string_view format,
                                           std::initializer_list<fmt::basic_format_arg<fmt::format_context>> arguments);
} // namespace detail

/// Formats a text as `fmt::format` does. An argument's type is compiled once, not each list of types.
/// *Errors* none: the format is checked as it is compiled, see `text_format`.
template <class... Args>
[[nodiscard]] std::string format_text(std::type_identity_t<text_format<Args...>> format, Args const&... arguments) {
    return detail::format_arguments(format.text, {detail::format_argument(arguments)...});
}

/// Base of fmt formatters for types that have a `to_string`; takes the specification of a string (width, alignment).
/// *Example* `template <> struct fmt::formatter<gsub::dtype> : gsub::text_formatter {};`
struct text_formatter {
    constexpr auto parse(fmt::format_parse_context& context) {
        if (std::is_constant_evaluated()) { // formats are checked as they are compiled
            auto of_text = context;
            static_cast<void>(fmt::formatter<std::string_view>{}.parse(of_text));
        }
        auto const end = std::find(context.begin(), context.end(), '}');
        spec_ = {context.begin(), static_cast<std::size_t>(end - context.begin())};
        return end;
    }
    template <class T, class Context>
    auto format(T const& value, Context& context) const {
        auto const text = to_string(value); // a text, or a view of one
        if (spec_.empty()) return std::copy(text.begin(), text.end(), context.out());
        // By vformat, whose symbol GCC and Clang name alike: libfmt is compiled by one of them.
        auto const shown = fmt::vformat("{:" + std::string{spec_} + "}", fmt::make_format_args(text));
        return std::copy(shown.begin(), shown.end(), context.out());
    }

private:
    std::string_view spec_; // in the format string
};

/// A number in its shortest exact form, as `std::to_chars` gives it: `1e+05`. Texts that are read back, hashed or
/// compiled have it; `{}` of a double differs in where the exponent begins.
struct shortest {
    double value = 0;
};
[[nodiscard]] inline std::string to_string(shortest s) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, s.value).ptr};
}

} // namespace gsub

template <>
struct fmt::formatter<gsub::quoted> : gsub::text_formatter {};
template <>
struct fmt::formatter<gsub::shortest> : gsub::text_formatter {};
template <>
struct fmt::formatter<gsub::error_code> : gsub::text_formatter {};

#ifndef GSUB_COMPILED
#include <gsub/core/impl/format.ipp>
#endif
