// Micro-architectures as a table: what one core does in a cycle, for models that predict times without measuring.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/target/isa.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

struct target;
struct port_table;

/// Micro-architecture: a row of the table. Widths are those of the units: a wider vector takes several passes.
struct microarchitecture {
    std::string_view name;          ///< as `cpu=` of a target takes it, e.g. `zen4`
    std::string_view title;         ///< for people
    std::string_view cpus;          ///< prefixes of names as `host()` has them, by `;`; after `*` a word in the name
    gsub::isa const* isa = nullptr; ///< the widest
    double gigahertz = 2.5;         ///< sustained by one core that multiplies vectors
    std::int32_t unit_bytes = 16;   ///< that a vector unit is wide
    double fma_units = 2, vector_units = 2; ///< that multiply and add; all that compute on floats
    double fma_latency = 4;                 ///< cycles
    double loads = 2, stores = 1;           ///< of `unit_bytes`, a cycle
    double scalar_loads = 2;                ///< of one element for all lanes, a cycle
    double issue = 4;                       ///< instructions a cycle
    double reorder_buffer = 200;            ///< instructions in flight
    std::uint64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 32 << 20; ///< L1, L2 of a core; the last one
    double l2_bytes_per_cycle = 32;                                             ///< read by one core
    double l3_bytes_per_cycle = 12;                                             ///< the same
    double memory_bytes_per_second = 15e9;                                      ///< read by one core
    double memory_bytes_in_all = 30e9;                                          ///< read by two cores or more
    bool generic = false;                                                       ///< of no processor in particular
    bool measured = false; ///< clock and bandwidths were compared with a machine; else they are estimates
    /// Share of the memory time beside which there is enough to compute that a core waits for all the same.
    double not_hidden = 0.25;
    /// Weight bytes, as shares of the last-level cache: up to the first it keeps all of them from one run to the next,
    /// from the second on it loses all; in proportion between these. Others use that cache too.
    double kept_share = 0.25, lost_share = 1.5;
    /// Vectors of its set that it multiplies a cycle; 0: as the set says. `host()` and `parse_target` tell it.
    std::int32_t fma_per_cycle = 0;
    /// Passes of vector instructions, moves from and to memory included, that enter a cycle; 0: as many as `issue`.
    double vector_issue = 0;
    /// Ports that were measured (`measured_port_table`); null: those of the table `port_tables()`.
    port_table const* ports = nullptr;

