// Options of builders as data: what a network can be asked for by name, within which bounds.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::models {

/// Option of a builder: a member of its struct of options, and what that may be.
template <class Struct>
struct option_field {
    std::string_view name;    ///< as the member is called
    std::string_view summary; ///< a few words for people
    std::int64_t Struct::*member;
    std::int64_t least, most;
};

/// Option of a network: what it is without being asked for, and what it may be.
struct option_info {
    std::string_view name, summary;
    std::int64_t usual = 0, least = 0, most = 0;
};

/// An option and the value that is asked for.
struct option_value {
    std::string name;
    std::int64_t value = 0;
};

/// Build request: what a network of the catalogue is asked for. Options that it does not name are as published.
struct build_request {
    std::uint64_t seed = 1; ///< of the weights
    std::vector<option_value> options{};
};

/// Struct of options whose members can be asked for by name: it has a seed, a table `fields`, and where its members
/// depend on each other, `fault()`: what is wrong with them, or null.
template <class T>
concept builder_options = requires(T& options) {
    { options.seed } -> std::same_as<std::uint64_t&>;
    { T::fields[0] } -> std::same_as<option_field<T> const&>;
    T::fields.size();
};

/// The options of a network that has these usual values, and images of at least `least_image` pixels.
template <builder_options Struct>
[[nodiscard]] constexpr auto options_of(Struct const& usual, std::int64_t least_image) {
    std::array<option_info, Struct::fields.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& f = Struct::fields[i];
        all[i] = {f.name, f.summary, usual.*f.member, f.name == "image" ? std::max(f.least, least_image) : f.least,
                  f.most};
    }
    return all;
}

} // namespace gsub::models
