#pragma once

#include <gsub/target/feature.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#ifdef __linux__
#include <sys/auxv.h>
#endif

namespace gsub {

namespace detail {

// `__builtin_cpu_supports` takes literals alone, so that each row has a function.
struct host_feature {
    cpu_feature what;
    bool (*present)();
};
#if defined(__x86_64__)
inline constexpr host_feature host_features[] = {
    {{"-msse4.1", "sse4.1"}, [] { return __builtin_cpu_supports("sse4.1") != 0; }},
    {{"-msse4.2", "sse4.2"}, [] { return __builtin_cpu_supports("sse4.2") != 0; }},
    {{"-mpopcnt", "popcnt"}, [] { return __builtin_cpu_supports("popcnt") != 0; }},
    {{"-mavx", "avx"}, [] { return __builtin_cpu_supports("avx") != 0; }},
    {{"-mavx2", "avx2"}, [] { return __builtin_cpu_supports("avx2") != 0; }},
    {{"-mfma", "fma"}, [] { return __builtin_cpu_supports("fma") != 0; }},
    {{"-mavx512f", "avx512f"}, [] { return __builtin_cpu_supports("avx512f") != 0; }},
    {{"-mavx512bw", "avx512bw"}, [] { return __builtin_cpu_supports("avx512bw") != 0; }},
    {{"-mavx512dq", "avx512dq"}, [] { return __builtin_cpu_supports("avx512dq") != 0; }},
    {{"-mavx512vl", "avx512vl"}, [] { return __builtin_cpu_supports("avx512vl") != 0; }},
    {{"-mavx512cd", "avx512cd"}, [] { return __builtin_cpu_supports("avx512cd") != 0; }},
    {{"-mavx512vnni", "avx512vnni"}, [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
    {{"-mprefer-vector-width=256", ""}, [] { return true; }},
    {{"-mprefer-vector-width=512", ""}, [] { return true; }},
};
#else
inline constexpr auto absent = [] { return false; };
inline constexpr host_feature host_features[] = {
    {{"-msse4.1", "sse4.1"}, absent},
    {{"-msse4.2", "sse4.2"}, absent},
    {{"-mpopcnt", "popcnt"}, absent},
    {{"-mavx", "avx"}, absent},
    {{"-mavx2", "avx2"}, absent},
    {{"-mfma", "fma"}, absent},
    {{"-mavx512f", "avx512f"}, absent},
    {{"-mavx512bw", "avx512bw"}, absent},
    {{"-mavx512dq", "avx512dq"}, absent},
    {{"-mavx512vl", "avx512vl"}, absent},
    {{"-mavx512cd", "avx512cd"}, absent},
    {{"-mavx512vnni", "avx512vnni"}, absent},
    {{"-mprefer-vector-width=256", ""}, absent},
    {{"-mprefer-vector-width=512", ""}, absent},
};
#endif

// Of AArch64: the bit in the words of capabilities that Linux tells each process, by the names that it has for them.
struct linux_capability {
    cpu_feature what;
    int word; // 0: AT_HWCAP, 1: AT_HWCAP2
    int bit;
};
inline constexpr linux_capability aarch64_features[] = {
    {{"-march=armv8-a+simd", "asimd", "aarch64"}, 0, 1},
    {{"-march=armv8.2-a+fp16", "asimdhp", "aarch64"}, 0, 10},
    {{"-march=armv8.2-a+dotprod", "asimddp", "aarch64"}, 0, 20},
    {{"-march=armv8.2-a+sve", "sve", "aarch64"}, 0, 22},
    {{"-march=armv8.2-a+sve2", "sve2", "aarch64"}, 1, 1},
    {{"-march=armv8.2-a+i8mm", "i8mm", "aarch64"}, 1, 13},
    {{"-march=armv8.2-a+bf16", "bf16", "aarch64"}, 1, 14},
};
GSUB_INLINE bool is_present([[maybe_unused]] linux_capability const& c) noexcept {
#if defined(__aarch64__) && defined(__linux__)
    return (std::uint64_t{getauxval(c.word == 0 ? AT_HWCAP : AT_HWCAP2)} >> c.bit & 1) != 0;
#else
    return false;
#endif
}

} // namespace detail

GSUB_INLINE std::span<cpu_feature const> cpu_features() noexcept {
    static constexpr auto rows = [] {
        constexpr auto first = std::size(detail::host_features), second = std::size(detail::aarch64_features);
        std::array<cpu_feature, first + second> out{};
        for (std::size_t i = 0; i < first; ++i) out[i] = detail::host_features[i].what;
        for (std::size_t i = 0; i < second; ++i) out[first + i] = detail::aarch64_features[i].what;
        return out;
    }();
    return rows;
}

GSUB_INLINE cpu_feature const* feature_of_option(std::string_view option) noexcept {
    auto const rows = cpu_features();
    auto const found = std::find_if(rows.begin(), rows.end(), [&](auto const& f) { return f.option == option; });
    return found == rows.end() ? nullptr : &*found;
}

GSUB_INLINE bool host_has(std::string_view word) noexcept {
    if (word.empty()) return false;
    return std::any_of(std::begin(detail::host_features), std::end(detail::host_features),
                       [&](auto const& f) { return f.what.word == word && f.present(); }) ||
           std::any_of(std::begin(detail::aarch64_features), std::end(detail::aarch64_features),
                       [&](auto const& f) { return f.what.word == word && detail::is_present(f); });
}

} // namespace gsub
