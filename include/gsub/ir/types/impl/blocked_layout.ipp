#pragma once

#include <gsub/ir/types/blocked_layout.hpp>

namespace gsub {

GSUB_INLINE std::optional<blocked_layout> parse_layout(std::string_view name) noexcept {
    constexpr std::int64_t largest_block = 4096;
    blocked_layout out;
    while (out.rank < name.size() && name[out.rank] >= 'A' && name[out.rank] <= 'Z') {
        if (name.substr(0, out.rank).find(name[out.rank]) != name.npos) return std::nullopt;
        ++out.rank;
    }
    auto const letters = name.substr(0, out.rank);
    auto rest = name.substr(out.rank);
    if (letters.empty() || rest.size() < 2 || rest.front() < '1' || rest.front() > '9') return std::nullopt;
    out.block = 0;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1))
        if (out.block = 10 * out.block + (rest.front() - '0'); out.block > largest_block) return std::nullopt;
    if (rest.size() != 1 || rest.front() < 'a' || rest.front() > 'z' || out.block < 2) return std::nullopt;
    out.axis = letters.find(static_cast<char>(rest.front() - 'a' + 'A'));
    if (out.axis == letters.npos) return std::nullopt;
    return out;
}

GSUB_INLINE std::optional<std::int64_t> blocked_layout::stored_elements(std::span<std::int64_t const> sizes) const {
    ints padded(sizes.begin(), sizes.end());
    padded[axis] = blocks(sizes[axis]) * block;
    return checked_product(padded);
}

GSUB_INLINE std::int64_t blocked_layout::offset(std::span<std::int64_t const> sizes,
                                                std::span<std::int64_t const> index) const noexcept {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < rank; ++d)
        place = d == axis ? place * blocks(sizes[d]) + index[d] / block : place * sizes[d] + index[d];
    return place * block + index[axis] % block;
}

GSUB_INLINE std::string_view incompatibility(layout stored, tensor_type const& type) noexcept {
    if (stored.empty()) return {};
    auto const parsed = parse_layout(stored.text());
    if (!parsed) return "the name of a layout is like NCHW16c";
    if (!type.ranked || type.rank() != parsed->rank) return "the layout has another number of dimensions";
    return {};
}

} // namespace gsub
