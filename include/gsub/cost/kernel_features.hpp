// Kernel features: what a kernel does, each as a count and as the cycles that it would take by itself; the terms of a
// linear score. They come from the kernel's IR and the core's row: nothing runs, and nothing is compiled.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gsub::cost {

/// Features of a kernel. *Source* Tuna, 2021, section III.A: counts of significant SIMD instructions, data movement of
/// caches, and the cost of instruction-level parallelism. What loops and a call take stands beside them.
enum class kernel_feature : std::uint8_t {
    fma,         ///< vector multiply-adds
    arithmetic,  ///< other vector instructions: shuffles, functions, sums of lanes
    load,        ///< vector loads
    scalar_load, ///< loads of one element, mostly for all lanes
    store,       ///< vector stores
    other,       ///< instructions of no vector unit
    ilp,         ///< cycles of straight blocks: the busiest unit, issue or a chain of results, whichever takes longest
    control,     ///< turns of loops; the cycles of branches and positions too
    l2,          ///< lines that the first cache takes from the second one
    l3,          ///< lines that the second one takes from the last one
    memory,      ///< lines that the last one takes from memory
    call,        ///< the call
    wake,        ///< waking and joining threads, where several share the kernel
};

/// Row of a feature: its name in files and tables, and the unit of its count.
struct kernel_feature_row {
    std::string_view name, unit;
};
inline constexpr kernel_feature_row kernel_feature_rows[] = {
    {"fma", "instructions"},   {"arithmetic", "instructions"},
    {"load", "instructions"},  {"scalar_load", "instructions"},
    {"store", "instructions"}, {"other", "instructions"},
    {"ilp", "cycles"},         {"control", "turns"},
    {"l2", "lines"},           {"l3", "lines"},
    {"memory", "lines"},       {"call", "calls"},
    {"wake", "calls"},
};
inline constexpr std::size_t kernel_feature_count = std::size(kernel_feature_rows);

[[nodiscard]] constexpr kernel_feature_row const& row_of(kernel_feature f) noexcept {
    return kernel_feature_rows[static_cast<std::size_t>(f)];
}
/// Feature of a name; nothing where there is none.
[[nodiscard]] constexpr std::optional<kernel_feature> find_kernel_feature(std::string_view name) noexcept {
    for (std::size_t i = 0; i < kernel_feature_count; ++i)
        if (kernel_feature_rows[i].name == name) return static_cast<kernel_feature>(i);
    return std::nullopt;
}

/// Features of a kernel. Vectors wider than the core's units count once a pass.
struct kernel_features {
    struct amount {
        double count = 0;  ///< of all threads together, in the unit of the row; `ilp`: their cycles
        double cycles = 0; ///< of the thread that does most, if it did nothing else
    };
    std::array<amount, kernel_feature_count> amounts{};
    unsigned threads = 1; ///< that share the kernel
    double part = 1;      ///< parallel share: of the kernel's instructions, those of the thread that does most

    [[nodiscard]] constexpr amount const& operator[](kernel_feature f) const noexcept {
        return amounts[static_cast<std::size_t>(f)];
    }
    [[nodiscard]] constexpr amount& operator[](kernel_feature f) noexcept {
        return amounts[static_cast<std::size_t>(f)];
    }
};

/// Features of a kernel of which a model has told counts and bytes, such as `lowered::of_kernel`; `core` is that of the
/// model. With `scheduled_time_of`, `ilp` has the cycles of the machine instructions, those of loops too.
/// *Complexity* O(1).
GSUB_LAZY [[nodiscard]] kernel_features features_of(kernel_time const& counted, microarchitecture const& core) noexcept;

/// Features of a kernel as `time_of` counts it. *Requires* and *Complexity* as `time_of`.
GSUB_LAZY [[nodiscard]] kernel_features features_of(codegen::kernel const& k, microarchitecture const& core,
                                                    kernel_setting const& setting = {});

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/kernel_features.ipp>
#endif
