// Catalogue entries, and how their tables are joined. Headers that bring models of their own include this.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace gsub::models {

/// Catalogue entry: a network that can be asked for by name, and what it can be asked for.
struct catalogue_entry {
    std::string_view name;    ///< e.g. `resnet50`
    std::string_view summary; ///< one line for people
    /// Builds it from a seed and one value for each of its options, in their order and bounds. *Errors* throws `error`.
    graph (*make)(std::uint64_t seed, std::span<std::int64_t const> values) = nullptr;
    std::span<option_info const> options{}; ///< besides the seed

    /// The network as published.
    [[nodiscard]] graph build(std::uint64_t seed) const;
    /// The network as asked for. *Errors* `usage`: an option that it does not have, twice the same one, a value out of
    /// bounds, values that do not go together.
    [[nodiscard]] result<graph> build(build_request const& request) const;
};

namespace detail {

/// A struct of options with these values, one for each of its fields.
template <class Options>
[[nodiscard]] Options filled(std::uint64_t seed, std::span<std::int64_t const> values) {
    Options o;
    o.seed = seed;
    for (std::size_t i = 0; i < values.size(); ++i) o.*Options::fields[i].member = values[i];
    if constexpr (requires { o.fault(); })
        if (auto const* fault = o.fault()) throw error{error_code::usage, fault};
    return o;
}

/// The graph of a builder whose struct of options has these values.
template <class Options, auto Builder>
[[nodiscard]] graph made(std::uint64_t seed, std::span<std::int64_t const> values) {
    return Builder(filled<Options>(seed, values));
}

/// The options of a network.
template <auto Usual, std::int64_t LeastImage>
inline constexpr auto network_options = options_of(Usual, LeastImage);

} // namespace detail

/// Entry of a builder that takes a struct of options. `Usual` are the published sizes, without a 0 that stands for
/// them, `LeastImage` the smallest image that all windows fit.
template <auto Builder, auto Usual, std::int64_t LeastImage = 1>
[[nodiscard]] constexpr catalogue_entry network_entry(std::string_view name, std::string_view summary) {
    return {name, summary, &detail::made<std::remove_const_t<decltype(Usual)>, Builder>,
            detail::network_options<Usual, LeastImage>};
}

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

/// Whether every option has a name of its own, a summary, and a usual value within its bounds.
[[nodiscard]] constexpr bool well_formed(std::span<option_info const> options) {
    for (auto a = options.begin(); a != options.end(); ++a) {
        if (a->name.empty() || a->name == "seed" || a->summary.empty()) return false;
        if (a->usual < a->least || a->usual > a->most) return false;
        for (auto b = options.begin(); b != a; ++b)
            if (a->name == b->name) return false;
    }
    return true;
}

/// Whether every entry has a name that no other has, a summary, and options that are well-formed. (Whether it has a
/// function is no constant for GCC 12 under `-fsanitize=undefined`, hence a test.)
[[nodiscard]] constexpr bool well_formed(std::span<catalogue_entry const> table) {
    for (auto a = table.begin(); a != table.end(); ++a) {
        if (a->name.empty() || a->summary.empty() || !well_formed(a->options)) return false;
        for (auto b = table.begin(); b != a; ++b)
            if (a->name == b->name) return false;
    }
    return true;
}

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/catalogue_entry.ipp>
#endif
