// Hardware as data.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <string>

namespace gsub {

/// What a machine is, as far as costs and code generation need to know it.
struct target {
    std::string name;           ///< e.g. `x86_64 family 25 model 17 stepping 1`
    unsigned threads = 1;       ///< hardware threads that this process may use
    std::uint64_t l1_bytes = 0; ///< data cache of one core, 0 where unknown
    std::uint64_t l2_bytes = 0; ///< second-level cache of one core
    std::uint64_t l3_bytes = 0; ///< last-level cache
    bool avx2 = false;          ///< with FMA
    bool avx512 = false;        ///< F, BW, DQ and VL

    /// A key for measurements: two machines with equal keys are expected to run at equal speed.
    [[nodiscard]] std::string key() const;
};

/// The machine that this process runs on. Asks the processor and the operating system, at each call.
[[nodiscard]] target host();

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/target/impl/target.ipp>
#endif
