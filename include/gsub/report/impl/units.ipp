#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>
#include <gsub/report/units.hpp>

#include <charconv>
#include <cmath>

namespace gsub::report {

GSUB_INLINE std::string fixed(double number, int decimals) {
    // The largest double has 309 digits in front of the point.
    std::string text(static_cast<std::size_t>(320 + decimals), '\0');
    auto* const begin = text.data();
    auto* const end = std::to_chars(begin, begin + text.size(), number, std::chars_format::fixed, decimals).ptr;
    text.resize(static_cast<std::size_t>(end - begin));
    return text;
}

GSUB_INLINE std::string brief(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific, 1).ptr};
}

GSUB_INLINE std::string human(double amount, std::string_view unit) {
    if (amount == 0 || !std::isfinite(amount)) return format_text("{} {}", amount, unit);
    constexpr std::string_view prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
    auto step = static_cast<int>(std::floor(std::log10(std::abs(amount)) / 3));
    step = step < -4 ? -4 : step > 5 ? 5 : step;
    auto scaled = amount / std::pow(10.0, 3 * step);
    if (std::abs(scaled) >= 999.5 && step < 5) scaled /= 1000, ++step; // would be rounded to four digits
    auto const size = std::abs(scaled);
    return format_text("{} {}{}", fixed(scaled, size < 10 ? 2 : size < 100 ? 1 : 0), prefixes[step + 4], unit);
}

GSUB_INLINE std::string percent(double share) {
    return format_text("{} %", fixed(100 * share, 1));
}

} // namespace gsub::report
