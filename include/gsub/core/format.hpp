// Formatters of core: errors, and the two forms of text that comes from a model.
#pragma once

#include <gsub/core/message.hpp>
#include <gsub/core/result.hpp>

#include <fmt/core.h>

#include <string_view>

namespace gsub {

/// Base of the formatters of types that have a `to_string`; takes the specification of a string (width, alignment).
/// *Example* `template <> struct fmt::formatter<gsub::dtype> : gsub::text_formatter {};`
struct text_formatter : fmt::formatter<std::string_view> {
    template <class T, class Context>
    auto format(T const& value, Context& context) const {
        return fmt::formatter<std::string_view>::format(std::string_view{to_string(value)}, context);
    }
};

/// A name that comes from a model, in quotes with quotes, backslashes and control characters escaped.
struct quoted {
    std::string_view text;
};
[[nodiscard]] inline std::string to_string(quoted const& q) {
    return in_quotes(q.text);
}

} // namespace gsub

template <>
struct fmt::formatter<gsub::quoted> : gsub::text_formatter {};
template <>
struct fmt::formatter<gsub::error_code> : gsub::text_formatter {};
