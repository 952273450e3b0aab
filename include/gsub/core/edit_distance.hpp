// Edit distance of two names, for errors that suggest the name that was meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

/// Levenshtein distance: characters to insert, delete or substitute to turn one text into the other. Only the first 100
/// characters count, because names come from files. *Source* Wagner and Fischer, "The string-to-string correction
/// problem", 1974.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    a = a.substr(0, 100), b = b.substr(0, 100);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const exchanged = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, exchanged});
        }
    }
    return row.back();
}

} // namespace gsub
