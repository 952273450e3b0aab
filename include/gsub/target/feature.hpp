// CPU features: the compiler option of each, and the run-time query of the host.
#pragma once

#include <gsub/core/config.hpp>

#include <span>
#include <string_view>

namespace gsub {

/// CPU feature, a row of the table: an option of GCC and Clang, and the word for it: the one that
/// `__builtin_cpu_supports` takes on x86-64; on AArch64 the one that Linux has in /proc/cpuinfo.
struct cpu_feature {
    std::string_view option;                  ///< e.g. `-mavx2`
    std::string_view word;                    ///< e.g. `avx2`; empty: the option tunes, and every processor has it
    std::string_view architecture = "x86-64"; ///< or `aarch64`
};

/// All features that an instruction set may name.
[[nodiscard]] std::span<cpu_feature const> cpu_features() noexcept;
/// The feature of an option, or null.
[[nodiscard]] cpu_feature const* feature_of_option(std::string_view option) noexcept;
/// Whether the processor that runs this program has a feature, by its word. False for words that are not in the table
/// or are of another architecture; on AArch64 Linux tells (`getauxval`), elsewhere than there nobody does.
[[nodiscard]] bool host_has(std::string_view word) noexcept;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/target/impl/feature.ipp>
#endif
