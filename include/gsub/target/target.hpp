// Target: the machine that kernels are compiled for, as data and as text, and detection of the host.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>
#include <gsub/target/gpu.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub {

/// Target: the machine, as far as cost models and code generation need to know it.
struct target {
    std::string name;           ///< of the processor, e.g. `x86_64 family 25 model 17 stepping 1`; may be empty
    unsigned threads = 1;       ///< hardware threads that this process may use
    std::uint64_t l1_bytes = 0; ///< data cache of one core, 0 where unknown
    std::uint64_t l2_bytes = 0; ///< second-level cache of one core
    std::uint64_t l3_bytes = 0; ///< last-level cache
    gsub::isa const* isa = &gsub::isa::baseline; ///< the widest instruction set
    std::int32_t fma_per_cycle = 0;              ///< vectors of that set that it multiplies a cycle; 0: as the set says
    gsub::gpu const* gpu = nullptr;              ///< a row of the table, whose kernels are of `isa::warp`; null: none

    /// Whether it runs programs for an instruction set.
    [[nodiscard]] bool has(gsub::isa const& s) const noexcept { return isa->runs(s); }
    /// A key for measurements: two machines with equal keys are expected to run at equal speed.
    [[nodiscard]] std::string key() const;
    friend bool operator==(target const&, target const&) = default;
};

/// GPU of the table as a target: kernels are planned, costed and tuned for it without a device.
[[nodiscard]] inline target target_of(gpu const& on) {
    return {.name = std::string{on.name}, .isa = &isa::warp, .gpu = &on};
}

/// The widest instruction set of a target.
[[nodiscard]] inline isa const& isa_of(target const& t) noexcept {
    return *t.isa;
}

/// Detects the machine that this process runs on. Asks the processor and the operating system, at each call.
[[nodiscard]] target host();

/// Text of a target, which `parse_target` reads: architecture and instruction set, then what is known, e.g.
/// `x86-64-avx512,threads=2,l1=48K,l2=1M,l3=32M,cpu=x86_64 family 26 model 2 stepping 1`.
[[nodiscard]] std::string to_string(target const& t);

/// Parses a target: `host`, or an architecture and instruction set (`x86-64-avx512`, `x86-64-avx2`, `x86-64-sse42`,
/// `aarch64-neon`; `baseline` for any processor) and then `key=value` for what is known, each at most once, in any
/// order: `threads`, `l1`, `l2`, `l3` (bytes, or with K, M, G), `fma` (vectors a cycle), `cpu` (a name without commas).
/// What is not given is unknown. A GPU is told by its name (`h200`), or by an architecture, which stands for its first
/// device of the table (`sm_90`: an H100), and by nothing else. *Errors* `usage` naming the part that is wrong and what
/// it may be.
[[nodiscard]] result<target> parse_target(std::string_view text);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/target/impl/target.ipp>
#endif
