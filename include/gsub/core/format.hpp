// fmt formatters of layer core: error codes, quoted names, and numbers in their shortest exact form.
#pragma once

#include <gsub/core/quoted.hpp>
#include <gsub/core/result.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace gsub {

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
