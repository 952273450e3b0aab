#pragma once

#include <gsub/target/feature.hpp>

#include <algorithm>
#include <array>
#include <iterator>

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

} // namespace detail

GSUB_INLINE std::span<cpu_feature const> cpu_features() noexcept {
    static constexpr auto rows = [] {
        std::array<cpu_feature, std::size(detail::host_features)> out{};
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = detail::host_features[i].what;
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
    return std::any_of(std::begin(detail::host_features), std::end(detail::host_features),
                       [&](auto const& f) { return !word.empty() && f.what.word == word && f.present(); });
}

} // namespace gsub
