// 128-bit structural hashing: deterministic between runs, machines and compilers, and fast enough for weights.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gsub {

__extension__ typedef unsigned __int128 uint128; ///< the product of two 64-bit words

/// A 128-bit hash value. Two different structures share one with probability about 2^-128 unless somebody tries hard.
struct hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr bool operator==(hash128, hash128) = default;
    friend constexpr auto operator<=>(hash128, hash128) = default;
};

namespace detail {

/// Folds the 128-bit product of two words to 64 bits (the mixing step of the wyhash family).
[[nodiscard]] constexpr std::uint64_t multiply_fold(std::uint64_t a, std::uint64_t b) noexcept {
    auto const product = static_cast<uint128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Odd words with about half of their bits set; any such words would do.
inline constexpr std::uint64_t hash_secret[6] = {0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u, 0xaef17502108ef2d9u,
                                                 0xf1357aea2e62a9c5u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};

} // namespace detail

/// Incremental hash of a sequence of words. Order matters; `hash128` values and strings can be added whole.
class hasher {
public:
    constexpr hasher() noexcept = default;
    constexpr explicit hasher(std::uint64_t seed) noexcept { add(seed); }

    constexpr hasher& add(std::uint64_t word) noexcept {
        a_ = detail::multiply_fold(a_ ^ word ^ detail::hash_secret[0], detail::hash_secret[1]) + detail::hash_secret[4];
        b_ = detail::multiply_fold(std::rotl(b_, 23) ^ word ^ detail::hash_secret[2], detail::hash_secret[3]) ^ a_;
        return *this;
    }
    constexpr hasher& add(hash128 h) noexcept { return add(h.high).add(h.low); }
    constexpr hasher& add(std::string_view text) noexcept {
        add(text.size());
        std::uint64_t word = 0;
        int filled = 0;
        for (char c : text) {
            word = word << 8 | static_cast<unsigned char>(c);
            if (++filled == 8) add(word), word = 0, filled = 0;
        }
        return filled ? add(word) : *this;
    }
    constexpr hasher& add_real(double value) noexcept { return add(std::bit_cast<std::uint64_t>(value)); }

    [[nodiscard]] constexpr hash128 finish() const noexcept {
        auto const x = detail::multiply_fold(a_ ^ detail::hash_secret[5], b_ ^ detail::hash_secret[0]);
        auto const y = detail::multiply_fold(b_ ^ x ^ detail::hash_secret[1], a_ ^ detail::hash_secret[3]);
        return {x, y};
    }

private:
    std::uint64_t a_ = detail::hash_secret[2];
    std::uint64_t b_ = detail::hash_secret[5];
};

/// Hash of a run of bytes, eight at a time in four lanes. *Complexity* linear.
[[nodiscard]] inline hash128 hash_bytes(std::span<std::byte const> data) noexcept {
    auto const load = [&](std::size_t at) {
        std::uint64_t word;
        std::memcpy(&word, data.data() + at, sizeof word);
        return word;
    };
    using detail::hash_secret, detail::multiply_fold;
    // Four lanes keep four independent multiplications in flight.
    std::uint64_t lane[4] = {hash_secret[0], hash_secret[1], hash_secret[2], hash_secret[3]};
    std::size_t at = 0;
    for (; at + 64 <= data.size(); at += 64)
        for (std::size_t i = 0; i < 4; ++i)
            lane[i] =
                multiply_fold(load(at + 16 * i) ^ hash_secret[i], load(at + 16 * i + 8) ^ std::rotl(lane[i], 17)) ^
                lane[i];
    hasher tail{data.size()};
    for (auto word : lane) tail.add(word);
    for (; at + 8 <= data.size(); at += 8) tail.add(load(at));
    if (at < data.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data() + at, data.size() - at);
        tail.add(word);
    }
    return tail.finish();
}

/// 64-bit hash of a name, for identities that are fixed at compile time.
[[nodiscard]] constexpr std::uint64_t hash_name(std::string_view text) noexcept {
    return hasher{}.add(text).finish().low;
}

/// Text of a hash: 32 hexadecimal digits.
[[nodiscard]] inline std::string to_string(hash128 h) {
    std::string text(32, '0');
    for (std::size_t i = 0; i < 32; ++i)
        text[i] = "0123456789abcdef"[((i < 16 ? h.high : h.low) >> (60 - 4 * (i % 16))) & 15];
    return text;
}

} // namespace gsub

template <>
struct std::hash<gsub::hash128> {
    std::size_t operator()(gsub::hash128 h) const noexcept { return static_cast<std::size_t>(h.low); }
};
