// GPUs as a table: what a multiprocessor has and does in a cycle, for models that predict times without a device.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

/// Compute capability: what all GPUs of one number have in common. Sizes are those of one streaming multiprocessor
/// (SM), where nothing else is said.
struct gpu_architecture {
    std::string_view name;               ///< as compilers have it, e.g. `sm_90`
    std::int32_t capability = 0;         ///< ten times its number: 90
    std::int32_t warps = 64;             ///< resident at once
    std::int32_t blocks = 32;            ///< the same
    std::int32_t shared_bytes = 0;       ///< shared memory
    std::int32_t block_shared_bytes = 0; ///< that one block may have
    std::int32_t shared_reserve = 0;     ///< bytes that each block takes for itself
    std::int32_t lanes = 64;             ///< multiply-adds of f32 a cycle
    std::int32_t matrix_f16 = 0;         ///< multiply-adds of f16 a cycle in tensor cores; 0: there are none
    std::int32_t matrix_tf32 = 0;        ///< the same of f32 with ten bits behind the point
    bool bulk_copies = false;            ///< whether warp groups multiply, and blocks of memory copy themselves
    bool modelled_only = true;           ///< whether nobody here could compare it with such a device
    std::int32_t warp = 32;              ///< threads of a warp
    std::int32_t block_threads = 1024;   ///< most threads of a block
    std::int32_t schedulers = 4;         ///< each starts an instruction of a warp a cycle
    std::int32_t registers = 65536;      ///< of 32 bits
    std::int32_t thread_registers = 255; ///< that one thread may have
    std::int32_t register_unit = 256;    ///< registers are given to warps by so many
    std::int32_t shared_unit = 128;      ///< bytes of shared memory are given to blocks by so many
    std::int32_t banks = 32;             ///< of shared memory, of `bank_bytes` each a cycle
    std::int32_t bank_bytes = 4;
    std::int32_t line_bytes = 128, sector_bytes = 32; ///< of caches; memory is read by sectors

    /// Threads resident at once.
    [[nodiscard]] constexpr std::int32_t threads() const noexcept { return warps * warp; }
};

/// GPU: a device of an architecture, a row of the table.
struct gpu {
    std::string_view name;  ///< e.g. `h200`
    std::string_view title; ///< for people
    gpu_architecture const* architecture = nullptr;
    std::int32_t processors = 0; ///< streaming multiprocessors
    double gigahertz = 1.5;      ///< the greatest that it keeps
    std::uint64_t l2_bytes = 0;
    double memory_bytes_per_second = 0;

    /// Floating-point operations of f32 a second, of all multiprocessors; a multiply-add is two.
    [[nodiscard]] constexpr double flops() const noexcept { return 2e9 * gigahertz * architecture->lanes * processors; }
};

namespace detail {

// clang-format off
inline constexpr gpu_architecture gpu_architecture_rows[] = {
    // name, number, warps, blocks | shared memory of an SM, of a block, reserve | lanes, f16, tf32 | bulk copies
    {"sm_70", 70, 64, 32,  96 << 10,  96 << 10,    0,  64,  512,    0},
    {"sm_72", 72, 64, 32,  96 << 10,  96 << 10,    0,  64,  512,    0},
    {"sm_75", 75, 32, 16,  64 << 10,  64 << 10,    0,  64,  512,    0},
    {"sm_80", 80, 64, 32, 164 << 10, 163 << 10, 1024,  64, 1024,  512},
    {"sm_86", 86, 48, 16, 100 << 10,  99 << 10, 1024, 128,  512,  256},
    {"sm_89", 89, 48, 24, 100 << 10,  99 << 10, 1024, 128,  512,  256},
    {"sm_90", 90, 64, 32, 228 << 10, 227 << 10, 1024, 128, 2048, 1024, true},
};
inline constexpr gpu_architecture const& sm(std::int32_t capability) {
    for (auto const& row : gpu_architecture_rows)
        if (row.capability == capability) return row;
    return gpu_architecture_rows[0];
}
inline constexpr gpu gpu_rows[] = {
    // name, title, architecture, SMs, GHz, L2, memory
    {"v100",     "NVIDIA V100 (SXM2)",          &sm(70),  80, 1.53,    6 << 20,  900e9},
    {"xavier",   "NVIDIA Jetson AGX Xavier",    &sm(72),   8, 1.377, 512 << 10,  137e9},
    {"t4",       "NVIDIA T4",                   &sm(75),  40, 1.59,    4 << 20,  320e9},
    {"rtx2080",  "NVIDIA GeForce RTX 2080",     &sm(75),  46, 1.71,    4 << 20,  448e9},
    {"a100",     "NVIDIA A100 (SXM4, 40 GB)",   &sm(80), 108, 1.41,   40 << 20, 1555e9},
    {"a10",      "NVIDIA A10",                  &sm(86),  72, 1.695,   6 << 20,  600e9},
    {"l4",       "NVIDIA L4",                   &sm(89),  58, 2.04,   48 << 20,  300e9},
    {"h100",     "NVIDIA H100 (SXM5)",          &sm(90), 132, 1.98,   50 << 20, 3350e9},
    {"h200",     "NVIDIA H200 (SXM5)",          &sm(90), 132, 1.98,   50 << 20, 4800e9},
};
// clang-format on

} // namespace detail

/// All architectures by their number, and all devices by theirs. *Source* NVIDIA's CUDA C++ Programming Guide, table of
/// compute capabilities, and the data sheets and white papers of the devices; see docs/target.md.
[[nodiscard]] constexpr std::span<gpu_architecture const> gpu_architectures() noexcept {
    return detail::gpu_architecture_rows;
}
[[nodiscard]] constexpr std::span<gpu const> gpus() noexcept {
    return detail::gpu_rows;
}

/// The architecture of a name (`sm_90`, `sm_90a`, `compute_90`); null where the table lacks it.
[[nodiscard]] constexpr gpu_architecture const* find_gpu_architecture(std::string_view name) noexcept {
    if (name.ends_with('a')) name.remove_suffix(1);
    for (auto const& row : detail::gpu_architecture_rows) {
        auto const number = row.name.substr(3);
        if (name == row.name || (name.starts_with("compute_") && name.substr(8) == number)) return &row;
    }
    return nullptr;
}
/// The device of a name (`h200`), or the first one of an architecture's (`sm_90`); null where the table lacks it.
[[nodiscard]] constexpr gpu const* find_gpu(std::string_view name) noexcept {
    auto const* const architecture = find_gpu_architecture(name);
    for (auto const& row : detail::gpu_rows)
        if (name == row.name || (architecture && row.architecture == architecture)) return &row;
    return nullptr;
}

} // namespace gsub