    /// Whether a processor reports a name that is one of `cpus`.
    [[nodiscard]] constexpr bool reported_as(std::string_view processor) const noexcept {
        for (auto rest = cpus; !rest.empty();) {
            auto const end = std::min(rest.find(';'), rest.size());
            auto const beginning = rest.substr(0, end);
            auto const star = std::min(beginning.find('*'), beginning.size());
            auto const word = beginning.substr(std::min(star + 1, beginning.size()));
            if (processor.starts_with(beginning.substr(0, star)) && processor.find(word) != processor.npos) return true;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return false;
    }
    /// Passes that a vector of `vector_bytes` bytes takes.
    [[nodiscard]] constexpr double passes(std::int32_t vector_bytes) const noexcept {
        return vector_bytes <= unit_bytes ? 1.0 : static_cast<double>(vector_bytes) / unit_bytes;
    }
};

namespace detail {

// clang-format off
inline constexpr microarchitecture microarchitecture_rows[] = {
    // name, title
    //   beginnings of processors' names
    //   set, GHz, unit | FMA, all units, latency | loads, stores, scalar loads | issue, ROB
    //   L1, L2, L3 | L2, L3 bytes a cycle | memory of one core, of all | generic, measured | not hidden, kept, lost
    //   | FMA of its set, passes that enter a cycle
    {"zen5", "AMD Zen 5 (server)",
     "x86_64 family 26 ",
     &isa::avx512, 4.1, 64, 2, 4, 4, 2, 1, 2, 8, 448,
     48 << 10, 1024 << 10, 32 << 20, 40, 25, 42e9, 55e9, false, true, 0.75, 0.5, 2.75},
    {"zen4", "AMD Zen 4",
     "x86_64 family 25 ",
     &isa::avx512, 3.75, 32, 2, 4, 4, 2, 1, 2, 6, 320,
     32 << 10, 1024 << 10, 32 << 20, 32, 23, 28e9, 40e9, false, true, 0.25, 0.25, 1.5, 1},
    {"zen3", "AMD Zen 3",
     "x86_64 family 25 ",
     &isa::avx2, 2.85, 32, 2, 4, 4, 2, 1, 2, 6, 256,
     32 << 10, 512 << 10, 32 << 20, 32, 22, 17e9, 27e9, false, true},
    {"zen1", "AMD Zen, Zen+",
     "x86_64 family 23 model 1 ;x86_64 family 23 model 8 ;x86_64 family 23 model 17 ;x86_64 family 23 model 24 ",
     &isa::avx2, 2.55, 16, 2, 4, 5, 2, 1, 2, 5, 192,
     32 << 10, 512 << 10, 8 << 20, 28, 20, 12.5e9, 22.5e9, false, true, 0.25, 0.25, 1.5, 1, 3.6},
    {"zen2", "AMD Zen 2",
     "x86_64 family 23 ",
     &isa::avx2, 3.2, 32, 2, 4, 5, 2, 1, 2, 6, 224,
     32 << 10, 512 << 10, 16 << 20, 28, 12, 18e9, 35e9, false, false},
    {"skylake-sp", "Intel Skylake-SP, Cascade Lake",
     "x86_64 family 6 model 85 ",
     &isa::avx512, 2.7, 64, 2, 2, 4, 2, 1, 2, 4, 224,
     32 << 10, 1024 << 10, 24 << 20, 40, 8, 12e9, 60e9, false, false},
    {"icelake-sp", "Intel Ice Lake-SP",
     "x86_64 family 6 model 106 ",
     &isa::avx512, 2.9, 64, 2, 2, 4, 2, 1, 2, 5, 352,
     48 << 10, 1280 << 10, 36 << 20, 44, 9, 12e9, 80e9, false, false},
    {"sapphire-rapids", "Intel Sapphire Rapids, Emerald Rapids",
     "x86_64 family 6 model 143 ;x86_64 family 6 model 207 ",
     &isa::avx512, 3.0, 64, 2, 2, 4, 2, 1, 3, 6, 512,
     48 << 10, 2048 << 10, 60 << 20, 44, 9, 12e9, 100e9, false, false},
    {"granite-rapids", "Intel Granite Rapids",
     "x86_64 family 6 model 173 ;x86_64 family 6 model 174 ;x86_64 family 6 *amx",
     &isa::avx512, 3.0, 64, 2, 2, 4, 2, 1, 3, 6, 512,
     48 << 10, 2048 << 10, 64 << 20, 36, 10, 15e9, 30e9, false, false, 1},
    {"neoverse-n1", "Arm Neoverse N1",
     "",
     &isa::neon, 2.5, 16, 2, 2, 4, 2, 1, 2, 4, 128,
     64 << 10, 1024 << 10, 32 << 20, 24, 8, 15e9, 80e9, false, false},
    {"neoverse-v1", "Arm Neoverse V1",
     "",
     &isa::neon, 2.6, 16, 4, 4, 4, 3, 2, 3, 8, 256,
     64 << 10, 1024 << 10, 32 << 20, 32, 10, 18e9, 100e9, false, false},
    {"neoverse-n2", "Arm Neoverse N2",
     "",
     &isa::neon, 2.8, 16, 2, 2, 4, 3, 2, 3, 5, 160,
     64 << 10, 1024 << 10, 32 << 20, 32, 10, 18e9, 100e9, false, false},
    {"neoverse-v2", "Arm Neoverse V2",
     "",
     &isa::neon, 2.8, 16, 4, 4, 4, 3, 2, 3, 8, 320,
     64 << 10, 2048 << 10, 32 << 20, 32, 12, 20e9, 100e9, false, false},
    {"cortex-a53", "Arm Cortex-A53",
     "",
     &isa::neon, 1.4, 8, 1, 1, 8, 1, 1, 1, 2, 16,
     32 << 10, 512 << 10, 512 << 10, 8, 8, 3e9, 5e9, false, false},
    {"generic-avx512", "any processor with AVX-512",
     "",
     &isa::avx512, 2.8, 64, 2, 2, 4, 2, 1, 2, 4, 224,
     32 << 10, 1024 << 10, 24 << 20, 40, 10, 12e9, 40e9, true, false},
    {"generic-avx2", "any processor with AVX2",
     "",
     &isa::avx2, 3.0, 32, 2, 2, 4, 2, 1, 2, 4, 200,
     32 << 10, 512 << 10, 16 << 20, 24, 10, 12e9, 30e9, true, false},
    {"generic-sse42", "any processor with SSE4.2",
     "",
     &isa::sse42, 2.5, 16, 1, 2, 8, 2, 1, 2, 4, 128,
     32 << 10, 256 << 10, 8 << 20, 16, 8, 10e9, 20e9, true, false},
    {"generic-neon", "any AArch64 processor",
     "",
     &isa::neon, 2.5, 16, 2, 2, 4, 2, 1, 2, 4, 128,
     64 << 10, 1024 << 10, 16 << 20, 20, 8, 12e9, 30e9, true, false},
    {"generic", "any processor",
     "",
     &isa::baseline, 2.5, 16, 1, 2, 8, 2, 1, 2, 4, 128,
     32 << 10, 512 << 10, 8 << 20, 16, 8, 10e9, 20e9, true, false},
};
// clang-format on

} // namespace detail

/// All micro-architectures, generic ones last. *Source* for units, latencies and caches vendors' optimization guides;
/// for clocks and bandwidths comparisons with a machine where `measured`, else estimates; see docs/target.md.
[[nodiscard]] constexpr std::span<microarchitecture const> microarchitectures() noexcept {
    return detail::microarchitecture_rows;
}

/// Micro-architecture of a target, by its processor's name: a row's own, or one that the processor reports; a generic
/// row where none matches. Only rows of the target's instruction set count.
[[nodiscard]] microarchitecture const& microarchitecture_of(target const& t) noexcept;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/target/impl/microarchitecture.ipp>
#endif
