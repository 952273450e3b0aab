// Catalogue entries, and how their tables are joined. Headers that bring models of their own include this.
#pragma once

#include <gsub/ir/ops/ops.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gsub::models {

/// Catalogue entry: a network that can be asked for by name.
struct catalogue_entry {
    std::string_view name;    ///< e.g. `resnet50`
    std::string_view summary; ///< one line for people
    graph (*build)(std::uint64_t seed) = nullptr;
};

/// Concatenates tables.
template <std::size_t... Sizes>
[[nodiscard]] constexpr auto join(std::array<catalogue_entry, Sizes> const&... tables) {
    std::array<catalogue_entry, (Sizes + ... + 0)> all{};
    std::size_t at = 0;
    [[maybe_unused]] auto const append = [&](auto const& table) {
        for (auto const& entry : table) all[at++] = entry;
    };
    (append(tables), ...);
    return all;
}

/// Whether every entry has a name that no other has, and a summary. (Whether it has a function is no constant for GCC
/// 12 under `-fsanitize=undefined`, hence a test.)
[[nodiscard]] constexpr bool well_formed(std::span<catalogue_entry const> table) {
    for (auto a = table.begin(); a != table.end(); ++a) {
        if (a->name.empty() || a->summary.empty()) return false;
        for (auto b = table.begin(); b != a; ++b)
            if (a->name == b->name) return false;
    }
    return true;
}

} // namespace gsub::models
